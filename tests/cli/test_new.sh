#!/bin/sh
# test_new.sh ORRERY - starters of every kind pass the check, scenarios run, and values that are uncommented count. TAP.
set -u
orrery=$(realpath "$1") || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
n=0
check() { n=$((n + 1)); if eval "$2"; then echo "ok $n - $1"; else echo "not ok $n - $1"; sed 's/^/# /' said | head -n 20; fi; }
run() { "$orrery" "$@" > said 2>&1; status=$?; } # the checks below see $status, not $?
cd "$work" || exit 1

for workload in training serving collectives campaign cluster post-training; do
  "$orrery" new scenario --workload $workload -o of-$workload.yaml > said 2>&1
  check "new scenario --workload $workload passes the check" '"$orrery" check of-$workload.yaml > said 2>&1'
  run run of-$workload.yaml --db none
  check "new scenario --workload $workload runs" '[ $status -eq 0 ] && ! grep -q "does NOT fit" said'
done
"$orrery" new sweep -o swept.yaml > said 2>&1
run sweep swept.yaml --db none
check "new sweep runs" '[ $status -eq 0 ] && grep -q "objective     maximize tokens_per_s" said'
for document in cluster:dgx-h100-superpod device:h100-sxm model:deepseek-v3 prices:example profile:h100-sxm \
  scenario:gpt3-175b-1024-a100 stack:vllm-0.21 sweep:sft-llama-3.1-8b-8-h100; do
  kind=${document%%:*}
  "$orrery" new "$kind" --from "${document#*:}" --name ours -o "$kind.yaml" > said 2>&1
  check "new $kind --from ${document#*:} passes the check" '"$orrery" check $kind.yaml > said 2>&1'
done
sed 's/^# nodes: 128/nodes: 3/' cluster.yaml > changed.yaml
run describe cluster ./changed.yaml
check "a value that is uncommented counts" '[ $status -eq 0 ] && grep -q "3 nodes" said'

check "a file is not replaced" '! "$orrery" new scenario -o changed.yaml > said 2>&1 && grep -q "exists" said && grep -q "^nodes: 3" changed.yaml'
run new
check "no kind" '[ $status -eq 2 ] && grep -q "takes a kind" said'
run new thing
check "an unknown kind" '[ $status -eq 2 ] && grep -q "known: cluster, device" said'
run new device
check "a kind that needs --from" '[ $status -eq 2 ] && grep -q "needs --from NAME" said'
run new model --from llama-9
check "an unknown document" '[ $status -eq 2 ] && grep -q "unknown model" said'
run new scenario --workload mining
check "an unknown workload" '[ $status -eq 2 ] && grep -q "known: campaign, cluster, post-training, training, serving, collectives" said'
echo "1..$n"
