#!/bin/sh
# run.sh BUILD - runs all tests of a build folder; ends with "N passed, N failed, N skipped" (the last part where any was)
# alone on a line. Exit status 1 when anything failed.
set -u
here=$(cd "$(dirname "$0")" && pwd)

meson test -C "$1" --no-rebuild --print-errorlogs --quiet
"$here/count.sh" "$1/meson-logs/testlog.txt" $?
