#!/bin/sh
# bench.sh BUILD [FIGURES] - measures a build and prints one table: what, figure, unit; the machine first. A figure is the median
# of five. docs/performance.md explains the rows. Compare figures of one run with each other, or of one machine over
# time; nothing here passes or fails. FIGURES: a file that takes the same for docs/performance.py.
set -eu
build=$(cd "${1:-build}" && pwd)
cd "$(dirname "$0")/../.."
ORRERY_SHIPPED=$PWD
export ORRERY_SHIPPED
scratch=$(mktemp -d) began=$(date +%s)
trap 'rm -rf "$scratch"' EXIT
ninja -C "$build" orrery bench > "$scratch/log" || { cat "$scratch/log"; exit 1; }

# The rows of a validation set three times over: the slowest one alone would decide how well two at once fill two cores.
grow() {
  grep -v '^#' "$1" | head -n 1
  for _ in 1 2 3; do grep -v '^#' "$1" | tail -n +2; done
}

processor=$(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -n 1)
memory=$(awk '/^MemTotal/ { printf "%.0f", $2 / 1048576 }' /proc/meminfo)
machine="${processor:-$(uname -m)}, $(nproc) cores, $memory GiB, $(uname -sr)"
version="$("$build/orrery" --version), $(date +%Y-%m-%d), load $(cut -d' ' -f1 /proc/loadavg)"
echo "machine: $machine"
echo "build:   $version"
echo
if [ -n "${2:-}" ]; then
  ORRERY_BENCH_FIGURES=$scratch/figures.tsv
  export ORRERY_BENCH_FIGURES
  printf '# machine: %s\n# build: %s\n' "$machine" "$version" > "$ORRERY_BENCH_FIGURES"
fi

scenario=scenarios/gpt3-175b-1024-a100.yaml
grow scenarios/validation/megatron-sc21.csv > "$scratch/rows.csv"
"$build/tests/bench_process" "$build/orrery" "$scenario" "$scratch/results.db" megatron-sc21 "$scratch/rows.csv"
"$build/tests/bench_scenario" "$scenario"
"$build/tests/bench_sweep" scenarios/sweep-gpt3-6.7b-64-a100.yaml
"$build/tests/bench_results" scenarios/sweep-gpt3-6.7b-64-a100.yaml
"$build/tests/bench_engine"
"$build/tests/bench_executor"
"$build/tests/bench_cost"
"$build/tests/bench_energy"
"$build/tests/bench_bands"
"$build/tests/bench_fabric"
"$build/tests/bench_serving" scenarios/serving-azure-conversation-4-h100.yaml
"$build/tests/bench_goals" "$build/orrery" tests/bench/goals.csv "$scratch"

# The checks themselves: processor seconds of the last .ci/run.
[ ! -f "$build/meson-logs/parts.txt" ] || awk -v figures="${ORRERY_BENCH_FIGURES:-/dev/null}" '
  BEGIN { goal["make test"] = 300; goal["in all"] = 1300 }
  { figure = $1; sub(/^ *[0-9]+ /, "") }
  $0 in goal {
    what = ".ci/run: " $0
    printf "%-72s %8d  s, goal at most %d%s\n", what, figure, goal[$0], (figure > goal[$0] ? ": missed" : "")
    printf "%s\t%d\ts\tat most %d\n", what, figure, goal[$0] >> figures
  }' "$build/meson-logs/parts.txt"
echo "make bench took $(( ($(date +%s) - began + 59) / 60 )) minutes"
[ -z "${2:-}" ] || mv "$ORRERY_BENCH_FIGURES" "$2"
