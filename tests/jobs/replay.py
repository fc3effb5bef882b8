#!/usr/bin/env python3
"""replay.py ORRERY FOLDER [TRACE...]: replays job traces and compares every job's start and end with a reference.

FOLDER holds `cases.csv`, `traces/*.csv` and `ref/exact_*.csv`, or parts of them. A reference names its trace, queue and
cluster in its first line, and has two columns per policy: POLICY.PLACEMENT.start and .finish. Ends with status 1 where a
job differs by more than 0.01 s.
"""
import csv
import os
import re
import sqlite3
import subprocess
import sys
import tempfile

TOLERANCE_S = 0.01
SCENARIO = """schema: scenario/1
name: replay
question: When does each job start?
cluster: {base: dgx-h100-superpod, nodes: %d}
workload: {kind: cluster, jobs: %s}
"""
# The settings behind the names of the references.
ORDERS = {
    "fifo": {},
    "skip": {"blocked": "skip"},
    "skipbest": {"blocked": "skip", "placement": "best-fit"},
    "sjf": {"order": "sjf"},
    "sjfskip": {"order": "sjf", "blocked": "skip"},
    "easy": {"backfill": "easy"},
    "cons": {"backfill": "conservative"},
    "srtf": {"order": "srtf", "blocked": "skip"},
    "srsf": {"order": "srsf", "blocked": "skip"},
    "las2": {"order": "las", "blocked": "skip"},
    "las100": {"order": "{kind: las, thresholds: [100 s]}", "blocked": "skip"},
}


def rows(path):
    with open(path, encoding="utf-8") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def simulate(orrery, nodes, gpus_per_node, trace, policy, queue=None):
    """The start and end of every job, by its id."""
    name, _, placement = policy.partition(".")
    settings = dict(ORDERS[name])
    if placement == "count":
        settings["placement"] = "count"
    with tempfile.TemporaryDirectory() as folder:
        scenario, database = os.path.join(folder, "s.yaml"), os.path.join(folder, "r.db")
        with open(scenario, "w", encoding="utf-8") as file:
            file.write(SCENARIO % (nodes, os.path.abspath(trace)))
        command = [orrery, "run", scenario, "--db", database]
        if gpus_per_node != 8:
            command += ["--set", f"cluster.node.gpus={gpus_per_node}"]
            command += ["--set", f"cluster.node.scale-up-domain={gpus_per_node}"]
        if queue:
            command += ["--set", f"workload.queue={queue}"]
        for key, value in settings.items():
            command += ["--set", f"workload.policy.{key}={value}"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        with sqlite3.connect(database) as db:
            return {job: (start, end) for job, start, end in db.execute("SELECT job, start_s, end_s FROM cluster_job")}


def compare(label, found, wanted):
    """Prints one line; True where every job agrees."""
    worst, at = 0.0, ""
    for job, (start, end) in wanted.items():
        if job not in found:
            print(f"{label}: job {job} is missing")
            return False
        error = max(abs(found[job][0] - start), abs(found[job][1] - end))
        if error > worst:
            worst, at = error, job
    n = sum(max(abs(found[j][0] - w[0]), abs(found[j][1] - w[1])) > TOLERANCE_S for j, w in wanted.items())
    print(f"{label}: {len(wanted)} jobs, worst {worst:.3f} s" + (f" (job {at}), {n} DIFFER" if n else ""))
    return n == 0 and len(found) == len(wanted)


def check_cases(orrery, path):
    ok, groups = True, {}
    for row in rows(path):
        groups.setdefault((row["case"], row["nodes"], row["policy"]), []).append(row)
    for (case, nodes, policy), jobs in groups.items():
        sizes = nodes.split("+")
        with tempfile.TemporaryDirectory() as folder:
            trace = os.path.join(folder, "case.csv")
            with open(trace, "w", encoding="utf-8") as file:
                file.write("job_id,submit_s,duration_s,gpus\n")
                for job in jobs:
                    file.write(f"{job['job_id']},{job['submit_s']},{job['duration_s']},{job['gpus']}\n")
            found = simulate(orrery, len(sizes), int(sizes[0]), trace, policy)
        wanted = {job["job_id"]: (float(job["start_s"]), float(job["finish_s"])) for job in jobs}
        ok &= compare(f"{case} {policy}", found, wanted)
    return ok


def check_exact(orrery, folder, path):
    with open(path, encoding="utf-8") as file:
        head = file.readline()
    trace, queue, nodes, gpus = re.search(r"replay of (\S+) queue (\S+) on (\d+) nodes x (\d+) GPUs", head).groups()
    table, ok = rows(path), True
    for policy in dict.fromkeys(column.rsplit(".", 1)[0] for column in table[0] if column != "job_id"):
        wanted = {row["job_id"]: (float(row[f"{policy}.start"]), float(row[f"{policy}.finish"])) for row in table}
        found = simulate(orrery, int(nodes), int(gpus), os.path.join(folder, "traces", trace), policy, queue)
        ok &= compare(f"{os.path.basename(path)} {policy}", found, wanted)
    return ok


def main():
    orrery, folder, only = sys.argv[1], sys.argv[2], sys.argv[3:]
    ok = True
    cases = os.path.join(folder, "cases.csv")
    if os.path.exists(cases) and not only:
        ok = check_cases(orrery, cases)
    ref = os.path.join(folder, "ref")
    for name in sorted(os.listdir(ref)) if os.path.isdir(ref) else []:
        trace = name[len("exact_"):-len(".csv")]
        if name.startswith("exact_") and name != "exact_summary.csv" and (not only or trace in only):
            ok &= check_exact(orrery, folder, os.path.join(ref, name))
    sys.exit(0 if ok else 1)


main()
