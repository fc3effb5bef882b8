#!/usr/bin/env python3
"""test_factors.py ORRERY - factors.py gives back the factors that a table was made with, and reads what validate stores.

The table: measured / simulated = 1.08 gemm + 0.9 attention + 1.2 comm + rest, where a bubble of 20 % is shared out among them:
the fractions below are of the time without it. A rate is the inverse. The newest comparison of a row counts, and memory does not.
"""
import os
import re
import sqlite3
import subprocess
import sys
import tempfile

TOOL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "factors.py")
COLUMNS = "run_id, set_name, row, metric, measured, simulated, error, architecture, family, stack, gemm, attention, experts, memory, comm, host, bubble"
PARTS = [(.7, .1, .18), (.5, .3, .15), (.6, .1, .28), (.4, .4, .17), (.8, .1, .09), (.5, .2, .28), (.3, .5, .18), (.6, .3, .08)]


def made(path):
    base = sqlite3.connect(path)
    base.execute(f"CREATE TABLE validation_row ({COLUMNS})")
    for i, (gemm, attention, comm) in enumerate(PARTS):
        rest = 1 - gemm - attention - comm
        ratio = 1.08 * gemm + .9 * attention + 1.2 * comm + rest
        fractions = [.8 * gemm, .8 * attention, 0, .8 * rest, .8 * comm, 0, .2]
        is_rate = i % 2 == 1
        metric = "tokens_per_s" if is_rate else "iteration_time_s"
        cells = ["set", i, metric, 1 / ratio if is_rate else ratio, 1, 0, "hopper", "dense", f"stack-{i}"] + fractions
        old = cells[:3] + [9 * cells[3]] + cells[4:]
        memory = cells[:2] + ["memory_peak_bytes", 9] + cells[4:]
        for run, row in ((1, old), (2, cells), (2, memory)):
            base.execute(f"INSERT INTO validation_row VALUES ({', '.join('?' * 17)})", [run] + row)
    base.commit()


def run(*arguments):
    return subprocess.run([sys.executable, TOOL, *arguments], capture_output=True, text=True)


def factors(text):
    return {kind: float(value) for kind, value in re.findall(r"^  (\w+) .* factor +(-?[\d.]+) ", text, re.M)}


def main():
    orrery = os.path.abspath(sys.argv[1])
    print("1..4")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "made.db")
        made(path)
        answer = run(path)
        good = [factors(answer.stdout) == {"gemm": 1.08, "attention": .9, "comm": 1.2}
                and "hopper, dense: 8 rows" in answer.stdout]
        print(f"{'ok' if good[-1] else 'not ok'} 1 - the factors that the table was made with\n# {answer.stdout!r} {answer.stderr!r}")
        few = run(path, "--where", "row < 3")
        good.append("3 rows" in few.stdout and "no factors" in few.stdout)
        print(f"{'ok' if good[-1] else 'not ok'} 2 - too few rows have no factors\n# {few.stdout!r}")
        none = run(path, "--set", "other")
        good.append(none.returncode != 0 and "no compared steps" in none.stderr)
        print(f"{'ok' if good[-1] else 'not ok'} 3 - no rows are an error\n# {none.stderr!r}")
        if os.environ.get("ORRERY_TEST_SIZE") == "small":
            print("ok 4 - what validate stores is enough # SKIP a small run: other tests validate")
        else:
            real = os.path.join(folder, "real.db")
            subprocess.run([orrery, "validate", "megatron-sc21", "--db", real], check=True, stdout=subprocess.DEVNULL)
            answer = run(real, "--by", "architecture,family,stack")
            good.append("ampere, dense, megatron-2021.03: 10 rows" in answer.stdout and "gemm" in factors(answer.stdout))
            print(f"{'ok' if good[-1] else 'not ok'} 4 - what validate stores is enough\n# {answer.stdout!r} {answer.stderr!r}")
    sys.exit(not all(good))


if __name__ == "__main__":
    main()
