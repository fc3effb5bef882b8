#!/usr/bin/env python3
"""test_log.py ORRERY - labels of runs, `orrery db log`, and three runs side by side (TAP)."""
import csv
import io
import json
import os
import subprocess
import sys
import tempfile

orrery = os.path.abspath(sys.argv[1])
count = 0
failed = False


def check(what, good, shown=""):
    global count, failed
    count += 1
    failed |= not good
    print(f"{'ok' if good else 'not ok'} {count} - {what}{'' if good else ': ' + str(shown)[:1500]}")


def call(*args):
    done = subprocess.run([orrery, *args], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def check_log(db):
    rows = json.loads(call("db", "log", db, "--json")[1])
    check("the newest run comes first", [row["run"] for row in rows] == [5, 4, 3, 2, 1], rows)
    labels = {row["run"]: row["label"] for row in rows}
    check("a run has the label that it was given", labels[3] == "four, at once", labels)
    check("others are called by what differs", labels[1] == "micro=1" and labels[2] == "micro=2", labels)
    check("a scenario that ran once needs no label", labels[4] == "" and labels[5] == "", labels)
    answers = {row["run"]: row["answer"] for row in rows}
    check("the answer of training is its step", " s per step on 256 GPUs, MFU " in answers[1], answers)
    check("of serving, tokens and latencies", "tokens/s, TTFT " in answers[4], answers)
    check("of jobs, completion", answers[5].startswith("completion 40.06 h"), answers)
    check("a run just made is seconds or minutes old", all(row["age"].split()[1] in ("s", "min") for row in rows), rows)
    few = list(csv.reader(io.StringIO(call("db", "log", db, "-n", "2", "--csv")[1])))
    check("-n bounds the rows", len(few) == 3 and few[1][0] == "5", few)
    status, _, error = call("db", "log", db, "-n", "0")
    check("-n 0 is refused", status == 2 and "-n takes a number above 0" in error, error)
    status, _, error = call("db", "log", db, "--csv", "--json")
    check("two formats are refused", status == 2 and "not both" in error, error)
    status, _, error = call("db", "log", db + ".not")
    check("a database that does not exist is an error", status == 1 and "no such results database" in error, error)


def check_sides(db):
    sides = json.loads(call("compare", db, "1", "2", "3", "--json")[1])
    check("inputs that differ stand side by side",
          sides["inputs"] == [{"path": "workload.batch.micro", "run_1": "1", "run_2": "2", "run_3": "4"}], sides["inputs"])
    step = next(row for row in sides["results"] if row["metric"] == "iteration_time_s")
    for run in ("1", "2", "3"):
        pair = json.loads(call("compare", db, "1", run, "--json")[1])["compare-results"][0] if run != "1" else None
        check(f"run {run} has its band around it", step[f"run_{run}_low"] < step[f"run_{run}"] < step[f"run_{run}_high"], step)
        if pair:
            check(f"run {run} is what the pair says", abs(step[f"run_{run}"] / pair["this"] - 1) < 1e-5 and
                  abs(step[f"run_{run}_change_percent"] - pair["change_percent"]) < 1e-4, (step, pair))
    check("each is judged against the first", "run 2 against run 1" in sides and "run 3 against run 1" in sides, sides.keys())
    table = call("compare", db, "1", "2", "3")[1]
    check("the table has changes and bands", "%" in table and " to " in table and "+0.0 %" not in table, table)
    rows = list(csv.DictReader(io.StringIO(call("compare", db, "1", "2", "--csv")[1])))
    check("--csv of two runs has their results", rows[0]["metric"] == "iteration_time_s" and rows[0]["run_2_low"], rows[:1])
    status, _, error = call("compare", db, "1", "2", "4")
    check("kinds are not mixed", status == 2 and "of kind serving" in error, error)
    status, _, error = call("compare", db, "1", "2", "1")
    check("a run is not compared with itself", status == 2 and "with itself" in error, error)
    status, _, error = call("compare", db, "1", "2", "9")
    check("a run that does not exist is named", status == 2 and "no run 9" in error, error)


def main():
    with tempfile.TemporaryDirectory() as folder:
        db = os.path.join(folder, "a.db")
        run = ["run", "megatron-sc21-18b", "--db", db]
        call(*run, "--set", "workload.batch.micro=1")
        call(*run, "--set", "workload.batch.micro=2")
        call(*run, "--set", "workload.batch.micro=4", "--label", "four, at once")
        call("run", "serving-llama-3.1-8b-h100", "--set", "workload.requests=50", "--db", db)
        call("run", "jobs-itp-64-a100", "--db", db)
        check_log(db)
        check_sides(db)
    print(f"1..{count}")
    sys.exit(failed)


main()
