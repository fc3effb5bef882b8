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
  - {name: only, gpus: 32, model: gpt3-1.3b, workload: {kind: training, parallel: {tp: 2, pp: 2}, batch: {global: 64, micro: 1}, steps: 2}}
END
cat > alone.yaml <<'END'
schema: scenario/1
name: alone
cluster: {base: dgx-h100-superpod, nodes: 4}
model: gpt3-1.3b
workload: {kind: training, parallel: {tp: 2, pp: 2}, batch: {global: 64, micro: 1}, steps: 2}
END
"$orrery" run alone.yaml --db none --json > said 2>&1
alone=$(sed -n 's/.*"iteration_time_s": \([0-9.e+-]*\).*/\1/p' said)
"$orrery" run one.yaml --db one.db --json > said 2>&1
check "one job in a list is the workload alone" 'near "$(number only iteration_time_s)" "$alone" 1e-9'
"$orrery" query one.db "SELECT count(*) FROM job JOIN training_result USING (run_id)" --csv > said 2>&1
check "its answer and its row are stored" '[ "$(tail -n 1 said)" = 1 ]'

# What is wrong is named.
bad() { # NAME SED-SCRIPT WANTED
  sed "$2" apart.yaml > bad.yaml
  "$orrery" run bad.yaml --db none > said 2>&1
  status=$? wanted=$3
  check "$1" '[ $status -eq 2 ] && grep -q "$wanted" said'
}
bad "two jobs of one name" '5s/name: b/name: a/' "two jobs are called 'a'"
bad "more GPUs than are left" '5s/gpus: 32/gpus: 64/' "job b needs 64 GPUs and only 32 are left"
bad "more GPUs than there are" '5s/gpus: 32/gpus: 65/' "job b wants 65 GPUs: the cluster has 64"
bad "a workload beside jobs" '3s/^/workload: {kind: collectives}\n/' "workload beside jobs"
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
bad "a fault after the end" '3s/^/faults: [{at: 9 s, fault: {kind: slow-gpu, gpu: 1}}]\n/' "after the end at"
"$orrery" run apart.yaml --db none --trace x.json > said 2>&1
status=$?
check "a trace of several jobs is refused, exit 2" '[ $status -eq 2 ] && grep -q -- "--trace is of one workload" said'
echo "1..$n"
