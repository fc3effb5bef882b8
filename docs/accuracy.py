#!/usr/bin/env python3
"""accuracy.py ORRERY [--check] [--quick] - the figures of accuracy in README.md and docs/modelling.md, from the program.

Runs `orrery validate` set by set and rewrites
  README.md          what stands between <!-- accuracy --> and <!-- /accuracy -->
  docs/modelling.md  the figures between <!-- accuracy: training --> and <!-- /accuracy -->: cells two to four of each
                     row that begins with a set's name (the explanations are written by hand) and the sentence above;
                     between <!-- accuracy: serving --> and <!-- /accuracy --> the rows that SERVING lists; between
                     <!-- accuracy: kernels --> and <!-- /accuracy --> the table of kernels left out
--check changes nothing, prints what would change, and exits with 1 where there is any. --quick runs the sets of a few
seconds alone: with --check, lines of other sets are not compared.

error = simulated / measured - 1, as `orrery validate` has it, so that above 0 the simulation says more. Steps of training
are compared as times whatever was published (measured / simulated - 1 of tokens or FLOPs per second), so that sets can be
summed. "Compared" counts figures: a serving point has two. Refused rows are not in it; `orrery validate SET` lists them.
"""
import json
import os
import re
import statistics
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
QUICK = {"megatron-sc21", "korthikanti-layers", "training-vtrain-multi", "training-megatron-h100", "training-sc21-zero3",
         "training-torchtitan", "serving-splitwise", "serving-vllm-llama-3.1-8b"}
MEMORY = ("memory_peak_bytes", "allocator_peak_bytes")
RATES = ("tokens_per_s", "tokens_per_s_per_gpu", "hardware_tflops_per_gpu", "model_tflops_per_gpu")  # of training

# Set, part (None: all), metrics (None: all but memory), what it is.
TRAINING = ["korthikanti-layers", "megatron-sc21", "training-bloom", "training-dgxc", "training-llm-foundry",
            "training-maxtext-tpu", "training-megatron-bridge", "training-megatron-h100", "training-sc21-figures",
            "training-sc21-zero3", "training-torchtitan", "training-vtrain-multi"]
LINES = [
    ("Training steps", None, None, None),
    ("megatron-sc21", None, None, "iteration time, 1.7B to 1T parameters, 32 to 3,072 A100s"),
    ("korthikanti-layers", None, None, "forward and backward of one layer, TP 8, with and without SP and recomputation"),
    ("training", None, None, "these two and all other sets of published steps "
     "([by set, and why](docs/modelling.md#how-far-training-is-off))"),
    ("training", None, MEMORY, "memory of the same runs, where it is published"),
    ("training-vtrain-single", None, None, "one node, whose rows look computed rather than measured: not in the sum above"),
    ("Collectives", None, None, None),
    ("collectives-one-node", None, None, "NCCL on one node, 1 MiB and above, A100, H100, H200"),
    ("collectives-one-node-small", None, None, "the same, below 1 MiB"),
    ("collectives-multi-node", None, None, "NCCL over 2 to 360 nodes"),
    ("Serving", None, None, None),
    ("serving-vllm-llama-3.1-8b", None, None, "means over 300 requests that vLLM 0.19 answered: ttft, tpot, e2e, tokens/s"),
    ("serving", "dense", ("ttft_mean_s",), "closed-loop points of vLLM, SGLang, TensorRT-LLM: ttft of dense models"),
    ("serving", "dense", ("tpot_mean_s",), "tpot of dense models"),
    ("serving", "experts", ("ttft_mean_s",), "ttft of mixtures of experts"),
    ("serving", "experts", ("tpot_mean_s",), "tpot of mixtures of experts"),
    ("serving", "disaggregated", ("ttft_mean_s",), "ttft with prefill and decode apart"),
    ("serving", "disaggregated", ("tpot_mean_s",), "tpot with prefill and decode apart"),
    ("serving-trtllm-overview", "dense", None, "NVIDIA's throughputs at full load: dense models"),
    ("serving-trtllm-overview", "experts", None, "the same: mixtures of experts"),
    ("serving-splitwise", None, ("ttft_mean_s",), "Splitwise's batches of vLLM 0.2 on H100: ttft"),
    ("serving-splitwise", None, ("tpot_mean_s",), "the same: tpot"),
]

# Rows of docs/modelling.md's table of serving, by their first cell: the part of the set, and what their labels match.
SERVING = {
    "dense models on one node": ("dense", ""),
    "vLLM, Llama-3.1-70B fp8, H100": ("dense", r"vllm \S+Llama-3.1-70B h100"),
    "TensorRT-LLM, Llama-3.1-70B fp8 and nvfp4, B200": ("dense", r"trtllm \S+Llama-3.1-70B b200"),
    "SGLang, Qwen3-32B bf16, H100": ("dense", r"sglang \S+Qwen3-32B h100"),
    "SGLang, Llama-3.1-8B fp8, H200": ("dense", r"sglang \S+Llama-3.1-8B\S* h200"),
    "TensorRT-LLM, Qwen3-32B nvfp4, B200 and GB200": ("dense", r"trtllm nvidia/Qwen3-32B"),
    "TensorRT-LLM, Qwen3-32B, GB200": ("dense", r"trtllm Qwen/Qwen3-32B gb200"),
    "experts on one node": ("experts", ""),
    "TensorRT-LLM, Qwen3-235B fp8, H100": ("experts", r"trtllm \S+Qwen3-235B"),
    "TensorRT-LLM, DeepSeek fp8, H200 and B200": ("experts", r"trtllm \S+DeepSeek\S* \S+ fp8"),
    "TensorRT-LLM, DeepSeek nvfp4, B200": ("experts", r"trtllm \S+DeepSeek\S* \S+ fp4"),
    "SGLang, DeepSeek and GLM-5 fp8, H200": ("experts", r"sglang "),
    "prefill and decode apart, GB200 (DeepSeek, Kimi), B200": ("disaggregated", ""),
}

# Columns of docs/modelling.md's table of kernels: what `orrery validate gemm attention moe` calls them.
KERNELS = [(r"gemm bf16",), (r"gemm fp8",), (r"gemm fp4",), (r"attention prefill bf16/bf16",),
           (r"attention decode bf16/bf16", r"attention decode bf16/fp8"), (r"moe bf16 .*",), (r"moe fp8 .*",)]
PROFILES = {"A100-80GB": "a100-80gb-sxm", "H100": "h100-sxm", "H200": "h200-sxm", "B200": "b200", "GB200": "gb200"}


class Validation:
    """What `orrery validate SET` says, asked for once."""

    def __init__(self, orrery):
        self.orrery, self.sets = orrery, {}

    def of(self, name):
        if name not in self.sets:
            text = subprocess.run([self.orrery, "validate", name, "--db", "none", "--json"], check=False,
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
            if not text:
                sys.exit(f"accuracy.py: orrery validate {name} printed nothing: run it to see why")
            self.sets[name] = json.loads(text)["sets"][0]
        return self.sets[name]

    def errors(self, name, part, metrics, label=""):
        """The errors as defined above, in the order of the rows."""
        if name == "training":
            return [e for one in TRAINING for e in self.errors(one, part, metrics)]
        found = []
        for row in self.of(name).get("rows", []):
            metric = row["metric"]
            if part is not None and row.get("part") != part or not re.match(label, row["label"]):
                continue
            if metric not in metrics if metrics else metric in MEMORY:
                continue
            found.append(1 / (1 + row["error"]) - 1 if metric in RATES else row["error"])
        return found

    def kernels(self):
        """Mean errors of kernels left out: (profile, kernels) -> per cent, as the program prints them."""
        text = subprocess.run([self.orrery, "validate", "gemm", "attention", "moe", "--db", "none"], check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
        found = re.findall(r"^  (\S+) +(\S.*?\S) +all +\d+ +([\d.]+) %", text, re.M)
        return {(profile, kernels): float(mape) for profile, kernels, mape in found}

    def n_rows(self, name):
        """Rows of the table: those compared, and those refused."""
        one = self.of(name)
        return len({row["row"] for row in one.get("rows", [])} | {row["row"] for row in one.get("refused", [])})


def percent(share, sign=""):
    return f"{100 * share:{sign}.1f} %"


def cells(errors):
    if not errors:
        return ["0", "-", "-", "-", "-"]
    sizes = [abs(e) for e in errors]
    return [f"{len(errors):,}", percent(statistics.fmean(sizes)), percent(statistics.fmean(errors), "+"),
            percent(statistics.median(sizes)), percent(max(sizes))]


def wanted(name, quick):
    return not quick or name in QUICK


def table(validation, quick):
    """The lines of README's table; None for those that --quick leaves out."""
    lines = ["| Set | Compared | MAPE | Bias | Median | Worst |", "|---|---|---|---|---|---|"]
    for name, part, metrics, what in LINES:
        if what is None:
            lines.append(f"| **{name}** | | | | | |")
        elif wanted(name, quick):
            lines.append(f"| `{name}`: {what} | " + " | ".join(cells(validation.errors(name, part, metrics))) + " |")
        else:
            lines.append(None)
    return lines


def training(old, validation, quick):
    """The same lines of docs/modelling.md with new figures."""
    lines = []
    for line in old:
        row = re.match(r"\| `([a-z0-9.-]+)` \|", line)
        if line.startswith("`orrery validate training`"):
            if quick:
                lines.append(None)
                continue
            errors = validation.errors("training", None, None)
            rows = sum(validation.n_rows(name) for name in TRAINING)
            near = sum(abs(e) <= 0.15 for e in errors) / len(errors)
            count, mape, bias = cells(errors)[:3]
            lines.append(f"`orrery validate training`: {count} of {rows:,} rows compared, times {mape} off in the mean, "
                         f"bias {bias}, {100 * near:.0f} % within 15 % (the aim is 8 % and 90 %).")
        elif row and wanted(row.group(1), quick):
            parts = line.split(" | ")
            parts[1:4] = cells(validation.errors(row.group(1), None, None))[:3]
            lines.append(" | ".join(parts))
        else:
            lines.append(None if row else line)
    return lines


def serving(old, validation, quick):
    """The same for the table of serving."""
    lines = []
    for line in old:
        parts = line.split(" | ")
        named = parts[0].removeprefix("| ").removeprefix("&nbsp; ")
        if named in SERVING and quick:
            lines.append(None)
            continue
        if named in SERVING:
            part, label = SERVING[named]
            found = [cells(validation.errors("serving", part, (m,), label)) for m in ("tpot_mean_s", "ttft_mean_s")]
            shown = [f"{mape} (median {median})" for _, mape, _, median, _ in found]
            line = " | ".join([parts[0], found[0][0]] + shown) + " |"
        lines.append(line)
    return lines


def kernels(old, validation):
    """The same for the table of kernels: a range where balanced and skewed experts differ."""
    errors = validation.kernels()

    def cell(profile, pattern):
        found = [e for (of, name), e in errors.items() if of == profile and re.fullmatch(pattern, name)]
        if not found:
            return ""
        return f"{min(found)}" if min(found) == max(found) else f"{min(found)}-{max(found)}"

    lines = []
    for line in old:
        name = line.removeprefix("| ").split(" |")[0]
        if name in PROFILES:
            shown = [[cell(PROFILES[name], pattern) for pattern in column] for column in KERNELS]
            line = f"| {name} |" + "".join(f" {', '.join(filter(None, one))} |".replace("  ", " ") for one in shown)
        lines.append(line)
    return lines


def rewrite(path, begin, make, check):
    """Replaces the block of @path that follows @begin; the differences, as text."""
    text = open(path, encoding="utf-8").read()
    at = text.index(begin) + len(begin) + 1
    end = text.index("<!-- /accuracy -->", at)
    old = text[at:end].rstrip("\n").split("\n")
    new = make(old)
    if len(new) != len(old) and None in new:
        return [f"{path}: {len(old)} lines, wanted {len(new)}"]
    new = [line if line is not None else old[i] for i, line in enumerate(new)]
    differing = [f"{path}:\n- {a}\n+ {b}" for a, b in zip(old, new) if a != b]
    if len(old) != len(new):
        differing.append(f"{path}: {len(old)} lines, now {len(new)}")
    if not check:
        open(path, "w", encoding="utf-8").write(text[:at] + "\n".join(new) + "\n" + text[end:])
    return differing


def main(arguments):
    check, quick = "--check" in arguments, "--quick" in arguments
    names = [a for a in arguments if not a.startswith("--")]
    if len(names) != 1:
        sys.exit("usage: accuracy.py ORRERY [--check] [--quick]")
    os.environ.setdefault("ORRERY_SHIPPED", ROOT)
    validation = Validation(names[0])
    found = rewrite(f"{ROOT}/README.md", "<!-- accuracy -->", lambda old: table(validation, quick), check)
    found += rewrite(f"{ROOT}/docs/modelling.md", "<!-- accuracy: training -->",
                     lambda old: training(old, validation, quick), check)
    found += rewrite(f"{ROOT}/docs/modelling.md", "<!-- accuracy: serving -->",
                     lambda old: serving(old, validation, quick), check)
    found += rewrite(f"{ROOT}/docs/modelling.md", "<!-- accuracy: kernels -->",
                     lambda old: kernels(old, validation), check)
    print("\n".join(found) if found else "README.md and docs/modelling.md say what validate says")
    return 1 if found and check else 0


sys.exit(main(sys.argv[1:]))
