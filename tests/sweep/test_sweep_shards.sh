#!/bin/sh
# test_sweep_shards.sh ORRERY - a sweep in shards, as the jobs of any batch system run it (--shard I/N): merged, they are
# the sweep of one process, row for row. TAP.
set -u
orrery=$(realpath "$1") && dump=$(realpath "$(dirname "$0")/dump.py") || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
n=0
check() { n=$((n + 1)); if eval "$2"; then echo "ok $n - $1"; else echo "not ok $n - $1"; sed 's/^/# /' said | head -n 20; fi; }
run() { "$orrery" "$@" > said 2>&1; status=$?; }
same() { "$dump" "$1" > a.dump; "$dump" "$2" > b.dump; cmp a.dump b.dump > said 2>&1 || { diff a.dump b.dump | head -n 20 > said; false; }; }

# 96 combinations, 58 points, on a model of eight layers: milliseconds a point.
scenario() {
  cat <<'YAML'
schema: scenario/1
name: small
cluster: {base: dgx-a100-superpod, nodes: 1}
model: {layers: 8, hidden: 1024, heads: 16, vocab: 51200, context: 1024}
workload:
  kind: training
  stack: none
  parallel: {tp: 2, pp: 2, dp: 2}
  batch: {global: 16, micro: 1}
  precision: bf16
sweep:
  axes:
    tp: [1, 2, 4, 8]
    pp: [1, 2, 4, 8]
    micro-batch: [1, 2, 4]
    recompute: [none, full]
YAML
}
scenario > grid.yaml
(scenario; echo '  prune: best') > pruned.yaml

# shards DOCUMENT TAG N I...: the shards I of N.
shards() {
  document=$1 tag=$2 of=$3 && shift 3
  for i; do "$orrery" sweep "$document" --shard "$i/$of" --db "$tag-$i.db" -j 1 > "said-$i" 2>&1 || echo "shard $i failed" >> failed; done
}
points() { "$orrery" query "$1" "SELECT count(*) AS n FROM sweep_point" | tail -n 1 | tr -d ' '; }

"$orrery" sweep grid.yaml --db local.db -j 1 > said 2>&1
shards grid.yaml grid 3 3 1 2
check "three shards run, and say how they become one" \
  '[ ! -e failed ] && cp said-2 said && grep -q "done          19 of 58 points" said && grep -q "shard         2 of 3; .*db merge WHOLE.db SHARD.db" said'
run db merge whole.db grid-1.db grid-2.db grid-3.db
check "merged: every point once" '[ $status -eq 0 ] && [ "$(points whole.db)" = 58 ]'
run sweep grid.yaml --db whole.db --resume
check "the whole has a report, and nothing is left to simulate" \
  '[ $status -eq 0 ] && grep -q "58 of 58 points, 58 simulated to the end, 58 of them before" said'
check "the merged database is the one of a single process, row for row" 'same whole.db local.db'

run db merge two.db grid-3.db grid-1.db
run sweep grid.yaml --db two.db --resume -j 1
check "a shard that never ran: --resume simulates its points" \
  '[ $status -eq 0 ] && grep -q "58 of 58 points, 58 simulated to the end, 39 of them before" said && same two.db local.db'
run sweep grid.yaml --shard 2/3 --db grid-2.db --resume -j 1
check "a shard that is complete" '[ $status -eq 0 ] && grep -q "19 of 58 points, 19 simulated to the end, 19 of them before" said'

shards pruned.yaml pruned 4 1 2 3 4
run db merge pruned-whole.db pruned-1.db pruned-2.db pruned-3.db pruned-4.db
run sweep pruned.yaml --db pruned-whole.db --resume -j 1
best() { sed -n '/^ *run /,/^  [a-z]/p' "$1" | awk '$1 ~ /^[0-9]+$/ { print $1, $2 }'; }
best said > pruned.best
run sweep grid.yaml --db local.db --resume
best said > local.best
check "pruned shards find the best points of the whole" '[ $status -eq 0 ] && [ "$(wc -l < local.best)" = 10 ] && cmp pruned.best local.best'

for word in 0/3 4/3 3 x/3 1/3x 1/0 ''; do
  run sweep grid.yaml --shard "$word" --db other.db
  check "--shard '$word'" '[ $status -eq 2 ] && grep -q "I/N with 1 <= I <= N" said && [ ! -e other.db ]'
done
run sweep grid.yaml --shard 1/2
check "a shard has a database of its own" '[ $status -eq 2 ] && grep -q "database of its own" said && [ ! -e orrery.db ]'
run sweep grid.yaml --shard 1/2 --executor slurm --db other.db
check "Slurm makes its own shards" '[ $status -eq 2 ] && grep -q "executor slurm makes its own shards" said'
echo "1..$n"
