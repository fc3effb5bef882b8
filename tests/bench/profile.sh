#!/bin/sh
# profile.sh BUILD ROW [SIZE] - where the time of a row of goals.csv goes: runs its words, prints the functions that take
# the most. A row of growth runs at SIZE, or at its largest size. `make profile ROW` calls it.
#
# With perf: samples of BUILD's orrery, and the file that `perf report` reads for callers. Without perf, or where the
# kernel forbids it: a build in build-profile with -pg, and gprof, which sees no library and no child that is killed.
# PROFILE_WITH=perf or gprof takes that one alone.
set -eu
cd "$(dirname "$0")/../.."
goals=tests/bench/goals.csv top=40

fail() {
  printf 'profile: %s\n' "$1" >&2
  exit 2
}

rows() { grep -v '^#' "$goals" | tail -n +2; }

# cell COLUMN: of the row asked for. No cell of goals.csv has a comma of its own.
cell() {
  awk -F, -v row="$row" -v column="$1" '
    /^#/ { next }
    !head { for (i = 1; i <= NF; i++) if ($i == column) at = i; head = 1; next }
    $1 == row { print $at }' "$goals"
}

# The words of a cell with {folder}, {n} and {8n} filled in.
fill_in() {
  printf '%s\n' "$1" | awk -v folder="$folder" -v n="${size:-0}" '{
    gsub(/\{folder\}/, folder)
    while (match($0, /\{[0-9]*n\}/)) {
      times = substr($0, RSTART + 1, RLENGTH - 3)
      $0 = substr($0, 1, RSTART - 1) sprintf("%.0f", (times == "" ? 1 : times) * n) substr($0, RSTART + RLENGTH)
    }
    print
  }'
}

can_perf() {
  [ "${PROFILE_WITH:-perf}" = perf ] && command -v perf >/dev/null && perf record -q -o "$folder/probe" true >/dev/null 2>&1
}

can_gprof() { [ "${PROFILE_WITH:-gprof}" = gprof ] && command -v gprof >/dev/null; }

# shellcheck disable=SC2086 # words are many arguments
with_perf() {
  mkdir -p "$build/profile"
  data=$build/profile/$row.data
  perf record -q -g -o "$data" "$build/orrery" $words > "$folder/answer"
  perf report --stdio --no-children -g none -i "$data" 2>/dev/null | grep -v '^#' | grep -v '^ *$' | head -n "$top"
  echo
  echo "callers: perf report --no-children -i $data"
}

# Not PIE: gprof knows no addresses but those that it was linked at.
# shellcheck disable=SC2086
with_gprof() {
  [ -f build-profile/build.ninja ] || # meson runs what it tries: its gmon.out must not lie in the tree
    GMON_OUT_PREFIX=$folder/try meson setup build-profile -Dtests=false -Dhardening=false -Db_pie=false -Dc_args=-pg -Dcpp_args=-pg \
      -Dc_link_args=-pg -Dcpp_link_args=-pg > "$folder/log" || { cat "$folder/log"; exit 1; }
  ninja -C build-profile --quiet orrery > "$folder/log" || { cat "$folder/log"; exit 1; }
  GMON_OUT_PREFIX=$folder/gmon build-profile/orrery $words > "$folder/answer"
  gprof -b -p build-profile/orrery "$folder"/gmon.* | head -n $((top + 5))
}

if [ -z "${2:-}" ]; then
  printf 'usage: make profile ROW\nrows:\n' >&2
  rows | sed 's/^\([^,]*\),\([^,]*\),.*/  \1: \2/' >&2
  exit 2
fi
build=$1 row=$2
[ -n "$(cell row)" ] ||
  fail "there is no row '$row' in $goals; its rows: $(rows | cut -d, -f1 | tr '\n' ' ')"
sizes=$(cell sizes)
size=${3:-${sizes##* }}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
ORRERY_SHIPPED=$PWD
export ORRERY_SHIPPED
words=$(fill_in "$(cell words)")
if can_perf; then with=with_perf
elif can_gprof; then with=with_gprof
else fail "neither perf nor gprof can be used here (Debian: apt-get install linux-perf, or binutils; perf needs /proc/sys/kernel/perf_event_paranoid at 2 or less)"
fi
before=$(cell before)
if [ -n "$before" ]; then
  # shellcheck disable=SC2046
  "$build/orrery" $(fill_in "$before") > "$folder/answer"
fi
echo "orrery $words"
$with
