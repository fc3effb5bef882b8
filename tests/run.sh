#!/bin/sh
# run.sh BUILD [ARGUMENT...] - runs the tests of a build folder: all, or the choice of meson test's ARGUMENTs. Prints the
# processor seconds of the tests and of the ten longest programs; BUILD/meson-logs/seconds.txt has them all. Ends with
# "N passed, N failed, N skipped" (the last part where any was) alone on a line. Exit status 1 when anything failed.
set -u
here=$(cd "$(dirname "$0")" && pwd)

build=$1
shift
logs=$build/meson-logs
times=$(mktemp -d) || exit 1
trap 'rm -rf "$times"' EXIT
meson test -C "$build" --no-rebuild --print-errorlogs --quiet --wrapper "$here/timed.sh $times" "$@"
status=$?

# Each file: the name, the user and system seconds of the shell, then its children's, as 1m2.345s.
find "$times" -type f -exec awk '
  function seconds(text,   part) { split(text, part, /[ms]/); return part[1] * 60 + part[2] }
  FNR == 1 { name = $0 }
  FNR == 3 { printf "%.1f %s\n", seconds($1) + seconds($2), name }' {} + | sort -rn > "$logs/seconds.txt"
awk '{ sum += $1 } NR <= 10 { longest = longest "\n" $0 }
  END { printf "processor seconds: %.0f in %d programs, of which the longest:%s\n", sum, NR, longest }' "$logs/seconds.txt"
"$here/count.sh" "$logs/testlog-timed.sh.txt" "$status"
