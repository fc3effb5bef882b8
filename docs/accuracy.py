#!/usr/bin/env python3
"""accuracy.py ORRERY [--check] [--quick] - writes the accuracy figures of README.md and docs/ from `orrery validate`.

Whatever stands between `<!-- accuracy: NAME -->` and `<!-- /accuracy -->` on any page is rewritten. NAME is
  sets SET...        a table, a line of LINES for each set named; `sets` alone: README's table, with its headings
  training           cells two to four of each row that begins with a set's name (a person writes what explains the error),
                     and the sentence above
  serving            the rows that SERVING lists
  kernels            the table of kernels left out, one row a profile; `kernels aiter` those of AMD's tuned library
  costs SET          a table of a cost validation set: kernels by region, the range over profiles
  bands WHAT         coverage and width of error bands by group, with WHAT left out (`validate --bands --leave WHAT`)
  bands ratios       what bands of ratios decide, by axis and by group
  bands choices      how often choices by the point and by the upper end break a bound when measured
  SET[/PART] WHAT [METRIC] [~LABELS]   figures within a sentence, of the rows whose labels match; WHAT is n, mape, bias,
                     median, worst, within-15, range (least to greatest error), or, of one row, simulated or measured
--check changes nothing, prints what would change, and exits with 1 if anything would. --quick runs only the sets that
take a few seconds: with --check, figures of other sets are not compared.

error = simulated / measured - 1, as `orrery validate` has it, so above 0 the simulation says more. Steps of training are
compared as times whatever was published (measured / simulated - 1 of tokens or FLOPs per second), so that sets can be
summed. "Compared" counts figures: a serving point has two. Refused rows are not counted; `orrery validate SET` lists
them.
"""
import glob
import json
import os
import re
import statistics
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
QUICK = {"megatron-sc21", "campaigns-checkpoints", "korthikanti-layers", "training-vtrain-multi", "training-megatron-h100", "training-sc21-zero3",
         "training-torchtitan", "serving-cache", "serving-splitwise", "serving-vllm-llama-3.1-8b"}
QUICK_BANDS = {"set", "choices"}  # the others come from the same residuals
MEMORY = ("memory_peak_bytes", "allocator_peak_bytes")
RATES = ("tokens_per_s", "tokens_per_s_per_gpu", "hardware_tflops_per_gpu", "model_tflops_per_gpu")  # of training

# Set, part (None: all), metrics (None: all but memory), what it is.
TRAINING = ["korthikanti-layers", "megatron-sc21", "training-amd", "training-automodel", "training-bloom", "training-dgxc",
            "training-found", "training-llm-foundry", "training-maxtext-tpu", "training-megatron-bridge", "training-megatron-h100", "training-primus-amd",
            "training-sc21-figures",
            "training-sc21-zero3", "training-torchtitan", "training-transformers", "training-vtrain-multi"]
# A set comes with all of its rows; a part of it follows the whole, and says what it is.
LINES = [
    ("Training steps", None, None, None),
    ("training", None, None, "all sets of published steps ([by set, and why](docs/modelling/training-accuracy.md)); by part:"),
    ("megatron-sc21", None, None, "iteration time, 1.7B to 1T parameters, 32 to 3,072 A100s"),
    ("korthikanti-layers", None, None, "forward and backward of one layer, TP 8, with and without SP and recomputation"),
    ("training", None, MEMORY, "memory of the same runs, where it is published"),
    ("Collectives", None, None, None),
    ("collectives-one-node", None, None, "NCCL on one node, 1 MiB and above, A100, H100, H200"),
    ("collectives-one-node-small", None, None, "the same, below 1 MiB"),
    ("collectives-pcie", None, None, "NCCL and engines on one node without NVLink: L40S, RTX PRO 6000"),
    ("collectives-multi-node", None, None, "NCCL over 2 to 360 nodes"),
    ("collectives-efa", None, None, "NCCL over EFA, p4d to p6"),
    ("collectives-roce", None, None, "NCCL on RoCE, and machines whose owners asked why it is slow"),
    ("exchange-libraries", None, None, "experts' dispatch and combine by UCCL, pplx-garden and DeepEP, over EFA and InfiniBand"),
    ("Serving", None, None, None),
    ("serving-vllm-llama-3.1-8b", None, None, "means over 300 requests that vLLM 0.19 answered: ttft, tpot, e2e, tokens/s"),
    ("serving", None, ("ttft_mean_s",), "closed-loop points of vLLM, SGLang, TensorRT-LLM: ttft; by part:"),
    ("serving", "dense", ("ttft_mean_s",), "dense models"),
    ("serving", "experts", ("ttft_mean_s",), "mixtures of experts"),
    ("serving", "disaggregated", ("ttft_mean_s",), "separate prefill and decode"),
    ("serving", None, ("tpot_mean_s",), "the same points: tpot; by part:"),
    ("serving", "dense", ("tpot_mean_s",), "dense models"),
    ("serving", "experts", ("tpot_mean_s",), "mixtures of experts"),
    ("serving", "disaggregated", ("tpot_mean_s",), "separate prefill and decode"),
    ("serving-sglang-cookbook", None, ("ttft_p50_s",), "closed loops of SGLang's recipes: median ttft"),
    ("serving-sglang-cookbook", None, ("tpot_p50_s",), "the same loops: median tpot"),
    ("serving-trtllm-overview", None, None, "NVIDIA's throughputs at full load; by part:"),
    ("serving-trtllm-overview", "dense", None, "dense models"),
    ("serving-trtllm-overview", "experts", None, "mixtures of experts"),
    ("serving-mlenergy", None, ("output_tokens_per_s",), "full servers of vLLM 0.11 on H100 and B200: tokens/s; by part:"),
    ("serving-mlenergy", "others", ("output_tokens_per_s",), "all but those on the next line"),
    ("serving-mlenergy", "neighbours", ("output_tokens_per_s",), "servers of one B200, eight per node"),
    ("serving-mlenergy", None, ("itl_p50_s",), "the same servers: median gap between tokens; by part:"),
    ("serving-mlenergy", "others", ("itl_p50_s",), "all but those on the next line"),
    ("serving-mlenergy", "neighbours", ("itl_p50_s",), "servers of one B200, eight per node"),
    ("energy-mlenergy", None, ("gpu_power_mean_w",), "the same servers: watts of all GPUs; by part:"),
    ("energy-mlenergy", "others", ("gpu_power_mean_w",), "all but those below"),
    ("energy-mlenergy", "host-bound", ("gpu_power_mean_w",), "B200 that waits for its host"),
    ("energy-mlenergy", "video", ("gpu_power_mean_w",), "video on H100, of assumed length"),
    ("energy-mlenergy", None, ("energy_j_per_output_token",), "the same servers: joules per output token; by part:"),
    ("energy-mlenergy", "others", ("energy_j_per_output_token",), "all but those below"),
    ("energy-mlenergy", "host-bound", ("energy_j_per_output_token",), "B200 that waits for its host"),
    ("energy-mlenergy", "video", ("energy_j_per_output_token",), "video on H100, of assumed length"),
    ("serving-splitwise", None, ("ttft_mean_s",), "Splitwise's batches of vLLM 0.2 on H100: ttft"),
    ("serving-splitwise", None, ("tpot_mean_s",), "the same batches: tpot"),
    ("serving-found", None, None, "published servers to which nothing was fitted: DBRX under vLLM 0.3, Qwen2.5 32B on H20"),
    ("Months of a job", None, None, None),
    ("campaigns", None, None, "times between failures, expected goodput, standby machines"),
    ("campaigns-checkpoints", None, None, "for how long a checkpoint blocks; by part:"),
    ("campaigns-checkpoints", "host", None, "copies to the host"),
    ("campaigns-checkpoints", "peer", None, "to a peer"),
    ("campaigns-checkpoints", "storage", None, "to the file system"),
    ("Rows that look computed, in no sum above", None, None, None),
    ("training-vtrain-single", None, None, "one node: [why](docs/modelling/training-accuracy.md#rows-that-look-computed)"),
]
# Lines that README leaves out and pages of docs/modelling name: `sets NAME` takes the lines of both lists.
MORE_LINES = [
    ("serving-cache", None, None, "memory of caches when engines start, nearly all vLLM on H100; by part:"),
    ("serving-cache", "seen", None, "rows whose logs gave the constants"),
    ("serving-cache", "left-out", None, "rows that were left out"),
    ("training-bloom", None, MEMORY, "memory: nvidia-smi"),
    ("training-torchtitan", None, MEMORY, "memory: the allocator's peak"),
]

# Rows of the table of serving, by their first cell: the part of the set, and what their labels match.
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
    "SGLang, DeepSeek and GLM-5 fp8, H200 and B300": ("experts", r"sglang "),
    "vLLM, MiniMax-M2.5 fp8 and nvfp4, B300": ("experts", r"vllm "),
    "separate prefill and decode, GB200 (DeepSeek, Kimi), B200": ("disaggregated", ""),
}

# Columns of the table of kernels: what `orrery validate gemm attention moe` calls them.
KERNELS = [(r"gemm bf16",), (r"gemm fp8",), (r"gemm fp4",), (r"attention prefill bf16/bf16",),
           (r"attention decode bf16/bf16", r"attention decode bf16/fp8"), (r"moe bf16 .*",), (r"moe fp8 .*",)]
AITER = [(r"gemm bf16 aiter",), (r"gemm fp8 aiter",), (r"gemm fp8-block aiter",), (r"gemm fp4 aiter",), (r"moe fp8 .*",),
         (r"moe fp4 .*",)]
PROFILES = {"MI300X": "mi300x", "MI355X": "mi355x", "A100-80GB": "a100-80gb-sxm", "H100": "h100-sxm", "H200": "h200-sxm", "B200": "b200", "GB200": "gb200"}


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

    def bands(self, *options):
        """What `orrery validate --bands` says with these options."""
        if options not in self.sets:
            self.sets[options] = json.loads(subprocess.run(
                [self.orrery, "validate", "--bands", "--json", *options], check=True, stdout=subprocess.PIPE).stdout)
        return self.sets[options]

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

    def costs(self, *names):
        """Mean errors of cost validation sets: (profile, kernels, region) -> (n, mape)."""
        found = {}
        for name in names:
            for cost in self.of(name).get("costs", []):
                found[cost["profile"], cost["kernels"], cost["region"]] = (cost["n"], cost["mape"])
        return found

    def n_refused(self, name):
        """Rows of the table that were not compared."""
        names = TRAINING if name == "training" else [name]
        return sum(len({row["row"] for row in self.of(one).get("refused", [])}) for one in names)

    def n_rows(self, name):
        """Rows of the table: those compared, and those refused."""
        one = self.of(name)
        return len({row["row"] for row in one.get("rows", [])} | {row["row"] for row in one.get("refused", [])})


def percent(fraction, sign=""):
    shown = f"{100 * fraction:{sign}.1f} %"
    return shown if re.search("[1-9]", shown) else "0.0 %"


def cells(errors):
    if not errors:
        return ["0", "-", "-", "-", "-"]
    sizes = [abs(e) for e in errors]
    return [f"{len(errors):,}", percent(statistics.fmean(sizes)), percent(statistics.fmean(errors), "+"),
            percent(statistics.median(sizes)), percent(max(sizes))]


def wanted(name, quick):
    return not quick or name in QUICK


def line_of(validation, name, part, metrics, what):
    """A line of the table; the rows refused are those of the whole set, so a part has no number."""
    count, *errors = cells(validation.errors(name, part, metrics))
    refused = f"{validation.n_refused(name):,}" if part is None else ""
    named = f"`{name}`: {what}" if part is None else f"&nbsp; {what}"
    return f"| {named} | {count} | {refused} | " + " | ".join(errors) + " |"


def table(names, validation, quick):
    """The lines of README's table, or of @names; None for those that --quick leaves out."""
    lines = ["| Set | Compared | Refused | MAPE | Bias | Median | Worst |", "|---|---|---|---|---|---|---|"]
    for name, part, metrics, what in LINES if not names else LINES + MORE_LINES:
        if names and name not in names:
            continue
        if what is None:
            lines.append(f"| **{name}** | | | | | | |")
        else:
            lines.append(line_of(validation, name, part, metrics, what) if wanted(name, quick) else None)
    return lines


def costs(name, validation):
    """Kernels by region of a cost validation set, each cell the range over the profiles."""
    found = validation.costs(name)
    regions = list(dict.fromkeys(region for _, _, region in found if region != "all"))
    lines = ["| Kernels | " + " | ".join(regions) + " |", "|---|" + "---|" * len(regions)]
    for kernels_name in dict.fromkeys(kernels_name for _, kernels_name, _ in found):
        shown = []
        for region in regions:
            sizes = [f"{100 * mape:.1f}" for (_, k, r), (_, mape) in found.items() if k == kernels_name and r == region]
            low, high = (min(sizes, key=float), max(sizes, key=float)) if sizes else ("", "")
            shown.append(low if low == high else f"{low}-{high}")
        lines.append(f"| {kernels_name} | " + " | ".join(shown) + " |")
    return lines


def number(value, form):
    return "-" if value is None else format(value, form).replace("%", " %")


def bands(what, validation):
    """Coverage by group, or the pairs that ratios decide."""
    if what == "ratios":
        found = validation.bands()["pairs"]
        lines = ["| Pairs that differ in | Pairs | Decided | Right | Inside 80 % | Width | Two bands |", "|---|---|---|---|---|---|---|"]
        for title, rows in (("", found["axes"]), ("Groups", found["sums"])):
            lines += [f"| **{title}** | | | | | | |"] if title else []
            lines += [f"| {row['name']} | {row['pairs']:,} | {number(row['decided'], '.0%')} | {number(row['right'], '.0%')} | "
                      f"{number(row['coverage_80'], '.0%')} | {number(row['width_80'], '.2f')} | {number(row['apart_80'], '.2f')} |"
                      for row in rows if row["pairs"]]
        return lines
    if what == "choices":
        found = validation.bands("--pairs", "0", "--leave", "set")["choices"]
        lines = ["| Bound | Choices by the point | Broken | Choices by the upper end | Broken | Output kept |", "|---|---|---|---|---|---|"]
        for row in found["bounds"]:
            if row["point"]:
                broken = [number(row[f"broken_{by}"] / row[by] if row[by] else None, ".0%") for by in ("point", "upper")]
                lines.append(f"| {row['name']} | {row['point']} | {broken[0]} | {row['upper']} | {broken[1]} | "
                             f"{number(row['kept'], '.0%')} |")
        return [*lines, f"| no bound | {found['questions']} | {number(found['regret_point'], '.1%')} less | {found['questions']} | "
                        f"{number(found['regret_lower'], '.1%')} less | - |"]
    lines = ["| Group | Answers | Good | Weak | None | Inside 80 % | Inside 50 % | Width | Constant | Ratio |",
             "|---|---|---|---|---|---|---|---|---|---|"]
    for row in validation.bands("--pairs", "0", "--leave", what)["sums"]:
        counts = " | ".join(f"{row[key]:,}" for key in ("answers", "good", "weak", "none"))
        inside = " | ".join(number(row[key], ".0%") for key in ("coverage_80", "coverage_50"))
        widths = " | ".join(number(row[key], ".2f") for key in ("width_80", "equal_width_80", "ratio_80"))
        lines.append(f"| {row['name']} | {counts} | {inside} | {widths} |")
    return lines


def figure(name, validation):
    """What stands for `SET[/PART] WHAT [METRIC] [~LABELS]`."""
    head, _, label = name.partition("~")
    which, what, *metric = head.split()
    one, _, part = which.partition("/")
    errors = validation.errors(one, part or None, tuple(metric) or None, label)
    if what == "within-15":
        return f"{sum(abs(e) <= 0.15 for e in errors)}"
    if what == "range":
        return f"{100 * min(errors):+.0f} to {100 * max(errors):+.0f} %"
    if what in ("simulated", "measured"):
        found = [row[what] for row in validation.of(one)["rows"] if re.match(label, row["label"])]
        return f"{found[0]:.3g}" if len(found) == 1 else f"{len(found)} rows"
    return dict(zip(("n", "mape", "bias", "median", "worst"), cells(errors)))[what]


def training(old, validation, quick):
    """The same lines of the table of training with new figures."""
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
                         f"bias {bias}, {100 * near:.0f} % within 15 %.")
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


def kernels(old, validation, columns):
    """The same for a table of kernels: a range where balanced and skewed experts differ."""
    errors = validation.costs("gemm", "attention", "moe")

    def cell(profile, pattern):
        found = [f"{100 * mape:.1f}" for (of, name, region), (_, mape) in errors.items()
                 if of == profile and region == "all" and re.fullmatch(pattern, name)]
        low, high = (min(found, key=float), max(found, key=float)) if found else ("", "")
        return low if low == high else f"{low}-{high}"

    lines = []
    for line in old:
        name = line.removeprefix("| ").split(" |")[0]
        if name in PROFILES:
            shown = [[cell(PROFILES[name], pattern) for pattern in column] for column in columns]
            line = f"| {name} |" + "".join(f" {', '.join(filter(None, one))} |".replace("  ", " ") for one in shown)
        lines.append(line)
    return lines


def rows_of(name, old, validation, quick):
    """The lines of the block @name, where @old are its lines so far; None for a line that stays."""
    kind, *names = name.split()
    if kind == "sets":
        return table(names, validation, quick)
    if kind == "training":
        return training(old, validation, quick)
    if kind == "serving":
        return serving(old, validation, quick)
    if kind == "bands" and (names[0] in QUICK_BANDS or not quick):
        return bands(names[0], validation)
    if quick:
        return [None] * len(old)
    return costs(names[0], validation) if kind == "costs" else kernels(old, validation, AITER if names else KERNELS)


def rewrite(path, validation, check, quick):
    """Rewrites every block and figure of @path; returns the differences, as text."""
    text, differing = open(path, encoding="utf-8").read(), []

    def block(match):
        name, old = match[2], match[3].rstrip("\n").split("\n")
        new = rows_of(name, old, validation, quick)
        if len(new) != len(old) and None in new:
            differing.append(f"{path}: {len(old)} lines of '{name}', wanted {len(new)}")
            return match[0]
        new = [line if line is not None else old[i] for i, line in enumerate(new)]
        differing.extend(f"{path}:\n- {a}\n+ {b}" for a, b in zip(old, new) if a != b)
        if len(old) != len(new):
            differing.append(f"{path}: {len(old)} lines of '{name}', now {len(new)}")
        return match[1] + "\n".join(new) + "\n" + match[4]

    def within(match):
        name = " ".join(match[2].split())  # a line of prose can break within
        if match[3].startswith("\n"):
            return match[0]  # a block
        if quick and re.split("[ /]", name)[0] not in QUICK:
            return match[0]
        new = figure(name, validation)
        if new == " ".join(match[3].split()):
            return match[0]
        differing.append(f"{path}: {name} is {new}, not {match[3]}")
        return match[1] + new + match[4]

    changed = re.sub(r"(<!-- accuracy: ([^>]*?) -->\n)(.*?)(<!-- /accuracy -->)", block, text, flags=re.S)
    changed = re.sub(r"(<!--\s+accuracy:\s+([^>]*?)\s+-->)([^<]*?)(<!--\s+/accuracy\s+-->)", within, changed)
    if not check and changed != text:
        open(path, "w", encoding="utf-8").write(changed)
    return differing


def main(arguments):
    check, quick = "--check" in arguments, "--quick" in arguments
    names = [a for a in arguments if not a.startswith("--")]
    if len(names) != 1:
        sys.exit("usage: accuracy.py ORRERY [--check] [--quick]")
    os.environ.setdefault("ORRERY_SHIPPED", ROOT)
    validation = Validation(names[0])
    pages = [f"{ROOT}/README.md"] + sorted(glob.glob(f"{ROOT}/docs/*.md") + glob.glob(f"{ROOT}/docs/modelling/*.md"))
    found = [line for page in pages for line in rewrite(page, validation, check, quick)]
    print("\n".join(found) if found else "the accuracy figures of README.md and docs/ are what validate says")
    return 1 if found and check else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
