#!/bin/sh
# test_sweep_slurm.sh ORRERY CLUSTER - sweeps on a real slurmctld and slurmd on loopback (slurm_cluster.sh). TAP; skipped
# where Slurm's packages are absent, but for what is said where there is no Slurm.
set -u
orrery=$(realpath "$1") && cluster=$(realpath "$2") && dump=$(realpath "$(dirname "$0")/dump.py") || exit 1
work=$(mktemp -d) || exit 1
trap '"$cluster" stop "$work/slurm"; rm -rf "$work"' EXIT
cd "$work" || exit 1
n=0
check() { n=$((n + 1)); if eval "$2"; then echo "ok $n - $1"; else echo "not ok $n - $1"; sed 's/^/# /' said | head -n 30; fi; }
field() { sed -n "s/.*\"$1\": \"\{0,1\}\([^,\"}]*\).*/\1/p" said | head -n 1; }

# 96 combinations, some of which do not divide, on a model of eight layers: milliseconds a point.
scenario() {
  cat <<'END'
schema: scenario/1
name: small
cluster: {base: dgx-a100-superpod, nodes: 1}
model: {layers: 8, hidden: 1024, heads: 16, vocab: 51200, context: 1024}
workload:
  kind: training
  stack: none
  parallel: {tp: 2, pp: 2, dp: 2}
  batch: {global: 16, micro: 1}
  precision: bf16
sweep:
  axes:
    tp: [1, 2, 4, 8]
    pp: [1, 2, 4, 8]
    micro-batch: [1, 2, 4]
    recompute: [none, full]
END
}
(scenario; echo '  slurm: {tasks: 5, cpus: 2, partition: main, time: 00:10:00, extra: --comment=orrery}') > grid.yaml
(scenario; echo '  slurm: {partition: nowhere}') > nowhere.yaml

# --- No Slurm ---
PATH=/nowhere "$orrery" sweep grid.yaml --executor slurm --db none.db > said 2>&1
status=$?
check "without Slurm it says so, with status 1" \
  '[ $status = 1 ] && grep -q "Slurm is not installed: no sbatch in PATH; --executor local runs" said && [ ! -e none.db ]'
"$orrery" sweep --status --db none.db > said 2>&1
status=$?
check "--status of nothing" '[ $status = 1 ] && grep -q "none.db: no sweep was submitted for it" said && [ ! -e none.db.slurm ]'
"$orrery" sweep --collect --db none.db > said 2>&1
status=$?
check "--collect of nothing" '[ $status = 1 ] && [ ! -e none.db.slurm ]'
"$orrery" sweep grid.yaml --executor pbs > said 2>&1
status=$?
check "an executor that is none" '[ $status = 2 ] && grep -q "executor .pbs." said && grep -q "local, slurm" said'
"$orrery" sweep grid.yaml --executor slurm --db none > said 2>&1
status=$?
check "Slurm needs a database" '[ $status = 2 ] && grep -q "executor slurm needs a database" said'
"$orrery" sweep grid.yaml --status > said 2>&1
status=$?
check "--status takes no scenario" '[ $status = 2 ] && grep -q "take no scenario" said'

# --- A Slurm that refuses: nothing of the sweep stays. Stand-ins for sbatch, so that this runs without Slurm's packages. ---
mkdir refusing
printf '#!/bin/sh\nexit 0\n' > refusing/squeue
cat > refusing/sbatch <<'END'
#!/bin/sh
case " $* " in
*" --dependency="*) echo "sbatch: error: QOSMaxSubmitJobPerUserLimit" >&2; exit 1 ;;
*) [ -e takes-tasks ] && echo 17 && exit 0 ;;
esac
echo "sbatch: error: invalid partition specified: nowhere" >&2
exit 1
END
chmod +x refusing/*
runs() { "$orrery" query "$1" "SELECT count(*) AS n FROM run" --csv | tail -n 1; }
refused() { PATH=$work/refusing:$PATH "$orrery" sweep "$@" --executor slurm > said 2>&1; }
refused nowhere.yaml --db ghosts.db
status=$?
check "what sbatch refuses is passed on, with status 1" '[ $status = 1 ] && grep -q "sbatch: .*invalid partition" said'
check "and no sweep is left in the database" '[ "$(runs ghosts.db)" = 0 ] && [ "$(ls ghosts.db.slurm)" = lock ]'
refused grid.yaml --db ghosts.db
check "nor of another document" '[ "$(runs ghosts.db)" = 0 ]'
"$orrery" sweep grid.yaml --set workload.batch.global=8 --set 'sweep.axes={tp: [1, 2]}' --db ghosts.db > said 2>&1
before=$("$orrery" query ghosts.db "SELECT group_concat(id) FROM run" --csv | tail -n 1)
refused grid.yaml --db ghosts.db
check "what was stored before stays" '[ "$(runs ghosts.db)" = 3 ] &&
  [ "$("$orrery" query ghosts.db "SELECT group_concat(id) FROM run" --csv | tail -n 1)" = "$before" ]'
refused grid.yaml --set workload.batch.global=8 --set 'sweep.axes={tp: [1, 2]}' --resume --db ghosts.db
check "--resume of a whole sweep submits nothing" '[ "$(runs ghosts.db)" = 3 ]'
: > takes-tasks
refused grid.yaml --db half.db
status=$?
check "where only the job that merges is refused, the tasks' number and the remedy are said" \
  '[ $status = 1 ] && grep -q "job 17 with the tasks is submitted, but not the job that merges them; use --collect" said &&
   grep -q QOSMaxSubmit said && [ "$(runs half.db)" = 1 ]'

# Where a daemon does not come up, none stays: here slurmctld is one that ends at once.
if command -v sbatch > /dev/null && { command -v slurmctld > /dev/null || [ -x /usr/sbin/slurmctld ]; }; then
  mkdir broken bin
  printf '#!/bin/sh\necho no such luck >&2\nexit 1\n' > bin/slurmctld
  chmod +x bin/slurmctld
  PATH=$work/bin:$PATH "$cluster" start "$work/broken" > said 2>&1
  status=$?
  check "a cluster that does not come up says so" '[ "$status" = 77 ] && grep -q "slurmctld: no such luck" said'
  left=0
  for process in broken/*.process; do grep -qs '^State:.[^Z]' "/proc/$(cat "$process")/status" && left=$((left + 1)); done
  check "and leaves no daemon" '[ -e broken/munged.process ] && [ "$left" = 0 ]'
else
  n=$((n + 1))
  echo "ok $n - a cluster that does not come up says so # SKIP Slurm is not installed"
fi

mkdir slurm
if ! conf=$("$cluster" start "$work/slurm" 2> said); then
  echo "ok $((n + 1)) - sweeps on a Slurm cluster # SKIP $(head -n 1 said)"
  echo "1..$((n + 1))"
  exit 0
fi
export SLURM_CONF="$conf"

# Waits until no job is left, at most two minutes.
settle() {
  for _ in $(seq 600); do
    [ -z "$(squeue -h)" ] && return 0
    sleep 0.2
  done
  return 1
}
whole() {
  settle
  "$orrery" sweep --status --db "$1" --json > said 2>&1
  [ "$(field whole)" = true ] || { cat "$1.slurm/merge.out" >> said; false; }
}
same() { "$dump" "$1" > a.dump; "$dump" "$2" > b.dump; cmp a.dump b.dump > said 2>&1 || { diff a.dump b.dump | head -n 20 > said; false; }; }

submit() { ORRERY_BINARY=${3:-$orrery} "$orrery" sweep "$1" --executor slurm --db "$2" > said 2>&1; }
drain() { scontrol update nodename="$(hostname -s)" state=drain reason=test; }
resume() { scontrol update nodename="$(hostname -s)" state=resume; }

# What does not need the queue for itself is submitted together and waited for once: a test of Slurm is mostly waiting.
# --- What each sweep is to be, run here ---
sed 's/tasks: 5/tasks: 1/' grid.yaml > one.yaml
sed 's/tasks: 5/tasks: 40/' grid.yaml > many.yaml
for name in grid one many; do "$orrery" sweep $name.yaml --db $name-local.db -j 2 > said 2>&1; done

# A task that is killed with its script as soon as its database is there: the first time only.
cat > fragile <<END
#!/bin/sh
case " \$* " in *" --task 2 "*)
  if [ ! -e killed-once ]; then
    : > killed-once
    "$orrery" "\$@" &
    until [ -e fragile.db.slurm/task-2.db ]; do sleep 0.01; done
    kill -9 \$! \$\$
  fi ;;
esac
exec "$orrery" "\$@"
END
printf '#!/bin/sh\ncase " $* " in *" --task 2 "*) echo no such luck; exit 3 ;; esac\nexec "%s" "$@"\n' "$orrery" > hopeless
chmod +x fragile hopeless
# A third of the points is missing of a sweep that ran here.
cp grid-local.db begun.db
python3 -c 'import sqlite3
db = sqlite3.connect("begun.db")
db.executescript("PRAGMA foreign_keys = ON; DELETE FROM run WHERE id > 1 AND id % 3 = 0;")'

# --- Submitted, seven at a time ---
submit grid.yaml array.db
status=$?
check "submitted: a job array of five tasks, and a job that merges" \
  '[ $status = 0 ] && grep -q "submitted     job [0-9]*, 5 tasks; job [0-9]* merges" said'
submit one.yaml one.db
submit many.yaml many.db
submit grid.yaml fragile.db "$work/fragile"
submit grid.yaml hopeless.db "$work/hopeless"
"$orrery" sweep grid.yaml --executor slurm --resume --db begun.db > said 2>&1
status=$?
check "--resume submits what is missing" '[ $status = 0 ] && grep -q "39 of 58 done" said'

# --- The same rows ---
check "its last job merges it" 'whole array.db'
check "every point is counted, and every task is done" \
  '[ "$(field n_done)" = "$(field n_points)" ] && [ "$(field tasks_done)" = 5 ] && [ "$(field submission)" = 1 ]'
check "the merged database is the local one, row for row" 'same grid-local.db array.db'
check "the shards are gone, what the tasks said stays" '[ ! -e array.db.slurm/task-0.db ] && [ -e array.db.slurm/task-0.out ]'
"$orrery" sweep --collect --db array.db > said 2>&1
status=$?
check "collecting again changes nothing, and shows what was found" '[ $status = 0 ] && grep -q "objective" said && same grid-local.db array.db'
for tasks in one many; do
  check "the same rows whatever the number of tasks: $tasks" 'whole $tasks.db && same $tasks-local.db $tasks.db'
done
check "what was missing of a sweep that ran here is there" 'whole begun.db && same grid-local.db begun.db'

# --- Killed, and hopeless ---
check "a task that is killed is submitted again by itself, and loses nothing" \
  'whole fragile.db && [ "$(field submission)" = 2 ] && [ -e killed-once ] && same grid-local.db fragile.db'
cp hopeless.db.slurm/merge.out said
check "one that always fails is given up after three submissions in vain" \
  'grep -q "points are left, and the last 3 submissions brought none: .no such luck." said'
"$orrery" sweep --status --db hopeless.db > said 2>&1
check "and its status says why" 'grep -q "1 failed" said && grep -q "1  FAILED: no such luck" said'

# --- Cancelled: the node is held, so that tasks wait ---
drain
submit grid.yaml killed.db
check "tasks that wait are queued, and no point is done" 'grep -q "5 queued, 0 running, 0 done" said && grep -q "0 of" said'
submit grid.yaml killed.db
status=$?
check "one sweep at a time for a database" '[ $status = 2 ] && grep -q "is not complete: --status prints its progress" said'
job_of() { "$orrery" sweep --status --db "$1" --json | sed -n 's/.*"job": "\([0-9]*\)".*/\1/p'; }
scancel "$(job_of killed.db)_1"
submit grid.yaml cancelled.db
scancel "$(job_of cancelled.db)"
cp grid.yaml changed.yaml
submit changed.yaml changed.db
sed -i 's/micro-batch: \[1, 2, 4\]/micro-batch: [1, 2]/' changed.yaml
resume
settle
"$orrery" sweep --status --db killed.db > said 2>&1
check "a task that somebody cancels is not submitted again by itself, and named" 'grep -q "4 done, 1 cancelled" said && grep -q "1  CANCELLED" said && ! grep -q "all points are merged" said'
"$orrery" sweep --status --db cancelled.db > said 2>&1
check "nor is a whole array" 'grep -q "0 done, 5 cancelled" said && grep -q "0 of 58 done" said'
"$orrery" sweep --status --db changed.db > said 2>&1
check "a document that was changed meanwhile is said to be" 'grep -q "changed.yaml: changed since its sweep was started" said'

# --- Submitted again ---
"$orrery" sweep --collect --db killed.db > said 2>&1
check "--collect submits a cancelled task again" 'grep -q ", 1 task; job .* submission 2" said'
"$orrery" sweep --collect --db cancelled.db > said 2>&1
check "and a whole array" 'grep -q ", 5 tasks; job .* submission 2" said'
rm -f hopeless; printf '#!/bin/sh\nexec "%s" "$@"\n' "$orrery" > hopeless; chmod +x hopeless
"$orrery" sweep --collect --db hopeless.db > said 2>&1
check "nothing of a cancelled task is lost" 'whole killed.db && same grid-local.db killed.db'
check "nor of a cancelled array" 'whole cancelled.db && same grid-local.db cancelled.db'
check "once it can, --collect completes what was hopeless" 'whole hopeless.db && same grid-local.db hopeless.db'

# --- Refusals ---
submit nowhere.yaml nowhere.db
status=$?
check "what sbatch refuses is passed on" '[ $status = 1 ] && grep -q "sbatch: .*invalid partition" said'
submit nowhere.yaml nowhere.db
check "and leaves nothing in the way" 'grep -q "invalid partition" said && [ "$(runs nowhere.db)" = 0 ]'
echo "1..$n"
