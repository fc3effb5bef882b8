#!/usr/bin/env python3
"""regress_training.py ORRERY [SET...] - which part of a step the errors of training come from.

Fits measured / simulated = sum of factor * fraction over the rows of training sets (default: all), where the fractions are
each row's time in matrix products, attention, memory-bound kernels, communication, host and bubbles. A factor of 1.2 for a
part says that it takes 20 % longer than simulated. Rows of one model on one device count as one row; factors are drawn
towards 1 with the weight of a twentieth of a row that consists of the part alone, so a part that no row is rich in stays
near 1. Prints a line for all rows, for dense models and for the others, and for each architecture of these.
"""
import collections
import json
import math
import subprocess
import sys

PARTS = ("gemm", "attention", "memory", "comm", "host", "bubble")
TOWARDS_ONE = 0.05


def rows_of(orrery, sets):
    told = subprocess.run([orrery, "validate", "--json", "--db", "none", *(sets or ["training"])], capture_output=True,
                          text=True, check=True).stdout
    return [row for one in json.loads(told)["sets"] for row in one["rows"]
            if row["gemm"] is not None and row["metric"] in ("iteration_time_s", "tokens_per_s_per_gpu")]


def ratio(row):
    """Measured time over simulated time."""
    of_rates = row["metric"] != "iteration_time_s"
    return row["simulated"] / row["measured"] if of_rates else row["measured"] / row["simulated"]


def solve(matrix, right):
    """Gauss's elimination with the largest pivot."""
    size = len(right)
    lines = [line + [value] for line, value in zip(matrix, right)]
    for i in range(size):
        pivot = max(range(i, size), key=lambda k: abs(lines[k][i]))
        lines[i], lines[pivot] = lines[pivot], lines[i]
        for k in range(size):
            factor = lines[k][i] / lines[i][i] if k != i else 0
            lines[k] = [a - factor * b for a, b in zip(lines[k], lines[i])]
    return [lines[i][size] / lines[i][i] for i in range(size)]


def regress(name, rows):
    if len(rows) < 3:
        return
    kinds = [(row["family"], row["device"], row["label"].split(" DGX")[0].split(" ")[-1]) for row in rows]
    times = collections.Counter(kinds)
    sums = [[TOWARDS_ONE * (i == j) for j in range(len(PARTS))] for i in range(len(PARTS))]
    right = [0.0] * len(PARTS)
    for row, kind in zip(rows, kinds):
        parts = [row[part] or 0 for part in PARTS]
        for i, a in enumerate(parts):
            right[i] += a * (ratio(row) - sum(parts)) / times[kind]
            for j, b in enumerate(parts):
                sums[i][j] += a * b / times[kind]
    factors = [1 + value for value in solve(sums, right)]
    before = [ratio(row) - 1 for row in rows]
    after = [ratio(row) - sum(f * (row[part] or 0) for f, part in zip(factors, PARTS)) for row in rows]
    spread = [math.sqrt(sum(x * x for x in of) / len(of)) for of in (before, after)]
    print(f"{name:24}{len(rows):5}  " + "  ".join(f"{part} {f:.2f}" for part, f in zip(PARTS, factors)) +
          f"  spread {100 * spread[0]:.1f} -> {100 * spread[1]:.1f} %")


def main():
    rows = rows_of(sys.argv[1], sys.argv[2:])
    regress("all", rows)
    for kind, of_kind in (("dense", lambda row: row["family"] == "dense"), ("not dense", lambda row: row["family"] != "dense")):
        chosen = [row for row in rows if of_kind(row)]
        regress(kind, chosen)
        for architecture in sorted({row["architecture"] for row in chosen if row["architecture"]}):
            regress(f"{kind}, {architecture}", [row for row in chosen if row["architecture"] == architecture])


main()
