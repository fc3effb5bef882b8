#!/bin/sh
# test_campaign.sh ORRERY - campaigns as their user has them: goodput, its laws, rows, sweeps, bad input. TAP.
set -u
orrery=$(realpath "$1") || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
n=0
check() { n=$((n + 1)); if eval "$2"; then echo "ok $n - $1"; else echo "not ok $n - $1"; sed 's/^/# /' said | head -n 20; fi; }
number() { sed -n "s/.*\"$1\": \([0-9.e+-]*\).*/\1/p" said | head -n 1; }
run() { "$orrery" run small.yaml --db none --json "$@" > said 2>&1; }
goodput() { run "$@"; number goodput; }
below() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a != "" && b != "" && a + 0 < b + 0) }'; }
near() { awk -v a="$1" -v b="$2" -v e="$3" 'BEGIN { d = a / b - 1; exit !(d < e && d > -e) }'; }
# Cases whose code others run, too, are left out of a small run, as `make sanitize` asks for it.
is_small() { [ "${ORRERY_TEST_SIZE:-}" = small ]; }
refused() { "$orrery" run small.yaml --db none "$@" > said 2>&1; test $? = 2; }

cat > small.yaml <<'END'
schema: scenario/1
name: a month of 64 GPUs
cluster:
  base: dgx-h100-superpod
  nodes: 8
  storage: {servers: 4, server-bandwidth: 10 GB/s, node-bandwidth: 25 GB/s}
model: llama-3.1-8b
workload:
  kind: training
  sequence: 8192
  parallel: {tp: 2, dp: 32}
  batch: {global: 128, micro: 1}
campaign:
  duration: 30 d
  seeds: 20
  failures:
    name: made up
    source: this test
    processes:
      - {component: gpu, rate-per-hour: 1e-3, scope: gpu, symptom: crash}
      - {component: software, rate-per-hour: 0.02, scope: job, symptom: hang, infant-multiple: 3, infant-for: 10 min}
      - {component: leaf, life: weibull, scale: 60 d, shape: 0.7, scope: switch, nodes: 4, symptom: hang, repair: 4 h, repair-distribution: fixed}
      - {component: psu, life: lognormal, scale: 90 d, shape: 1.5, scope: node, symptom: crash, repair: 2 d, repair-distribution: lognormal, repair-sigma: 0.5}
      - {component: cosmic-ray, rate-per-hour: 1e-5, scope: gpu, symptom: silent-corruption, transient: true}
  policy: restart
  spares: 6
  repair: 12 h
  checkpoints:
    - {tier: host, interval: 5 min, mode: async}
    - {tier: peer, interval: 10 min, other-rack: true}
    - {tier: ssd, interval: 15 min, node-bandwidth: 5 GB/s}
    - {tier: storage, interval: 1 h, keep: 5}
  detection:
    - {symptom: crash, after: 30 s}
    - {symptom: hang, after: 10 min, diagnose: 2 min}
    - {symptom: silent-corruption, after: 1 h}
  stragglers: [{fault: {kind: slow-gpu, gpu: 3, slower: 50 %}, mtbf: 2 d, lasts: 3 h}]
  recovery: {requeue: 5 min, restart: 1 min, initialise: 20 s, per-rank: 1 ms, ranks: quadratic}
  maintenance: {every: 10 d, lasts: 1 h}
END

run
base=$(number goodput)
check "a campaign has a goodput between 0 and 1" 'below 0.5 "$base" && below "$base" 1'
# Student's t of one degree of freedom is 12.7: two seeds say hardly anything, and no share lies outside 0 to 100 %.
run --set campaign.seeds=2
check "an interval of a share stays in 0 to 1" '! below "$(number goodput_low)" 0 && ! below 1 "$(number goodput_high)"'
"$orrery" run small.yaml --db none --set campaign.seeds=2 > said 2>&1
check "two seeds are too few for an interval" 'grep -q "mean of 2 seeds: too few seeds for an interval; p5" said'
run
cp said first; run; sed 's/"wall_time_s": [0-9.e-]*//' said > again; sed 's/"wall_time_s": [0-9.e-]*//' first > once
check "the same seed gives the same answer" 'cmp -s again once'
if ! is_small; then
  full=$(goodput --set fidelity=full)
  check "replicas folded or not, the answer is the same" 'near "$full" "$base" 1e-6'
fi
sed 's/rate-per-hour: 0.02/rate-per-hour: 0.05/' small.yaml > more.yaml
"$orrery" run more.yaml --db none --json > said 2>&1
check "more failures lower goodput" 'below "$(number goodput)" "$base"'
check "lemons lower goodput" 'below "$(goodput --set "campaign.failures.lemons={fraction: 20 %, multiple: 5}")" "$base"'
lemons='campaign.failures.lemons={fraction: 20 %, multiple: 5}'
check "replacing lemons that failed raises it" 'below "$(goodput --set "$lemons")" "$(goodput --set "$lemons" --set "campaign.lemon-detection=90 %")"'
check "slower detection lowers goodput" 'below "$(goodput --set "campaign.detection=[{symptom: crash, after: 10 min}, {symptom: hang, after: 10 min}, {symptom: silent-corruption, after: 1 h}]")" "$base"'
is_small || check "slower restarts lower goodput" 'below "$(goodput --set campaign.recovery.initialise=10min)" "$base" && below "$(goodput --set "campaign.recovery.per-rank=1 s")" "$base"'
check "longer maintenance lowers goodput" 'below "$(goodput --set campaign.maintenance.lasts=10h)" "$base"'
for policy in requeue hot-update '{kind: warm-standby, wake-up: 30 s}' '{kind: shrink, most-lost: 2}' '{kind: replica-level, rejoin: 2 min}' reroute; do
  check "policy $policy" 'below 0.5 "$(goodput --set "campaign.policy=$policy")"'
done
# 720 saves a month of 4.7 s are 3,384 s, 0.13 % of it.
check "planning blocks each save" 'below "$(goodput --set campaign.checkpoints.3.planning=4.7s)" "$base"'
stall() { run --set "campaign.checkpoints=[{tier: $1, interval: 1 h, mode: sync, planning: $2}]" && number stall_s; }
short=$(stall storage 0s); long=$(stall storage 100s)
# Failures cut a few saves short.
check "a save with planning stalls as much longer" 'near "$(awk -v a="$long" -v b="$short" "BEGIN { print a - b }")" 100 1e-2'
# Adapters alone are saved, on every tier as many bytes: 16 x (in + out) of each matrix, 14 bytes each.
bytes() { "$orrery" run small.yaml --db bytes.db --set campaign.seeds=2 --set "workload.lora={rank: 16}" --set "campaign.checkpoints=[{tier: $1, interval: 1 h}]" > said 2>&1; "$orrery" query bytes.db "SELECT bytes FROM campaign_state WHERE state = 'checkpoint-$1'" | tail -n 1; rm -f bytes.db; }
check "a tier in memory holds what storage holds" 'near "$(bytes host)" "$(bytes storage)" 1e-9 && below "$(bytes host)" 1e9'
stall peer 0s > peer
check "a synchronous save to a peer warns of what is not modelled" 'grep -q "are not modelled" said'
nic() { goodput --set "campaign.stragglers=[{fault: {kind: nic, gpu: 3, bandwidth: $1 %}, mtbf: 12 h, lasts: 6 h}]"; }
if ! is_small; then
  quarter=$(nic 25); half=$(nic 50); whole=$(nic 99)
  check "a slow network card lowers goodput, a slower one more" 'below "$quarter" "$half" && below "$half" "$whole"'
fi
check "policy none stops at a failure" 'run --set campaign.policy=none; near "$(number stopped)" 1 1e-9'
check "a goal of tokens ends it" 'run --set campaign.tokens=1e9; below "$(number duration_s)" 86400 && below 0.99e9 "$(number tokens)"'
"$orrery" run small.yaml --db c.db --set campaign.seeds=3 > said 2>&1
check "the summary leads to the losses" 'grep -q "orrery query c.db campaign --run 1" said && grep -q "goodput" said'
sqlite() { "$orrery" query c.db "$1" > said 2>&1; tail -n 1 said | tr -d " "; }
check "effective and lost time add up" \
  'near "$(sqlite "SELECT r.effective_s + (SELECT sum(seconds) FROM campaign_loss) FROM campaign_result r")" "$(sqlite "SELECT duration_s FROM campaign_result")" 1e-6'
check "a row per seed, and states that were replayed" \
  'test "$(sqlite "SELECT count(*) FROM campaign_seed")" = 3 && test "$(sqlite "SELECT count(*) FROM campaign_state")" = 6'
check "views of losses and of the time line" \
  '"$orrery" query c.db campaign --run 1 > said && grep -q recompute said && "$orrery" query c.db campaign-timeline --run 1 > said && grep -q detect said'
"$orrery" run small.yaml --db c.db --set campaign.seeds=1 --trace c.json > said 2>&1
check "the time line as a trace: the phases fill the campaign's time" \
  'python3 -c "import json; e = [x for x in json.load(open(\"c.json\"))[\"traceEvents\"] if x[\"ph\"] == \"X\"]; assert abs(sum(x[\"dur\"] for x in e) / 30 / 86400e6 - 1) < 1e-6 and {\"load\", \"detect\", \"run\"} <= {x[\"cat\"] for x in e}"'
check "lost time over the campaign is the losses' sum, by phase" \
  'near "$(sqlite "SELECT sum(took_s - max(trained_s, 0)) FROM (SELECT phase, end_s - begin_s AS took_s, (tokens - lag(tokens, 1, 0) OVER (ORDER BY begin_s, end_s)) * (SELECT effective_s / tokens FROM campaign_result WHERE run_id = 2) AS trained_s FROM campaign_event WHERE run_id = 2) WHERE phase = \"slow\"")" "$(sqlite "SELECT sum(seconds) FROM campaign_loss WHERE run_id = 2 AND phase = \"slow\"")" 0.01'
# 128 sequences over 31 replicas: one micro-batch more for some is 5 for all, instead of 4.
"$orrery" run small.yaml --db b.db --set campaign.seeds=1 --set 'campaign.policy={kind: shrink, keep-batch: true}' > said 2>&1
missing() { "$orrery" query "$1" "SELECT ratio FROM campaign_state WHERE state = '1 replica missing'" > said 2>&1; tail -n 1 said; }
"$orrery" run small.yaml --db e.db --set campaign.seeds=1 --set 'campaign.policy={kind: shrink}' > said 2>&1
check "the whole batch on fewer replicas takes a micro-batch longer" 'near "$(missing b.db)" 1.25 0.01 && near "$(missing e.db)" 1.032 0.02'
check "corruption found after all sound checkpoints are gone is warned of" \
  'run --set campaign.seeds=1 --set "campaign.detection=[{symptom: crash, after: 1 s}, {symptom: hang, after: 1 s}, {symptom: silent-corruption, after: 6 h}]"; grep -q "warning: cosmic-ray corrupts silently and is found after 360 min, and the checkpoints that are kept reach back 240 min" said'
{ sed 's/seeds: 20/seeds: 4/' small.yaml; echo 'sweep: {axes: {campaign.spares: [0, 6]}, objective: maximize goodput}'; } > sweep.yaml
"$orrery" sweep sweep.yaml --db s.db > said 2>&1
check "a sweep finds that spares help" 'grep -A3 -w spares said | grep -q "spares=6"'

check "symptoms without detection are refused" 'refused --set "campaign.detection=[{symptom: crash, after: 1 s}]" && grep -q "hang" said'
check "a disk without bandwidth is refused" 'refused --set "campaign.checkpoints=[{tier: ssd, interval: 1 h}]" && grep -q node-bandwidth said'
check "a tier twice is refused" 'refused --set "campaign.checkpoints=[{tier: host, interval: 1 h}, {tier: host, interval: 2 h}]"'
check "a file system that the cluster lacks is refused" 'refused --set cluster.storage.servers=0 && grep -q cluster.storage said'
check "a symptom detected twice is refused" 'refused --set "campaign.detection=[{symptom: crash, after: 1 s}, {symptom: hang, after: 1 s}, {symptom: silent-corruption, after: 1 h}, {symptom: crash, after: 1 d}]" && grep -q "second detection of symptom .crash" said'
idle() { run --set campaign.seeds=1 "$@"; sed -n "s/.*warning: \(.*\) has no effect: .*/\1/p" said | tr -d "'" | sort | tr '\n' ';'; }
one='{component: gpu, rate-per-hour: 1e-3, scope: gpu, symptom: crash'
check "settings that change nothing are warned of" 'test "$(idle --set "campaign.failures.processes=[$one, transient: true, repair: 1 h, shape: 2, infant-for: 1 h}]" --set campaign.lemon-detection=1 --set "campaign.maintenance={lasts: 1 h}" --set campaign.recovery.per-rank=0s --set workload.checkpoint.every=9)" = "checkpoint.every (9);detection of symptom hang;detection of symptom silent-corruption;infant-for (1 h);keep (5);lemon-detection (1);maintenance.lasts (1 h);repair (1 h);shape (2);"'
check "a rate of 0 is refused, and says so" 'refused --set "campaign.failures.processes=[{component: gpu, rate-per-hour: 0, scope: gpu, symptom: crash}]" && grep -q "needs rate-per-hour above 0" said'
check "an unknown policy is refused" 'refused --set campaign.policy=requeu && grep -q "requeue" said'
check "an unknown set of failures is refused" 'refused --set campaign.failures=llama-3-54-day && grep -q "llama-3-54-days" said'
check "repairs of no length are refused" 'refused --set "campaign.repair=0 s" && grep -q "campaign.repair" said'
check "faults beside a campaign are refused" 'refused --set "faults=[{at: 1 s, fault: {kind: slow-gpu, gpu: 1}}]" && grep -q stragglers said'
check "more failures than can be simulated are refused" \
  'refused --set "campaign.stragglers=[{fault: {kind: slow-gpu, gpu: 3}, mtbf: 1 s, lasts: 1 s}]" --set campaign.seeds=100000 && grep -q "fewer seeds" said'
check "negative times are refused" 'refused --set "campaign.duration=-1 d"'
"$orrery" plan campaign small.yaml --set campaign.seeds=5 --set cluster.node.host-link-efficiency=100% > said 2>&1
check "advice on intervals, spares, policies and phases, each with the scenario's own" \
  'grep -q "checkpoints to peer every" said && grep -q "spare nodes (M/G/infinity" said && grep -q "  detection " said && test "$(grep -c " %  now" said)" = 6'
check "stalls at their upper ends choose an interval twice as long" \
  'grep -q "the last figure decides: .*(host 2.74 times as long" said && grep -A5 "^checkpoints to host" said | grep -q "^  150 s .* best" && grep -q "^  75 s  *95.67 %" said && grep -q "^  150 s  *95.66 %" said'
check "twice the interval of the file system is 2 h" 'grep -q "^  120 min" said'
"$orrery" plan campaign small.yaml --set campaign.seeds=5 --json > said 2>&1
check "advice as JSON" 'python3 -c "import json; a = json.load(open(\"said\")); b = [r for r in a[\"rows\"] if r[\"now\"]]; assert len(b) == 6 and all(r[\"gain\"] == 0 for r in b) and len(a[\"tiers\"]) == 4"'
check "advice tries intervals on both sides of Young's, or one further" 'python3 -c "import json
a = json.load(open(\"said\"))
for t in a[\"tiers\"]:
    v = [r[\"value\"] for r in a[\"rows\"] if r[\"topic\"] == \"checkpoints\" and r[\"subject\"] == t[\"tier\"]]
    assert v == sorted(v) and 7 <= len(v) <= 9 and (v[0] <= t[\"young_s\"] / 2 or len(v) > 7) and 2 * t[\"young_s\"] <= v[-1], t"'
"$orrery" plan campaign small.yaml --set campaign.seeds=5 --set "campaign.policy=requeue" --set "campaign.checkpoints=[{tier: storage, interval: 1 h}]" > said 2>&1
check "with one tier the expected ETTR stands beside the goodput" 'grep -q "E.ETTR. by its formula" said'
alone="--set cluster.nodes=1 --set cluster.gpus=4 --set workload.parallel.tp=4 --set workload.parallel.dp=1 --set workload.batch.global=4 --set campaign.seeds=2"
check "a job of one replica cannot lose one" 'refused $alone --set campaign.policy=shrink && grep -q "1 replica" said'
"$orrery" plan campaign small.yaml $alone > said 2>&1
check "advice names the policies that a job of one replica cannot have" 'test $? = 0 && test "$(grep -c "1 replica, needs" said)" = 3'
"$orrery" plan campaign megatron-sc21-1.7b > said 2>&1
check "advice without a campaign is refused" 'test $? = 2; grep -q "campaign" said'
"$orrery" list failures > said 2>&1
check "published failures are listed" 'grep -q "llama-3-54-days" said'
cut -d" " -f1 said > sets
if is_small; then sed -i 3q sets; fi
detection='campaign.detection=[{symptom: crash, after: 30 s}, {symptom: hang, after: 10 min}, {symptom: slow, after: 10 min}, {symptom: silent-corruption, after: 1 h}]'
for set in $(cat sets); do
  check "failures $set" 'below 0.3 "$(goodput --set "campaign.failures=$set" --set "$detection")"'
done
# Rare checkpoints: 10,000 days of one each five minutes are 58 million.
long="--set campaign.duration=10000d --set campaign.maintenance.every=0s"
rare='campaign.checkpoints=[{tier: storage, interval: 12 h}]'
# RSC-1: 6.5 failures per 1000 node-days. 8 nodes for 10,000 days: 520, and 200 of 20 seeds' are within 3 %.
if ! is_small; then
  run --set campaign.failures=rsc-1 --set "$detection" --set "$rare" $long
  check "RSC-1's node failures are those published" 'near "$(number failures)" 520 0.03'
  # With users' programs a job on 8 nodes fails 8 times as often as one on a node, every 47.7 days: 10,000 * 8 / 47.7.
  run --set campaign.failures=rsc-1-all-causes --set "$detection" --set "$rare" $long
  check "RSC-1's failures of all causes are those published" 'near "$(number failures)" 1677 0.03'
fi
# 8.03e9 parameters of 14 bytes over 64 GPUs, each with 76 % of 63 GB/s to its host: 36.69 ms.
run --set "campaign.checkpoints=[{tier: host, interval: 5 min}]" --set campaign.failures.processes.0.rate-per-hour=1e-5
check "a checkpoint to hosts makes the job wait for the copy of a shard" 'near "$(number stall_s)" 0.03669 0.002'
# An interval in a list has a path.
check "rarer checkpoints to the file system lower goodput" \
  'below "$(goodput --set "campaign.policy=requeue" --set campaign.checkpoints.3.interval=12h)" "$(goodput --set "campaign.policy=requeue")"'
{ sed 's/seeds: 20/seeds: 4/' small.yaml; echo 'sweep: {axes: {campaign.checkpoints.3.interval: [10 min, 1 h]}, objective: maximize goodput}'; } > often.yaml
"$orrery" sweep often.yaml --db o.db > said 2>&1
check "the interval is an axis of a sweep, and the next command shows losses" \
  'grep -q "2 of 2 points" said && grep -q "orrery query o.db campaign --run" said && "$orrery" query o.db campaign --run 2 > said'
"$orrery" query c.db "SELECT kind FROM run" > said 2>&1
check "a campaign's run is of kind campaign" 'grep -q campaign said'
check "a list where a section belongs is refused" 'refused --set "campaign=[1]" && grep -q "campaign" said'
echo "1..$n"
