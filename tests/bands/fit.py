#!/usr/bin/env python3
"""fit.py [--search] - what the constants of sim/bands rest on: the weights of the distance (distance.c) and the widening of
bounds with distance (band.c), from calibration/residuals. For developers; it needs python3-numpy.

It repeats band.c's bounds for every measured answer twice, with the answer's row left out and with its whole validation set
left out, and prints for steps of distance the factor by which the bounds' distance from their middle must be multiplied
for as many measurements to lie inside as the level says: `widening` is drawn through these factors.
--search also varies each weight, by 2.5, 1.7 and 1.3 up and down, and keeps what lowers the interval score (Gneiting,
Raftery 2007: width + 2 / alpha times the distance of a measurement outside; at 80 and 50 %, each part of the sets with
the same say per square root of its rows). It prints the weights for distance.c, rounded to one digit. A minute.
Left out here: the distance of extras, and the number of campaigns that a weak band needs.
"""
import csv
import math
import os
import re
import sys

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
KINDS = ("training", "serving", "collectives")
RATES = ("tokens_per", "tflops", "busbw", "algbw", "requests_per")
QUANTITIES = {"memory_peak_bytes": "memory", "allocator_peak_bytes": "memory", "ttft_mean_s": "first", "ttft_p50_s": "first",
              "tpot_mean_s": "token", "tpot_p50_s": "token", "itl_p50_s": "token", "e2e_mean_s": "request",
              "output_tokens_per_s": "served", "gpu_power_mean_w": "power", "energy_j_per_output_token": "energy"}
RELATED = {("token", "served"): 1.0, ("token", "request"): 0.7, ("served", "request"): 1.0}  # distance.c
NEAREST, MOST, FEWEST, LEAST = 25, 160, 12, 0.3  # band_private.h, band.c
FULL = 0.95  # distance.c
SCORED = 700  # questions of each kind that the search scores


def read_terms():
    """The terms of distance.c: (kind, column, weight)."""
    with open(os.path.join(ROOT, "sim/bands/distance.c"), encoding="utf-8") as file:
        found = re.findall(r"TERM\((TEXT|SIZE|FRACTION|FULL|YEARS), (\w+), ([0-9.e-]+)\)", file.read())
    return [(kind, ("full " if kind == "FULL" else "") + name.replace("_", "-"), float(weight)) for kind, name, weight in found]


def read_answers(kind):
    """One dict for each measured answer, with its quantity and its log(measured / simulated) as a time."""
    answers = []
    with open(os.path.join(ROOT, "calibration/residuals", kind + ".csv"), encoding="utf-8") as file:
        for row in csv.DictReader(line for line in file if not line.startswith("#")):
            for one in row["answers"].split(" "):
                metric, measured, simulated = one.split(":")
                error = math.log(float(measured) / float(simulated))
                rate = any(word in metric for word in RATES)
                answers.append(dict(row, quantity=QUANTITIES.get(metric, kind), error=-error if rate else error))
    return answers


def differences(kind, cells):
    """The matrix of differences of one term, before its weight."""
    if kind == "TEXT":
        _, codes = np.unique(cells, return_inverse=True)
        return (codes[:, None] != codes[None, :]).astype(np.float32)
    numbers = np.array([float(cell) if cell else math.nan for cell in cells])
    if kind == "SIZE":
        numbers = np.log2(np.where(numbers > 0, numbers, np.nan))
    if kind == "FRACTION":
        numbers = np.nan_to_num(numbers)
    if kind == "FULL":
        numbers = (np.nan_to_num(numbers) >= FULL).astype(float)
    absent = np.isnan(numbers)
    both, either = absent[:, None] & absent[None, :], absent[:, None] | absent[None, :]
    apart = np.abs(numbers[:, None] - numbers[None, :])
    return np.where(both, 0, np.where(either, 1 if kind == "YEARS" else 3, apart)).astype(np.float32)


class Questions:
    """The answers of one kind of workload, as questions to one another."""

    def __init__(self, kind, terms, most=None):
        answers = read_answers(kind)
        n = len(answers)
        chosen = np.arange(n) if most is None or n <= most else np.sort(
            np.random.default_rng(7).choice(n, most, replace=False))
        self.kind = kind
        self.errors = np.array([one["error"] for one in answers])
        self.error = self.errors[chosen]
        self.part = np.array([one["quantity"] + " " + one["part"] for one in answers])[chosen]
        self.terms = {name: differences(term, [one[name.split()[-1]] for one in answers])[chosen] for term, name, _ in terms}
        quantity = [one["quantity"] for one in answers]
        self.added = np.array([[0 if a == b else RELATED.get((a, b), RELATED.get((b, a), math.inf)) for b in quantity]
                               for a in (quantity[i] for i in chosen)], dtype=np.float32)
        sets = np.array([one["set"] for one in answers])
        rows = np.array([one["set"] + one["row"] for one in answers])
        self.out = {"row": np.where(rows[chosen][:, None] == rows[None, :], math.inf, 0).astype(np.float32),
                    "set": np.where(sets[chosen][:, None] == sets[None, :], math.inf, 0).astype(np.float32)}

    def distances(self, weights):
        total = self.added.copy()
        for name, matrix in self.terms.items():
            total += np.float32(weights[name]) * matrix
        return total

    def bounds(self, distances, left_out, levels):
        """[(low, high) for each level], the distance of row FEWEST, the number of rows."""
        total = distances + self.out[left_out]
        most = min(MOST, total.shape[1] - 1)
        order = np.argpartition(total, most, axis=1)[:, :most]
        near = np.take_along_axis(total, order, 1)
        by_distance = np.argsort(near, axis=1, kind="stable")
        order, near = np.take_along_axis(order, by_distance, 1), np.take_along_axis(near, by_distance, 1)
        speaks = np.isfinite(near)
        n = speaks.sum(1)
        at = np.minimum(NEAREST, np.maximum(n - 1, 0))[:, None]
        bandwidth = np.take_along_axis(near, at, 1) + LEAST
        with np.errstate(invalid="ignore"):
            weight = np.where(speaks, np.exp(-1.5 * ((near / bandwidth) ** 2 - (near[:, :1] / bandwidth) ** 2)), 0)
        error = np.where(speaks, self.errors[order], 0)
        by_error = np.argsort(error, axis=1)
        error, weight = np.take_along_axis(error, by_error, 1), np.take_along_axis(weight, by_error, 1)
        up, down, last = np.cumsum(weight, 1), np.cumsum(weight[:, ::-1], 1), most - 1
        found = []
        for level in levels:
            needed = ((1 + level) / 2 * (up[:, -1] + 1))[:, None]
            high, low = (up < needed).sum(1), (down < needed).sum(1)
            found.append((np.where(low <= last, np.take_along_axis(error, np.maximum(last - low, 0)[:, None], 1)[:, 0],
                                   -math.inf),
                          np.where(high <= last, np.take_along_axis(error, np.minimum(high, last)[:, None], 1)[:, 0],
                                   math.inf)))
        return found, near[:, FEWEST - 1], n


def interval_score(error, low, high, level):
    outside = np.maximum(low - error, 0) + np.maximum(error - high, 0)
    return np.mean(high - low + 2 / (1 - level) * np.minimum(outside, np.quantile(np.abs(error), 0.9)))


def score(all_questions, weights):
    total = counted = 0
    for questions in all_questions:
        distances = questions.distances(weights)
        for left_out in ("row", "set"):
            (at_80, at_50), _, n = questions.bounds(distances, left_out, (0.8, 0.5))
            bounded = np.isfinite(at_80[0]) & np.isfinite(at_80[1]) & (n >= 40)
            for part in np.unique(questions.part[bounded]):
                here = bounded & (questions.part == part)
                if here.sum() < 20:
                    continue
                say = math.sqrt(here.sum())
                for level, (low, high), share in ((0.8, at_80, 1), (0.5, at_50, 0.5)):
                    total += say * share * math.log(
                        interval_score(questions.error[here], low[here], high[here], level))
                    counted += say * share
    return total / counted


def search(terms):
    weights = {name: weight for _, name, weight in terms}
    questions = [Questions(kind, terms, SCORED) for kind in KINDS]
    best = score(questions, weights)
    print(f"score {best:.4f}")
    for factor in (2.5, 1.7, 1.3):
        for name in weights:
            for tried in (factor, 1 / factor):
                other = dict(weights)
                other[name] *= tried
                found = score(questions, other)
                if found < best - 1e-4:
                    best, weights = found, other
                    break
        print(f"score {best:.4f} after steps of {factor}")
    for kind, name, _ in terms:
        print(f"    TERM({kind}, {name.split()[-1].replace('-', '_')}, {float(f'{weights[name]:.1g}'):g}),")


def print_widening(terms):
    weights = {name: weight for _, name, weight in terms}
    print("kind         left out  distance    rows  factor at 80 %  at 50 %")
    for kind in KINDS:
        questions = Questions(kind, terms)
        distances = questions.distances(weights)
        for left_out in ("row", "set"):
            (at_80, at_50, at_0), distance, _ = questions.bounds(distances, left_out, (0.8, 0.5, 0.0))
            middle = (at_0[0] + at_0[1]) / 2
            for begin, end in ((0, 1), (1, 2), (2, 4), (4, 6), (6, 8), (8, 10)):
                here = np.isfinite(at_80[0]) & np.isfinite(at_80[1]) & (distance >= begin) & (distance < end)
                if here.sum() < 25:
                    continue
                factors = []
                for level, (low, high) in ((0.8, at_80), (0.5, at_50)):
                    off = questions.error - middle
                    needed = np.maximum(off / np.maximum(high - middle, 0.004), -off / np.maximum(middle - low, 0.004))
                    factors.append(np.quantile(needed[here], level))
                print(f"{kind:12s} {left_out:8s}  {begin:2d} to {end:2d}  {here.sum():6d}  {factors[0]:14.2f}  {factors[1]:7.2f}")


def main():
    terms = read_terms()
    if sys.argv[1:] == ["--search"]:
        search(terms)
    elif sys.argv[1:]:
        sys.exit(__doc__)
    print_widening(terms)


if __name__ == "__main__":
    main()
