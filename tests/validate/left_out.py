#!/usr/bin/env python3
"""left_out.py ORRERY [STACK ...] [--path PATH] [--rows N] [--csv FILE] [--markdown] - refits each fitted constant of the
stacks with one model left out, and prints how far off that model is.

A constant is a setting of workloads/stacks with `confidence: fitted` and a number. Its rows are those of the validation sets
that its source names (or that its stack is validated by) which it moves: each is simulated with the constant at FACTORS times
its value, in a copy of the stack that `--library` puts before the shipped one. Simulated values are interpolated between the
factors in logarithms. A model's error is the median of |log(simulated / measured)| over its rows that the constant moves,
since rows whose queue is about to overflow say little; the best factor has the least mean over models.

Of the measured values (first tokens, gaps, rates) count those that the constant moves at least half as much as the one
that it moves most. For each model left out the factor comes from the others. Columns:
  shipped    mean of the models' errors with the stack's value
  refitted   the same with the best value of all models
  left out   mean error of models that the fit did not see, each with the value that the others give
  own        the same where each model has its own best value: no value of this constant can do better
  values     the stack's value, the best one, and the range of values with a model left out
One model, or rows of none that move: nothing can be left out, and the line says so.

--rows     rows of a model and device and set, at most (default 4): the ones that lie evenly in the set
"""
import argparse
import collections
import csv
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FACTORS = (0.35, 0.6, 0.8, 1, 1.25, 1.6, 2.5)
MOVES = 0.01  # the least change of a logarithm, from the smallest to the largest factor, that counts as moved
FINE = [0.35 * (2.5 / 0.35) ** (i / 200) for i in range(201)]


class Setting:
    """One fitted number of a stack: text of its block, and the stack's text around it."""

    def __init__(self, stack, blocks, index):
        self.stack, self.blocks, self.index = stack, blocks, index
        block = blocks[index]
        self.path = re.search(r"set: *([\w.-]+)", block).group(1)
        when = re.search(r"^ *(?:- \{.*?)?when: *(.+?)(?:, source:.*)?$", block, re.M)
        self.when = when.group(1) if when else ""
        self.number = re.search(r"(?<=\bto: )(?:\{[^}]*?[ ,](?=\d))?([\d.]+)", block)
        self.source = re.search(r"source: *(.+)", block, re.S).group(1)

    def value(self, factor=1.0):
        text = self.number.group(1)
        value = float(text) * factor
        if "." in text or re.match(r" *[a-zA-Z%]", self.blocks[self.index][self.number.end():]):
            return f"{value:.5g}"
        return str(round(value))

    def name(self):
        unit = re.match(r" *([a-zA-Z%]*)", self.blocks[self.index][self.number.end():]).group(1)
        return unit

    def document(self, factor):
        blocks, block = list(self.blocks), self.blocks[self.index]
        blocks[self.index] = block[:self.number.start(1)] + self.value(factor) + block[self.number.end(1):]
        return "".join(blocks)


def settings_of(stack):
    text = open(f"{ROOT}/workloads/stacks/{stack}.yaml").read()
    blocks = re.split(r"(?=^  - )", text, flags=re.M)
    found = [Setting(stack, blocks, i) for i, block in enumerate(blocks) if "confidence: fitted" in block]
    return text, [one for one in found if one.number]


def sets_of(setting, text, above):
    """The sets that the source names; "the same rows" are those of the setting before."""
    names = [name[:-4] for name in sorted(os.listdir(f"{ROOT}/scenarios/validation")) if name.endswith(".csv")]
    named = [name for name in names if re.search(rf"(?<![\w./-]){re.escape(name)}(?:'s)?(?![\w/-]|\.\w)", setting.source)]
    if not named and above and "the same rows" in setting.source:
        named = above
    validated = re.search(r"validated-by: *\[(.*?)\]", text)
    return named or (validated.group(1).replace(" ", "").split(",") if validated else [])


class Rows:
    """The measured rows of all sets, as calibration/residuals knows them: their model, and the stack that ran them."""

    def __init__(self):
        self.known = collections.defaultdict(list)
        folder = f"{ROOT}/calibration/residuals"
        for name in sorted(os.listdir(folder)):
            if name.endswith(".csv") and name != "errors.csv":
                lines = [line for line in open(f"{folder}/{name}") if not line.startswith("#")]
                for row in csv.DictReader(lines):
                    self.known[row["set"]].append(row)

    def some(self, set_name, family, most):
        """{line of the set's table: model}: of each model, device, format and engine up to @most rows."""
        groups = collections.defaultdict(list)
        for row in self.known[set_name]:
            if family in (row["stack"], "") or row["stack"].endswith("-" + family):
                groups[row["model"], row["device"], row["format"], row["stack"]].append(row)
        chosen = {}
        for group in groups.values():
            for k in range(min(most, len(group))):
                row = group[k * (len(group) - 1) // max(1, min(most, len(group)) - 1)]
                chosen[int(row["row"])] = row["model"]
        return chosen


def table_of(set_name, chosen, path):
    """Writes the set's table with the chosen lines alone; [model], by row."""
    models, kept = [], []
    for number, line in enumerate(open(f"{ROOT}/scenarios/validation/{set_name}.csv"), 1):
        is_head = line.startswith("#") or not any(not one.startswith("#") for one in kept)
        if is_head or number in chosen:
            kept.append(line)
            if not is_head:
                models.append(chosen[number])
    with open(path, "w") as out:
        out.writelines(kept)
    return models


def replay(orrery, set_name, table, library):
    answer = subprocess.run([orrery, "validate", set_name, "--rows", table, "--library", library, "--json", "--db", "none"],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if not answer.stdout:
        return {}
    rows = json.loads(answer.stdout)["sets"][0]["rows"]
    return {(row["row"], row["metric"]): (row["simulated"], row["measured"]) for row in rows
            if row["simulated"] and row["measured"] and not row["metric"].endswith("bytes")}


def curves(orrery, setting, sets, known, rows):
    """[(model, [log(simulated / measured) at each factor])] of the values that the constant moves."""
    found = collections.defaultdict(list)
    for set_name in sets:
        family = re.sub(r"-[\d.]+$", "", setting.stack)
        chosen = known.some(set_name, family, rows) or known.some(set_name, "", rows)
        with tempfile.TemporaryDirectory() as folder:
            table = f"{folder}/rows.csv"
            models = table_of(set_name, chosen, table)
            if not models:
                continue
            os.mkdir(f"{folder}/stacks")
            answers = []
            first = min(n for n, line in enumerate(open(table), 1) if not line.startswith("#")) + 1
            for factor in FACTORS:
                with open(f"{folder}/stacks/{setting.stack}.yaml", "w") as out:
                    out.write(setting.document(factor))
                answers.append(replay(orrery, set_name, table, folder))
            for row, metric in answers[FACTORS.index(1)]:
                logs = [math.log(one[row, metric][0] / one[row, metric][1]) if (row, metric) in one else math.nan
                        for one in answers]
                if span(logs) > MOVES:
                    found[metric].append((models[row - first], logs))
    most = max((middle_span(values) for values in found.values()), default=0)
    return [one for values in found.values() if middle_span(values) >= most / 2 for one in values]


def span(logs):
    seen = [value for value in logs if not math.isnan(value)]
    return max(seen) - min(seen)


def middle_span(values):
    return statistics.median(span(logs) for _, logs in values)


def at(logs, factor):
    points = [(math.log(f), value) for f, value in zip(FACTORS, logs) if not math.isnan(value)]
    x = math.log(factor)
    if x <= points[0][0] or len(points) == 1:
        return points[0][1]
    for (a, u), (b, v) in zip(points, points[1:]):
        if x <= b:
            return u + (v - u) * (x - a) / (b - a)
    return points[-1][1]


def error(values, factor):
    """Median |simulated / measured - 1| of a model, by its logarithm; their mean."""
    models = sorted({one[0] for one in values})
    return statistics.mean(statistics.median(abs(at(logs, factor)) for name, logs in values if name == model)
                           for model in models)


def best(values):
    return min(FINE, key=lambda factor: (error(values, factor), abs(math.log(factor))))


def percent(value):
    return f"{100 * (math.exp(value) - 1):.1f} %"


def judge(setting, values):
    models = sorted({one[0] for one in values})
    row = {"stack": setting.stack, "setting": setting.path, "when": setting.when, "models": len(models), "values": len(values)}
    if not values:
        return dict(row, note="moves no row")
    unit = " " + setting.name() if setting.name() else ""
    everyone = best(values)
    row.update(value=setting.value() + unit, shipped=percent(error(values, 1)), refitted=percent(error(values, everyone)),
               best=setting.value(everyone) + unit)
    if len(models) == 1:
        return dict(row, note=f"{models[0]} alone")
    left, own, factors = [], [], []
    for model in models:
        mine = [one for one in values if one[0] == model]
        factors.append(best([one for one in values if one[0] != model]))
        left.append(error(mine, factors[-1]))
        own.append(error(mine, best(mine)))
    row.update({"left out": percent(sum(left) / len(left)), "own": percent(sum(own) / len(own)),
                "least": setting.value(min(factors)) + unit, "most": setting.value(max(factors)) + unit})
    worst = max(range(len(models)), key=lambda i: left[i])
    return dict(row, note=f"worst: {models[worst]} {percent(left[worst])}")


COLUMNS = ["stack", "setting", "when", "value", "values", "models", "shipped", "refitted", "best", "left out", "own", "least",
           "most", "note"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("orrery")
    parser.add_argument("stacks", nargs="*", help="default: all")
    parser.add_argument("--path", help="only settings of this key")
    parser.add_argument("--rows", type=int, default=4)
    parser.add_argument("--csv", help="also write the table here")
    parser.add_argument("--markdown", action="store_true")
    options = parser.parse_args()
    orrery, known, rows = os.path.abspath(options.orrery), Rows(), []
    everything = sorted(name[:-5] for name in os.listdir(f"{ROOT}/workloads/stacks") if name.endswith(".yaml"))
    for stack in options.stacks or everything:
        text, above = "", None
        text, settings = settings_of(stack)
        for setting in settings:
            sets = above = sets_of(setting, text, above)
            if options.path and setting.path != options.path:
                continue
            rows.append(judge(setting, curves(orrery, setting, [one for one in sets if one], known, options.rows)))
            shown = [str(rows[-1].get(name, "")) for name in COLUMNS]
            print(("| " + " | ".join(shown) + " |") if options.markdown else "; ".join(
                f"{name} {value}" for name, value in zip(COLUMNS, shown) if value), flush=True)
    if options.csv:
        with open(options.csv, "w", newline="") as out:
            table = csv.DictWriter(out, COLUMNS, lineterminator="\n")
            table.writeheader()
            table.writerows(rows)


if __name__ == "__main__":
    main()
