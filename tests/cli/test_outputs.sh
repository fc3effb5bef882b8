#!/bin/sh
# test_outputs.sh ORRERY - where answers go: devices and pipes are written into, links are followed, places are checked
# before the work, and a disk that fills up at the end loses no answer. TAP.
#
# Devices are our own (mknod), never /dev's: a defect would replace them by files. Without the right to make
# devices (no root) those tests are skipped. A full disk is a limit on the size of files (ulimit -f, in 512 bytes).
set -u
orrery=$(realpath "$1") || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
n=0

ok() { n=$((n + 1)); echo "ok $n - $1"; }
not_ok() { n=$((n + 1)); echo "not ok $n - $1"; [ -f said ] && cut -c -200 said | sed "s/^/# /" | head -n 20; }
check() { if eval "$2"; then ok "$1"; else not_ok "$1"; fi; }
skip() { n=$((n + 1)); echo "ok $n - $1 # SKIP $2"; }

scenario=megatron-sc21-1.7b
"$orrery" run $scenario --db r.db > whole 2>&1 || not_ok "run"
launch='torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 24 --hidden-size 2304 --num-attention-heads 24
  --seq-length 2048 --max-position-embeddings 2048 --micro-batch-size 4 --global-batch-size 64 --bf16'
echo "$launch" | tr '\n' ' ' > run.sh

# --- each verb that has -o: into a link (whose target does not exist yet), a pipe, a device
mknod null c 1 3 2> /dev/null && : > null 2> /dev/null && has_devices=1 || has_devices=0
writes() { # NAME SUFFIX COMMAND...: the command with -o FILE
  name=$1 suffix=$2
  shift 2
  "$@" -o "plain$suffix" > said 2>&1
  check "$name writes a file" '[ -s "plain$suffix" ]'
  ln -s "aim$suffix" "link$suffix"
  "$@" -o "link$suffix" > said 2>&1
  check "$name follows a link" '[ -L "link$suffix" ] && cmp -s "plain$suffix" "aim$suffix"'
  mkfifo "pipe$suffix"
  timeout 60 cat "pipe$suffix" > "got$suffix" &
  reader=$!
  sleep 0.2
  "$@" -o "pipe$suffix" > said 2>&1
  check "$name writes into a pipe" 'wait $reader; [ -p "pipe$suffix" ] && cmp -s "plain$suffix" "got$suffix"'
  if [ $has_devices = 1 ]; then
    ln -s null "device$suffix"
    "$@" -o "device$suffix" > said 2>&1
    check "$name leaves a device a device" '[ $? -eq 0 ] && [ -c null ] && [ -L "device$suffix" ]'
  else
    skip "$name leaves a device a device" "mknod is not permitted"
  fi
  "$@" -o "nowhere/x$suffix" > said 2>&1
  check "$name names a folder that does not exist, exit 1" '[ $? -eq 1 ] && grep -q "there is no folder nowhere" said'
  rm -f "plain$suffix" "link$suffix" "aim$suffix" "pipe$suffix" "got$suffix" "device$suffix"
}
writes report .html "$orrery" report r.db
writes "import launch" .yaml "$orrery" import launch run.sh --cluster dgx-h100-superpod --gpus 8
writes new .new "$orrery" new scenario
if command -v gnuplot > /dev/null; then writes plot .svg "$orrery" plot r.db time-breakdown
else skip plot "gnuplot is not installed"; fi
mkdir tables
"$orrery" db export r.db -o want > said 2>&1
mkfifo tables/run.csv
ln -s ../aim.csv tables/param.csv
timeout 60 cat tables/run.csv > got.csv &
reader=$!
sleep 0.2
"$orrery" db export r.db -o tables > said 2>&1
check "db export writes into a pipe and follows a link" \
  'wait $reader; [ -p tables/run.csv ] && cmp -s got.csv want/run.csv && [ -L tables/param.csv ] && cmp -s aim.csv want/param.csv'
mkfifo trace
timeout 60 cat trace > got &
reader=$!
sleep 0.2
"$orrery" run $scenario --db none --trace trace > said 2>&1
check "run --trace writes into a pipe" 'wait $reader; [ -p trace ] && grep -q traceEvents got'
echo "set by hand" > kept.yaml
chmod 600 kept.yaml
"$orrery" import launch run.sh --cluster dgx-h100-superpod --gpus 8 -o kept.yaml > said 2>&1
check "a replaced file keeps its permissions" '[ "$(stat -c %a kept.yaml)" = 600 ] && grep -q "^workload:" kept.yaml'
{ echo before; "$orrery" import launch run.sh --cluster dgx-h100-superpod --gpus 8 -o /dev/stdout; echo after; } > all 2> said
check "-o /dev/stdout adds to the file that stdout is" \
  '[ "$(head -n 1 all)" = before ] && grep -q "^workload:" all && [ "$(tail -n 1 all)" = after ]'
mkfifo lonely
timeout 60 "$orrery" report r.db -o lonely > said 2>&1
check "a pipe that nobody reads is an error, not a wait" '[ $? -eq 1 ] && grep -q "nobody reads it" said'
"$orrery" report r.db -o tables > said 2>&1
check "a folder is named, exit 1" '[ $? -eq 1 ] && grep -q "it is a folder" said'

# --- a picture is whole or not there: gnuplot that is killed leaves no file, and ends with the program
if command -v gnuplot > /dev/null; then
  mkdir slow left
  { echo '#!/bin/sh'; echo "echo \$\$ > $work/pid"; echo 'echo "<svg half"'; echo 'exec sleep 60'; } > slow/gnuplot
  chmod +x slow/gnuplot
  (cd left && PATH="$work/slow:$PATH" exec "$orrery" plot ../r.db time-breakdown -o half.svg) > said 2>&1 &
  plotter=$!
  while [ ! -s pid ]; do sleep 0.1; done
  kill -9 $plotter
  wait $plotter 2> /dev/null
  sleep 0.5
  check "a killed plot leaves no file" '[ -z "$(ls left)" ]'
  check "and gnuplot ends with it" '[ ! -d "/proc/$(cat pid)" ] || grep -q "^State:.*Z" "/proc/$(cat pid)/status"'
fi

# --- a disk that is full when the answer is there. The database exists, and may not grow.
full() { # COMMAND...: no file may grow beyond 512 bytes, which an existing database has passed
  { (ulimit -f 1 && exec "$@") 2> complained; echo $? > status; } | cat > said
  return "$(cat status)"
}
same() { # the answer on stdout has the lines of FILE up to "stored", but for the wall time
  sed '/^  stored/,$d; /wall time/d' "$1" > want.txt
  sed '/wall time/d' said > got.txt
  [ -s want.txt ] && cmp -s want.txt got.txt
}
full "$orrery" run $scenario --db r.db
check "run prints its answer on a full disk, exit 1" '[ $? -eq 1 ] && same whole && grep -q "^orrery: " complained'
full "$orrery" run $scenario --db none --trace t.json
check "run prints its answer where the trace does not fit, exit 1" \
  '[ $? -eq 1 ] && same whole && grep -q "t.json: cannot be written: .*File too large" complained && [ ! -e t.json ]'
"$orrery" run $scenario --db none --json --spans none > want.json
full "$orrery" run $scenario --db r.db --json --spans none
check "so does run --json" '[ $? -eq 1 ] && [ "$(grep -c iteration_time_s said)" = "$(grep -c iteration_time_s want.json)" ]'
"$orrery" validate korthikanti-layers --db v.db > compared 2>&1
full "$orrery" validate korthikanti-layers --db v.db
check "validate prints its comparison on a full disk, exit 1" \
  '[ $? -eq 1 ] && [ -s compared ] && cmp -s compared said && grep -q "not all is stored" complained'
full "$orrery" import launch run.sh --cluster dgx-h100-superpod --gpus 8 -o full.yaml
check "import prints the document that does not fit, exit 1" \
  '[ $? -eq 1 ] && [ ! -e full.yaml ] && grep -q "^workload:" said && grep -q "full.yaml: cannot be written" complained'
"$orrery" run $scenario --db r.db | head -n 1 > said
check "a reader that leaves after a line does not keep the run from being stored" \
  '[ "$(cat said)" = "$(head -n 1 whole)" ] && "$orrery" db log r.db 2> /dev/null | grep -q "2"'

# --- plan: its files are checked before the search; its answer is printed although they cannot be written
asked="--model llama-3.1-8b --cluster dgx-h100-superpod"
"$orrery" plan training $asked --gpus 8 --db none -o nowhere/plan.yaml > said 2>&1
check "plan training -o into no folder: exit 1 before the search" '[ $? -eq 1 ] && grep -q "there is no folder nowhere" said'
"$orrery" plan serving $asked --gpus 1 --input 500 --output 50 --ttft 1s --tpot 50ms -o nowhere/plan.yaml --db none > said 2>&1
check "plan serving -o into no folder: exit 1 before the search" \
  '[ $? -eq 1 ] && grep -q "there is no folder nowhere" said && ! grep -q searched said'
echo mine > mine-best.yaml
"$orrery" plan training $asked --gpus 8 --db none -o mine.yaml > said 2>&1
check "a file that plan did not make is refused before the search, exit 2" \
  '[ $? -eq 2 ] && grep -q "mine-best.yaml exists" said && [ ! -e mine.yaml ]'
echo "1..$n"
