#!/usr/bin/env python3
"""test_cases.py ORRERY [PATTERN] - the cases of tests/cases/index.csv, of which PATTERN is in the files (TAP).

Each case runs in a folder of its own, with its files and no other, so that cases can run at the same time.
"""
import concurrent.futures
import csv
import os
import re
import shutil
import subprocess
import sys
import tempfile

CASES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../cases")
COLUMNS = ["files", "command", "status", "must", "must-not", "expected"]
SECONDS = 120  # a case that takes longer has failed


def faults_of(line, orrery):
    """What the case's output lacks or should not have: a list of sentences."""
    if line.get(None) or None in line.values() or not line["must"]:
        return ["the line has not six cells, or no pattern"]
    with tempfile.TemporaryDirectory() as folder:
        for name in line["files"].split():
            os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
            shutil.copyfile(os.path.join(CASES, name), os.path.join(folder, name))
        script = f'orrery() {{ "$ORRERY" "$@"; }}\n{line["command"]}'
        try:
            done = subprocess.run(["sh", "-c", script], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, timeout=SECONDS, check=False,
                                  env={**os.environ, "ORRERY": orrery})
        except subprocess.TimeoutExpired:
            return [f"longer than {SECONDS} s"]
    faults = []
    if done.returncode != int(line["status"]):
        faults.append(f"exit status {done.returncode}, not {line['status']}")
    if not re.search(line["must"], done.stdout, re.MULTILINE):
        faults.append(f"no match for '{line['must']}'")
    if line["must-not"] and re.search(line["must-not"], done.stdout, re.MULTILINE):
        faults.append(f"a match for '{line['must-not']}'")
    return faults + done.stdout.splitlines()[-30:] if faults else []


def main():
    orrery = os.path.abspath(sys.argv[1])
    with open(os.path.join(CASES, "index.csv"), encoding="utf-8", newline="") as file:
        table = csv.DictReader(file)
        lines = [line for line in table if len(sys.argv) < 3 or sys.argv[2] in line["files"]]
    good = table.fieldnames == COLUMNS and lines
    print(f"1..{len(lines) + 1}\n{'ok' if good else 'not ok'} 1 - index.csv has lines of {', '.join(COLUMNS)}", flush=True)
    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        for number, (line, faults) in enumerate(zip(lines, pool.map(lambda one: faults_of(one, orrery), lines)), 2):
            print(f"{'not ok' if faults else 'ok'} {number} - {line['files']}: {line['expected']}".replace("#", "no."))
            print("".join(f"# {fault}\n" for fault in faults), end="", flush=True)
            good = good and not faults
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
