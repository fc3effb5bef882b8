#!/usr/bin/env python3
"""Finds what the run under sanitizers can leave out, because it reaches no line of the product that the rest does not reach:
sanitizers find defects in what runs. Writes tests/plain_only.txt, which `make sanitize` reads, a line for each of
  NAME                     a test
  NAME /CASE               a case of a test program that takes longer than LONG_S (test_programs.c skips it)
  orrery CHECKSUM WORDS    a command of test scripts (suite `commands`), which the plain program then runs (orrery.sh.in)

Usage: reached.py BUILD [--check]    BUILD: made where it is not there: -O1, as sanitized builds are, with a call at each
                                     block (reached.c)
                                     --check: writes nothing; exit status 1 where the list as it is loses a line

Every test, but for the suite of documents, runs as `make sanitize` runs it, small; each test, case and command leaves what it
reached in a folder of its own. The dearest goes first: it is left out where the remaining ones reach every line that it
reaches. A line is one of the product's files to which the compiler gave a block. What takes less than SHORT_S, failed, or
starts programs with an empty environment, which is not seen, stays in.
"""
import array
import bisect
import collections
import concurrent.futures
import glob
import itertools
import json
import operator
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LIST = os.path.join(ROOT, "tests", "plain_only.txt")
LONG_S, SHORT_S = 0.8, 0.05  # processor seconds
EACH = """#!/bin/sh
own=$(mktemp -d "$REACHED/XXXXXX")
printf '%s\\n' "$@" | cksum | cut -d' ' -f1 > "$own/words"
printf '%s\\n' "$@" | tr '\\n' ' ' >> "$own/words"
REACHED=$own exec {build}/orrery "$@"
"""


class Unit:
    """What can be left out. @folders: of its maps; @reached: the numbers of the lines."""

    def __init__(self, name, folder, seconds, cases=0, stays=False):
        self.name, self.folders, self.seconds, self.cases, self.stays = name, [folder], seconds, cases, stays
        self.reached = set()


def make(build):
    library = os.path.join(build, "libreached.so")
    os.makedirs(f"{build}/each", exist_ok=True)
    subprocess.run(["cc", "-O2", "-fPIC", "-shared", "-o", library, f"{ROOT}/tests/reached.c"], check=True)
    if not os.path.exists(f"{build}/build.ninja"):
        link = f"{library} -Wl,-rpath,{build}"
        compiled = "-g1 -fsanitize-coverage=trace-pc -D__SANITIZE_ADDRESS__=1"  # tests that sanitizers do not have are left out
        subprocess.run(["meson", "setup", build, ROOT, "-Doptimization=1", "-Db_pie=false", "-Dhardening=false",
                        f"-Dc_args={compiled}", f"-Dc_link_args={link}", f"-Dcpp_link_args={link}"],
                       check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["ninja", "-C", build, "--quiet"], check=True)
    with open(f"{build}/each/orrery", "w", encoding="utf-8") as file:
        file.write(EACH.format(build=build))
    os.chmod(f"{build}/each/orrery", 0o755)


def start(command, test, build, folder):
    """Runs it with its maps in @folder: processor seconds, the cases that passed, and whether all did."""
    os.makedirs(folder)
    environment = dict(os.environ, REACHED=folder, ORRERY_TEST_SIZE="small", **test["env"])
    with subprocess.Popen(command, env=environment, cwd=test["workdir"] or build, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace") as process:
        text = process.stdout.read()
        _, process.returncode, used = os.wait4(process.pid, 0)
    return used.ru_utime + used.ru_stime, len(re.findall(r"^ok \d+(?!.*# *SKIP)", text, re.M)), process.returncode == 0


def commands_of(folder, build, stays):
    """The units of a script's commands, which left their words, their maps and their seconds in folders."""
    for own in glob.glob(f"{folder}/*/"):
        checksum, words = open(f"{own}/words", encoding="utf-8", errors="replace").read().split("\n", 1)
        seconds = sum(map(float, open(f"{own}/seconds", encoding="utf-8"))) if os.path.exists(f"{own}/seconds") else 0
        # Words of another folder or of another run would have another checksum.
        lasting = ROOT not in words and tempfile.gettempdir() not in words
        yield Unit(f"orrery {checksum} {words.strip()[:200]}", own, seconds, stays=stays or not lasting)


def run(test, build, folder):
    """The units of one test, which leave their maps in folders below @folder."""
    own = os.path.join(folder, test["name"].replace("/", "."))
    by_command = "commands" in str(test["suite"])
    command = [f"{build}/each/orrery" if by_command and os.path.basename(word) == "orrery" else word for word in test["cmd"]]
    seconds, cases, passed = start(command, test, build, own)
    print(f"{seconds:.1f} {test['name']}{'' if passed else ' FAILED'}", flush=True)
    if by_command:
        return list(commands_of(own, build, not passed))
    names = []
    if os.path.basename(command[0]) == "test-programs" and seconds > LONG_S:
        listed = subprocess.run(command[:2] + ["-l"], env=dict(os.environ, ORRERY_TEST_SIZE="small", **test["env"]), check=False,
                                stdout=subprocess.PIPE, text=True)
        names = [line for line in listed.stdout.splitlines() if line.startswith("/")]
    units = []
    for at, name in enumerate(names):
        seconds, cases, passed = start(command + ["-p", name], test, build, f"{own}.{at}")
        units.append(Unit(f"{test['name']} {name}", f"{own}.{at}", seconds, cases, not passed))
    return units or [Unit(test["name"], own, seconds, cases, not passed)]


def joined(units):
    """One unit for each name: of equal commands every one must be needless."""
    found = {}
    for unit in units:
        known = found.setdefault(unit.name, unit)
        if known is not unit:
            known.folders += unit.folders
            known.seconds += unit.seconds
            known.stays |= unit.stays
    return list(found.values())


def line_table(program):
    """Addresses and their "file:line", in order of the addresses."""
    rows = {}
    with subprocess.Popen(["objdump", "-WL", "--wide", program], stdout=subprocess.PIPE, text=True) as process:
        for text in process.stdout:
            row = re.match(r"(\S+\.[ch])\s+(\d+)\s+0x([0-9a-f]+)", text)
            if row:
                rows[int(row[3], 16)] = f"{os.path.basename(row[1])}:{row[2]}"
    addresses = sorted(rows)
    return addresses, [rows[at] for at in addresses]


def read_lines(build, units, product):
    """Fills `reached` of each unit; returns the lines."""
    by_program, numbers = collections.defaultdict(list), {}
    for unit in units:
        for path in itertools.chain.from_iterable(glob.glob(f"{folder}/*@*") for folder in unit.folders):
            by_program[os.path.basename(path)].append((unit, path))
    for name, paths in by_program.items():
        program, base = name.split("@")
        addresses, texts = line_table(f"{build}/{program}" if os.path.exists(f"{build}/{program}")
                                      else f"{build}/tests/{program}")
        union = 0
        for _, path in paths:
            union |= int.from_bytes(open(path, "rb").read(), "little")
        size = max(os.path.getsize(path) for _, path in paths)
        index = list(itertools.compress(range(size), union.to_bytes(size, "little")))
        known = []  # of each address of index: its line's number, or None
        for place in index:
            text = texts[max(bisect.bisect_right(addresses, int(base, 16) + place - 1) - 1, 0)]
            known.append(numbers.setdefault(text, len(numbers)) if text.split(":")[0] in product else None)
        for unit, path in paths:
            data = open(path, "rb").read().ljust(size, b"\0")
            new = set(itertools.compress(known, operator.itemgetter(*index, index[0])(data))) - {None}
            unit.reached = array.array("I", new.union(unit.reached))
    return list(numbers)


def choice(units):
    """The units that add nothing, the dearest first."""
    times = collections.Counter(itertools.chain.from_iterable(unit.reached for unit in units))
    out = []
    for unit in sorted(units, key=lambda unit: -unit.seconds):
        if unit.seconds >= SHORT_S and not unit.stays and all(times[line] > 1 for line in unit.reached):
            times.subtract(unit.reached)
            out.append(unit)
    return out


def main(build, check=""):
    build = os.path.abspath(build)
    make(build)
    tests = [test for test in json.loads(subprocess.run(["meson", "introspect", build, "--tests"], check=True,
                                                        stdout=subprocess.PIPE).stdout) if "documents" not in str(test["suite"])]
    product = {os.path.basename(path) for folder in ("sim", "workloads", "models", "topologies", "calibration", "results")
               for path in glob.glob(f"{ROOT}/{folder}/**/*.[ch]", recursive=True)}
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        units = joined(itertools.chain.from_iterable(pool.map(lambda test: run(test, build, folder), tests)))
        lines = read_lines(build, units, product)
    if check:
        listed = set(open(LIST, encoding="utf-8").read().splitlines())
        out = [unit for unit in units if unit.name in listed or unit.name.split(" /")[0] in listed]
    else:
        out = choice(units)
    left = {unit.name for unit in out}
    reached = set().union(*(unit.reached for unit in units))
    lost = reached - set().union(*(unit.reached for unit in units if unit.name not in left))
    print(f"{len(units)} tests, cases and commands of {sum(unit.seconds for unit in units):.0f} processor s reach {len(reached)} "
          f"lines; without {len(out)} of {sum(unit.seconds for unit in out):.0f} s (cases: {sum(unit.cases for unit in out)}): "
          f"{len(lost)} lines lost")
    for line in sorted(lines[line] for line in lost):
        print(f"lost: {line}")
    if not check:
        stay = {unit.name.split(" /")[0] for unit in units if unit.name not in left}
        with open(LIST, "w", encoding="utf-8") as file:  # a test is one line where no case stays
            file.writelines(sorted({f"{name if name.split(' /')[0] in stay else name.split(' /')[0]}\n" for name in left}))
    return 1 if lost else 0


sys.exit(main(*sys.argv[1:]))
