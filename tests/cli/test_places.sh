#!/bin/sh
# test_places.sh ORRERY - a relative path of the command line counts from the working directory, one in a document from
# the document's folder; what a verb writes elsewhere says its paths so that it runs from there. TAP.
set -u
orrery=$(realpath "$1") || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
n=0

ok() { n=$((n + 1)); echo "ok $n - $1"; }
not_ok() { n=$((n + 1)); echo "not ok $n - $1"; [ -f said ] && cut -c -200 said | sed "s/^/# /" | head -n 20; }
check() { if eval "$2"; then ok "$1"; else not_ok "$1"; fi; }

mkdir -p machines jobs out
printf 'schema: cluster/1\nname: mine\nbase: dgx-h100-superpod\ndevice: h200-sxm\n' > machines/mine.yaml
echo 'vllm serve meta-llama/Llama-3.1-8B' > jobs/serve.sh
"$orrery" run --from-launch jobs/serve.sh --cluster ./machines/mine.yaml --db none > said 2>&1
check "run --from-launch takes a cluster of the working directory" '[ $? -eq 0 ] && grep -q "h200-sxm) of mine" said'
"$orrery" import launch jobs/serve.sh --cluster ./machines/mine.yaml -o jobs/x.yaml > said 2>&1
check "import launch -o rewrites the path for its folder, and keeps comments" \
  '[ $? -eq 0 ] && grep -q "base: ../machines/mine.yaml  # --cluster" jobs/x.yaml'
"$orrery" run jobs/x.yaml --db none > said 2>&1
check "and what it wrote runs" '[ $? -eq 0 ] && grep -q "h200-sxm) of mine" said'
(cd jobs && "$orrery" run x.yaml --db none) > said 2>&1
check "from its own folder, too" '[ $? -eq 0 ] && grep -q "h200-sxm) of mine" said'
"$orrery" import launch jobs/serve.sh --cluster ./machines/mine.yaml -o x.yaml > said 2>&1
check "a path is as it was typed where both folders are one" 'grep -q "base: ./machines/mine.yaml  # --cluster" x.yaml'
mkdir -p real/deep
ln -s real/deep linked
"$orrery" import launch jobs/serve.sh --cluster ./machines/mine.yaml -o linked/x.yaml > said 2>&1
(cd linked && "$orrery" run x.yaml --db none) > said 2>&1
check "into a folder that is a link: absolute, since .. leads to two places" \
  '[ $? -eq 0 ] && grep -q "base: $work/machines/mine.yaml" real/deep/x.yaml'

asked="--model llama-3.1-8b --cluster ./machines/mine.yaml"
"$orrery" plan gpus $asked --tokens 100G --days 400 --db none > said 2>&1
check "plan gpus finds the cluster although its sweep is written elsewhere" \
  '[ $? -eq 0 ] && grep -q "in time" said && ! grep -q "no layout" said'
"$orrery" plan gpus --model llama-3.1-8b --cluster ./machines/none.yaml --tokens 100G --days 400 --db none > said 2>&1
check "a missing file is an error with its name, not a layout that does not fit" \
  '[ $? -eq 2 ] && grep -q "machines/none.yaml: error: cannot be read" said && ! grep -q "no layout" said'
"$orrery" plan gpus $asked --tokens 100G --days 400 --db none --set workload.batch.micro=nonsense > said 2>&1
check "a value that cannot be read is that error" '[ $? -eq 2 ] && grep -q nonsense said && ! grep -q "no layout" said'
# 141 GB of an H200 hold no training of 405 billion parameters in 1, 2, 4 nodes: 405e9 x 18 B = 7.3 TB > 4 x 8 x 141 GB.
if [ "${ORRERY_TEST_SIZE:-}" != small ]; then # the longest case, left out under sanitizers
  "$orrery" plan gpus --model llama-3.1-405b --cluster ./machines/mine.yaml --tokens 1G --days 4000 --batch-tokens 256k --db none > said 2>&1
  check "memory alone is said to be what does not fit" 'grep -q "no layout fits" said && ! grep -q "can run" said'
fi
"$orrery" plan training $asked --gpus 8 --db none -o out/plan.yaml > said 2>&1
check "plan training -o elsewhere" '[ $? -eq 0 ] && grep -q "base: ../machines/mine.yaml" out/plan.yaml'
(cd out && "$orrery" run plan-best.yaml --db none) > said 2>&1
check "its best point runs from there" '[ $? -eq 0 ] && grep -q "h200-sxm) of mine" said'
"$orrery" plan serving $asked --gpus 1 --input 500 --output 50 --ttft 1s --tpot 50ms --precision bf16 --kv-cache bf16 \
  --aggregated --db none -o out/serving.yaml > said 2>&1
check "plan serving -o elsewhere" '[ $? -eq 0 ] && grep -q "../machines/mine.yaml" out/serving.yaml'
"$orrery" run out/serving.yaml --db none > said 2>&1
check "and its scenario runs" '[ $? -eq 0 ] && grep -q "h200-sxm) of mine" said'
"$orrery" new cluster --from ./machines/mine.yaml --name other -o out/other.yaml > said 2>&1
check "new --from a file, into another folder" '[ $? -eq 0 ] && "$orrery" describe cluster ./out/other.yaml > said 2>&1'

# --- a trace: three requests here, one in the folder of the scenario
printf 'arrival_s,input_tokens,output_tokens\n0,100,2\n1,100,2\n2,100,2\n' > t.csv
printf 'arrival_s,input_tokens,output_tokens\n0,100,2\n' > out/t.csv
printf '%s\n' 'schema: scenario/1' 'name: traced' 'cluster: {base: dgx-h100-superpod, nodes: 1, gpus: 1}' \
  'model: llama-3.1-8b' 'workload:' '  kind: serving' '  load: {kind: csv, file: t.csv}' > out/s.yaml
"$orrery" run out/s.yaml --db none --json > said 2>&1
check "a trace that the document names is of its folder" 'grep -q "\"completed\": 1," said'
"$orrery" run out/s.yaml --db none --json --set workload.load.file=t.csv > said 2>&1
check "a trace of --set is of the working directory" 'grep -q "\"completed\": 3," said'
"$orrery" run out/s.yaml --db none --json --set 'workload.load={kind: csv, file: ./t.csv}' > said 2>&1
check "in a map, too" 'grep -q "\"completed\": 3," said'
echo "1..$n"
