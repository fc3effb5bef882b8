#!/usr/bin/env python3
"""test_left_out.py - left_out.py finds the value that a made-up program was measured with, and says where it cannot.

The program in orrery's place simulates each row as its measured value times (the stack's value / the true one)^(1/2): the
true value of the first fitted constant of sglang-0.4 is 1.25 times the stack's. So the stack's error is 1 - 1.25^(-1/2),
which a mean of logarithms prints as 1.25^(1/2) - 1 = 11.8 %, and with any model left out the others give the true value.
Gaps do not move, and do not count. With one model's rows alone nothing can be left out.
"""
import os
import stat
import subprocess
import sys
import tempfile

TOOL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "left_out.py")
PROGRAM = """#!/usr/bin/env python3
import json, re, sys
table, library = sys.argv[sys.argv.index("--rows") + 1], sys.argv[sys.argv.index("--library") + 1]
block = re.search(r"set: engine.host.step\\n +to: ([\\d.]+)", open(library + "/stacks/sglang-0.4.yaml").read())
factor = (float(block.group(1)) / (1.25 * 0.6)) ** 0.5
lines = open(table).read().splitlines()
head = next(n for n, line in enumerate(lines, 1) if not line.startswith("#"))
rows = [{"row": n, "metric": metric, "measured": 2.0, "simulated": 2.0 * (factor if metric == "ttft_mean_s" else 1)}
        for n in range(head + 1, len(lines) + 1) for metric in ("ttft_mean_s", "tpot_mean_s")]
print(json.dumps({"sets": [{"rows": rows}]}))
"""


def main():
    print("1..2")
    with tempfile.TemporaryDirectory() as folder:
        program = f"{folder}/orrery"
        with open(program, "w") as out:
            out.write(PROGRAM)
        os.chmod(program, os.stat(program).st_mode | stat.S_IEXEC)

        def run(path):
            return subprocess.run([sys.executable, TOOL, program, "sglang-0.4", "--path", path, "--rows", "2"],
                                  capture_output=True, text=True, check=False)

        step = run("engine.host.step")
        good = all(word in step.stdout for word in ("value 0.6 ms", "shipped 11.8 %", "best 0.746", "left out 0.2 %"))
        print(f"{'ok' if good else 'not ok'} 1 - the true value, with each model left out\n# {step.stdout!r} {step.stderr!r}")
        idle = run("engine.host.sequence")
        moves = "moves no row" in idle.stdout
        print(f"{'ok' if moves else 'not ok'} 2 - a constant that moves nothing\n# {idle.stdout!r} {idle.stderr!r}")
    return 0 if good and moves else 1


if __name__ == "__main__":
    sys.exit(main())
