#!/bin/sh
# test_explain.sh ORRERY - a trace that a run wrote explains to nothing, a doctored one to what was doctored; traces
# alone; what is refused. TAP.
set -u
orrery=$(realpath "$1") || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
n=0
check() { n=$((n + 1)); if eval "$2"; then echo "ok $n - $1"; else echo "not ok $n - $1"; sed 's/^/# /' said | head -n 30; fi; }
run() { "$orrery" "$@" > said 2>&1; status=$?; } # the checks below see $status, not $?
compare() { run compare "$@"; }
refuses() { rm -f out.json; run "$@" --output out.json; [ $status -eq 2 ] && [ ! -e out.json ]; }
cd "$work" || exit 1
scenario=overlap-llama-70b-64-h100

# --- The run's own trace ---

compare $scenario --output run.json
check "a scenario alone writes its time line" '[ $status -eq 0 ] && grep -q ProfilerStep#0 run.json'
compare $scenario --trace run.json --db run.db --json
cp said same.json
check "each kind and family is equal to 1e-9 s" 'python3 - <<EOF
import json
d = json.load(open("same.json"))
assert abs(d["measured_s"] - d["simulated_s"]) < 1e-9, d
assert abs(d["measured_comm_s"] - d["simulated_comm_s"]) < 1e-9, d
assert len(d["explain_kind"]) == 8 and len(d["explain_difference"]) >= 10
for row in d["explain_kind"] + d["explain_difference"]:
    assert abs(row["difference_s"]) < 1e-9 * max(row["measured_s"], 1), row
assert abs(sum(row["measured_s"] for row in d["explain_kind"]) - d["measured_s"]) < 1e-9
assert not d["unknown"]
EOF'
run query run.db explain --json
check "the rows are in the database" '[ $status -eq 0 ] && python3 -c "
import json
assert {row[\"kind\"] for row in json.load(open(\"said\"))} >= {\"gemm\", \"communication\", \"idle\"}"'
compare $scenario --trace run.json --lane 1 --device 1 --db none
check "another rank class beside its own lane" 'grep -q "simulated: equal" said'
gzip -k run.json
compare $scenario --trace run.json.gz --db none
check "the same gzipped" 'grep -q "simulated: equal" said'

# --- One collective 30 % slower ---

python3 - <<'EOF'
import json
d = json.load(open("run.json"))
for e in d["traceEvents"]:
    if e["name"] == "orrery::all-gather" and e["args"].get("Process Group Description") == "tp":
        e["dur"] *= 1.3
json.dump(d, open("slow.json", "w"))
EOF
compare $scenario --trace slow.json --db none --json
cp said slow.out
check "is the first difference, by 30 %" 'python3 - <<EOF
import json
rows = json.load(open("slow.out"))["explain_difference"]
assert rows[0]["family"] == "all-gather (tp)", rows[0]
assert abs(rows[0]["measured_s"] / rows[0]["simulated_s"] - 1.3) < 1e-6, rows[0]
assert abs(rows[1]["difference_s"]) < 1e-9, rows[1]
EOF'

# --- A small trace by hand: 100 us, 40 us of kernels, a collective that half of it hides, 20 us of copies ---

cat > hand.json <<'EOF'
{"schemaVersion": 1, "traceEvents": [
{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#7", "pid": 9, "tid": 9, "ts": 1000, "dur": 100},
{"ph": "X", "cat": "kernel", "name": "nvjet_tst_1", "pid": 0, "tid": 7, "ts": 1000, "dur": 40, "args": {"device": 0, "stream": 7}},
{"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllGather_RING_LL", "pid": 0, "tid": 8, "ts": 1030, "dur": 20, "args": {"device": 0, "stream": 8}},
{"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD (Pinned -> Device)", "pid": 0, "tid": 9, "ts": 1060, "dur": 20, "args": {"device": 0, "stream": 9}},
{"ph": "X", "cat": "kernel", "name": "my_own_kernel", "pid": 0, "tid": 7, "ts": 1090, "dur": 5, "args": {"device": 0, "stream": 7}}
]}
EOF
compare --trace hand.json
check "exposed communication, copies and idle time by hand" '[ $status -eq 0 ] && grep -Eq "^communication +0.010$" said &&
  grep -Eq "^copies +0.020$" said && grep -Eq "^idle +0.025$" said && grep -Eq "^hidden +0.010 ms" said'
check "a kernel that no pattern knows is listed" 'grep -Eq "my_own_kernel +0.005$" said'
compare --trace hand.json --step "ProfilerStep#9" --output hand.out.json
check "no such step: the whole; the measured step for Perfetto" 'grep -q "no steps" said && grep -q nvjet hand.out.json'
compare benchmark-qwen3-32b-vllm-h100 --trace hand.json --set workload.load.requests-per-client=1 --db none --output both.json
check "serving: attention, communication and the rest" '[ $status -eq 0 ] && grep -q "gemm and others" said && grep -q simulated both.json'

# --- Refused ---

check "no trace and no file to write" 'run explain $scenario; [ $status -eq 2 ]'
check "a folder" 'refuses compare --trace .'
check "a device" 'refuses compare --trace /dev/zero'
check "a device without kernels" 'refuses compare --trace hand.json --device 3'
check "a report of Nsight Systems" 'echo x > a.nsys-rep; refuses compare --trace a.nsys-rep && grep -q "nsys export" said'
head -c 700 hand.json > cut.json
check "cut short, with the place" 'refuses compare --trace cut.json && grep -Eq "cut.json:[0-9]+:[0-9]+: error: .*cut short" said'
check "no such rank class" 'refuses explain $scenario --trace run.json --lane 99 --db none'
check "a scenario of which no time line is kept" 'refuses explain nccl-tests-dgx-h100-16 --trace hand.json --db none'
echo "1..$n"
