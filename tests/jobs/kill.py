#!/usr/bin/env python3
"""kill.py ORRERY: clusters of jobs that are killed (SIGKILL) leave a database that can be used, and sweeps of them go on.

A run that is killed at any time leaves all of its rows or none; the runs before it stay as they were; and the same run
again gives the same bytes. A sweep that is killed again and again, and resumed, ends with every point once, each as in
a sweep that was not interrupted. Ends with status 1 where something does not hold.
"""
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

SCENARIO = """schema: scenario/1
name: killed
cluster: {base: dgx-h100-superpod, nodes: 8}
workload:
  kind: cluster
  jobs: generate
  generate: {n: 2500, load: 0.9}
  policy: {order: srtf, blocked: skip, preemption: {restart: 1 min, checkpoint: 10 min}}
  failures: {set: rsc-1}
"""
SWEEP = SCENARIO.replace("n: 2500", "n: 300") + """sweep:
  axes:
    workload.policy.order: [fifo, sjf, srtf, las]
    workload.generate.load: {from: 0.3, to: 0.8, step: 0.1}
  objective: minimize jct_p50_s
"""
ROWS = "SELECT job, start_s, end_s, preemptions, failures, overhead_s FROM cluster_job WHERE run_id = ? ORDER BY rowid"
POINTS = """SELECT p.point, p.status, r.jct_p50_s, r.makespan_s, r.failures, r.gpu_hours FROM sweep_point p
LEFT JOIN cluster_result r ON r.run_id = p.run_id ORDER BY p.point"""


def killed(command, folder, after_s):
    """Runs @command, and kills it and its children after @after_s; whether it had ended before."""
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          start_new_session=True) as process:
        try:
            return process.wait(after_s) == 0
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return False


def run(command, folder):
    done = subprocess.run(command, cwd=folder, text=True, capture_output=True, check=False)
    if done.returncode != 0:
        print(done.stdout[-500:], done.stderr[-500:])
    return done.returncode == 0


def query(path, sql, *values):
    with sqlite3.connect(path) as db:
        return db.execute(sql, values).fetchall()


def whole_runs(path):
    """The runs of @path, each with as many jobs as it says; None: one has not."""
    if query(path, "PRAGMA integrity_check") != [("ok",)]:
        return None
    runs = query(path, "SELECT r.id, c.n_jobs, (SELECT count(*) FROM cluster_job j WHERE j.run_id = r.id), "
                       "(SELECT count(*) FROM cluster_span s WHERE s.run_id = r.id) FROM run r "
                       "LEFT JOIN cluster_result c ON c.run_id = r.id")
    return [run[0] for run in runs] if all(n == found and spans >= found for _, n, found, spans in runs) else None


def check_runs(orrery, folder):
    path, command = os.path.join(folder, "r.db"), [orrery, "run", "s.yaml", "--db", "r.db"]
    begin = time.monotonic()
    ok = run(command, folder)
    takes = time.monotonic() - begin
    first, n_killed = query(path, ROWS, 1), 0
    for i in range(8):
        n_killed += not killed(command, folder, takes * (i + 1) / 8)
        ok &= whole_runs(path) is not None
    ok &= run(command, folder)
    runs = whole_runs(path)
    print(f"runs: {n_killed} of 8 killed, {len(runs or [])} whole ones")
    return ok and runs is not None and all(query(path, ROWS, one) == first for one in runs)


def has_sweep(path):
    """Whether a sweep has begun there: one that was killed before is not resumed."""
    try:
        return os.path.exists(path) and query(path, "SELECT count(*) FROM sweep") != [(0,)]
    except sqlite3.OperationalError:
        return False


def check_sweep(orrery, folder):
    command = [orrery, "sweep", "sweep.yaml", "-j", "2", "--db"]
    ok = run(command + ["whole.db"], folder)
    n_killed, ended = 0, False
    while not ended and n_killed < 30:
        resume = ["--resume"] if has_sweep(os.path.join(folder, "killed.db")) else []
        ended = killed(command + ["killed.db"] + resume, folder, 0.2 + 0.05 * n_killed)
        n_killed += not ended
    ok &= ended or run(command + ["killed.db", "--resume"], folder)
    whole, again = (query(os.path.join(folder, name), POINTS) for name in ("whole.db", "killed.db"))
    print(f"sweep: killed {n_killed} times, {len(again)} of {len(whole)} points")
    return ok and len(whole) == 24 and whole == again


def main():
    orrery = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (("s.yaml", SCENARIO), ("sweep.yaml", SWEEP)):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(text)
        ok = check_runs(orrery, folder)
        ok &= check_sweep(orrery, folder)
    sys.exit(not ok)


main()
