#!/bin/sh
# sanitized.sh BUILD [ALL] - names the tests that run under sanitizers: not the suite of documents and, without ALL, not
# the names of plain_only.txt, since other tests reach every line of the product that these reach (reached.py); a name with
# a case stays, for test_programs.c skips the case. Exit status 1 where that list names a test that does not exist.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
names=$(mktemp)
trap 'rm -f "$names"' EXIT
meson test -C "$1" --no-rebuild --list --no-suite documents 2> /dev/null | sed 's|^.* / ||' > "$names"
if sed '/^orrery /d; s/ .*//' "$here/plain_only.txt" | grep -vxFf "$names" >&2; then
  echo "tests/plain_only.txt: no such tests" >&2
  exit 1
fi
if [ $# -gt 1 ]; then cat "$names"; else grep -vxFf "$here/plain_only.txt" "$names"; fi
