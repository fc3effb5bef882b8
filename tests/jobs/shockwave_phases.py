#!/usr/bin/env python3
"""shockwave_phases.py TRACE QUEUE > JOBS: a Shockwave trace with a column `phases`, which says how a job's speed changes
as its batch size does.

TRACE has columns job_id, submit_s, duration_s (at the first batch size), gpus, queue, model ("LM (batch size 10)"), steps
and mode: static; gns (the batch doubles at given epochs, as the gradients' noise scale allows); or accordion (the
largest batch outside of critical epochs). The rules and epochs are those of the simulator of Zheng et al., NSDI 2023
(github.com/uw-mad-dash/shockwave, commit e07dd20: utils.py, get_gns_bs_pattern; scheduler.py, _simulate_accordion). A
batch size's speed is that of the jobs of the trace that have it, of the same queue where there are any.
"""
import csv
import math
import re
import sys

SAMPLES = {"ResNet-18": 50000, "ResNet-50": 100000, "Transformer": 10000, "LM": 59675, "Recommendation": 117907,
           "CycleGAN": 6287, "A3C": 4}  # of a data set, as the simulator counts epochs
LARGEST = {"LM": 80, "ResNet-18": 256, "ResNet-50": 128, "Recommendation": 8192}
# (model, batch size, GPUs): the epochs at which the batch doubles.
DOUBLES = {
    ("ResNet-18", 16, 1): (31, 41, 51, 71), ("ResNet-18", 32, 1): (21, 31, 51), ("ResNet-18", 64, 1): (11, 31),
    ("ResNet-18", 128, 1): (11,), ("ResNet-18", 16, 2): (21, 31, 91, 111), ("ResNet-18", 32, 2): (11, 21, 41),
    ("ResNet-18", 64, 2): (21, 41), ("ResNet-18", 128, 2): (41,), ("ResNet-18", 16, 4): (11, 21, 81, 91),
    ("ResNet-18", 32, 4): (21, 31, 61), ("ResNet-18", 64, 4): (11, 61), ("ResNet-18", 128, 4): (11,),
    ("ResNet-50", 64, 1): (101,), ("ResNet-50", 32, 2): (101, 111), ("ResNet-50", 64, 2): (81,),
    ("ResNet-50", 32, 4): (131, 221), ("ResNet-50", 64, 4): (191,),
    ("LM", 5, 1): (31, 41, 61, 71), ("LM", 10, 1): (11, 21, 41), ("LM", 20, 1): (11, 41), ("LM", 40, 1): (11,),
    ("LM", 5, 2): (31, 51, 61, 71), ("LM", 10, 2): (11, 31, 41), ("LM", 20, 2): (31, 41), ("LM", 40, 2): (11,),
    ("LM", 5, 4): (11, 31, 71, 91), ("LM", 10, 4): (11, 31, 61), ("LM", 20, 4): (11, 61), ("LM", 40, 4): (61,),
    ("Recommendation", 512, 1): (21, 41, 71, 91), ("Recommendation", 1024, 1): (21, 51, 91),
    ("Recommendation", 2048, 1): (21, 41), ("Recommendation", 4096, 1): (41,)}
CRITICAL = {512: 30, 1024: 30, 2048: 40, 4096: 10, 8192: 10}  # first epochs of Recommendation


def is_critical(model, batch, epoch):
    """Whether accordion keeps the first batch size."""
    if model == "LM":
        return epoch < 10
    if model == "Recommendation":
        return epoch < CRITICAL[batch]
    if model == "ResNet-50":
        return epoch % 30 < 10
    return epoch < (20 if batch == 256 else 10) or 150 <= epoch < 160 or 250 <= epoch < 260


def batch_at(mode, model, batch, gpus, epoch):
    if model not in LARGEST:
        return batch
    if mode == "gns":
        return min(batch * 2 ** sum(epoch >= at for at in DOUBLES.get((model, batch, gpus), ())), LARGEST[model])
    if mode == "accordion" and not is_critical(model, batch, epoch):
        return LARGEST[model]
    return batch


def speeds_of(jobs):
    """Steps per second by queue, model with batch size, and GPUs."""
    return {(job["queue"], job["model"], job["gpus"]): float(job["steps"]) / float(job["duration_s"]) for job in jobs}


def gain(speeds, job, model, first, batch):
    """Samples per second over those at the first batch size; 1 where no job of the trace has the other size."""
    for queue in dict.fromkeys([job["queue"]] + sorted({key[0] for key in speeds})):
        old = speeds.get((queue, f"{model} (batch size {first})", job["gpus"]))
        new = speeds.get((queue, f"{model} (batch size {batch})", job["gpus"]))
        if old and new:
            return batch * new / (first * old)
    return 1.0


def phases_of(speeds, job):
    match = re.match(r"(\S+) \(batch size (\d+)\)", job["model"])
    if not match or job["mode"] == "static":
        return ""
    model, first = match.group(1), int(match.group(2))
    epochs = math.ceil(int(job["steps"]) / math.ceil(SAMPLES[model] / first))
    phases, last = [], 1.0
    for epoch in range(1, epochs):
        speed = gain(speeds, job, model, first, batch_at(job["mode"], model, first, int(job["gpus"]), epoch))
        if speed != last:
            phases.append(f"{epoch / epochs:.6f}:{speed:.4f}")
        last = speed
    return "|".join(phases)


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        jobs = list(csv.DictReader(line for line in file if not line.startswith("#")))
    speeds = speeds_of(jobs)
    columns = ["job_id", "submit_s", "duration_s", "gpus", "queue", "model", "steps", "phases"]
    writer = csv.DictWriter(sys.stdout, columns, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for job in jobs:
        if job["queue"] == sys.argv[2]:
            writer.writerow(dict(job, phases=phases_of(speeds, job)))


if __name__ == "__main__":
    main()
