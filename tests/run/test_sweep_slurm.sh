#!/bin/sh
# test_sweep_slurm.sh ORRERY CLUSTER - sweeps on a real slurmctld and slurmd on loopback (slurm_cluster.sh). TAP; skipped
# where Slurm's packages are absent, but for what is said where there is no Slurm.
set -u
orrery=$(realpath "$1") && cluster=$(realpath "$2") || exit 1
work=$(mktemp -d) || exit 1
trap '"$cluster" stop "$work/slurm"; rm -rf "$work"' EXIT
cd "$work" || exit 1
n=0
check() { n=$((n + 1)); if eval "$2"; then echo "ok $n - $1"; else echo "not ok $n - $1"; sed 's/^/# /' said | head -n 30; fi; }
field() { sed -n "s/.*\"$1\": \"\{0,1\}\([^,\"}]*\).*/\1/p" said | head -n 1; }

# Every row of every table, but for when it was written and how long it took; doubles to 17 digits.
dump() {
  python3 - "$1" <<'END'
import sqlite3, sys
db = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True)
names = [r[0] for r in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")]
for name in names:
    columns = [r[1] for r in db.execute(f"PRAGMA table_info('{name}')") if r[1] not in ("started_at", "wall_time_s")]
    print("--", name, columns)
    for row in sorted(map(repr, db.execute(f"SELECT {', '.join(columns)} FROM \"{name}\""))):
        print(row)
END
}

# 96 combinations, some of which do not divide, on a model of eight layers: milliseconds a point.
scenario() {
  cat <<'END'
schema: scenario/1
name: small
cluster: {base: dgx-a100-superpod, nodes: 1}
model: {layers: 8, hidden: 1024, heads: 16, vocab: 51200, context: 1024}
workload:
  kind: training
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
(scenario; echo '  slurm: {tasks: 3}'; echo '  sampler: {kind: successive-halving, points: 24, keep: 0.5, rungs: [{workload.batch.global: 8}, {}]}') > rungs.yaml
(scenario; echo '  slurm: {partition: nowhere}') > nowhere.yaml

# --- No Slurm ---
PATH=/nowhere "$orrery" sweep grid.yaml --executor slurm --db none.db > said 2>&1
status=$?
check "without Slurm it says so, with status 1" \
  '[ $status = 1 ] && grep -q "there is no Slurm here: no sbatch in PATH; --executor local runs" said && [ ! -e none.db ]'
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
check "Slurm wants a database" '[ $status = 2 ] && grep -q "executor slurm wants a database" said'
"$orrery" sweep grid.yaml --status > said 2>&1
status=$?
check "--status wants no scenario" '[ $status = 2 ] && grep -q "want no scenario" said'

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
same() { dump "$1" > a.dump; dump "$2" > b.dump; cmp a.dump b.dump > said 2>&1 || { diff a.dump b.dump | head -n 20 > said; false; }; }

# --- The same rows ---
"$orrery" sweep grid.yaml --db local.db -j 2 > said 2>&1
"$orrery" sweep grid.yaml --executor slurm --db array.db > said 2>&1
status=$?
check "submitted: a job array of five tasks, and a job that merges" \
  '[ $status = 0 ] && grep -q "submitted     job [0-9]*, 5 tasks; job [0-9]* merges" said'
check "its last job merges it" 'whole array.db'
check "every point is counted, and every task is done" \
  '[ "$(field n_done)" = "$(field n_points)" ] && [ "$(field tasks_done)" = 5 ] && [ "$(field submission)" = 1 ]'
check "the merged database is the local one, row for row" 'same local.db array.db'
check "the shards are gone, what the tasks said stays" '[ ! -e array.db.slurm/task-0.db ] && [ -e array.db.slurm/task-0.out ]'
"$orrery" sweep --collect --db array.db > said 2>&1
status=$?
check "collecting again changes nothing, and shows what was found" '[ $status = 0 ] && grep -q "objective" said && same local.db array.db'
for tasks in 1 40; do
  sed "s/tasks: 5/tasks: $tasks/" grid.yaml > other.yaml
  "$orrery" sweep other.yaml --db other-local.db -j 2 > said 2>&1
  "$orrery" sweep other.yaml --executor slurm --db other.db > said 2>&1
  check "the same rows whatever the number of tasks: $tasks" 'whole other.db && same other-local.db other.db'
  rm -rf other*.db*
done
"$orrery" sweep rungs.yaml --db rungs-local.db -j 2 > said 2>&1
"$orrery" sweep rungs.yaml --executor slurm --db rungs.db > said 2>&1
check "a sampler by rungs: a submission a rung, the same rows" \
  'whole rungs.db && [ "$(field submission)" = 2 ] && same rungs-local.db rungs.db'

# --- Killed ---
# The node is held, so that tasks wait.
"$orrery" sweep grid.yaml --db killed-local.db -j 2 > said 2>&1
scontrol update nodename="$(hostname -s)" state=drain reason=test
"$orrery" sweep grid.yaml --executor slurm --db killed.db > said 2>&1
check "tasks that wait are queued, and no point is done" 'grep -q "5 queued, 0 running, 0 done" said && grep -q "0 of" said'
"$orrery" sweep grid.yaml --executor slurm --db killed.db > said 2>&1
status=$?
check "one sweep at a time for a database" '[ $status = 2 ] && grep -q "is not whole: --status says how far" said'
job=$("$orrery" sweep --status --db killed.db --json | sed -n 's/.*"job": "\([0-9]*\)".*/\1/p')
scancel "${job}_1"
scontrol update nodename="$(hostname -s)" state=resume
settle
"$orrery" sweep --status --db killed.db > said 2>&1
check "a task that somebody cancels is not submitted again by itself, and named" 'grep -q "4 done, 1 cancelled" said && grep -q "1  CANCELLED" said && ! grep -q "all is merged" said'
"$orrery" sweep --collect --db killed.db > said 2>&1
check "--collect submits it again" 'grep -q ", 1 task; job .* submission 2" said'
check "and nothing is lost" 'whole killed.db && same killed-local.db killed.db'

scontrol update nodename="$(hostname -s)" state=drain reason=test
"$orrery" sweep grid.yaml --executor slurm --db cancelled.db > said 2>&1
scancel "$("$orrery" sweep --status --db cancelled.db --json | sed -n 's/.*"job": "\([0-9]*\)".*/\1/p')"
scontrol update nodename="$(hostname -s)" state=resume
settle
"$orrery" sweep --status --db cancelled.db > said 2>&1
check "so is a whole array" 'grep -q "0 done, 5 cancelled" said && grep -q "0 of 58 done" said'
"$orrery" sweep --collect --db cancelled.db > said 2>&1
check "which --collect submits again" 'whole cancelled.db && same killed-local.db cancelled.db'

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
chmod +x fragile
ORRERY_BINARY=$work/fragile "$orrery" sweep grid.yaml --executor slurm --db fragile.db > said 2>&1
check "a task that is killed is submitted again by itself, and loses nothing" \
  'whole fragile.db && [ "$(field submission)" = 2 ] && [ -e killed-once ] && same killed-local.db fragile.db'

# One that can never run ends as an error, after three submissions.
printf '#!/bin/sh\ncase " $* " in *" --task 2 "*) echo no such luck; exit 3 ;; esac\nexec "%s" "$@"\n' "$orrery" > hopeless
chmod +x hopeless
ORRERY_BINARY=$work/hopeless "$orrery" sweep grid.yaml --executor slurm --db hopeless.db > said 2>&1
settle
cp hopeless.db.slurm/merge.out said
check "one that always fails is given up after three submissions in vain" \
  'grep -q "points are left, and the last 3 submissions brought none: .no such luck." said'
"$orrery" sweep --status --db hopeless.db > said 2>&1
check "and its status says why" 'grep -q "1 failed" said && grep -q "1  FAILED: no such luck" said'
rm -f hopeless; printf '#!/bin/sh\nexec "%s" "$@"\n' "$orrery" > hopeless; chmod +x hopeless
"$orrery" sweep --collect --db hopeless.db > said 2>&1
check "once it can, --collect completes it" 'whole hopeless.db && same killed-local.db hopeless.db'

# --- What was begun elsewhere ---
# A third of the points is missing of a sweep that ran here: only they are submitted.
cp killed-local.db begun.db
python3 -c 'import sqlite3
db = sqlite3.connect("begun.db")
db.executescript("PRAGMA foreign_keys = ON; DELETE FROM run WHERE id > 1 AND id % 3 = 0;")'
"$orrery" sweep grid.yaml --executor slurm --resume --db begun.db > said 2>&1
status=$?
check "--resume submits what is missing" '[ $status = 0 ] && grep -q "39 of 58 done" said && whole begun.db && same killed-local.db begun.db'

# --- Refusals ---
"$orrery" sweep nowhere.yaml --executor slurm --db nowhere.db > said 2>&1
status=$?
check "what sbatch refuses is passed on" '[ $status = 1 ] && grep -q "sbatch: .*invalid partition" said'
"$orrery" sweep nowhere.yaml --executor slurm --db nowhere.db > said 2>&1
check "and leaves nothing in the way" 'grep -q "invalid partition" said && [ "$("$orrery" query nowhere.db "SELECT count(*) AS n FROM sweep" --csv | tail -n 1)" = 1 ]'
scontrol update nodename="$(hostname -s)" state=drain reason=test
"$orrery" sweep grid.yaml --executor slurm --db changed.db > said 2>&1
sed -i 's/micro-batch: \[1, 2, 4\]/micro-batch: [1, 2]/' grid.yaml
scontrol update nodename="$(hostname -s)" state=resume
settle
"$orrery" sweep --status --db changed.db > said 2>&1
check "a document that was changed meanwhile is said to be" 'grep -q "grid.yaml: was changed since its sweep was begun" said'
echo "1..$n"
