#!/usr/bin/env python3
"""fit_campaigns.py ORRERY [FILE] - how far `orrery calibrate stack` carries from one measured concurrency to the others.

Ten campaigns of scenarios/validation/serving.csv: one engine without attention data parallelism, the same model, machine,
layout and lengths at four or more concurrencies; of each model and machine the two with the most rows (of different
lengths), and of these the ten with the most. TensorRT-LLM's DeepSeek runs are left out: their limits follow each row. The row at the middle concurrency is what `fit` sees; the others are predicted. Prints a
table in Markdown, or replaces the one between <!-- fit: campaigns --> and <!-- /fit --> in FILE. About three minutes of a processor.
"""
import collections
import csv
import json
import os
import re
import subprocess
import sys
import tempfile

orrery = os.path.abspath(sys.argv[1])
root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MACHINES = {"h100_sxm": "{base: dgx-h100-superpod", "h200_sxm": "{base: dgx-h100-superpod, device: h200-sxm",
            "b200_sxm": "{base: dgx-h100-superpod, device: b200", "gb200": "{base: gb200-nvl72",
            "b300_sxm": "{base: dgx-b300-superpod", "gb300": "{base: gb300-nvl72"}
PRECISIONS = {"fp8": "fp8", "fp8_block": "fp8", "nvfp4": "fp4", "bf16": "bf16", "float16": "bf16", "fp16": "bf16"}
DEFAULTS = {"vllm": "vllm-0.10", "sglang": "sglang-0.5", "trtllm": "trtllm-1.1"}  # as in serving.yaml
WHOLE = {"meta-llama/Llama-3.1-8B-Instruct", "Qwen/Qwen3-32B", "Qwen/Qwen3-235B-A22B-FP8"}  # lengths are not drawn


def campaigns():
    lines = [line for line in open(f"{root}/scenarios/validation/serving.csv") if not line.startswith("#")]
    groups = collections.defaultdict(dict)
    for row in csv.DictReader(lines):
        plain = row["attention_dp_size"] in ("", "0.0", "1.0") and row["mode"] == "agg" and row["pp_size"] in ("", "1.0")
        is_known = row["gemm_quant_mode"] in PRECISIONS and re.fullmatch(r"(\d+\.\d+[\w.]*)?", row["backend_version"])
        if plain and is_known and not (row["backend"] == "trtllm" and "DeepSeek" in row["model_path"]):
            key = tuple(row[name] for name in ("backend", "backend_version", "model_path", "system", "gemm_quant_mode", "isl",
                                               "osl", "tp_size", "moe_ep_size"))
            groups[key][int(float(row["batch_size"]))] = row
    best, places = [], collections.defaultdict(set)
    for key, rows in sorted(groups.items(), key=lambda one: (-len(one[1]), one[0])):
        lengths = places[key[2], key[3]]
        if len(rows) >= 4 and len(lengths) < 2 and key[5:7] not in lengths:
            lengths.add(key[5:7])
            best.append((key, rows))
    return best[:10]


def scenario_of(key, stack):
    backend, version, model, system, gemm, isl, osl, tp, ep = key
    ratio = 1 if model in WHOLE else 0.8
    experts = f", ep: {int(float(ep))}" if ep not in ("", "0.0") else ""
    return f"""schema: scenario/1
name: campaign
cluster: {MACHINES[system]}, nodes: 0, gpus: {int(float(tp))}}}
model: {model}
workload:
  kind: serving
  stack: {stack or (f'{backend}-{version}' if version else DEFAULTS[backend])}
  precision: {PRECISIONS[gemm]}
  parallel: {{tp: {int(float(tp))}, imbalance: 1.2{experts}}}
  engine: {{prefix-caching: none{', cuda-graph-max-size: 512' if backend == 'trtllm' else ''}}}
  load: {{kind: closed-loop, concurrency: 1, requests-per-client: 10}}
  input: {{kind: uniform-up-to, tokens: {int(float(isl))}, ratio: {ratio}}}
  output: {{kind: uniform-up-to, tokens: {int(float(osl))}, ratio: {ratio}}}
  metrics: {{request-rows: 0, step-rows: 0}}
"""


def call(*args):
    done = subprocess.run([orrery, *args], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr.strip()[:500])
    return done.stdout


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def simulated(path, concurrency):
    result = json.loads(call("run", path, "--db", "none", "--json", "--set", f"workload.load.concurrency={concurrency}"))
    text = json.dumps(result)
    return [float(re.search(rf'"{name}": ([\d.e+-]+)', text).group(1)) for name in ("ttft_mean_s", "tpot_mean_s")]


def errors(path, rows, shown):
    """Mean absolute errors of TTFT and TPOT over the rows that fit has not seen, in %."""
    sums = [0, 0]
    for concurrency, row in rows.items():
        if concurrency != shown:
            measured = [float(row["silicon_ttft_ms"]) / 1e3, float(row["silicon_tpot_ms"]) / 1e3]
            for i, value in enumerate(simulated(path, concurrency)):
                sums[i] += abs(value / measured[i] - 1)
    return [100 * value / (len(rows) - 1) for value in sums]


def line_of(key, rows, folder):
    shown = sorted(rows)[len(rows) // 2]
    before, after, stack = (f"{folder}/{name}.yaml" for name in ("before", "after", "ours"))
    row = rows[shown]
    write(before, scenario_of(key, None))
    write(f"{folder}/rows.csv", f"concurrency,ttft_mean_s,tpot_mean_s\n{shown},{float(row['silicon_ttft_ms']) / 1e3:.9g},"
                                f"{float(row['silicon_tpot_ms']) / 1e3:.9g}\n")
    call("fit", before, "--rows", f"{folder}/rows.csv", "-o", stack)
    write(after, scenario_of(key, "./ours.yaml"))
    backend, version, model, system, _, isl, osl, tp, _ = key
    name = f"{model.split('/')[-1]}, {int(float(tp))} x {system.split('_')[0]}, {int(float(isl))}/{int(float(osl))}"
    first, second = errors(before, rows, shown), errors(after, rows, shown)
    return [name, f"{backend} {version}", str(shown), str(len(rows) - 1), *(f"{value:.1f} %" for value in
                                                                          (first[1], second[1], first[0], second[0]))], second


def main():
    table = ["| Campaign | Engine | Fitted at | Others | TPOT before | after | TTFT before | after |", "|---|---|---|---|---|---|---|---|"]
    met = [0, 0]
    found = campaigns()
    for key, rows in found:
        with tempfile.TemporaryDirectory() as folder:
            cells, after = line_of(key, rows, folder)
        met[0] += after[1] <= 10
        met[1] += after[0] <= 20
        table.append("| " + " | ".join(cells) + " |")
        print(table[-1], file=sys.stderr)
    table.append(f"\nOf {len(found)} campaigns {met[0]} are within 10 % of TPOT and {met[1]} within 20 % of TTFT after the fit.")
    text = "\n".join(table).replace("  |", " |")
    if len(sys.argv) < 3:
        print(text)
        return
    page = open(sys.argv[2], encoding="utf-8").read()
    write(sys.argv[2], re.sub(r"<!-- fit: campaigns -->.*<!-- /fit -->", lambda _: f"<!-- fit: campaigns -->\n{text}\n<!-- /fit -->", page, flags=re.S))


main()
