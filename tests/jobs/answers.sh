#!/bin/sh
# answers.sh ORRERY: what a cluster of jobs answers beyond times: windows, a job that is asked about, places and
# contention, failures, watts and money, its course over time. TAP.
orrery=$(realpath "$1") || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
n=0
check() { n=$((n + 1)); if eval "$2"; then echo "ok $n - $1"; else echo "not ok $n - $1"; sed 's/^/# /' said | head -n 20; fi; }
number() { sed -n "s/.*\"$1\": \([0-9.e+-]*\)[,}].*/\1/p" said | head -n 1; }
near() { awk -v a="$1" -v b="$2" -v e="$3" 'BEGIN { d = a / b - 1; exit !(d < e && d > -e) }'; }
query() { "$orrery" query c.db "$1" --csv | tail -n 1; }

# Two jobs of 8 GPUs, each an hour, on one node: the second waits for the first. 16 GPU-hours in 1 s of submissions are
# more than the node has.
cat > two.csv <<'END'
job_id,submit_s,duration_s,gpus,user,queue
1,0,3600,8,ann,a
2,1,3600,8,bob,b
END
cat > two.yaml <<'END'
schema: scenario/1
name: two jobs
cluster: {base: dgx-h100-superpod, nodes: 1}
workload: {kind: cluster, jobs: two.csv}
END
"$orrery" run two.yaml --db c.db --json > said 2>&1
check "means over an overloaded window are refused" 'grep -q "\"jct_mean_s\": null" said && [ "$(number jct_p50_s)" != null ]'
"$orrery" run two.yaml --db none > said 2>&1
check "and the summary says why" 'grep -q "mean not stated" said && grep -q "workload.window.overloaded" said'
check "GPU-hours add up to all" '[ "$(query "SELECT round(sum(gpu_hours), 6) = 16 FROM cluster_hours")" = 1 ]'
check "spans have nodes, begin and end" \
  '[ "$(query "SELECT group_concat(job || first_node || last_node || CAST(begin_s AS INTEGER)) FROM cluster_span")" = "\"1000,2003600\"" ]'
check "each queue held half of the time" \
  '[ "$(query "SELECT min(s) = max(s) FROM (SELECT sum(gpus) AS s FROM cluster_share WHERE grouping = '"'queue'"' GROUP BY name)")" = 1 ]'
# The demand over the second job's life of 7,199 s is 16 GPUs for 3,599 s and 8 for 3,600 s: 12 of 8.
check "rho is completion over the run time at an equal part" \
  'near "$(query "SELECT rho FROM cluster_job WHERE job = 2")" "$(awk "BEGIN { print 7199 / (3600 * (16 * 3599 + 8 * 3600) / 7199 / 8) }")" 1e-6'
check "without prices and steps there is neither money nor power" \
  '[ "$(query "SELECT gpu_power_mean_w IS NULL AND energy_kwh IS NULL AND cost_hardware IS NULL FROM cluster_result")" = 1 ]'
"$orrery" run two.yaml --db none --set workload.window.overloaded=true --json > said 2>&1
check "asked for, they are stated" 'near "$(number jct_mean_s)" 5399.5 1e-9'
"$orrery" run two.yaml --db none --set workload.window.warm-up=0.5 --json > said 2>&1
check "a window counts the jobs after the warm-up" '[ "$(number n_counted)" = 1 ] && near "$(number jct_mean_s)" 7199 1e-9'
"$orrery" run two.yaml --db none --set workload.window.cool-down=0.5 --json > said 2>&1
check "or those before the cool-down" '[ "$(number n_counted)" = 1 ] && near "$(number jct_mean_s)" 3600 1e-9'
"$orrery" run two.yaml --db none --set 'workload.ask={gpus: 4, work: 1 h, at: 10 min}' --json > said 2>&1
check "a job that is asked about starts when it would" '[ "$(number asked_start_s)" = 7200 ] && [ "$(number asked_wait_s)" = 6600 ]'
# With passes every 10 h the second job starts at 36,000 s, though a node is free: 11 h of 16 GPUs, not the next pass's 20.
passes() { "$orrery" run two.yaml --db none --set cluster.nodes=2 --set 'prices={currency: EUR, gpu-hour: 1}' --set "workload.policy={order: fifo, $1}" --json > said 2>&1; }
passes 'period: 10 h'
check "the machine is paid until the last end, not until the next pass" 'near "$(number makespan_s)" 39600 1e-9 && near "$(number cost_hardware)" 176 1e-9 && near "$(number utilization)" "$(awk "BEGIN { print 16 / 176 }")" 1e-4'
passes 'backfill: window, window: {interval: 1 h}'
check "nor until a window's" 'near "$(number makespan_s)" 3601 1e-9'
"$orrery" run two.yaml --db none --set prices=example --json > said 2>&1
check "a machine of known price costs, without its energy" '[ -n "$(number cost_hardware)" ] && grep -q "\"cost_energy\": null" said'
"$orrery" run two.yaml --db none --trace t.json > said 2>&1
check "the time line has both jobs" '[ "$(grep -c "\"ph\":\"X\"" t.json)" = 2 ] && grep -q "node 0" t.json'

# A table: 25 % slower under two leaves. One node each is under one.
cat > wide.csv <<'END'
job_id,submit_s,duration_s,gpus
1,0,1000,64
END
cat > wide.yaml <<'END'
schema: scenario/1
name: one wide job
cluster: {base: dgx-h100-superpod, nodes: 8, max-nodes: 8, fabric: {kind: fat-tree, levels: 2, radix: 48, oversubscription: 2}}
workload: {kind: cluster, jobs: wide.csv, speed: {kind: table, pod: 1.25}}
END
"$orrery" run wide.yaml --db none --json > said 2>&1
check "a table slows a gang under two leaves" '[ "$(number makespan_s)" = 1250 ] && near "$(number placement_slowdown)" 1.25 1e-9'

# Steps: three gangs of one node under each of four leaves, 8 cards each on 16 uplinks a leaf. The same three as `jobs`,
# replayed together on one fabric, out of step: a gang's mean load on the uplinks says what they cost each other.
model='model: qwen3-30b-a3b'
training='parallel: {ep: 16}, sequence: 4096, precision: bf16, recompute: full, optimizer: {kind: adam, sharding: zero-1}'
fabric='{base: dgx-h100-superpod, nodes: 16, max-nodes: 16, fabric: {kind: fat-tree, levels: 2, radix: 48, oversubscription: 2}}'
{
  echo "schema: scenario/1"; echo "name: together"; echo "cluster: $fabric"; echo "jobs:"
  for i in 0 1 2; do
    list=""
    for leaf in 0 1 2 3; do first=$(((leaf * 4 + i) * 8)); list="$list${list:+, }$first-$((first + 7))"; done
    start=$(awk "BEGIN { print $i * 0.6 + 0.1 * ($i > 1) }")
    echo "  - {name: j$i, start: $start s, gpus: 32, placement: {kind: explicit, gpus: [$list]}, $model, workload: {kind: training, stack: none, $training, batch: {global: 32, micro: 1}, steps: 10}}"
  done
} > together.yaml
"$orrery" run together.yaml --db none --json > said 2>&1
truth=$(sed -n 's/.*"job": "j1".*"slowdown": \([0-9.]*\).*/\1/p' said | head -n 1)
cat > one.yaml <<END
schema: scenario/1
name: one of three
cluster: $fabric
workload:
  kind: cluster
  jobs: spread.csv
  policy: {blocked: skip, placement: first-fit}
  speed: {kind: steps, jobs: [{from-gpus: 1, model: gpt3-1.3b, training: {batch: {global: 1, micro: 1}}}, {from-gpus: 16, $model, training: {batch: {global: 1, micro: 1}, $training}}]}
END
# Jobs of a node each; the jobs of nodes i, 4 + i, 8 + i, 12 + i end when gang i comes, which lasts to the end.
awk 'BEGIN {
  print "job_id,submit_s,duration_s,gpus"
  for (node = 0; node < 16; node++) print node ",0," (node % 4 == 3 ? 9000 : 10 + 10 * (node % 4)) ",8"
  for (i = 0; i < 3; i++) print 100 + i "," 5 + i ",1000,32"
}' > spread.csv
"$orrery" run one.yaml --db p.db > said 2>&1
slow=$("$orrery" query p.db "SELECT slowed_s / run_s + 1 FROM cluster_job WHERE job = '101'" --csv | tail -n 1)
echo "# contention: replayed together $truth, from mean loads $slow" | tee -a said
check "gangs beside each other slow as in a replay of them together, within 6 %" 'near "$slow" "$truth" 0.06 && awk "BEGIN { exit !($truth > 1.03) }"'
check "watts and energy are known where steps are" \
  '[ "$("$orrery" query p.db "SELECT gpu_power_mean_w > 1000 AND energy_kwh > 0 FROM cluster_result" --csv | tail -n 1)" = 1 ]'

# Trainings by the trace's models, with a stack or without: a gang has the watts of that training alone.
cat > models.csv <<'END'
job_id,submit_s,duration_s,gpus,model
1,0,1000,8,dense
2,0,1000,8,plain
3,0,1000,8,
4,0,1000,64,dense
END
shape='parallel: {tp: 8}, batch: {global: 4, micro: 1}, sequence: 4096, recompute: full'
cat > models.yaml <<END
schema: scenario/1
name: by model
cluster: $fabric
workload:
  kind: cluster
  jobs: models.csv
  speed:
    kind: steps
    jobs:
      - {for: [dense], model: llama-3.1-8b, training: {stack: megatron-core-26.06, $shape}}
      - {for: [plain], model: llama-3.1-8b, training: {$shape}}
      - {model: gpt3-1.3b, training: {batch: {global: 1, micro: 1}}}
END
"$orrery" run models.yaml --db m.db > said 2>&1
place() { "$orrery" query m.db "SELECT $1 FROM cluster_place WHERE model = '$2' AND gpus = $3" --csv | tail -n 1; }
for stack in megatron-core-26.06 none; do
  printf 'schema: scenario/1\nname: alone\ncluster: %s\njobs: [{name: a, gpus: 8, model: llama-3.1-8b, workload: {kind: training, stack: %s, %s}}]\n' \
    "$fabric" $stack "$shape" > alone.yaml
  "$orrery" run alone.yaml --db none --json > said 2>&1
  watts=$(number gpu_power_mean_w) name=$([ $stack = none ] && echo plain || echo dense)
  check "a gang of a model draws what its training draws, stack $stack" 'near "$(place watts $name 8)" "$watts" 1e-9'
  echo "$watts" >> watts
done
check "the stack makes a difference" '[ "$(sort -u watts | wc -l)" = 2 ]'
check "a model without an entry is that of none" 'awk "BEGIN { exit !($(place watts "" 8) > 1.05 * $(place watts dense 8)) }" && [ "$(place "count(*)" dense 64)" = 1 ]'
cat > table.yaml <<END
schema: scenario/1
name: table by model
cluster: $fabric
workload:
  kind: cluster
  jobs: models.csv
  speed: {kind: table, node: 1.5, gpu-power: 300 W, models: [{for: [dense, moe], node: 1.25, pod: 2, gpu-power: 400 W}]}
END
rm -f m.db; "$orrery" run table.yaml --db m.db > said 2>&1
check "a table has levels and watts by model" \
  '[ "$("$orrery" query m.db "SELECT group_concat(CAST(slowed_s AS INTEGER)) FROM cluster_job" --csv | tail -n 1)" = "\"250,500,500,1000\"" ] &&
   near "$("$orrery" query m.db "SELECT sum(energy_kwh) FROM cluster_job" --csv | tail -n 1)" "$(awk "BEGIN { print (8 * 400 * 1250 + 2 * 8 * 300 * 1500 + 64 * 400 * 2000) / 3.6e6 }")" 1e-5'

# Two policies side by side.
rm -f m.db; "$orrery" run two.yaml --db m.db > said 2>&1; "$orrery" run two.yaml --db m.db --set workload.policy.order=srtf --set 'workload.jobs=generate' --set 'workload.generate={n: 50}' > said 2>&1
"$orrery" compare m.db 1 2 > said 2>&1
check "compare has completion, utilisation and where GPU-hours went" \
  'grep -q "^jct_p50_s  *5399.5 " said && grep -q "^utilization " said && grep -Eq "^useful +7200 " said'

# Two elastic gangs that ask for 4 of 8 GPUs for 10 s: the first has 8 until the second comes at 2, then both have 4; the
# first ends at 8, the second with 8 GPUs at 10. Both ask for 40 GPU-s, and a third for 1 at 20: 81 of 8 x 20. Alone and
# with the 4 GPUs that they ask for they would take 10 s instead of 8, and the cluster has enough for both: rho 0.8.
cat > elastic.csv <<'END'
job_id,submit_s,duration_s,gpus,min_gpus,max_gpus
1,0,10,4,1,8
2,2,10,4,1,8
3,20,1,1,1,1
END
rm -f c.db; "$orrery" run two.yaml --set workload.jobs=elastic.csv --set workload.policy.elastic=equal --db c.db > said 2>&1
check "elastic gangs offer what they ask for" '[ "$(query "SELECT round(offered_load, 9) = 0.50625 FROM cluster_result")" = 1 ]'
check "and count as the gangs they ask for" \
  '[ "$(query "SELECT group_concat(name || CAST(n_jobs AS TEXT) || CAST(round(gpu_hours * 3600) AS INTEGER)) FROM cluster_size WHERE grouping = '"'gpus'"'")" = "\"111,4280\"" ]'
check "rho of an elastic gang goes by the GPUs it asks for" \
  '[ "$(query "SELECT group_concat(gpus || CAST(round(rho * 10) AS INTEGER)) FROM cluster_job")" = "\"48,48,110\"" ]'
check "elastic gangs that work all the time have an ETTR of 1" '[ "$(query "SELECT abs(ettr - 1) < 1e-9 FROM cluster_result")" = 1 ]'

# A job of 1,000 s is stopped at its limit of 100 s: 800 GPU-s of work that do not count, next to 80 that do.
cat > limit.csv <<'END'
job_id,submit_s,duration_s,gpus,limit_s
1,0,1000,8,100
2,5,10,8,100
END
for more in "" "--set workload.policy.rounds.length=1min" "--set workload.policy.elastic=equal"; do
  rm -f c.db; "$orrery" run two.yaml --set workload.jobs=limit.csv --db c.db $more > said 2>&1
  check "work that a time limit cuts off is not useful $more" \
    '[ "$(query "SELECT group_concat(CAST(round(gpu_hours * 3600) AS INTEGER)) FROM cluster_hours WHERE what IN ('"'useful', 'timed-out'"')")" = "\"80,800\"" ] && grep -q "a time limit stopped 1 of 2 jobs" said'
  check "nor is it effective training $more" '[ "$(query "SELECT abs(ettr - 10 / (SELECT sum(end_s - start_s) FROM cluster_job)) < 1e-9 FROM cluster_result")" = 1 ]'
done

# Job 2 waits for job 1, which no cluster of 8 GPUs can start, and job 3 for 2: both are left out.
printf 'job_id,submit_s,duration_s,gpus,after\n1,0,10,16,\n2,0,10,8,1\n3,0,10,8,2\n4,0,10,8,\n' > left.csv
rm -f c.db; "$orrery" run two.yaml --set workload.jobs=left.csv --db c.db > said 2>&1
check "jobs that wait for a job left out are left out" \
  'grep -q "left out with jobs that they wait for: 2" said && [ "$(query "SELECT n_jobs || n_left_out FROM cluster_result")" = 13 ]'

# Keys without their column or partner change nothing, and the answer says so.
unused() { # WORDS OPTION...
  words=$1
  shift
  "$orrery" run two.yaml --db none "$@" > said 2>&1
  check "said: $words" 'grep -q "warning .*$words" said'
}
for order in priority priority-preempt; do
  unused "order goes by priority and all jobs have the same" --set workload.policy.order=$order
done
unused "take goes by priority and all jobs have the same" --set workload.policy.preemption.take=lower-priority
unused "no job has min_gpus or max_gpus" --set workload.policy.elastic=equal
unused "between changes nothing" --set workload.policy.between=fair-share
unused "reclaim changes nothing" --set workload.policy.reclaim=over-quota
unused "window changes nothing" --set workload.policy.window.depth=1
unused "no job has cpus" --set workload.node-cpus=10
unused "no job has memory_gb" --set workload.node-memory=10GB
unused "on-failure changes nothing" --set workload.failures.on-failure=replace-node
unused "repair changes nothing" --set workload.failures.repair=1h
unused "scaling changes nothing" --set workload.policy.scaling=0.5
unused "kind-choice changes nothing" --set workload.policy.kind-choice=fastest
unused "generate changes nothing" --set workload.generate.n=5
"$orrery" run two.yaml --db none > said 2>&1
check "nothing is said of keys that have an effect" '! grep -Eq "changes nothing|all jobs have the same|no job has" said'
printf 'job_id,submit_s,duration_s,gpus,cpus\n1,0,10,1,200\n2,0,10,1,2\n' > cpus.csv
unused "1 jobs ask for more GPUs, CPUs or memory than the cluster has" --set workload.jobs=cpus.csv --set workload.node-cpus=112

# Failures
"$orrery" run two.yaml --db none --set 'workload.failures.set={processes: [{component: node, rate-per-hour: 2, scope: node, symptom: crash, repair: 1 min}]}' --set 'workload.policy.preemption={checkpoint: 5 min, restart: 1 min}' --json > said 2>&1
check "jobs that fail end later, and ETTR says so" '[ "$(number failures)" -gt 0 ] && awk "BEGIN { exit !($(number ettr) < 1 && $(number makespan_s) > 7200) }"'
cp said first; "$orrery" run two.yaml --db none --set 'workload.failures.set={processes: [{component: node, rate-per-hour: 2, scope: node, symptom: crash, repair: 1 min}]}' --set 'workload.policy.preemption={checkpoint: 5 min, restart: 1 min}' --json > said 2>&1
check "the same seed, the same failures" '[ "$(sed "s/\"wall_time_s.*//" first)" = "$(sed "s/\"wall_time_s.*//" said)" ]'
# Very many failures: two fifths of the time of all cases here, so not in a small run, as `make sanitize` asks for it.
if [ "${ORRERY_TEST_SIZE:-}" != small ]; then
  "$orrery" run two.yaml --db none --set 'workload.failures.set={processes: [{component: node, rate-per-hour: 3600, scope: node, symptom: crash, transient: true}]}' --set 'workload.policy.preemption={restart: 1 min, checkpoint: 1 h}' > said 2>&1
  status=$?
  check "jobs that can never end are given up, exit 1" '[ $status = 1 ] && grep -q "fail faster than they work" said'
fi
refuse() { # WORDS OPTION...
  words=$1
  shift
  "$orrery" run two.yaml --db none "$@" > said 2>&1
  status=$?
  check "refused: $words" '[ $status = 2 ] && grep -q "$words" said'
}
refuse "count sees no nodes" --set workload.policy.placement=count --set 'workload.speed={kind: table, pod: 2}'
refuse "no entry for model" --set 'workload.speed={kind: steps, jobs: [{for: [bert], model: gpt3-1.3b, training: {batch: {global: 1, micro: 1}}}]}'
refuse "its training needs" --set 'workload.speed={kind: steps, jobs: [{model: gpt3-175b, training: {batch: {global: 1, micro: 1}}}]}'
refuse "from-gpus: 1" --set 'workload.speed={kind: steps, jobs: [{from-gpus: 2, model: gpt3-1.3b, training: {batch: {global: 1, micro: 1}}}]}'
# Gavel's rounds on three kinds of GPUs: the mean completion time of these 400 jobs is 1.47 times as long when rounds are
# blind to kinds (88,457 s against 60,296 s).
"$orrery" run jobs-gavel-three-kinds --db none --json > said 2>&1
seeing=$(number jct_mean_s)
"$orrery" run jobs-gavel-three-kinds --db none --json --set workload.policy.rounds.allotment=max-min-blind > said 2>&1
check "rounds that see kinds of GPUs are faster than blind ones" 'near "$(number jct_mean_s)" "$(awk "BEGIN { print 1.47 * $seeing }")" 0.05'

echo "1..$n"
