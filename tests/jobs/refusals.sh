#!/bin/sh
# refusals.sh ORRERY: what a cluster of jobs refuses, each with its words and status 2. TAP.
orrery=$1 n=0
refuse() { # WORDS OPTION...
  words=$1 n=$((n + 1))
  shift
  found=$("$orrery" run jobs-itp-64-a100 "$@" 2>&1)
  status=$?
  case $status:$found in
  2:*"$words"*) echo "ok $n - $words" ;;
  *) echo "not ok $n - $words"; echo "# $status: $found" ;;
  esac
}
refuse "there is no promise that backfill could keep" --set workload.policy.order=srtf --set workload.policy.backfill=easy
refuse "knows no quotas" --set workload.policy.backfill=conservative --set 'workload.policy.queues=[{name: c01}]'
refuse "want between order" --set workload.policy.order=srtf --set 'workload.policy.queues=[{name: c01}]' \
  --set workload.policy.between=fair-share
refuse "policy.backfill easy goes without policy.reclaim" --set workload.policy.backfill=easy --set 'workload.policy.queues=[{name: c01, reclaim: over-quota}]'
refuse "policy.order srtf goes without policy.reclaim" --set workload.policy.order=srtf --set workload.policy.preemption.take=lower-priority
refuse "choose one of" --set workload.policy.blocked=skip --set workload.policy.backfill=conservative
refuse "takes no faults" --set 'faults=[{fault: {kind: slow-gpu, gpu: 0, slower: 2}, at: 1 s}]'
refuse "it is a device, not a file" --set workload.jobs=/dev/zero
refuse "did you mean 'sjf'" --set workload.policy.order=sfj
refuse "no job of workload.queue" --set workload.queue=none
refuse "want backfill none, or an order" --set workload.policy.order=tiresias --set workload.policy.backfill=window
refuse "there is no queue b to be its parent" --set 'workload.policy.queues=[{name: a, parent: b}]'
refuse "its parents form a circle" --set 'workload.policy.queues=[{name: a, parent: b}, {name: b, parent: a}]'
refuse "there are two queues a" --set 'workload.policy.queues=[{name: a}, {name: a}]'
refuse "jobs of queue 'c01'" --set 'workload.policy.queues=[{name: a}]'
refuse "goes with one kind of GPU" --set workload.policy.elastic=equal --set 'workload.kinds=[{name: a, nodes: 4}, {name: b, nodes: 4}]'
refuse "kinds have 32 GPUs and the cluster 64" --set 'workload.kinds=[{name: a, nodes: 4}]'
refuse "found 'oldest', want borrowing" --set 'workload.policy.preemption.victims=[oldest]'
refuse "goes without backfill" --set 'workload.policy.rounds.length=1 min' --set workload.policy.backfill=easy
refuse "charges restarts and no checkpoints" --set 'workload.policy.rounds.length=1 min' \
  --set 'workload.policy.preemption.checkpoint-cost=1 s'
for with in order=sjf order=srtf placement=count placement=nearest blocked=skip kind-choice=fastest 'period=1 min' depth=2; do
  refuse "want order fifo, placement first-fit, blocked wait" --set 'workload.policy.rounds.length=1 min' \
    --set "workload.policy.$with"
done
for with in 'checkpoint=1 min' 'min-run=1 min' mode=cancel charge=events; do
  refuse "with all its work kept" --set 'workload.policy.rounds.length=1 min' --set "workload.policy.preemption.$with"
done
refuse "want one for each" --set workload.jobs=generate --set 'workload.generate={gpus: [1, 2], weights: [1]}'
refuse "want queues or preemption.take with it" --set workload.policy.preemption.consolidate=4
refuse "want workload.throughputs" --set workload.jobs=generate --set 'workload.generate={models: throughputs}'
refuse "does not draw lognormal" --set workload.jobs=generate --set 'workload.generate={numbers: python}'
refuse "throughputs are by kind of GPU" --set workload.throughputs=none.csv
for with in backfill=conservative backfill=window elastic=equal rounds.length=1min; do
  refuse "knows neither node-cpus nor node-memory" --set "workload.policy.$with" --set workload.node-cpus=96
done
# What does not go together besides passes (cluster_refuse.c).
table='workload.speed={kind: table, pod: 2}' kinds='workload.kinds=[{name: a, nodes: 4}, {name: b, nodes: 4}]'
failures='workload.failures.set={processes: [{component: node, rate-per-hour: 1, scope: node, symptom: crash}]}'
refuse "it goes without speed by place" --set "$table" --set 'workload.policy.rounds.length=1 min'
refuse "it goes without failures" --set "$failures" --set 'workload.policy.rounds.length=1 min'
refuse "speed by place wants nodes with as many GPUs as" --set "$table" \
  --set 'workload.kinds=[{name: a, nodes: 8, gpus: 4}, {name: b, nodes: 4}]'
for placement in cubes blocks; do
  refuse "takes any free node, and policy.placement has shapes" --set "$failures" \
    --set workload.failures.on-failure=replace-node --set workload.policy.placement=$placement
done
refuse "not one of whole cubes" --set "$failures" --set workload.failures.on-failure=shrink \
  --set workload.policy.placement=cubes
refuse "restarts all jobs at every event" --set "$table" --set workload.policy.preemption.charge=events
refuse "want fewest-domains" --set "$kinds" --set workload.policy.placement=nearest
echo "1..$n"
