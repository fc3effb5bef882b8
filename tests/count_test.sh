#!/bin/sh
# count_test.sh - count.sh counts cases, tells skipped ones from passed ones, and never calls a failed run passed. TAP.
set -u
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
n=0

# counts NAME STATUS WANTED WANTED-STATUS: the log is stdin.
counts() {
  n=$((n + 1))
  cat > "$work/log"
  found=$("$here/count.sh" "$work/log" "$2")
  status=$?
  if [ "$found" = "$3" ] && [ "$status" = "$4" ]; then
    echo "ok $n - $1"
  else
    echo "not ok $n - $1"
    printf '%s\nstatus %s\n' "$found" "$status" | sed 's/^/# /'
  fi
}

counts "passed cases" 0 "2 passed, 0 failed" 0 <<'END'
# random seed
ok 1 /a/b
ok 2 - a command
1..2
END
counts "skipped cases are counted apart, and say why" 0 "skipped 2: gnuplot is not installed
skipped 1: root may write everywhere
1 passed, 0 failed, 3 skipped" 0 <<'END'
ok 1 - plot a # SKIP gnuplot is not installed
ok 2 /b # SKIP root may write everywhere
ok 3 - plot c # SKIP gnuplot is not installed
ok 4 - d
END
counts "a program that skips all of its cases" 0 "skipped 1: no validator is installed
1 passed, 0 failed, 1 skipped" 0 <<'END'
1..0 # SKIP no validator is installed
ok 1 - a
END
counts "a failed case" 1 "1 passed, 1 failed" 1 <<'END'
ok 1 - a
not ok 2 - b
END
counts "a program that crashed" 1 "1 passed, 1 failed" 1 <<'END'
ok 1 - a
result:       killed by signal 11 SIGSEGV
END
counts "a failure that no line shows" 2 "1 passed, 1 failed" 1 <<'END'
ok 1 - a
END
echo "1..$n"
