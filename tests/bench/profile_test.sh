#!/bin/sh
# profile_test.sh - profile.sh names the rows that there are, fills in their words, and says what is missing. perf is a
# stand-in that writes down what it is asked; nothing is measured. TAP.
set -u
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
n=0

# says NAME WANTED-STATUS PATTERN: of the last try, all that it printed.
says() {
  n=$((n + 1))
  if [ "$status" = "$2" ] && grep -Eq -- "$3" "$work/log"; then
    echo "ok $n - $1"
  else
    echo "not ok $n - $1"
    { echo "status $status, wanted $2 and: $3"; cat "$work/log"; } | sed 's/^/# /'
  fi
}
try() {
  PATH=$path "$here/profile.sh" "$work/build" "$@" > "$work/log" 2>&1
  status=$?
}
program() { # NAME: its text is stdin
  cat > "$1"
  chmod +x "$1"
}

mkdir "$work/bare" "$work/perf" "$work/build"
for tool in sh awk cut dirname grep head mkdir mktemp rm sed tail tr; do
  ln -s "$(command -v "$tool")" "$work/bare/$tool" || exit 1
done
program "$work/build/orrery" <<END
#!/bin/sh
echo "orrery: \$*" >> "$work/asked"
END
program "$work/perf/perf" <<END
#!/bin/sh
[ "\$1" != report ] || seq -f '%g%% somewhere' 60
[ "\$*" = "\${*%orrery*}" ] || echo "perf: \$*" >> "$work/asked"
END

path=$work/bare
try
says "without a row it lists them" 2 "^usage: make profile ROW"
for row in $(grep -v '^#' "$here/goals.csv" | tail -n +2 | cut -d, -f1); do
  says "it lists $row" 2 "^  $row: ."
done
try no-such-row
says "an unknown row" 2 "there is no row 'no-such-row' in tests/bench/goals.csv; its rows: .*timeline"
try timeline
says "neither perf nor gprof" 2 "neither perf nor gprof can be used here .*apt-get install"

path=$work/perf:$PATH
try timeline
says "the functions that take the most" 0 "^40% somewhere"
says "where their callers stand" 0 "^callers: perf report .*/profile/timeline.data"
[ "$(grep -c somewhere "$work/log")" = 40 ]
status=$?
says "no more than 40 of them" 0 .
cp "$work/asked" "$work/log"
says "what the row needs runs first" 0 "^orrery: run .* --spans all --db /.*/spans.db$"
says "its words with a folder for what they write" 0 "^perf: record .*/orrery query /.*/spans.db timeline$"
rm "$work/asked"
try ecmp-growth
cp "$work/asked" "$work/log"
says "a row of growth at its largest size" 0 "cluster.nodes=1536 --set workload.parallel.dp=192 .*global=6144 "
rm "$work/asked"
try ecmp-growth 24
cp "$work/asked" "$work/log"
says "at the size that is asked" 0 "cluster.nodes=192 --set workload.parallel.dp=24 .*global=768 "
echo "1..$n"
