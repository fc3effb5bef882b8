#!/usr/bin/env python3
"""unseen.py - what the factors of sim/bands/band_unseen.c for a device, software, cluster or model that hardly any near row
shares, for kernels by a datasheet, and for few campaigns, rest on, from calibration/residuals. For developers; it needs python3-numpy. A minute.

Every measured answer is asked for its band with its row, set, campaign (set, software, model, device, cluster), model,
software, device and cluster left out in turn. Of each, the factor that the bounds lack is the measurement's distance from
the middle over the bound's. The factors are fitted by quantile regression at 80 % on what is unseen, each group and each
thing left out with the same say per square root of its answers; a factor below 1 is not allowed. They are printed for
all answers, with the least and the most that each is with one set left out; then coverage for answers of one half of the campaigns with factors of the other half, mean of six halvings.
"""
import hashlib

import fit
import numpy as np

KINDS = (*fit.KINDS, "diffusion")
TRAITS = ("device", "stack", "cluster", "datasheet", "model", "few")  # members of Factors
LITTLE, MOSTLY_MODELLED, ENOUGH = 0.02, 0.7, 0.2  # band_unseen.c
LEAVE = {"row": ("set", "row"), "set": ("set",), "campaign": ("set", "stack", "model", "device", "cluster"),
         "model": ("model",), "stack": ("stack",), "device": ("device",), "cluster": ("cluster",)}
SLOPES = {"training": 0.02, "serving": 0.05, "collectives": 0.4, "diffusion": 0}  # band.c, widening_of


def widening(kind, distance):
    return 0.82 + 0.06 * np.clip(distance - 2, 0, 2) + SLOPES[kind] * np.maximum(distance - 4, 0)


def codes(rows, columns):
    return np.unique(["|".join(row[column] for column in columns) for row in rows], return_inverse=True)[1]


def count_of(code, order, weight):
    """How many codes of equal weight the weights are worth (Kish)."""
    sums = np.array([(np.bincount(code[o], w) ** 2).sum() for o, w in zip(order, weight)])
    return weight.sum(1) ** 2 / np.maximum(sums, 1e-300)


def unseen(rows, order, weight, distance):
    """By how much each of TRAITS applies, from 0 to 1: whether near rows of some weight lack it."""
    def share(*columns):
        code = codes(rows, columns)
        return (weight * (code[order] == code[:, None])).sum(1) / weight.sum(1)

    def lacks(*columns):
        return share(*columns) < LITTLE
    device, stack, cluster = lacks("device"), lacks("stack"), lacks("cluster")
    modelled = np.array([float(row["modelled"] or 0) for row in rows])
    datasheet = np.maximum(1 - share("architecture") / ENOUGH, 0) * (modelled >= MOSTLY_MODELLED)
    model = lacks("model") & (distance <= 4)
    few = lacks("device", "stack", "model", "cluster") * np.maximum(
        2 / count_of(codes(rows, ("set", "stack", "device")), order, weight) - 1, 0)
    return np.stack([device, stack, cluster & ~device, datasheet, model, few], 1)


def nearest(questions, distances):
    order = np.argsort(distances, axis=1, kind="stable")[:, :fit.MOST]
    near = np.take_along_axis(distances, order, 1)
    speaks = np.isfinite(near)
    at = np.minimum(fit.NEAREST, np.maximum(speaks.sum(1) - 1, 0))[:, None]
    bandwidth = np.take_along_axis(near, at, 1) + fit.LEAST
    weight = np.where(speaks, np.exp(-1.5 * ((near / bandwidth) ** 2 - (near[:, :1] / bandwidth) ** 2)), 0)
    return order, weight


def ask(kind, leave, rows, questions, distances):
    """(row, factor lacking at 80 %, at 50 %, unseen) of each answer that has a band."""
    code = codes(rows, LEAVE[leave])
    questions.out["these"] = np.where(code[:, None] == code[None, :], np.inf, 0).astype(np.float32)
    bounds, distance, _ = questions.bounds(distances, "these", (0.8, 0.5, 0.0))
    middle = (bounds[2][0] + bounds[2][1]) / 2
    lacking = []
    for low, high in bounds[:2]:
        off = questions.error - middle
        lacking.append(np.where(off >= 0, off / np.maximum(high - middle, 1e-9), off / np.minimum(low - middle, -1e-9)) /
                       widening(kind, distance))
    order, weight = nearest(questions, distances + questions.out["these"])
    has = (distance <= 9) & np.isfinite(bounds[0][0]) & np.isfinite(bounds[0][1])
    new = unseen(rows, order, weight, distance)
    return [(i, lacking[0][i], lacking[1][i], *new[i]) for i in np.where(has)[0]]


def fitted(new, lacking, say):
    """Logarithms of the factors: the least pinball loss at 80 %, one after another."""
    wanted, found = np.log(np.maximum(lacking, 1e-3)), np.zeros(new.shape[1])
    def loss(tried):
        off = wanted - new @ tried
        return (say * np.where(off > 0, 0.8 * off, -0.2 * off)).sum()
    for _ in range(6):
        for k in range(len(found)):
            found[k] = min((loss(np.where(np.arange(len(found)) == k, x, found)), x) for x in np.arange(0, 1.01, 0.02))[1]
    return found


def halves(campaigns, seed):
    return np.array([int(hashlib.md5(f"{one}{seed}".encode()).hexdigest(), 16) % 2 for one in campaigns])


def main():
    terms = fit.read_terms()
    weights = {name: weight for _, name, weight in terms}
    for kind in KINDS:
        rows = fit.read_answers(kind)
        with np.errstate(all="ignore"):
            questions = fit.Questions(kind, terms)
            distances = questions.distances(weights).astype(float)
            leaves = [leave for leave in LEAVE if kind != "collectives" or leave not in ("model", "stack")]
            asked = [(leave, *one) for leave in leaves for one in ask(kind, leave, rows, questions, distances)]
        leave, table = np.array([one[0] for one in asked]), np.array([one[1:] for one in asked], float)
        at, lacking, new = table[:, 0].astype(int), table[:, 1:3], table[:, 3:]
        group = np.array(["memory" if rows[i]["quantity"] == "memory" else kind for i in at])
        cells = {(g, w): (group == g) & (leave == w) for g in np.unique(group) for w in leaves}
        say = sum(np.where(cell, 1 / np.sqrt(max(cell.sum(), 1)), 0) for cell in cells.values() if cell.sum() > 20)
        factors = np.exp(fitted(new, lacking[:, 0], say))
        sets = np.array([rows[i]["set"] for i in at])
        without = np.exp([fitted(new[sets != one], lacking[sets != one, 0], say[sets != one]) for one in np.unique(sets)])
        print(f"{kind}: " + ", ".join(f"{name} {factor:.2f} ({low:.2f} to {high:.2f})" for name, factor, low, high in
                                      zip(TRAITS, factors, without.min(0), without.max(0))))
        found = {}
        for seed in range(6):
            half = halves([rows[i]["set"] + rows[i]["stack"] + rows[i]["device"] + rows[i]["model"] for i in at], seed)
            for side in (0, 1):
                factor = np.exp(new @ fitted(new[half == side], lacking[half == side, 0], say[half == side]))
                for cell, inside in cells.items():
                    here = inside & (half != side)
                    if here.sum() > 20:
                        found.setdefault(cell, []).append(
                            [(lacking[here, 0] <= 1).mean(), *((lacking[here, k] <= factor[here]).mean() for k in (0, 1))])
        for (name, left_out), coverage in found.items():
            before, after, half_band = np.mean(coverage, 0)
            print(f"  {name:12s} without its {left_out:9s} 80 %: {before:4.0%}, with the factors {after:4.0%}; 50 %: {half_band:4.0%}")


if __name__ == "__main__":
    main()
