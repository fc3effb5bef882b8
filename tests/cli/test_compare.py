#!/usr/bin/env python3
"""test_compare.py ORRERY - which of two runs is better: verdicts whose bands can be derived by hand (TAP)."""
import csv
import json
import math
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


def call(*args, library=None):
    done = subprocess.run([orrery, *args, *(["--library", library] if library else [])], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def json_of(*args, library=None):
    return json.loads(call(*args, "--json", library=library)[1])


def write_residuals(path, likenesses, factors, revision):
    """Twenty rows of each likeness, whose measurement is the simulation times its factor."""
    os.makedirs(os.path.dirname(path))
    columns = list(likenesses[0])
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"# model-revision: {revision}\n")
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["set", "row", "part", "label", *(name.replace("_", "-") for name in columns), "answers"])
        row = 1
        for likeness, factor in zip(likenesses, factors):
            for _ in range(20):
                row += 1
                cells = ["" if likeness[name] is None else likeness[name] for name in columns]
                table.writerow(["made-up", row, "", f"row {row}", *cells, f"iteration_time_s:{factor * row}:{row}"])


def revision():
    with open(os.path.join(os.path.dirname(__file__), "../../calibration/residuals/training.csv"), encoding="utf-8") as file:
        return next(line.split(":")[1].strip() for line in file if line.startswith("# model-revision"))


def main():
    with tempfile.TemporaryDirectory() as folder:
        db, mine = os.path.join(folder, "a.db"), os.path.join(folder, "mine")
        run = ["run", "megatron-sc21-18b", "--db", db]
        call(*run)
        call(*run, "--set", "workload.batch.micro=4")
        likenesses = json.loads(call("query", db, "SELECT * FROM likeness ORDER BY run_id", "--json")[1])
        for row in likenesses:
            row.pop("id", None), row.pop("run_id")
        # Every pair of a row of one kind and one of the other is off by 1.1 in its ratio, and no pair is nearer.
        write_residuals(os.path.join(mine, "calibration/residuals/training.csv"), likenesses, (1.0, 1.1), revision())
        verdict = json_of("compare", db, "1", "2", library=mine)["verdicts"][0]
        check("the band of a ratio is that of the measured pairs",
              math.isclose(verdict["low"], 1.1 * verdict["ratio"], rel_tol=1e-5) and
              math.isclose(verdict["high"], 1.1 * verdict["ratio"], rel_tol=1e-5), verdict)
        check("200 pairs speak, and one at infinity does not", verdict["pairs"] == 200 and
              math.isclose(verdict["sure"], 200 / 201 if verdict["ratio"] > 1 else verdict["sure"], rel_tol=1e-9), verdict)
        # Turned round, the pairs err beyond 1 against what was computed: nothing is decided.
        write_residuals(os.path.join(folder, "turned/calibration/residuals/training.csv"), likenesses,
                        (1.0, 0.9 / verdict["ratio"] if verdict["ratio"] > 1 else 1.1 / verdict["ratio"]), revision())
        turned = json_of("compare", db, "1", "2", library=os.path.join(folder, "turned"))["verdicts"][0]
        check("bounds on the other side of 1 decide nothing", turned["told_apart"] is False and
              turned["text"].startswith("statistically tied"), turned)
        status, text, _ = call("compare", db, "1", "2", library=mine)
        check("the text names what differs", status == 0 and "they differ in micro-batch" in text, text)
        status, text, _ = call("compare", db, "1", "2", "--markdown", library=mine)
        check("Markdown has a table", "| metric | verdict |" in text, text)

        write_residuals(os.path.join(folder, "old/calibration/residuals/training.csv"), likenesses, (1.0, 1.1), 1)
        status, text, _ = call("compare", db, "1", "2", library=os.path.join(folder, "old"))
        note = json_of("compare", db, "1", "2", library=os.path.join(folder, "old"))["note"]
        check("residuals of another revision are named", status == 0 and "make residuals" in text and "revision" in note, text)

        # Errors of both kinds, up and down by a half: no order of two runs that are 2 % apart survives.
        write_residuals(os.path.join(folder, "wide/calibration/residuals/training.csv"), likenesses, (1.0, 1.0), revision())
        path = os.path.join(folder, "wide/calibration/residuals/training.csv")
        with open(path, encoding="utf-8") as file:
            lines = file.read().splitlines()
        for i in range(2, len(lines)):
            head, _, answer = lines[i].rpartition(",")
            metric, _, simulated = answer.split(":")
            lines[i] = f"{head},{metric}:{float(simulated) * (1.5 if i % 2 else 1 / 1.5)}:{simulated}"
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
        verdict = json_of("compare", db, "1", "2", library=os.path.join(folder, "wide"))["verdicts"][0]
        check("runs that the errors cover are tied",
              not verdict["told_apart"] and verdict["text"].startswith("statistically tied"), verdict)

        # Half of the sequences in a step: less work is not more speed, so rates are compared.
        call(*run, "--set", "workload.batch.global=512")
        call(*run, "--set", "workload.batch.global=256")
        whole, half = (row["run_id"] for row in json.loads(
            call("query", db, "SELECT run_id FROM training_result ORDER BY run_id DESC LIMIT 2", "--json")[1])[::-1])
        found = json_of("compare", db, str(whole), str(half))
        metrics = {row["metric"]: row for row in found["verdicts"]}
        check("steps of other tokens are compared by tokens per second", "iteration_time_s" not in metrics and
              metrics["tokens_per_s"]["ratio"] < 1 and "faster" not in metrics["tokens_per_s"]["text"] and
              "tokens per second are compared" in found["note"], found)

        call("sweep", "sweep-gpt3-6.7b-64-a100", "--db", db, "--set", "sweep.sampler={kind: random, points: 40}")
        hidden = json.loads(call("query", db, "SELECT run_id FROM training_result WHERE run_id NOT IN "
                                 "(SELECT run_id FROM likeness) ORDER BY run_id LIMIT 2", "--json")[1])
        status, text, _ = call("compare", db, *(str(row["run_id"]) for row in hidden))
        check("a run that does not say what it is like has no verdict, and no error",
              status == 0 and "cannot be compared with measured runs" in text, text)

        # Points of a sweep have no bands of their own: their results are compared. A batch that is never reached changes none.
        points = os.path.join(folder, "points.db")
        text = """schema: scenario/1
name: limits
cluster: {base: dgx-h100-superpod, nodes: 1, gpus: 1}
model: llama-3.1-8b
workload: {kind: serving, load: {kind: poisson, rate: 2}, requests: 50, input: {tokens: 500}, output: {tokens: 50}}
sweep:
  axes: {workload.load.rate: [2, 4], workload.engine.max-num-seqs: [32, 64]}
  objective: [minimize ttft_mean_s]
"""
        with open(os.path.join(folder, "limits.yaml"), "w", encoding="utf-8") as file:
            file.write(text)
        call("sweep", os.path.join(folder, "limits.yaml"), "--db", points)
        rows = json.loads(call("query", points, "SELECT r.run_id, ttft_mean_s FROM serving_result r JOIN param p ON p.run_id = "
                               "r.run_id AND p.path = 'workload.load.rate' ORDER BY p.number, r.run_id", "--json")[1])
        one, same, other = (str(rows[i]["run_id"]) for i in (0, 1, 2))
        verdicts = json_of("compare", points, one, same)["verdicts"]
        check("equal points are the same in every metric", rows[0]["ttft_mean_s"] == rows[1]["ttft_mean_s"] and
              len(verdicts) >= 2 and all(v["text"] == "the same in both runs" for v in verdicts), verdicts)
        found = {v["metric"]: v for v in json_of("compare", points, one, other)["verdicts"]}
        check("points of different loads have verdicts", "ttft_mean_s" in found and
              math.isclose(found["ttft_mean_s"]["ratio"], rows[2]["ttft_mean_s"] / rows[0]["ttft_mean_s"], rel_tol=1e-9), found)

        call("run", "two-jobs-one-uplink", "--db", db)
        jobs = json.loads(call("query", db, "SELECT run_id FROM job ORDER BY run_id DESC LIMIT 2", "--json")[1])
        status, text, _ = call("compare", db, *(str(row["run_id"]) for row in jobs))
        check("runs that shared a machine have no verdict", status == 0 and
              ("shared its machine" in text or "cannot be compared" in text), text)

        loops = os.path.join(folder, "loops.db")
        for most in ("0.6", "0.7"):
            call("run", "rl-grpo-qwen3-30b-a3b-32-h100", "--db", loops, "--set",
                 f"workload.rollout.engine.gpu-memory-utilization={most}")
        rates = json.loads(call("query", loops, "SELECT tokens_per_s FROM post_training_result ORDER BY run_id", "--json")[1])
        found = {v["metric"]: v for v in json_of("compare", loops, "1", "2")["verdicts"]}
        check("runs of post-training are compared by their tokens per second", "tokens_per_s" in found and
              math.isclose(found["tokens_per_s"]["ratio"], rates[1]["tokens_per_s"] / rates[0]["tokens_per_s"], rel_tol=1e-9), found)
    print(f"1..{count}")
    sys.exit(failed)


main()
