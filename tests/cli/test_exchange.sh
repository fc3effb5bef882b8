#!/bin/bash
# test_exchange.sh ORRERY - files for other simulators are written and read back: ASTRA-sim's network, system and layers,
# flows for htsim with the completion times of its log.
set -u
orrery=$(realpath "$1") || exit 2
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
n=0
ok() { n=$((n + 1)); if [ "$1" = 0 ]; then echo "ok $n - $2"; else echo "not ok $n - $2"; fi; }
near() { awk -v a="$1" -v b="$2" -v share="$3" 'BEGIN { exit !(a > 0 && b > 0 && (a > b ? a - b : b - a) <= share * b) }'; }

# ASTRA-sim
"$orrery" describe cluster dgx-h100-superpod --as astra-sim > network.yml && "$orrery" describe cluster dgx-h100-superpod --as astra-sim-system > system.json
ok $? "a cluster is written as network.yml and system.json"
"$orrery" import exchange network.yml system.json --device h100-sxm -o read.yaml 2> err && "$orrery" check read.yaml > out && grep -q 'algorithm: ring' read.yaml &&
  grep -q 'scale-up-domain: 8' read.yaml
ok $? "both are read back as a scenario of rings on the same domains"

# Layers: data parallelism, and tensor parallelism
job() { # TP DP FILE
  cat > job.yaml <<END
schema: scenario/1
name: a small step
cluster: {base: dgx-h100-superpod, nodes: 2}
model: {base: llama-3.1-8b, layers: 4}
workload:
  kind: training
  parallel: {tp: $1, tp-comm-overlap: none, pp: 1, dp: $2, cp: 1, ep: 1}
  batch: {global: $2, micro: 1}
  precision: bf16
  optimizer: {kind: adam, sharding: none}
END
  "$orrery" run job.yaml --db none --trace "$3" --json > job.json 2> err
}
replay() { # FILE: seconds of the layers replayed on the same machine
  printf 'schema: scenario/1\nname: layers\ncluster: {base: dgx-h100-superpod, nodes: 2}\nworkload: {kind: trace, file: %s}\n' "$1" > layers.yaml
  "$orrery" run layers.yaml --db none --json 2> err | sed -n 's|.*"time_s": *\([0-9.e+-]*\).*|\1|p' | head -1
}
for layout in "1 16" "8 2"; do
  read -r tp dp <<< "$layout"
  job "$tp" "$dp" "layers$tp.txt"
  ok $? "a step of tp $tp, dp $dp is written as layers: $(grep -v warning err | head -c 200)"
  written=$(sed -n '1s|.*"iteration_time_s": *\([0-9.e+-]*\).*|\1|p' job.json)
  again=$(replay "layers$tp.txt")
  near "$again" "$written" 0.08 # collectives of the model group that run next to kernels are written as awaited
  ok $? "read back they take $again s, the step took $written"
done

# htsim: each flow's line as its programs print it; one flow takes twice as long as here
job 1 16 step.cm
ok $? "a step is written as a connection matrix"
flows=$(($(wc -l < step.flows.csv) - 1))
[ "$flows" -gt 0 ] && [ "$(sed -n 2p step.cm)" = "Connections $flows" ] && [ "$(grep -c '^[0-9]*->[0-9]* id [0-9]* start [0-9]* size [0-9]*$' step.cm)" = "$flows" ]
ok $? "the matrix has the $flows flows of the table"
awk -F, 'NR > 1 { end = NR == 2 ? $5 + 2 * ($6 - $5) : $6
  if (NR % 3 == 0) printf "Flow Roce_%d_%d %d finished at %.6f total bytes %d\n", $2, $3, 1000000000 + NR, end, $4
  else printf "Flow Uec_%d_%d flowId %d uecSrc %d finished at %.6f total messages 1 total packets 9 RTS 0 total bytes %d in_flight now 0\n", $2, $3, $1, NR, end, $4 }' \
  step.flows.csv > htsim.log
"$orrery" import flows htsim.log step.flows.csv -o both.csv 2> err && grep -q "orrery: $flows of $flows flows finished" err
ok $? "a log of htsim gives every flow its time: $(head -c 200 err)"
[ "$(sed -n '2s/.*,//p' both.csv)" = 2.0000 ] && [ "$(grep -c ',1.0000$' both.csv)" = $((flows - 1)) ]
ok $? "the flow that took twice as long is found, the others took as long as here"
echo 'Flow Uec_999_0 flowId 1 uecSrc 0 finished at 3 total' > wrong.log
! "$orrery" import flows wrong.log step.flows.csv > out 2> err && grep -q 'wrong.log:1:1: expected a flow of the table' err
ok $? "a flow that was not sent is an error with its line"
! "$orrery" import flows step.cm step.flows.csv > out 2> err && grep -q "no line 'Flow" err
ok $? "a file without completion times is an error"
! "$orrery" import flows htsim.log step.cm > out 2> err && grep -q 'step.cm:1:1: expected id,src' err
ok $? "a table of another format is an error with its place"
echo "1..$n"
