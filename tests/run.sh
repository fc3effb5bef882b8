#!/bin/sh
# run.sh BUILD [ARGUMENT...] - runs the tests of a build folder: all, or the choice of meson test's ARGUMENTs. Ends with
# "N passed, N failed, N skipped" (the last part where any was) alone on a line. Exit status 1 when anything failed.
#
# With TESTS_AGAIN=N, as CI sets it, up to N failed programs run once more, one at a time; their second results count. The
# log of the first failure is printed all the same, and the programs are named. One accident is known: at the end of about
# one sanitized program in some thousands, LeakSanitizer's own tracer crashes ("Tracer caught signal 11", exit status 1).
# So the second run does not look for leaks, unless the first one reported some. Any other fault that repeats fails twice.
set -u
here=$(cd "$(dirname "$0")" && pwd)

build=$1
shift
logs=$build/meson-logs
log=$logs/testlog.txt
meson test -C "$build" --no-rebuild --print-errorlogs --quiet "$@"
status=$?

# The names of programs that failed, one on a line: a line of meson's JSON log is one program.
failed() { sed -nE 's#^\{"name": "[^"]* / ([^"]*)".*"result": "(FAIL|TIMEOUT|ERROR)".*#\1#p' "$logs/testlog.json"; }

if [ "$status" -ne 0 ] && [ "${TESTS_AGAIN:-0}" -gt 0 ]; then
  names=$(failed)
  count=$(printf '%s' "$names" | grep -c .)
  if [ "$count" -gt 0 ] && [ "$count" -le "$TESTS_AGAIN" ]; then
    echo "once more, one at a time:" $names
    grep -q "detected memory leaks" "$log" || export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"
    # shellcheck disable=SC2086  # names of tests hold no blanks
    meson test -C "$build" --no-rebuild --print-errorlogs --quiet --num-processes 1 --logbase again $names
    status=$?
    # The first log without the sections of these programs, then the second log.
    awk -v names="$names" 'BEGIN { split(names, list); for (i in list) again[list[i]] = 1 }
      /^test: / { drop = $NF in again } !drop' "$log" > "$logs/both.txt"
    cat "$logs/again.txt" >> "$logs/both.txt"
    log=$logs/both.txt
  fi
fi
"$here/count.sh" "$log" "$status"
