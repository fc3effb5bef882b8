#!/usr/bin/env python3
"""factors.py DATABASE [--by COLUMN,...] [--set NAME ...] [--where SQL] [--all] - which parts of the time make simulated steps
too fast or too slow.

Reads the newest comparison of each row that `orrery validate --db DATABASE` stored (table validation_row) and fits, by least
squares,

    measured / simulated  =  sum over kinds of  factor * fraction of the simulated time in this kind

A factor of 1.09 for gemm says: matrix products take 1.09 times as long as simulated. A pipeline bubble consists of the work
of other ranks, so its fraction is shared out among the other kinds in proportion. Kinds that have less than 3 % of the time on
average cannot be told from noise: they join `rest`, with a factor fixed at 1. Errors are standard errors that allow rows of
one set and model to share what is wrong with them (the sandwich of Liang and Zeger 1986, by set and model's family and
stack); a factor whose error exceeds 0.1 says nothing. Rates (tokens, FLOPs) are inverted; memory is left out.

--by      one fit for each value of these columns (default: architecture,family); `--by ""`: one fit for all
--set     only rows of these sets (default: all sets of training steps)
--where   a condition in SQL, e.g. "stack = 'megatron-core-25.09'"
--all     also prints each fit's rows with the residual that the factors leave
"""
import argparse
import collections
import sqlite3
import sys

KINDS = ("gemm", "attention", "experts", "memory", "comm", "host")
RATES = ("tokens_per_s", "tokens_per_s_per_gpu", "hardware_tflops_per_gpu", "model_tflops_per_gpu")
TIMES = ("iteration_time_s",)
LEAST = 0.03  # of the time, on average, for a factor of its own
NEWEST = """SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY set_name, row, metric ORDER BY run_id DESC) AS age
                           FROM validation_row) WHERE age = 1 AND error IS NOT NULL AND gemm IS NOT NULL"""


def read(path, sets, where):
    """[(row, measured / simulated time, fraction of the time of each kind)]"""
    base = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    base.row_factory = sqlite3.Row
    rows = []
    for row in base.execute(f"{NEWEST} AND ({where}) ORDER BY set_name, row, metric"):
        if row["metric"] not in RATES + TIMES or (sets and row["set_name"] not in sets):
            continue
        ratio = row["measured"] / row["simulated"]
        rows.append((row, 1 / ratio if row["metric"] in RATES else ratio, fractions(row)))
    return rows


def fractions(row):
    bubble = row["bubble"] or 0
    busy = {kind: row[kind] or 0 for kind in KINDS}
    total = sum(busy.values())
    share = (total + bubble) / total if total > 0 else 0
    return {kind: value * share for kind, value in busy.items()}


def solve(matrix, columns):
    """The solutions of matrix x = column for each of @columns; Gauss-Jordan, None: singular."""
    n = len(matrix)
    wide = [list(matrix[i]) + [column[i] for column in columns] for i in range(n)]
    for i in range(n):
        pivot = max(range(i, n), key=lambda r: abs(wide[r][i]))
        if abs(wide[pivot][i]) < 1e-12:
            return None
        wide[i], wide[pivot] = wide[pivot], wide[i]
        for r in range(n):
            if r != i:
                scale = wide[r][i] / wide[i][i]
                wide[r] = [a - scale * b for a, b in zip(wide[r], wide[i])]
    return [[wide[i][n + c] / wide[i][i] for i in range(n)] for c in range(len(columns))]


def fit(rows):
    """{kind: (factor, standard error)}, and what is left of each row; None where kinds cannot be told apart."""
    mean = {kind: sum(part[kind] for _, _, part in rows) / len(rows) for kind in KINDS}
    kinds = [kind for kind in KINDS if mean[kind] >= LEAST]
    n = len(kinds)
    x = [[part[kind] for kind in kinds] for _, _, part in rows]
    y = [ratio - (1 - sum(line)) for (_, ratio, _), line in zip(rows, x)]  # the rest counts with a factor of 1
    gram = [[sum(line[i] * line[j] for line in x) for j in range(n)] for i in range(n)]
    unit = [[float(i == j) for i in range(n)] for j in range(n)]
    found = solve(gram, [[sum(line[i] * v for line, v in zip(x, y)) for i in range(n)]] + unit)
    if not found:
        return None
    factors, inverse = found[0], found[1:]
    left = [v - sum(f * a for f, a in zip(factors, line)) for line, v in zip(x, y)]
    scores = collections.defaultdict(lambda: [0.0] * n)
    for (row, _, _), line, rest in zip(rows, x, left):
        score = scores[row["set_name"], row["family"], row["stack"]]
        for i in range(n):
            score[i] += line[i] * rest
    groups = len(scores)
    # few groups: the rows count as independent, which says at least as much
    clusters = list(scores.values()) if groups > n else [[a * rest for a in line] for line, rest in zip(x, left)]
    correction = len(clusters) / max(1, len(clusters) - n)
    errors = [(correction * sum(sum(w * s for w, s in zip(inverse[i], score)) ** 2 for score in clusters)) ** 0.5
              for i in range(n)]
    return {kind: (factors[i], errors[i]) for i, kind in enumerate(kinds)}, left, groups


def show(name, rows, everything):
    bias = sum(1 / ratio - 1 for _, ratio, _ in rows) / len(rows)
    mape = sum(abs(1 / ratio - 1) for _, ratio, _ in rows) / len(rows)
    found = fit(rows) if len(rows) > len(KINDS) else None
    print(f"{name}: {len(rows)} rows, mean absolute error {100 * mape:.1f} %, bias {100 * bias:+.1f} %")
    if not found:
        print("  too few rows, or all of one kind: no factors")
        return
    factors, left, groups = found
    for kind, (factor, error) in factors.items():
        mean = sum(part[kind] for _, _, part in rows) / len(rows)
        says = "" if error <= 0.1 else "  says nothing"
        print(f"  {kind:10} {100 * mean:5.1f} % of the time  factor {factor:5.3f} +- {error:5.3f}{says}")
    spread = (sum(v * v for v in left) / max(1, len(left) - len(factors))) ** 0.5
    print(f"  left: {100 * spread:.1f} % ({groups} groups of set, family and stack)")
    if everything:
        for (row, _, _), rest in sorted(zip(rows, left), key=lambda one: -abs(one[1])):
            print(f"    {100 * rest:+6.1f} %  {row['set_name']}: {row['label']}, {row['metric']}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("database")
    parser.add_argument("--by", default="architecture,family")
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--where", default="1")
    parser.add_argument("--all", action="store_true")
    options = parser.parse_args()
    columns = [name for name in options.by.split(",") if name]
    try:
        rows = read(options.database, options.set, options.where)
    except sqlite3.Error as error:
        sys.exit(f"factors.py: {options.database}: {error}")
    if not rows:
        sys.exit(f"factors.py: {options.database}: no compared steps of training; orrery validate training --db {options.database}")
    groups = collections.defaultdict(list)
    for one in rows:
        groups[tuple(one[0][name] or "" for name in columns)].append(one)
    for key in sorted(groups):
        show(", ".join(key) or "all", groups[key], options.all)


if __name__ == "__main__":
    main()
