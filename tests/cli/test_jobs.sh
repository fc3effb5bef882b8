#!/bin/sh
# test_jobs.sh ORRERY - jobs that share a machine, as their user has them: what they cost each other. TAP.
set -u
orrery=$(realpath "$1") || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
n=0
check() { n=$((n + 1)); if eval "$2"; then echo "ok $n - $1"; else echo "not ok $n - $1"; sed 's/^/# /' said | head -n 20; fi; }
number() { sed -n "s/.*\"job\": \"$1\".*\"$2\": \([0-9.e+-]*\).*/\1/p" said | head -n 1; }
near() { awk -v a="$1" -v b="$2" -v e="$3" 'BEGIN { d = a / b - 1; exit !(d < e && d > -e) }'; }

# Two all-to-alls of 1 GiB over one set of uplinks, twice their bytes on the same links: the bytes part doubles.
"$orrery" run two-jobs-one-uplink --db none --json > said 2>&1
check "two equal jobs on one set of uplinks halve each other" \
  'near "$(number a slowdown)" 2 0.03 && near "$(number b slowdown)" "$(number a slowdown)" 1e-9'

# Under leaves of their own they have no link in common.
cat > apart.yaml <<'END'
schema: scenario/1
base: two-jobs-one-uplink
jobs:
  - {name: a, gpus: 32, workload: {kind: collectives, collective: all-to-all, begin: 1 GiB, end: 1 GiB, dtype: bf16}}
  - {name: b, gpus: 32, workload: {kind: collectives, collective: all-to-all, begin: 1 GiB, end: 1 GiB, dtype: bf16}}
END
"$orrery" run apart.yaml --db none --json > said 2>&1
check "jobs under leaves of their own cost each other nothing" \
  'near "$(number a slowdown)" 1 1e-9 && near "$(number b slowdown)" 1 1e-9'

# The second starts when the first is over.
sed 's/gpus: 32, workload/gpus: 32, placement: spread, start: 0 s, workload/; 5s/start: 0 s/start: 10 s/' apart.yaml > later.yaml
"$orrery" run later.yaml --db later.db --json > said 2>&1
check "jobs at other times cost each other nothing" \
  'near "$(number a slowdown)" 1 1e-9 && near "$(number b slowdown)" 1 1e-9 && near "$(number b start_s)" 10 1e-12'

# Alone in a list is alone on a machine.
cat > one.yaml <<'END'
schema: scenario/1
name: one of one
cluster: {base: dgx-h100-superpod, nodes: 4}
jobs:
  - {name: only, gpus: 32, model: gpt3-1.3b, workload: {kind: training, stack: none, parallel: {tp: 2, pp: 2}, batch: {global: 64, micro: 1}, steps: 2}}
END
cat > alone.yaml <<'END'
schema: scenario/1
name: alone
cluster: {base: dgx-h100-superpod, nodes: 4}
model: gpt3-1.3b
workload: {kind: training, stack: none, parallel: {tp: 2, pp: 2}, batch: {global: 64, micro: 1}, steps: 2}
END
"$orrery" run alone.yaml --db none --json > said 2>&1
alone=$(sed -n 's/.*"iteration_time_s": \([0-9.e+-]*\).*/\1/p' said)
"$orrery" run one.yaml --db one.db --json > said 2>&1
check "one job in a list is the workload alone" 'near "$(number only iteration_time_s)" "$alone" 1e-9'
"$orrery" query one.db "SELECT count(*) FROM job JOIN training_result USING (run_id)" --csv > said 2>&1
check "its answer and its row are stored" '[ "$(tail -n 1 said)" = 1 ]'
"$orrery" query one.db "SELECT count(*) FROM likeness WHERE extras = ''" --csv > said 2>&1
check "it is like the workload alone" '[ "$(tail -n 1 said)" = 1 ]'
"$orrery" query one.db "SELECT low, high, quality, reason FROM band WHERE metric = 'iteration_time_s'" --csv > want
"$orrery" run alone.yaml --db alone.db > said 2>&1
"$orrery" query alone.db "SELECT low, high, quality, reason FROM band WHERE metric = 'iteration_time_s'" --csv > found
check "and has the same band" 'diff want found > said && [ "$(wc -l < want)" = 2 ]'
"$orrery" run two-jobs-one-uplink --db two.db --band 50% > said 2>&1
check "the band of a job beside others is weak at best, and says why" \
  '[ "$(grep -Ec "^  [ab]  *time_s .*(weak|no band): .*no measured run with other jobs" said)" = 2 ]'
"$orrery" query two.db "SELECT count(*), sum(quality = 'good'), min(level) FROM band" --csv > said 2>&1
check "each job has bands of its own, of the level asked for" '[ "$(tail -n 1 said)" = "6,0,0.5" ]'
"$orrery" run two-jobs-one-uplink --db none --json > said 2>&1
check "JSON has them too" '[ "$(grep -c "\"time_s_low\": .*\"band_level\": 0.8" said)" = 2 ]'

# A cache of 8,000 tokens, 131,072 bytes each, goes down the uplinks of leaf 0 (192 GB/s) over 8 connections while a
# training job under that leaf reads its checkpoint over 8 (one a GPU): half of 192 GB/s, 10.923 ms instead of 5.461. Over
# 64 (a stripe on each of 8 servers) it leaves 8 of 72 parts, 49.152 ms. The network's latency is all that is added.
cat > cache.yaml <<'END'
schema: scenario/1
name: a checkpoint is read while caches cross
cluster:
  base: dgx-h100-superpod
  nodes: 8
  max-nodes: 9
  fabric: {kind: fat-tree, levels: 2, radix: 36, oversubscription: 8}
  storage: {servers: 8, server-bandwidth: 1 TB/s, attach: fabric, stripes: 1}
jobs:
  - name: reads
    model: llama-3.1-8b
    gpus: 8
    placement: {kind: explicit, gpus: [0-7]}
    workload: {kind: training, stack: none, sequence: 4096, parallel: {tp: 8}, batch: {global: 1, micro: 1}, checkpoint: {load: true}}
  - name: serves
    model: llama-3.1-8b
    gpus: 16
    placement: {kind: explicit, gpus: [32-39, 8-15]}
    start: 0 s
    workload:
      kind: serving
      stack: none
      parallel: {tp: 8}
      replicas: 2
      disaggregation: {prefill: 1}
      load: {kind: constant, rate: 10}
      requests: 5
      input: {tokens: 8000}
      output: {tokens: 20}
END
sed 's/start: 0 s/start: 60 s/' cache.yaml > after.yaml
"$orrery" run after.yaml --db none --json > said 2>&1
alone=$(number serves handover_mean_s)
latency=$(awk -v a="$alone" 'BEGIN { printf "%.15g", a - 8000 * 131072 / 192e9 }')
check "a job that starts when the other is over is undisturbed, on its own clock" \
  'near "$(number serves slowdown)" 1 1e-9 && near "$(number serves end_s)" 60.5 0.01'
check "a cache crosses at the uplinks' rate" 'awk -v l="$latency" "BEGIN { exit !(l > 0 && l < 50e-6) }"'
"$orrery" run cache.yaml --db none --json > said 2>&1
check "a checkpoint of as many connections leaves a cache half of the uplinks" \
  'near "$(number serves handover_mean_s)" "$(awk -v l="$latency" "BEGIN { printf \"%.15g\", l + 8000 * 131072 / 96e9 }")" 1e-6'
check "which its requests feel, and the checkpoint's reader too" \
  'awk -v a="$(number serves slowdown)" -v b="$(number reads slowdown)" "BEGIN { exit !(a > 1.02 && b > 1.01) }"'
sed 's/stripes: 1/stripes: 8/' cache.yaml > striped.yaml
"$orrery" run striped.yaml --db none --json > said 2>&1
check "one of eight times as many leaves a ninth" \
  'near "$(number serves handover_mean_s)" "$(awk -v l="$latency" "BEGIN { printf \"%.15g\", l + 8000 * 131072 * 9 / 192e9 }")" 1e-6'
together=$(number serves slowdown)
awk '/^  - name: reads/ { skip = 1 } /^  - name: serves/ { skip = 0 } skip { held = held $0 "\n"; next } { print } END { printf "%s", held }' striped.yaml > turned.yaml
"$orrery" run turned.yaml --db none --json > said 2>&1
check "the order of the jobs changes nothing" 'near "$(number serves slowdown)" "$together" 1e-9'
sed 's/^name:/engine: ideal\nname:/' striped.yaml > ideal.yaml
"$orrery" run ideal.yaml --db none --json > said 2>&1
check "without contention nobody slows anybody" \
  'near "$(number serves slowdown)" 1 1e-9 && near "$(number reads slowdown)" 1 1e-9'

# What is wrong is named.
bad() { # NAME SED-SCRIPT WANTED
  sed "$2" apart.yaml > bad.yaml
  "$orrery" run bad.yaml --db none > said 2>&1
  status=$? wanted=$3
  check "$1" '[ $status -eq 2 ] && grep -q "$wanted" said'
}
bad "two jobs of one name" '5s/name: b/name: a/' "two jobs are called 'a'"
bad "more GPUs than are left" '5s/gpus: 32/gpus: 64/' "job b needs 64 GPUs and only 32 are free"
bad "more GPUs than there are" '5s/gpus: 32/gpus: 65/' "job b needs 65 GPUs: the cluster has 64"
bad "a workload beside jobs" '3s/^/workload: {kind: collectives}\n/' "together with .jobs."
bad "an unknown placement" '5s/gpus: 32/gpus: 32, placement: spred/' "did you mean 'spread'"
bad "folded" '3s/^/fidelity: folded\n/' "fidelity: folded with jobs"

# Faults are the machine's: half of the cables of leaf 0 are gone from the start. Its uplinks carry all of a and b, so
# that the bytes part doubles again; both jobs feel it.
sed '3s/^/faults: [{fault: {kind: link, name: leaf0-spines, bandwidth: 50 %}}]\n/' apart.yaml > half.yaml
sed -i 's/gpus: 32, workload/gpus: 32, placement: spread, workload/' half.yaml
"$orrery" run half.yaml --db none --json > said 2>&1
check "faults of the machine reach all jobs" \
  'near "$(number a slowdown)" 4 0.05 && near "$(number b slowdown)" "$(number a slowdown)" 1e-9'
# A node of b is lost at 20 ms: until then a had half of the uplinks, 10 of its 23 ms; the other 13 alone, 33 in all.
cat > lost.yaml <<'END'
schema: scenario/1
base: two-jobs-one-uplink
faults: [{at: 20 ms, fault: {kind: node-lost, node: 2}}]
END
"$orrery" run lost.yaml --db lost.db --json > said 2>&1
status=$?
check "a job that loses a node stops, the other goes on, exit 1" \
  '[ $status -eq 1 ] && grep -q "job b: node 2 lost at 0.02 s: the job stopped" said &&
   near "$(number b end_s)" 0.02 1e-9 && near "$(number a slowdown)" 1.44 0.02'
bad "a fault of a link that does not exist" '3s/^/faults: [{fault: {kind: link, name: leaf7-spines.up}}]\n/' \
  "no link 'leaf7-spines.up': did you mean 'leaf0-spines.up'"
bad "a fault after the end" '3s/^/faults: [{at: 9 s, fault: {kind: slow-gpu, gpu: 1}}]\n/' "after the run ends at"
"$orrery" run apart.yaml --db none --trace x.json > said 2>&1
status=$?
check "a trace of several jobs is refused, exit 2" '[ $status -eq 2 ] && grep -q -- "--trace is for one workload" said'

# A queue within its quota takes 8 of 16 borrowed GPUs back after 100 s: 16 GPUs do these again and take 60 s to restart,
# 160 x 16 / 3600 GPU-hours. The 33 checkpoints of 10,000 s cost more, and not because of the preemption.
printf 'submit_s,duration_s,gpus,user,queue,priority\n0,10000,16,a,train,0\n100,1000,8,b,serve,5\n' > jobs.csv
cat > queues.yaml <<'END'
schema: scenario/1
name: queues
cluster: {base: dgx-h100-superpod, nodes: 2}
workload:
  kind: cluster
  jobs: ./jobs.csv
  policy: {order: fifo, reclaim: over-quota, queues: [{name: train, quota: 8}, {name: serve, quota: 8}],
           preemption: {checkpoint: 300 s, restart: 60 s, checkpoint-cost: 30 s}}
END
"$orrery" run queues.yaml --db none > said 2>&1
check "a preemption costs its restart and the work done again, not all checkpoints" \
  'grep -q "1 preemption cost 0.711 GPU-hours, all overheads 5.31 GPU-hours" said'
echo "1..$n"
