#!/bin/sh
# test_import_topology.sh ORRERY - dumps of a machine on the command line: a cluster that runs, questions and their
# answers, files that are not dumps, and the way back. TAP.
set -u
orrery=$(realpath "$1") || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
n=0
check() { n=$((n + 1)); if eval "$2"; then echo "ok $n - $1"; else echo "not ok $n - $1"; sed 's/^/# /' said | head -n 20; fi; }
run() { "$orrery" "$@" > said 2>&1; status=$?; } # the checks below see $status, not $?
refuses() { rm -f out.yaml; run import topology "$@" -o out.yaml; [ $status -eq 2 ] && [ ! -e out.yaml ]; }
cd "$work" || exit 1

# --- A node and a fabric ---

awk 'BEGIN {
  for (i = 0; i < 4; i++) printf "\tGPU%d", i
  for (i = 0; i < 4; i++) printf "\tmlx5_%d", i
  print "\tCPU Affinity\tNUMA Affinity"
  for (r = 0; r < 8; r++) {
    printf r < 4 ? "GPU%d" : "mlx5_%d", r % 4
    for (i = 0; i < 8; i++) printf "\t%s", i == r ? " X " : i < 4 && r < 4 ? "NV18" : i % 4 == r % 4 ? "PIX" : "SYS"
    print r < 4 ? "\t0-7\t0" : ""
  }
}' > node.txt
# Two groups of 4 nodes, 4 rails, 4 spines.
awk 'BEGIN {
  for (l = 0; l < 8; l++) {
    for (i = 0; i < 4; i++) printf "SW 1 %d 0x%x 4x NDR - CA 2 1 0xa%x%x ( \047leaf%d\047 - \047n%d mlx5_%d\047 )\n",
      i + 1, l + 16, int(l / 4) * 4 + i, l % 4, l, int(l / 4) * 4 + i, l % 4
    for (s = 0; s < 4; s++) printf "SW 1 %d 0x%x 4x NDR - SW 3 %d 0xf%d ( \047leaf%d\047 - \047spine%d\047 )\n", s + 5, l + 16, l + 1, s, l, s
  }
}' > fabric.txt
run import topology node.txt fabric.txt --device h100-sxm --name ours -o ours.yaml
check "a node and a fabric leave nothing open" '[ $status -eq 0 ] && [ ! -s said ] && ! grep -q QUESTION ours.yaml'
check "rails, by counting" 'grep -q "kind: rail-optimized" ours.yaml && grep -q "nodes: 8" ours.yaml'
run check ours.yaml
check "check takes it" '[ $status -eq 0 ] && grep -q "ours.yaml: fine" said'
run describe cluster ./ours.yaml
check "standard input" '"$orrery" import topology - < node.txt 2>/dev/null | grep -q "gpus: 4"'
check "describe takes a file by its name alone" '"$orrery" describe cluster ours.yaml | grep -q "8 nodes of 4 x h100-sxm"'
check "describe takes the file" '[ $status -eq 0 ] && grep -q "8 nodes of 4 x h100-sxm, 32 GPUs" said'
cat > scenario.yaml <<END
schema: scenario/1
name: all-reduce
cluster: ./ours.yaml
workload: {kind: collectives, collective: all-reduce, begin: 1 GiB, end: 1 GiB}
END
run run scenario.yaml --db none
check "a collective runs on it" '[ $status -eq 0 ] && grep -q "all-reduce" said'

# --- Questions and answers ---

run import topology node.txt
check "what is open is asked on stderr, with the option" \
  '[ $status -eq 0 ] && grep -q "orrery: question: Which GPU?.*--device NAME" said && grep -q "# QUESTION" said'
run import topology node.txt --device h200-sxm --nodes 16 --link-rate "200 Gb/s" --nics-per-node 2 --scale-up-domain 2 \
  --oversubscription 2
check "answers are taken" '[ $status -eq 0 ] && grep -q "^nodes: 16" said && grep -q "nic-bandwidth: 200 Gb/s  # --link-rate" said &&
  grep -q "nics-per-gpu: 0.5" said && grep -q "scale-up-domain: 2  #" said && grep -q "oversubscription: 2" said'
run import topology fabric.txt --gpus-per-node 8
check "GPUs that no dump shows" '[ $status -eq 0 ] && grep -q "gpus: 8  # --gpus-per-node" said'
cat node.txt fabric.txt > page.txt
sed 's/NV18/SYS/g' node.txt >> page.txt
check "two machines on a page are refused" 'refuses page.txt && grep -q "2 machines that differ" said'
run import topology page.txt --choose 1
check "--choose takes one" '[ $status -eq 0 ] && grep -q "scale-up-domain: 4" said'

# --- Wrong answers, and files that are not dumps ---

check "a device that does not exist" 'refuses node.txt --device h200-sxn && grep -q "did you mean .h200-sxm" said'
check "a rate without a unit" 'refuses node.txt --link-rate 400 && grep -q "link-rate" said'
check "nodes beyond the fabric" 'refuses node.txt fabric.txt --nodes 9 && grep -q "the fabric has 8 nodes" said'
check "an answer that the dumps contradict" \
  'refuses node.txt --gpus-per-node 8 && grep -q "the dumps show 4 GPUs" said && refuses node.txt fabric.txt --nics-per-node 2 &&
   refuses node.txt fabric.txt --oversubscription 2 && refuses node.txt --choose leaf9 && grep -q "not a machine" said'
check "numbers below 1" 'refuses node.txt --nodes -1 && refuses node.txt --oversubscription 0.5'
check "a name that YAML would read otherwise" 'refuses node.txt --name "a: b"'
check "a file that does not exist" 'refuses missing.txt && grep -q "missing.txt" said'
check "a folder" 'refuses . && grep -q "folder" said'
check "a device that never ends" 'refuses /dev/zero && grep -q "/dev/zero" said'
mkfifo pipe
check "a pipe without a writer" 'refuses pipe'
printf '\0\1' > binary
check "a binary file" 'refuses binary && grep -q "not text" said'
head -c 70000000 /dev/zero | tr '\0' 'a' > huge
check "a huge file" 'refuses huge'
printf '<!DOCTYPE l [<!ENTITY a "%s">]>\n<system>&a;</system>\n' lol > lol.xml
check "entities" 'refuses lol.xml && grep -q "lol.xml:1:1: error: a document type" said'
check "the output is not one of the sources" 'cp node.txt x.yaml; run import topology x.yaml -o x.yaml; [ $status -eq 2 ]'

# --- The way back ---

"$orrery" describe cluster dgx-a100-superpod --as nccl-xml > a.xml
"$orrery" describe cluster dgx-a100-superpod --as slurm > a.conf
run import topology a.xml a.conf -o back.yaml
check "nccl-xml and slurm come back" '[ $status -eq 0 ] && grep -q "^nodes: 560" back.yaml && grep -q "nodes-per-group: 20" back.yaml'
run describe cluster tpu-v4-slice --as slurm
check "a torus has no tree" '[ $status -eq 2 ] && grep -q "not a tree of switches" said'
run describe cluster selene --as slrum
check "an unknown format" '[ $status -eq 2 ] && grep -q "did you mean .slurm" said'
run describe model gpt3-175b --as slurm
check "--as is for clusters" '[ $status -eq 2 ]'
echo "1..$n"
