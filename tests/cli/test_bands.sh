#!/bin/sh
# test_bands.sh ORRERY - error bands on the command line: validate --bands, rows that are held back, residuals that are
# old, and residuals of a user's library that are made to do damage. TAP.
set -u
orrery=$(realpath "$1") || exit 1
sets=$ORRERY_SHIPPED/scenarios/validation
shipped=$ORRERY_SHIPPED/calibration/residuals
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
n=0
check() { n=$((n + 1)); if eval "$2"; then echo "ok $n - $1"; else echo "not ok $n - $1"; sed 's/^/# /' said | head -n 20; fi; }
run() { "$orrery" "$@" > said 2>&1; status=$?; } # the checks below see $status, not $?
refuses() { run "$@"; [ $status -eq 2 ]; }
mkdir -p "$work/mine/calibration/residuals" "$work/mine/scenarios"
cd "$work" || exit 1
mine=mine/calibration/residuals

# --- The machine, whatever it is called ---

sed 's/^name: .*/name: ours/' "$ORRERY_SHIPPED/topologies/clusters/dgx-a100-superpod.yaml" > ours.yaml
band_of() { "$orrery" run megatron-sc21-1.7b --db none "$@" 2>&1 | sed -n 's/^  iteration  *[^(]*(/(/p'; }
named=$(band_of)
copied=$(band_of --set cluster.base=./ours.yaml --set cluster.max-nodes=64 --set 'cluster.power.rest-busy=3 kW')
other=$(band_of --set cluster.base=./ours.yaml --set 'cluster.node.nic-bandwidth=100 Gb/s')
echo "$named; $copied; $other" > said
check "a copied machine has the same band, another one has another" \
  '[ -n "$named" ] && [ "$named" = "$copied" ] && [ "$named" != "$other" ]'

# --- Watts and joules ---

"$orrery" run megatron-sc21-1.7b --db none --json --band 0.99 > said 2> problem; status=$?
check "watts stay below the boards' limit, and joules rest on them and the step" '[ $status -eq 0 ] && python3 -c "
import json
got = json.load(open(\"said\"))
assert got[\"gpu_power_mean_w\"] < got[\"gpu_power_mean_w_high\"] <= 32 * 400 * (1 + 1e-9)
assert got[\"gpu_power_mean_w_low\"] <= got[\"gpu_power_mean_w_expected\"] <= got[\"gpu_power_mean_w_high\"]
joules = [one for one in got[\"bands\"] if one[\"metric\"] == \"energy_j_per_token\"][0]
assert joules[\"rests_on\"] == \"iteration_time_s, gpu_power_mean_w\" and joules[\"quality\"] == \"weak\"
assert joules[\"low\"] < joules[\"value\"] < joules[\"high\"]
"'
"$orrery" run megatron-sc21-1.7b --db none > said 2>&1
check "the summary prints both" \
  'grep -q "^  energy .* J per token (0.0[0-9]* to 0.0[0-9]*; weak: no measured run of such work); GPUs draw .* kW (.* kW)" said'

# --- Own rows ---

band_width() { python3 -c "
import json
got = json.load(open('said'))
print(got['iteration_time_s_high'] / got['iteration_time_s_low'])"; }
printf 'label,workload.batch.global,measured.iteration_time_s\nmine,,3.5\n' > own.csv
"$orrery" run megatron-sc21-1.7b --db none --json > said 2> problem
before=$(band_width)
"$orrery" run megatron-sc21-1.7b --db none --json --rows own.csv > said 2> problem; status=$?
check "a row of this machine narrows the band" \
  '[ $status -eq 0 ] && python3 -c "assert 1 < $(band_width) and ($(band_width) - 1) < 0.7 * ($before - 1)"'
printf 'label,workload.batch.globl,measured.iteration_time_s\nmine,512,3.5\n' > own.csv
"$orrery" run megatron-sc21-1.7b --db none --rows own.csv > said 2>&1; status=$?
check "a column without a meaning is named" '[ $status -eq 2 ] && grep -q "own.csv:1:1: .*workload.batch.globl" said'
printf 'label,measured.iteration_time_s\nmine,3500\n' > own.csv
run run megatron-sc21-1.7b --db none --rows own.csv
check "a measurement in another unit is a warning" \
  '[ $status -eq 0 ] && grep -q "warning: own.csv:2: iteration_time_s is 3500 measured and 3.* simulated: .*unit" said'
cat > bench.json << 'END'
{"backend": "vllm", "max_concurrency": 4, "request_rate": "inf", "completed": 40, "failed": 1, "duration": 9, "mean_ttft_ms": 40,
 "mean_tpot_ms": 8, "total_input_tokens": 20480, "total_output_tokens": 2560, "request_throughput": 4.4}
END
"$orrery" import bench bench.json > bench.csv 2> problem
run run serving-llama-3.1-8b-h100 --db none --rows bench.csv \
  --set 'workload.load={kind: closed-loop, concurrency: 4}' --set workload.requests=40
check "rows as import bench writes them narrow bands" \
  'grep -q "^source,tool,.*rate_per_s,.*failed" bench.csv && [ $status -eq 0 ] && ! grep -q "bench.csv" said'
sed 's/"inf"/4/' bench.json > rate.json
"$orrery" import bench rate.json > rate.csv 2> problem
run run serving-llama-3.1-8b-h100 --db none --rows rate.csv \
  --set 'workload.load={kind: poisson, rate: 4}' --set workload.max-concurrency=4 --set workload.requests=40
check "a rate and a concurrency are a load with a limit" \
  'grep -q "^source,tool,model,concurrency,rate_per_s" rate.csv && [ $status -eq 0 ] && ! grep -q "rate.csv" said'
printf 'iteration       10/ 100 | elapsed time per iteration (ms): 3500.0 | throughput per GPU (TFLOP/s/GPU): 130.0 |
%.0s' 1 2 3 > steps.log
"$orrery" import bench steps.log > steps.csv 2> problem
run run megatron-sc21-1.7b --db none --rows steps.csv
check "so do rows of training" 'grep -q tflops_per_gpu steps.csv && [ $status -eq 0 ] && ! grep -q "steps.csv" said'
"$orrery" run megatron-sc21-1.7b --db none --narrow > said 2>&1
check "--narrow says what to measure" 'grep -q "measure .*2 steps of this very run.* of their width" said'
"$orrery" run flux-1-h100 --db none --narrow > said 2>&1
check "--narrow says what to measure of pictures" 'grep -q "measure .*2 batches of this very run.* of their width" said'
"$orrery" run rl-grpo-deepseek-v3-256-h100 --db none --narrow > said 2>&1
check "--narrow says why it names nothing" 'grep -q "measure .*nothing is known to narrow these bands: too few runs" said'

# --- What bands promise ---

run validate --bands --pairs 0 korthikanti-layers megatron-sc21
check "a line for each set, and sums" \
  '[ $status -eq 0 ] && grep -q "^  korthikanti-layers  *10 " said && grep -q "^  training steps  *20 " said'
"$orrery" validate --bands --json --pairs 3 korthikanti-layers > said
check "JSON has the same" 'python3 -c "
import json
got = json.load(open(\"said\"))
assert got[\"left_out\"] == \"set\" and got[\"stale\"] is None
assert got[\"sets\"][0][\"answers\"] == 10 and len(got[\"sums\"]) == 14
assert got[\"sets\"][0][\"good\"] + got[\"sets\"][0][\"weak\"] + got[\"sets\"][0][\"none\"] == 10
assert got[\"pairs\"][\"sets\"][0][\"pairs\"] == 3
inside = [row[\"low_80\"] <= row[\"measured\"] <= row[\"high_80\"] for row in got[\"rows\"]]
assert abs(sum(inside) / len(inside) - got[\"sets\"][0][\"coverage_80\"]) < 1e-9
"'
run validate --bands --rows "$sets/korthikanti-layers.csv" korthikanti-layers
check "rows of a file are replayed and asked, and nothing is left out" \
  '[ $status -eq 0 ] && grep -q "10 measured answers, each asked with nothing left out" said && [ ! -e orrery.db ]'
sed 's/7\.7/77/' "$sets/korthikanti-layers.csv" > wrong.csv
run validate --bands --rows wrong.csv --pairs 0 korthikanti-layers
check "measurements outside are listed" 'grep -q "^  outside, line 5, .*layer_forward_s measured 0.077, band 0.00" said'
check "--leave takes three words" 'refuses validate --bands --leave sets && grep -q "did you mean .set" said'
check "rows of a file have no row of the set to leave out" \
  'refuses validate --bands --leave row --rows "$sets/korthikanti-layers.csv" korthikanti-layers'
check "--leave is of bands alone" 'refuses validate --leave row && grep -q "needs --bands" said'
check "sets of costs have no bands" 'refuses validate --bands gemm && grep -q "no row of validation set gemm" said'
check "--residuals needs a folder before it replays anything" \
  'refuses validate --residuals missing && grep -q "takes a folder, found missing" said'

# --- Residuals that are old ---

cat > mine/scenarios/small.yaml <<END
schema: scenario/1
name: small
cluster: {base: dgx-h100-superpod, nodes: 1, gpus: 8}
model: llama-3-8b
workload: {kind: training, stack: none, parallel: {tp: 2, pp: 1, dp: 4}, batch: {global: 8, micro: 1}}
END
small() { run --library mine run small --db small.db; }
"$orrery" validate korthikanti-layers --db none > said 2>&1
check "fresh residuals are not mentioned" '! grep -q residuals said'
sed '/^korthikanti-layers,6,/s/layer_forward_s:\([^:]*\):/&9/' "$shipped/training.csv" > "$mine/training.csv"
run --library mine validate korthikanti-layers --db none
check "a validation says which rows have moved" \
  'grep -q "1 of 5 rows of korthikanti-layers differs from mine/calibration/residuals/training.csv" said'
sed 's/^# model-revision: .*/# model-revision: 1/' "$shipped/training.csv" > "$mine/training.csv"
small
check "a run warns of residuals of another revision" \
  '[ $status -eq 0 ] && tr -s "\n " " " < said | grep -q "error bands are stale: their measured rows were simulated with revision 1 of"'
run --library mine validate --bands --pairs 0 korthikanti-layers
check "so does the test of bands" 'grep -q "^orrery: error bands are stale" said'

# --- make residuals: all sets of a shipped tree, here one of two small sets ---

mkdir -p tree/scenarios/validation out
for folder in topologies models calibration workloads; do ln -s "$ORRERY_SHIPPED/$folder" tree/$folder; done
ship() { cp "$sets/$1".* tree/scenarios/validation; }
residuals() { ORRERY_SHIPPED=$work/tree "$orrery" validate --db none --residuals out > said 2>&1; status=$?; }
ship korthikanti-layers
ship serving-vllm-llama-3.1-8b
residuals
check "writes a file for each kind of workload" \
  '[ $status -eq 0 ] && [ "$(ls out | tr "\n" " ")" = "collectives.csv diffusion-training.csv diffusion.csv errors.csv post-training.csv recommendation.csv serving.csv training.csv " ]'
rows_of() { sed 1,3d "$2" | grep "^$1,"; }
check "with the rows of the sets, as they are shipped" \
  '[ "$(rows_of korthikanti-layers out/training.csv)" = "$(rows_of korthikanti-layers "$shipped/training.csv")" ] &&
   [ "$(rows_of serving-vllm-llama-3.1-8b out/serving.csv)" = "$(rows_of serving-vllm-llama-3.1-8b "$shipped/serving.csv")" ] &&
   [ "$(sed 1,3d out/serving.csv | wc -l)" -eq 1 ]'
echo old > out/training.csv
sed -i '1,/^[^#]/s/^\([^#]\)/no-such-column,\1/' tree/scenarios/validation/serving-vllm-llama-3.1-8b.csv
residuals
check "a set that is wrong: an error, and nothing is written" \
  '[ $status -ne 0 ] && grep -q no-such-column said && [ "$(cat out/training.csv)" = old ] && [ "$(ls out | wc -l)" -eq 8 ]'

# --- Residuals made to do damage ---

hostile() { # NAME [WHAT]: whatever the library's residuals hold, a run answers; WHAT is how it warns
  small
  warned=${2:-iteration}
  check "$1" '[ $status -eq 0 ] && grep -q "^  iteration " said && tr -s "\n " " " < said | grep -q "$warned"'
}
header() { head -n 3 "$shipped/training.csv"; }
row() { sed -n 4p "$shipped/training.csv"; }
: > "$mine/training.csv"
hostile "no bytes"
head -c 5000 "$shipped/training.csv" > "$mine/training.csv"
hostile "half a row" "warning no error bands: mine/calibration/residuals/training.csv:[0-9]*: "
head -c 100000 /dev/urandom > "$mine/training.csv"
hostile "random bytes" "no error bands: .*training.csv: not UTF-8 text"
{ header; row; printf 'a\0b\n'; } > "$mine/training.csv"
hostile "a NUL" "no error bands: .*training.csv: not UTF-8 text"
{ header; yes "$(row)" | head -n 20000; } > "$mine/training.csv"
hostile "too many rows" "no error bands: .*training.csv:10004: found more than 10000 rows"
{ header; yes "$(row | sed 's/layer_forward_s:[^ ]*/iteration_time_s:1e-300:1e300/')" | head -n 100; } > "$mine/training.csv"
hostile "errors beyond all numbers"
{ header; row | sed 's/,dense,/,%s%n%s;$(touch pwned)'\'';DROP TABLE run;,/'; } > "$mine/training.csv"
hostile "texts that are commands"
yes x | head -c 20000000 > "$mine/training.csv"
hostile "more bytes than a document may have" "no error bands: .*training.csv"
rm "$mine/training.csv"
mkfifo "$mine/training.csv"
small
check "a pipe is not read: the shipped file is" '[ $status -eq 0 ]'
rm "$mine/training.csv"
escape=$(printf '\033')
sed "4,\$s/^\([^,]*,[^,]*,[^,]*\),/\1,${escape}[31m/" "$shipped/training.csv" > "$mine/training.csv"
rm -f small.db
small
"$orrery" query small.db 'SELECT label FROM band_source' > said 2>&1
check "labels with control characters are printed harmlessly" '! grep -q "$escape" said && grep -q "31m" said'
check "nothing was run" '[ ! -e pwned ]'

# --- Residuals that nobody has ---

mkdir -p bare/calibration
for folder in models topologies workloads scenarios; do ln -s "$ORRERY_SHIPPED/$folder" bare/; done
for folder in "$ORRERY_SHIPPED"/calibration/*; do ln -s "$folder" bare/calibration/; done
rm bare/calibration/residuals
rm -f small.db
ORRERY_SHIPPED=$work/bare "$orrery" run "$work/mine/scenarios/small.yaml" --db small.db > said 2>&1
status=$?
check "a library without any answers without bands, and does not warn" \
  '[ $status -eq 0 ] && grep -q "^  iteration .* (no band: nothing like it was measured)" said && ! grep -qi "warning.*bands" said'
"$orrery" query small.db "SELECT count(*) > 0, count(low), sum(quality <> 'none') FROM band" --csv > said 2>&1
check "which the database says" '[ "$(tail -n 1 said)" = "1,0,0" ]'
"$orrery" query small.db bands --csv > said 2>&1
check "and the view, in a row without a measured one" '[ "$(wc -l < said)" = 2 ] && grep -q "nothing like it was measured" said'
"$orrery" report small.db -o page.html > said 2>&1
check "and the report" 'grep -q "nothing like it was measured" page.html'
"$orrery" sweep sweep-slices-512-tpu-v4 --db slices.db > said 2>&1
check "answers whose own bands do not meet are not tied" '! grep -q "statistically tied$\|statistically tied  " said && grep -q "worse: .* shape 4x8x16" said'
echo "1..$n"
