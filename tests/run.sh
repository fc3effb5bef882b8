#!/bin/sh
# Runs all tests of a build folder and ends with "N passed, N failed" alone on a line. Counts test cases (the TAP lines
# of each program), not programs. Exit status 1 when anything failed.
set -u
build=$1

meson test -C "$build" --no-rebuild --print-errorlogs --quiet
status=$?

log=$build/meson-logs/testlog.txt
passed=$(grep -cE '^ok [0-9]+' "$log")
failed=$(grep -cE '^not ok [0-9]+' "$log")
# A program that crashed or timed out has no line of its own to count.
failed=$((failed + $(grep -cE "^result: +killed by signal|^result: +timeout" "$log")))
if [ "$status" -ne 0 ] && [ "$failed" -eq 0 ]; then failed=1; fi
echo "$passed passed, $failed failed"
[ "$status" -eq 0 ] && [ "$failed" -eq 0 ]
