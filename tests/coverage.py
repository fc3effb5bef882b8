#!/usr/bin/env python3
"""Prints which lines of a folder's C files the tests of a build ran, by gcov.

Usage: coverage.py BUILD FOLDER [LEAST]    BUILD: configured with -Db_coverage=true, and its tests have run
                                           LEAST: exit status 1 where the sum is below this percentage

A file that several programs hold has run where any of them ran it. Lines are gcov's: those with code.
"""
import collections
import json
import os
import subprocess
import sys


def counts_of(build, data):
    """[(file, line, count)] of one object's counters."""
    out = subprocess.run(["gcov", "--stdout", "--json-format", os.path.relpath(data, build)], cwd=build,
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False).stdout
    for text in out.splitlines():
        for file in json.loads(text)["files"]:
            path = os.path.normpath(os.path.join(build, file["file"]))
            for line in file["lines"]:
                yield path, line["line_number"], line["count"]


def counters(build, folder):
    """The notes of all objects of the folder's files: a file that never ran has notes and no counters."""
    mark = os.path.relpath(folder).replace("/", "_") + "_"
    for at, _, names in os.walk(build):
        for name in names:
            if mark in name and name.endswith(".gcno"):
                yield os.path.join(at, name)


def main(build, folder, least=0):
    root = os.path.abspath(folder)
    lines = collections.defaultdict(lambda: collections.defaultdict(int))
    for data in counters(build, folder):
        for path, line, count in counts_of(build, data):
            if path.startswith(root + "/"):
                lines[path][line] = max(lines[path][line], count)
    if not lines:
        sys.exit(f"coverage: {build} has no counters of {folder}: configure it with -Db_coverage=true, run its tests")
    total = ran = 0
    for path in sorted(lines):
        file = lines[path]
        n, missed = len(file), sorted(line for line, count in file.items() if count == 0)
        total, ran = total + n, ran + n - len(missed)
        text = " ".join(str(line) for line in missed)
        print(f"{100 * (n - len(missed)) / n:6.1f} %  {os.path.relpath(path, root)}{':  not run: ' + text if text else ''}")
    percent = 100 * ran / total
    print(f"{percent:6.1f} %  {ran} of {total} lines of {folder} in {len(lines)} files")
    return percent < float(least)


if len(sys.argv) not in (3, 4):
    sys.exit(__doc__)
sys.exit(main(os.path.abspath(sys.argv[1]), *sys.argv[2:]))
