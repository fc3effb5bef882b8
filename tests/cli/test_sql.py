#!/usr/bin/env python3
"""test_sql.py ORRERY PAGE - the views that lie in a database, read by Python's own SQLite: they hold the facts of the
tables, exist in every database that was written, and the Python of PAGE runs. TAP."""

import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile

orrery, page = (os.path.abspath(path) for path in sys.argv[1:3])
VIEWS = {"runs", "points", "steps", "requests", "breakdown"}
n_checks = 0


def check(name, holds, found=""):
    global n_checks
    n_checks += 1
    print(f"{'ok' if holds else 'not ok'} {n_checks} - {name}")
    if not holds:
        print(f"# {found}")


def run(*arguments):
    subprocess.run([orrery, *arguments], check=True, stdout=subprocess.DEVNULL)


def rows(path, sql):
    database = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        return database.execute(sql).fetchall()
    finally:
        database.close()


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    run("run", "sft-llama-3.1-8b-8-h100", "--db", "one.db")
    names = {row[0] for row in rows("one.db", "SELECT name FROM sqlite_master WHERE type = 'view'")}
    check("a database has the views after its first run", names == VIEWS, names)
    for view in sorted(VIEWS):
        check(f"{view} can be read where tables are missing", rows("one.db", f"SELECT count(*) FROM {view}")[0][0] >= 0)
    check("requests of a training run: none", rows("one.db", "SELECT * FROM requests") == [])

    commands = re.findall(r"^\$ (orrery .*)$", open(page).read(), flags=re.M)
    for command in commands[:3]:
        subprocess.run(command.replace("orrery", f"'{orrery}'", 1), shell=True, check=True, stdout=subprocess.DEVNULL)
    db = "results.db"
    facts = rows(db, "SELECT run_id, iteration_time_s, tokens_per_s, mfu FROM training_result ORDER BY 1")
    view = rows(db, "SELECT run_id, iteration_time_s, tokens_per_s, mfu FROM runs WHERE tokens_per_s > 0 ORDER BY 1")
    check("runs has the results of training", facts and facts == view, (facts[:1], view[:1]))
    facts = rows(db, "SELECT ttft_p99_s, output_tokens_per_s FROM serving_result")
    view = rows(db, "SELECT ttft_p99_s, output_tokens_per_s FROM runs WHERE kind = 'serving'")
    check("runs has the results of serving, whose table came later", facts and facts == view, (facts, view))
    check("runs has every run", rows(db, "SELECT count(*) FROM runs") == rows(db, "SELECT count(*) FROM run"))
    check("requests has every request", rows(db, "SELECT count(*) FROM requests") == [(50,)])
    points = rows(db, "SELECT status, settings, objective_1, tokens_per_s FROM points")
    fits = [point for point in points if point[0] == "ok"]
    check("points has twelve points", len(points) == 12 and len(fits) > 0, points)
    check("the objective is the result", all(abs(point[2] / point[3] - 1) < 1e-9 for point in fits), fits)
    check("points have settings", all("workload.parallel.tp=" in point[1] for point in points), points[0])
    needed = rows(db, "SELECT p.memory_bytes, t.memory_peak_bytes FROM points p JOIN training_result t USING (run_id)")
    check("memory is the result's", needed and all(abs(one[0] / one[1] - 1) < 1e-9 for one in needed), needed[:3])
    unfit = rows(db, "SELECT memory_bytes FROM points WHERE status = 'unfit'")
    check("points that do not fit have the memory that they need", unfit and all(one[0] > 80 * 2**30 for one in unfit), unfit)
    percent = rows(db, "SELECT sum(percent) FROM breakdown GROUP BY run_id")
    check("a breakdown adds up to 100 %", all(abs(one[0] - 100) < 0.1 for one in percent), percent[:3])

    code = re.search(r"```python\n(.*?)```", open(page).read(), flags=re.S).group(1)
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    check("the page's Python runs", said.returncode == 0 and said.stdout.count("tokens/s") == 3, said.stderr)

    # The page's commands for other clients: each that is installed runs, and answers as SQL does.
    best, scenario = rows(db, "SELECT max(mfu), (SELECT scenario FROM run WHERE id = 1) FROM points_3")[0]
    check("a wide view has the axes as numbers", rows(db, "SELECT count(*) FROM points_3 WHERE tp > 1") ==
          rows(db, "SELECT count(*) FROM param WHERE path = 'workload.parallel.tp' AND number > 1 AND run_id > 3"))
    wide = rows(db, "SELECT run, tokens_per_s FROM points_3 WHERE status = 'ok' ORDER BY run")
    check("and the results", wide == rows(db, "SELECT run_id, tokens_per_s FROM points WHERE status = 'ok' ORDER BY run_id"))

    def is_there(command):
        if command.startswith("python3"):
            module = re.search(r"import (\w+)", command).group(1)
            return subprocess.run([sys.executable, "-c", f"import {module}"], stderr=subprocess.DEVNULL, check=False).returncode == 0
        return shutil.which(command.split()[0]) is not None

    for block in re.findall(r"```sh\n(.*?)```", open(page).read(), flags=re.S):
        for command in block.splitlines():
            client = re.search(r"import (\w+)", command).group(1) if command.startswith("python3") else command.split()[0]
            if not is_there(command):
                n_checks += 1
                print(f"ok {n_checks} - the page's {client} # SKIP {client} is not installed")
                continue
            said = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
            if "INSTALL sqlite" in command and said.returncode != 0:
                n_checks += 1
                print(f"ok {n_checks} - the page's {client} # SKIP its extension for SQLite is not installed")
                continue
            figure = f"{best:.3f}"[:5] if "mfu" in command and "runs" not in command else scenario
            check(f"the page's {client} answers", said.returncode == 0 and figure in said.stdout, said.stdout + said.stderr)

    def view(name, number):
        said = subprocess.run([orrery, "query", db, name, "--run", str(number), "--json"], capture_output=True, text=True, check=True)
        return json.loads(said.stdout)

    reasons, missing = view("why-not", 3), rows(db, "SELECT count(*), min(memory_bytes) FROM points WHERE status = 'unfit'")[0]
    unfit = [one for one in reasons if one["status"] == "unfit"]
    check("why-not counts the points that do not fit, and finds the one nearest to fitting", len(unfit) == 1 and
          unfit[0]["points"] == missing[0] and abs(unfit[0]["nearest_memory_gib"] * 2**30 / missing[1] - 1) < 1e-9, reasons)
    needed = view("memory-needed", 3)
    check("memory-needed has every point in the order of its need", len(needed) == 12 and
          needed == sorted(needed, key=lambda one: one["needed_gib"]) and sum(one["fits"] for one in needed) == 12 - missing[0], needed)
    alone = view("memory-needed", 1)[0]
    check("and a run by itself with its capacity", alone["fits"] == 1 and alone["needed_gib"] < alone["capacity_gib"], alone)
    machine = view("machines", 1)[0]
    counts = dict(rows(db, "SELECT item, sum(count) FROM bill WHERE run_id = 1 GROUP BY item"))
    check("machines counts the items of the bill, and watts",
          (machine["switches"], machine["gpus"], machine["cables"]) == (counts["switch"], counts["gpu"], counts["cable"]) and
          abs(machine["gpu_kw"] * 1e3 / rows(db, "SELECT gpu_power_mean_w FROM training_result WHERE run_id = 1")[0][0] - 1) < 1e-9,
          machine)

    run("db", "merge", "merged.db", db)
    names = {row[0] for row in rows("merged.db", "SELECT name FROM sqlite_master WHERE type = 'view'")}
    check("a merged database has the views, those of its sweeps too", names == VIEWS | {"points_3"}, names)
    said = subprocess.run([orrery, "query", db, "serving", "--run", "1"], capture_output=True, text=True, check=False)
    check("a view without rows says which runs have some", "serving has rows for serving runs" in said.stderr, said.stderr)
    said = subprocess.run([orrery, "query", "--list", db], capture_output=True, text=True, check=False)
    check("query --list has the views of both kinds", "points_3" in said.stdout and "critical-path" in said.stdout, said.stdout)
    run("run", "sft-llama-3.1-8b-8-h100", "--db", "taken.db")
    taken = sqlite3.connect("taken.db")
    taken.executescript("DROP VIEW runs; CREATE TABLE runs (x); INSERT INTO runs VALUES (7);")
    taken.close()
    run("run", "serving-llama-3.1-8b-h100", "--set", "workload.requests=5", "--db", "taken.db")
    check("a table of that name is left alone", rows("taken.db", "SELECT x FROM runs") == [(7,)])
    old = sqlite3.connect("one.db")
    old.executescript("DROP VIEW runs; DROP VIEW points;")
    old.close()
    run("run", "sft-llama-3.1-8b-8-h100", "--db", "one.db")
    check("a database without views gets them", rows("one.db", "SELECT count(*) FROM runs") == [(2,)])
print(f"1..{n_checks}")
