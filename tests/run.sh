#!/bin/sh
# run.sh BUILD [ARGUMENT...] - runs the tests of a build folder: all, or the choice of meson test's ARGUMENTs. Ends with
# "N passed, N failed, N skipped" (the last part where any was) alone on a line. Exit status 1 when anything failed.
set -u
here=$(cd "$(dirname "$0")" && pwd)

build=$1
shift
meson test -C "$build" --no-rebuild --print-errorlogs --quiet "$@"
"$here/count.sh" "$build/meson-logs/testlog.txt" $?
