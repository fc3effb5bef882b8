#!/usr/bin/env python3
"""test_contact.py ORRERY - what somebody meets on the first day: names, questions, sweeps, bands (TAP).

Law of bands: where an output prints a band, the answer beside it lies within, or the words say by how much measured
runs differ; `--json` has the middle of every band as METRIC_expected, which lies within.
"""
import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile

orrery = os.path.abspath(sys.argv[1])
count = 0
failed = False
SWEEP = """schema: scenario/1
name: s
cluster: {base: dgx-h100-superpod, nodes: 2}
model: llama-3.1-8b
workload:
  kind: training
  parallel: {tp: 2, pp: 1}
  batch: {global: 32, micro: 1}
  sequence: 8192
sweep:
  axes: {tp: {powers-of: 2, to: 8}, pp: [1, 2], micro-batch: [1, 2], chunks: [1, 2, 4]}
  objective: [maximize tokens_per_s, minimize memory_peak_bytes]
"""
CAMPAIGN = """schema: scenario/1
base: campaign-llama-3.1-405b-16384-h100
name: c
campaign: {detection: [{symptom: silent-corruption, after: 2 h}]}
"""


def check(what, good, shown=""):
    global count, failed
    count += 1
    failed |= not good
    print(f"{'ok' if good else 'not ok'} {count} - {what}{'' if good else ': ' + str(shown)[:1500]}")


def call(*args):
    done = subprocess.run([orrery, *args], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def check_json():
    """JSON has each key once: of two, a reader keeps the last. One run of each kind, and a campaign."""
    def once(pairs):
        twice.update(key for key, _ in pairs if [name for name, _ in pairs].count(key) > 1)
        return dict(pairs)

    with open("jobs.csv", "w", encoding="utf-8") as file:
        file.write("job_id,submit_s,duration_s,gpus\n1,0,60,8\n2,0,60,16\n")
    with open("jobs.yaml", "w", encoding="utf-8") as file:
        file.write("schema: scenario/1\nname: j\ncluster: {base: dgx-h100-superpod, nodes: 2}\n"
                   "workload: {kind: cluster, jobs: jobs.csv}\n")
    runs = {"training": ["megatron-sc21-1.7b"], "collectives": ["nccl-tests-dgx-a100-4"], "cluster": ["jobs.yaml"],
            "serving": ["serving-llama-3.1-8b-h100", "--set", "workload.requests=50"],
            "trace": ["trace-broadcast-8-h100"], "diffusion": ["flux-1-h100"],
            "diffusion-training": ["flux-1-training-16-gb300"], "recommendation": ["dlrm-dcnv2-8-b200"],
            "post-training": ["rl-grpo-qwen3-30b-a3b-32-h100"], "campaign": ["checkpoints-gpt3-175b-1024-a100"]}
    for kind, line in runs.items():
        twice = set()
        status, out, err = call("run", *line, "--json", "--db", "none")
        members = json.loads(out, object_pairs_hook=once) if status == 0 else {}
        check(f"run --json of {kind} has each key once", members and not twice, f"{sorted(twice)} {err}")
        for name in ("jct_s", "wait_s") if kind == "cluster" else ("ttft_s", "e2e_s") if kind == "serving" else ():
            check(f"  {name} has the result's members", members.get(name, {}).get("p50") == members.get(f"{name[:-2]}_p50_s"),
                  members.get(name))
    known = {line.split()[0] for line in call("list", "workloads")[1].splitlines()}
    check("every kind of workload is among them", known and known <= set(runs), known)


def check_names():
    meant = (("stack", "torchtitan", "torchtitan-2025.06"), ("stack", "vllm", "vllm-0.21"),
             ("device", "h100", "h100-sxm"), ("transport", "roce", "roce-v2"), ("collective", "double-tree", "tree"),
             ("model", "llama-3.1-8b-instruct-mine", "llama-3.1-8b"))
    for kind, typed, name in meant:
        said = call("describe", kind, typed)[2]
        check(f"describe {kind} {typed} suggests {name}", f"did you mean '{name}'" in said, said)
    plots = [line.split()[0] for line in call("list", "plots")[1].splitlines()]
    told = {name: call("describe", "plot", name) for name in plots}
    check("every plot is described, with the columns of its view",
          plots and all(told[n][0] == 0 and f"draws the view {n}:" in told[n][1] for n in plots), told)
    code, _, said = call("plan", "training", "--model", "lama-3.1-8b", "--cluster", "dgx-h100-superpod", "--gpus", "8",
                         "--db", "none", "-o", "p.yaml")
    check("a finding of plan names the option", code == 2 and said.lstrip("orrery: ").startswith("--model: error")
          and "the question" not in said, said)


def check_sweep():
    with open("s.yaml", "w", encoding="utf-8") as file:
        file.write(SWEEP)
    code, out, said = call("sweep", "s.yaml", "--db", "s.db")
    check("the sweep ends", code == 0, said)
    heads = [line.split() for line in out.splitlines() if line.split()[:1] == ["run"]]
    check("each objective has a heading", len(heads) == 2
          and all("tokens_per_s" in h and "memory_peak_bytes" in h for h in heads), out)
    check("bytes are printed with their unit", "GiB" in out and not re.search(r"\de\+", out), out)
    check("a reason has the numbers of one of its points",
          "pipeline.chunks is 2 but pp is 1: chunks need a pipeline (or other numbers)" in out and "#" not in out, out)
    front = out[out.index("Pareto front"):]
    speeds = [float(line.split()[1].replace(",", "")) for line in front.splitlines()[2:] if re.match(r" +\d+ +\d", line)]
    check("the front is in the order of the first objective", len(speeds) > 2 and speeds == sorted(speeds)[::-1], front)
    _, none, said = call("sweep", "s.yaml", "--set", "sweep.where=[memory_peak_bytes < 1]", "--db", "none")
    done = re.search(r"points, (\d+) simulated to the end", none)
    check("a constraint that every point fails is named", done and
          f"best          none: {done.group(1)} points fail where memory_peak_bytes < 1\n" in none, none + said)
    _, out, said = call("query", "s.db", "heat-map", "--param", "x=tp")
    check("heat-map takes the last word of a path", "over workload.parallel.tp" in out, out + said)
    _, out, said = call("query", "s.db", "heat-map", "--param", "x=nothing")
    check("no rows: it says what was asked for", "none has x=nothing" in said, said)
    with sqlite3.connect("s.db") as db:
        unfit = db.execute("SELECT run_id FROM sweep_point WHERE status = 'unfit'").fetchone()
    _, out, said = call("query", "s.db", "memory", "--run", str(unfit[0]), "--json")
    check("memory of a point that does not fit", json.loads(out)[0]["total_gib"] > 79.65, out + said)


def within(low, value, high):
    return low * (1 - 1e-9) <= value <= high * (1 + 1e-9)


def check_bands():
    outside = 0
    for scenario in ("sft-llama-3.1-8b-8-h100", "nccl-tests-dgx-a100-4", "fsdp-llama-70b-1024-h100"):
        answer = json.loads(call("run", scenario, "--db", "none", "--json")[1])
        bands = [band for band in answer["bands"] if band["quality"] != "none"]
        check(f"{scenario}: the middle of each band lies within it",
              all(within(b["low"], b["expected"], b["high"]) and answer[b["metric"] + "_expected"] == b["expected"]
                  for b in bands), bands)
        text = call("run", scenario, "--db", "none")[1]
        off = [b for b in bands if not within(b["low"], b["value"], b["high"])]
        outside += len(off)
        check(f"{scenario}: {len(off)} answers outside of their bands, which the text says",
              ("measured runs show" in text) == (len(off) > 0) or len(off) == 0, text)
        check(f"{scenario}: --json has warnings", isinstance(answer["warnings"], list), answer["warnings"])
    report = json.loads(call("sweep", "s.yaml", "--db", "s.db", "--json")[1])
    for one in report["best"]:
        for band in (b for b in one["bands"] if b["quality"] != "none"):
            check("a sweep's band holds its middle", within(band["low"], band["expected"], band["high"]), band)
    with sqlite3.connect("s.db") as db:
        off = db.execute("SELECT count(*) FROM sweep_band WHERE low IS NOT NULL AND NOT value BETWEEN low AND high")
        n_off = off.fetchone()[0]
    text = call("sweep", "s.yaml", "--db", "s.db")[1]
    check("a sweep says which points lie outside", n_off == 0 or "measured runs show" in text, text)


def check_campaign():
    with open("c.yaml", "w", encoding="utf-8") as file:
        file.write(CAMPAIGN)
    _, _, said = call("check", "c.yaml")
    lines = [line for line in said.splitlines() if "goes unnoticed" in line]
    check("one line a symptom, with a default that has a source", len(lines) == 2
          and all("is assumed (" in line for line in lines), said)
    with open("c.yaml", "w", encoding="utf-8") as file:
        file.write(CAMPAIGN.replace("silent-corruption", "hang"))
    code, _, said = call("check", "c.yaml")
    check("what has no default is asked", code == 2 and "add {symptom: silent-corruption, after: TIME}" in said, said)


def check_errors():
    call("new", "scenario", "--workload", "campaign", "-o", "weeks.yaml")
    asked = ("plan", "campaign", "weeks.yaml", "--set", "campaign.seeds=2")
    _, out, said = call(*asked)
    wanted = "out_p99 is off by 36 % on average where it was measured"
    check("plan campaign says which results were far off", f"warning: {wanted}" in out, out + said)
    check("so does its --json", any(wanted in w for w in json.loads(call(*asked, "--json")[1])["warnings"]))


def check_truths():
    """A sweep over true and false answers what runs with them do, in either order."""
    for values in ("[true, false]", "[false, true]"):
        with open("truths.yaml", "w", encoding="utf-8") as file:
            file.write("schema: scenario/1\nname: t\nbase: data-parallel-gpt3-1.3b-64-a100\nsweep:\n  axes: "
                       f"{{workload.data-parallel.overlap: {values}}}\n  objective: minimize iteration_time_s\n")
        best = json.loads(call("sweep", "truths.yaml", "--db", "none", "--json")[1])["best"]
        swept = sorted(one["objectives"][0] for one in best)
        runs = sorted(json.loads(call("run", "truths.yaml", "--db", "none", "--json", "--set",
                                      f"workload.data-parallel.overlap={value}")[1])["iteration_time_s"]
                      for value in ("true", "false"))
        check(f"a sweep over {values}", len(swept) == 2 and all(abs(a / b - 1) < 1e-6 for a, b in zip(swept, runs))
              and runs[0] < runs[1], (swept, runs))


def warnings_of(*words):
    return json.loads(call("run", *words, "--db", "warned.db", "--json")[1])["warnings"]


def check_warnings():
    """What stderr warns of stands in the JSON and in the database, too."""
    said = warnings_of("s.yaml", "--set", "workload.lora.targets=[fc1]")
    check("--json has warnings of settings", any("lora.targets has no effect: lora.rank is 0" in w for w in said), said)
    _, out, _ = call("query", "warned.db", "warnings", "--run", "1")
    check("so has the database", "lora.targets has no effect" in out, out)
    part = "workload.disaggregation"
    for off, warned in ((f"{part}.prefill=0", 0), (f"{part}={{prefill: 0, transfer: whole}}", 1)):
        _, out, err = call("run", "serving-1p3d-llama-3.1-8b", "--set", "workload.requests=20", "--set", off, "--db", "none")
        n = (out + err).count("transfer (whole) has no effect")
        check(f"a file's keys of a section that --set switches off are not idle: {off}", n == warned, err)
    _, out, err = call("run", "s.yaml", "--set", "workload.lora.targets=[fc1]", "--db", "none")
    check("the text has them once", (out + err).count("lora.targets has no effect") == 1, out + err)
    with open("line.sh", "w", encoding="utf-8") as file:
        file.write("vllm serve Qwen/Qwen3-8B --swap-space 4 --uvicorn-log-level info; vllm bench serve --dataset-name "
                   "random --random-input-len 64 --random-output-len 8 --max-concurrency 2 --num-prompts 4\n")
    launch = ("--from-launch", "line.sh", "--cluster", "dgx-h100-superpod")
    _, _, err = call("run", *launch, "--db", "none")
    listed = [line for line in err.splitlines() if line.startswith("not simulated")]
    check("--json has what a launch line leaves out", set(listed) <= set(warnings_of(*launch)), listed)
    with open("jobs.yaml", "w", encoding="utf-8") as file:
        file.write("schema: scenario/1\nname: two\ncluster: {base: dgx-h100-superpod, nodes: 2}\njobs:\n" + "".join(
            f"  - {{name: j{i}, model: llama-3.1-8b, gpus: 8, workload: {{kind: training, parallel: {{tp: 8}}, "
            "batch: {global: 8, micro: 1}, lora: {targets: [fc1]}}}\n" for i in range(2)))
    jobs = json.loads(call("run", "jobs.yaml", "--db", "none", "--json")[1])
    check("so have jobs", all(any("lora.targets" in w for w in job["warnings"]) for job in jobs), jobs)
    with open("short.csv", "w", encoding="utf-8") as file:
        file.write("arrival_s,input_tokens,output_tokens\n0,64,8\n1,64,8\n2,64,8\n")
    with open("short.yaml", "w", encoding="utf-8") as file:
        file.write(SET.replace("{kind: closed-loop, concurrency: 2}", "{kind: csv, file: short.csv}"))
    short = [w for w in warnings_of("short.yaml") if "requests is 8, and the trace has 3" in w]
    check("a trace that is shorter than asked for is a warning", len(short) == 1, short)
    for enough in ("workload.requests=3", "workload.requests=0", "workload.load.repeat=3"):
        said = warnings_of("short.yaml", "--set", enough)
        check(f"one that is not is none: {enough}", not any("the trace has" in w for w in said), said)


BARE = """schema: cluster/1
base: l40s-server
name: bare-server
device: {base: l40s, name: bare}
"""
SERVED = """schema: scenario/1
name: served
cluster: ./bare.yaml
model: llama-3.2-1b
workload:
  kind: serving
  precision: bf16
  requests: 16
  load: {kind: poisson, rate: 4}
  slo: {ttft: 2 s}
  input: {tokens: 200}
  output: {tokens: 20}
sweep: {axes: {cluster: [./bare.yaml, dgx-h100-superpod]}, objective: maximize output_tokens_per_s}
"""
MONTHS = """schema: scenario/1
base: ./weeks.yaml
name: months
campaign: {seeds: 2}
sweep: {axes: {campaign.spares: [8, 16]}, objective: maximize goodput}
"""
OPTIMISTIC = "optimistic: no measured kernels of bare; all are modelled from its datasheet"


def check_caveats():
    """What an answer must say of itself stands in the output of every verb, once, and in its --json."""
    for name, text in (("bare.yaml", BARE), ("served.yaml", SERVED), ("months.yaml", MONTHS)):
        with open(name, "w", encoding="utf-8") as file:
            file.write(text)
    plan = ("--model", "llama-3.2-1b", "--cluster", "./bare.yaml", "--db", "plans.db")  # --json computes no point again
    training = (*plan, "--batch-tokens", "128k", "--sequence", "2048")
    verbs = {
        "run": ("run", "served.yaml", "--db", "none"),
        "sweep": ("sweep", "served.yaml", "--db", "points.db"),
        "rate": ("plan", "rate", "served.yaml", "--seeds", "2", "--tolerance", "0.5"),
        "plan training": ("plan", "training", *training, "--gpus", "2"),
        "plan gpus": ("plan", "gpus", *training, "--tokens", "1B", "--days", "300"),
        "plan serving": ("plan", "serving", *plan, "--gpus", "1", "--input", "200", "--output", "20", "--ttft", "2s",
                         "--tpot", "50ms", "--precision", "bf16", "--kv-cache", "bf16", "--aggregated"),
    }
    for verb, words in verbs.items():
        _, out, said = call(*words)
        check(f"{verb} says that a device has a datasheet alone", out.count(OPTIMISTIC) == 1, out + said)
        if verb != "plan gpus":
            warnings = json.loads(call(*words, "--json")[1])["warnings"]
            check("so does its --json", warnings.count(OPTIMISTIC) == 1, warnings)
    measured = call(*verbs["run"], "--set", "cluster=dgx-h100-superpod")[1]
    check("a device with kernels does not", "costs" in measured and "optimistic" not in measured, measured)
    _, out, said = call("compare", "points.db", "2", "3")
    check("compare says which run", f"warning: run 2: {OPTIMISTIC}" in out, out + said)
    warnings = json.loads(call("compare", "points.db", "2", "3", "--json")[1])["warnings"]
    check("so does its --json", warnings == [f"run 2: {OPTIMISTIC}"], warnings)
    call("report", "points.db", "1", "-o", "points.html")
    with open("points.html", encoding="utf-8") as file:
        check("the sweep's report has it", OPTIMISTIC in file.read())
    off = "out_p99 is off by 36 % on average where it was measured"  # months.yaml has the weeks.yaml of check_errors
    _, out, said = call("sweep", "months.yaml", "--db", "off.db")
    check("a sweep says which results were far off", out.count(f"  warning       {off}") == 1, out + said)
    _, out, said = call("compare", "off.db", "2", "3")
    check("so does compare", f"warning: runs 2, 3: {off}" in out, out + said)
    _, out, said = call("run", "served.yaml", "--set", "model=minimax-m3", "--set", "cluster=dgx-h100-superpod", "--set",
                        "workload.parallel.tp=32", "--db", "none")
    check("sparse attention that is computed as dense is a warning", "model minimax-m3: attention is sparse" in out, out + said)


# A set whose first row names its release and whose second does not.
SET = """schema: scenario/1
name: own
cluster: {base: dgx-h100-superpod, nodes: 1, gpus: 1}
model: llama-3.1-8b
workload: {kind: serving, load: {kind: closed-loop, concurrency: 2}, requests: 8, input: {tokens: 64}, output: {tokens: 16}}
"""
ASSUMED = "release assumed: vllm-0.21"


def check_assumed():
    """Where no release is named, the answer says which one was taken."""
    with open("own.yaml", "w", encoding="utf-8") as file:
        file.write(SET)
    with open("own.csv", "w", encoding="utf-8") as file:
        file.write("label,workload.stack,measured.tpot_mean_s\na,vllm-0.9,0.006\nb,,0.006\n")
    _, out, said = call("validate", "own.yaml", "--db", "none")
    check("validate counts the rows of an assumed release",
          f"{ASSUMED} (workload.stack names another): 1 of 2 comparisons" in out, out + said)
    rows = json.loads(call("validate", "own.yaml", "--db", "none", "--json")[1])["sets"][0]["rows"]
    check("so does its --json", [(row["stack"], row["release_assumed"]) for row in rows]
          == [("vllm-0.9", None), ("vllm-0.21", "vllm-0.21")], rows)
    serving = ("plan", "serving", "--model", "llama-3.1-8b", "--cluster", "dgx-h100-superpod", "--gpus", "1", "--input",
               "200", "--output", "20", "--ttft", "1s", "--tpot", "20ms", "--precision", "bf16", "--kv-cache", "bf16",
               "--aggregated", "--db", "plans.db")
    _, out, said = call(*serving)
    check("plan serving says it", f"stack         {ASSUMED} (--stack names another)" in out, out + said)
    check("so does its --json", json.loads(call(*serving, "--json")[1])["release_assumed"] == "vllm-0.21")
    for named in (("--stack", "vllm-0.19"), ("--set", "workload.stack=vllm-0.14")):
        _, out, said = call(*serving, *named)
        check(f"plan serving {' '.join(named)} does not", "fleet" in out and "assumed" not in out, out + said)
    training = ("--model", "llama-3.1-8b", "--cluster", "dgx-h100-superpod", "--batch-tokens", "256k", "--sequence", "4096",
                "--db", "plans.db")
    newest = "release assumed: megatron-core-26.06"
    _, out, said = call("plan", "training", *training, "--gpus", "8")
    check("plan training says it", f"{newest} (--stack names another)" in out, out + said)
    answer = json.loads(call("plan", "training", *training, "--gpus", "8", "--json")[1])
    check("so does its --json", answer["release_assumed"] == "megatron-core-26.06", answer)
    _, out, said = call("plan", "gpus", *training, "--tokens", "1B", "--days", "30")
    check("plan gpus says it", f"\n{newest} (--stack names another)\n" in out, out + said)
    with open("b.json", "w", encoding="utf-8") as file:
        file.write('{"max_concurrency": 4, "completed": 8, "mean_ttft_ms": 20.5}\n')
    _, out, said = call("import", "bench", "b.json")
    check("import bench says it beside rows", ASSUMED in said and "assumed" not in out, out + said)
    out = call("import", "bench", "b.json", "--load")[1]
    check("and above a load", out.startswith(f"# {ASSUMED} (workload.stack names another)\nworkload:"), out)
    with open("s.json", "w", encoding="utf-8") as file:
        file.write('{"backend": "sglang", "max_concurrency": 4, "completed": 8, "mean_ttft_ms": 20.5, '
                   '"mean_e2e_latency_ms": 90}\n')
    _, out, said = call("import", "bench", "s.json")
    check("a result of an engine names its stack", "the result is of sglang: name workload.stack: sglang-0.5" in said, said)


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        check_json()
        check_names()
        check_sweep()
        check_bands()
        check_campaign()
        check_errors()
        check_caveats()
        check_assumed()
        check_warnings()
        check_truths()
        os.chdir("/")
    print(f"1..{count}")
    return 1 if failed else 0


sys.exit(main())
