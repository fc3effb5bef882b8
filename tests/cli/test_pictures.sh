#!/bin/sh
# test_pictures.sh ORRERY - compare, plot and report as their user has them: every plot drawn, the page opened in a
# browser, its figures held against the database's. TAP. What needs gnuplot or chromium is skipped where they are not.
set -u
orrery=$(realpath "$1") || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
n=0

ok() { n=$((n + 1)); echo "ok $n - $1"; }
not_ok() { n=$((n + 1)); echo "not ok $n - $1"; [ -f said ] && sed 's/^/# /' said | head -n 20; }
check() { if eval "$2"; then ok "$1"; else not_ok "$1"; fi; }
skip() { n=$((n + 1)); echo "ok $n - $1 # SKIP $2"; }

# gnuplot's other kinds of pictures are drawn by the same code: a small run, as `make sanitize` asks for it, has SVG alone.
is_small() { [ "${ORRERY_TEST_SIZE:-}" = small ]; }

scenario=megatron-sc21-39b
"$orrery" run $scenario --db r.db > said 2>&1 || not_ok "run"
"$orrery" run $scenario --set workload.parallel.tp=4 --set workload.parallel.dp=64 --db r.db --spans none > said 2>&1 || not_ok "second run"

# --- compare
"$orrery" compare r.db 1 2 > said 2>&1
check "compare prints the input that differs" 'grep -Eq "^workload.parallel.tp +8 +4$" said'
change=$("$orrery" query r.db "SELECT 100.0 * (b.mfu / a.mfu - 1) FROM training_result a, training_result b WHERE a.run_id = 1 AND b.run_id = 2" --csv | tail -n 1)
"$orrery" query r.db compare-results --run 2 --param other=1 --csv > said 2>&1
check "the change is that of the results" \
  'awk -F, -v want="$change" "\$1 == \"mfu\" && (\$4 - want) ^ 2 < 1e-18 { found = 1 } END { exit !found }" said'
"$orrery" compare r.db 1 1 > said 2>&1
check "a run compared with itself is refused" '[ $? -ne 0 ] && grep -q "two different runs" said'
"$orrery" compare r.db 1 7 > said 2>&1
check "a run that is not there is named" 'grep -q "there is no run 7" said'
"$orrery" compare r.db 1 x > said 2>&1
check "a word that is not a run is named, exit 2" '[ $? -eq 2 ] && grep -q "is not the number of a run" said'

# --- what a link carries over time adds up to what it carries
"$orrery" query r.db "SELECT max(abs(t.bytes / u.bytes - 1)) < 1e-9 AND count(*) = 8 FROM link_use u JOIN
  (SELECT link, sum(bytes) AS bytes FROM link_time WHERE run_id = 1 GROUP BY link) t USING (link) WHERE u.run_id = 1" --csv \
  --run 1 > said 2>&1
check "the parts of link_time add up to link_use" '[ "$(tail -n 1 said)" = 1 ]'

# --- plot: each name as SVG, PNG and letters, from a database that has what it shows
"$orrery" run serving-llama-3.1-8b-h100 --set workload.requests=100 --db serving.db > said 2>&1 || not_ok "serving run"
"$orrery" run campaign-llama-3.1-405b-16384-h100 --set campaign.seeds=2 --set campaign.duration=10d --set cluster.nodes=128 \
  --set workload.parallel.dp=0 --set workload.batch.global=128 --db campaign.db > said 2>&1 || not_ok "campaign"
"$orrery" run jobs-itp-64-a100 --set workload.failures.set=rsc-1 --db cluster.db > said 2>&1 || not_ok "cluster of jobs"
"$orrery" validate korthikanti-layers --db v.db > said 2>&1 || not_ok "validation"
"$orrery" sweep sweep-gpt3-6.7b-64-a100 --set 'sweep.sampler={kind: random, points: 12}' --json --db s.db > swept 2>&1 || not_ok "sweep"
rl="--set workload.prompts=16 --set workload.steps=2"
"$orrery" run rl-agents-qwen3-8b-64-h100 $rl --spans all --trace rl.json --db rl.db > said 2>&1 || not_ok "post-training run"
"$orrery" plan serving --model llama-3.1-8b --cluster dgx-h100-superpod --gpus 1 --input 500 --output 50 --ttft 1s --tpot 50ms \
  --precision bf16 --kv-cache bf16 --aggregated --db plan.db -o best.yaml > said 2>&1 || not_ok "plan"
for name in $("$orrery" list plots | awk '{ print $1 }'); do
  case $name in
  measured-simulated) db=v.db ;;
  front) db=s.db ;;
  latency-cdf | rate-goodput | serving-timeline) db=serving.db ;;
  campaign-progress) db=campaign.db ;;
  plan-pareto) db=plan.db ;;
  rollout-load | splits) db=rl.db ;;
  cluster-*) db=cluster.db ;;
  *) db="r.db --run 1" ;;
  esac
  if ! command -v gnuplot > /dev/null; then skip "plot $name" "gnuplot is not installed"; continue; fi
  "$orrery" plot $db "$name" -o "$name.svg" > said 2>&1
  check "plot $name draws an SVG and leaves nothing else" \
    'grep -q "</svg>" "$name.svg" && [ "$(cat said)" = "$name.svg" ] && [ ! -e "$name.svg.dat" ] && [ ! -e "$name.svg.gp" ]'
  if is_small && [ "$name" != bands ] && [ "$name" != timeline ]; then continue; fi
  "$orrery" plot $db "$name" -o "$name.png" > said 2>&1
  check "plot $name draws a PNG" '[ "$(head -c 4 "$name.png" | tail -c 3)" = PNG ] && [ "$(cat said)" = "$name.png" ]'
  "$orrery" plot $db "$name" --term > said 2>&1
  check "plot $name draws letters" '[ "$(wc -l < said)" -ge 28 ] && ! grep -qi "warning" said'
done

# --- lanes of post-training: trainer, rollouts and engines, in the time line and in Perfetto
"$orrery" query rl.db timeline --csv > said 2>&1
check "the time line has phases of the trainer and of engines" 'grep -q "^update,.*,trainer," said && grep -q "^rollout,.*,engine 0," said'
check "Perfetto's file has them, too" 'grep -q "\"name\":\"rollout-wait\"" rl.json && grep -q "\"name\":\"engine 31\"" rl.json'

# --- a sweep: its views and pictures
best=$(sed -n 's/.*"point": [0-9]*, "run": \([0-9]*\).*/\1/p' swept | head -n 1)
"$orrery" query s.db best --csv > said 2>&1
check "the view best agrees with the sweep's own report" '[ -n "$best" ] && [ "$(sed -n 2p said | cut -d, -f2)" = "$best" ]'
"$orrery" query s.db sweeps --csv > said 2>&1
check "the view sweeps says that all points are done" 'grep -q "random,576,12,12,100.0," said'
for name in front heat-map pareto scaling time-breakdown; do
  if ! command -v gnuplot > /dev/null; then skip "plot $name of a sweep" "gnuplot is not installed"; continue; fi
  "$orrery" plot s.db "$name" -o sweep.svg > said 2>&1
  check "plot $name draws a sweep's points" 'grep -q "</svg>" sweep.svg && ! grep -qi warning said'
  rm -f sweep.svg
done
"$orrery" plot r.db timelin -o x.svg > said 2>&1
check "an unknown plot names the nearest, exit 2" '[ $? -eq 2 ] && grep -q "did you mean .timeline" said'
"$orrery" plot r.db pareto -o x.bmp > said 2>&1
check "an unknown kind of picture is refused, exit 2" '[ $? -eq 2 ] && grep -q ".svg, .png or .pdf" said'
mkdir empty
PATH=$work/empty "$orrery" plot r.db pareto -o y.svg > said 2>&1
check "without gnuplot data and script are left, and what to install is said, exit 1" \
  '[ $? -eq 1 ] && grep -q "gnuplot-nox" said && [ -s y.svg.dat ] && [ -s y.svg.gp ]'

# --- db
"$orrery" db info r.db > said 2>&1
check "db info counts runs and rows" 'grep -Eq "^training +2 " said && grep -Eq "^training_result +2$" said'
"$orrery" db export r.db -o tables > said 2>&1
"$orrery" query r.db "SELECT * FROM training_result" --csv > want
check "db export writes what a query gives" 'cmp -s want tables/training_result.csv'
before=$("$orrery" query r.db summary --run 1 --csv)
"$orrery" db vacuum r.db > said 2>&1
check "db vacuum changes no answer" '[ $? -eq 0 ] && [ "$before" = "$("$orrery" query r.db summary --run 1 --csv)" ]'
"$orrery" db vacuum none.db > said 2>&1
check "db vacuum makes no database, exit 1" '[ $? -eq 1 ] && [ ! -e none.db ]'
"$orrery" db merge all.db r.db s.db > said 2>&1
check "db merge takes runs and points" '[ $? -eq 0 ] && grep -q "r.db: 2 runs added" said && grep -q "s.db: 1 run added, 12 points" said'
"$orrery" query r.db summary --run 2 --csv > want
"$orrery" query all.db summary --run 2 --csv > said
check "a merged run gives the same answers" 'cmp -s want said'
"$orrery" query s.db best --csv | cut -d, -f3- > want
"$orrery" query all.db best --csv | cut -d, -f3- > said
check "a merged sweep has the same best" 'cmp -s want said'
"$orrery" db merge all.db r.db s.db > said 2>&1
check "db merge lists existing runs" 'grep -q "r.db: 0 runs added; 2 exist already" said && grep -q "s.db: 0 runs added; 12 exist already" said'
"$orrery" db merge new.db r.db none.db > said 2>&1
check "db merge is all or nothing, exit 1" '[ $? -eq 1 ] && grep -q "none.db: there is no such" said && [ ! -e new.db ]'
"$orrery" db inf r.db > said 2>&1
check "an unknown action names the nearest, exit 2" '[ $? -eq 2 ] && grep -q "did you mean .info" said'

# --- report: of each kind of run, in a browser
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome)

# page DB RUN VIEW...: no script fails, and every number in the tables of these views is the database's, to the last digit.
page() {
  db=$1 run=$2
  shift 2
  "$orrery" report "$db" "$run" -o page.html > said 2>&1
  check "report of run $run of $db writes the page" '[ -s page.html ]'
  check "it needs no network" '! grep -Eo "(src|href)=\"https?:[^\"]*" page.html'
  if [ -z "$browser" ]; then
    skip "the page in a browser" "chromium is not installed"
    return
  fi
  "$browser" --headless --no-sandbox --disable-gpu --user-data-dir="$work/profile" --enable-logging=stderr --v=0 \
    --dump-dom "file://$work/page.html" > dom.html 2> console
  grep -E "CONSOLE|Uncaught" console > said
  check "no console error" '[ -s dom.html ] && [ ! -s said ]'
  for view in "$@"; do
    "$orrery" query "$db" "$view" --run "$run" --json | grep -Eo '": -?[0-9][-+.e0-9]*' | sed 's/^": //' | sort > want
    sed -n "/<table id=\"$view\"/,/<\/table>/p" dom.html | grep -Eo 'data-value="[^"]+"' | sed 's/.*="//; s/"//' | sort > found
    diff want found > said
    check "the figures of $view in the page are the database's" '[ -s want ] && [ ! -s said ]'
  done
}
# pictures DB RUN PLOT...: gnuplot drew these, and the page holds each as an image.
pictures() {
  db=$1 run=$2
  shift 2
  "$orrery" report "$db" "$run" -o page.html > said 2>&1
  for name in "$@"; do
    if ! command -v gnuplot > /dev/null; then skip "the picture $name" "gnuplot is not installed"; continue; fi
    sed -n "s/^<img id=\"$name\".*base64,\([^\"]*\)\">$/\1/p" page.html | base64 -d > picture
    check "the page of $db holds the picture $name" 'grep -aEq "</svg>|PNG" picture && ! grep -aEq "\"(M|L)?-?(nan|inf)" picture'
  done
}
page r.db 1 summary bands breakdown memory provenance
pictures r.db 1 timeline
page s.db 1 summary best sensitivity
pictures s.db 1 front heat-map time-breakdown
page serving.db 1 summary bands latencies batch-sizes serving provenance
pictures serving.db 1 serving-timeline
page campaign.db 1 summary campaign
pictures campaign.db 1 campaign-progress
page cluster.db 1 summary cluster-waits cluster-hours
pictures cluster.db 1 cluster-time
"$orrery" run rl-grpo-qwen3-30b-a3b-32-h100 --db rl.db > said 2>&1 || not_ok "post-training"
page rl.db 1 summary post-training bill
page v.db 1 validation validation-rows
pictures v.db 1 measured-simulated
PATH=$work/empty "$orrery" report s.db 1 -o page.html > said 2>&1
check "without gnuplot the page has its tables, and says what to install" \
  '[ $? -eq 0 ] && [ "$(grep -c "gnuplot-nox" page.html)" -eq 3 ] && grep -q "<table id=\"best\"" page.html && ! grep -q "<img" page.html'
# GPT-3 175B folded has 32 lanes, and the page shows 16; a run of few lanes leaves none out.
"$orrery" run gpt3-175b-1024-a100 --set workload.batch.global=128 --db many.db > said 2>&1
lanes=$("$orrery" query many.db "SELECT count(*) FROM lane WHERE run_id = 1" --csv | tail -n 1)
"$orrery" report many.db 1 -o page.html > said 2>&1
check "the page says that it shows some of the lanes, and how to see all" \
  '[ "$lanes" -gt 16 ] && grep -q "The first 16 of $lanes lanes.*--param lanes=$lanes " page.html'
"$orrery" run megatron-sc21-1.7b --db few.db > said 2>&1
"$orrery" report few.db 1 -o page.html > said 2>&1
check "and says nothing where it shows all" 'grep -q "<h2>Time line</h2>" page.html && ! grep -q "The first .* lanes" page.html'
"$orrery" report s.db -o newest.html > said 2>&1
check "the newest run of a sweep is the sweep" 'grep -q "Run 1, sweep" newest.html'
"$orrery" run flux-1-h100 --set prices=example --set model=gpt3-175b --db none > said 2>&1
check "a picture has a cost" 'grep -Eq "cost .* EUR per GPU-hour, .* per output" said'
check "a model that the workload does not use is warned of" 'grep -q "warning: model has no effect: a workload of kind diffusion" said'
"$orrery" run flux-1-h100 --db none --json > whole.json
"$orrery" run flux-1-h100 --set 'faults=[{at: 0 s, fault: {kind: slow-gpu, gpu: 0, slower: 100 %}}]' --db none --json > slow.json
latency() { sed -n 's/.*"denoise_s": \([0-9.]*\).*/\1/p' "$1" | head -n 1; }
check "on a GPU at half of its speed the steps of a picture take twice as long" \
  'awk -v a="$(latency whole.json)" -v b="$(latency slow.json)" "BEGIN { exit !(a > 0 && b > 1.98 * a && b < 2.02 * a) }"'
echo "1..$n"
