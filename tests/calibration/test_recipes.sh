#!/bin/sh
# test_recipes.sh ROOT CLUSTER [PROGRAM FOLDER] - the recipes of calibration/measure/node, as far as they can be tested
# without GPUs: their syntax and paths, and the job script on a Slurm of loopback whose node claims to have 8 GPUs.
# PROGRAM: orrery-fake-gpu, with its libraries in FOLDER; without it the job is accepted, but not run. TAP.
set -u
root=$(realpath "$1") && cluster=$(realpath "$2") || exit 1
[ $# -lt 4 ] || { program=$(realpath "$3") && libraries=$(realpath "$4"); } || exit 1
node=$root/calibration/measure/node
work=$(mktemp -d) || exit 1
trap '"$cluster" stop "$work/slurm"; rm -rf "$work"' EXIT
cd "$work" || exit 1
n=0
check() { n=$((n + 1)); if eval "$2"; then echo "ok $n - $1"; else echo "not ok $n - $1"; sed 's/^/# /' said | head -n 30; fi; }
skip() { n=$((n + 1)); echo "ok $n - $1 # SKIP $2"; }

# --- The image ---
check "the job script is a shell script" 'sh -n "$node/calibrate.sbatch" > said 2>&1'
base() { sed -n "s/^$1 *//p" "$node/$2"; }
check "both recipes have one base" '[ "$(base ARG Containerfile)" = "BASE=$(base From: calibrate.def)" ]'
# Commands of both, a line each, without what only one of them needs.
commands() { sed 's/^ *&& //; s/^RUN //; s/^ *//; s/ *\\$//' "$node/$1" | grep -E '^(DEBIAN|apt|meson|ninja|rm)'; }
commands Containerfile > container && commands calibrate.def > apptainer
check "and the same commands" 'diff container apptainer > said 2>&1 && [ "$(wc -l < container)" -eq 7 ]'
check "the clone has the target that they make" 'grep -q "^setup:" "$root/Makefile"'
for option in $(grep -o -- '-D[a-z_]*' "$node/Containerfile" | cut -c3- | sort -u); do
  check "the build has their option $option" 'grep -q "^option(.$option." "$root/meson_options.txt"'
done
if command -v docker > /dev/null && docker info > /dev/null 2>&1; then
  check "docker accepts the recipe" 'docker build --check -f "$node/Containerfile" "$root" > said 2>&1'
else
  skip "docker accepts the recipe" "there is no docker daemon"
fi

# --- The job ---
SLURM_CONF=$("$cluster" start "$work/slurm" 8 2> said) || {
  skip "Slurm accepts the job" "$(head -n 1 said)"
  echo "1..$n"
  exit 0
}
export SLURM_CONF
sbatch --test-only "$node/calibrate.sbatch" > said 2>&1
check "Slurm accepts the job" 'grep -q "to start at" said'
sbatch --test-only --gpus-per-node=9 "$node/calibrate.sbatch" > said 2>&1
check "but not with more GPUs than a node has" '! grep -q "to start at" said'

submit() { sbatch --wait --ntasks-per-node=1 --output=log "$node/calibrate.sbatch" > submitted 2>&1; status=$?; cat submitted log > said; }
if [ $# -ge 4 ]; then
  export ORRERY="$program" BUDGET=1s FAMILIES=launch ORRERY_FAKE_GPUS=2 LD_LIBRARY_PATH="$libraries"
  ORRERY_FAKE_FAULTS=mig=1 submit
  check "a problem ends the job before it measures" \
    '[ $status -ne 0 ] && grep -q "mend what the doctor says" said && [ ! -e calibration.db ]'
  ORRERY_FAKE_FAULTS=mig=1 IGNORE=1 submit
  check "IGNORE=1 measures all the same" '[ $status -eq 0 ] && grep -q "^## Rows" calibration-report.txt'
  submit
  check "a job in the same folder continues" '[ $status -eq 0 ] && grep -q ", [1-9][0-9]* rows known before" log'
else
  skip "the job runs" "there is no CUDA toolkit with cuDNN and NCCL"
fi
echo "1..$n"
