#!/usr/bin/env python3
"""test_doors.py ORRERY [FOLDER... | --page | --shared [FOLDER]] - what is read of pasted inputs: a table format x (samples, read right,
read, asked, refused, unreadable).

Without a FOLDER: the samples of tests/import/doors, whose doors.csv has what each must come to; prints TAP and the table.
With FOLDERs: every file below them is given to `orrery import FILE` alone; where a folder has a doors.csv, its rows are
checked and their files are not tried again. "right" needs a row: the values that the output must hold.
With --page: prints docs/paste.md, which the test holds equal to the samples.
With --shared: FOLDER or ../shared/inputs, where it is: right is what shared.csv, the published values of its index.csv or the
patterns of tests/cases/index.csv say; prints TAP and the table, and fails where a value differs or the program crashes.
"""
import csv, os, re, shlex, subprocess, sys

HERE = os.path.dirname(os.path.abspath(__file__))
CLUSTER = "--cluster dgx-h100-superpod"
ASKS = re.compile(r"\? |\?$|add --|needs --device|Add --|--choose", re.M)


def run(orrery, folder, files, options):
    """The status in a word, and all that was printed."""
    command = [orrery, "import"] + files.split() + shlex.split(options)
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace", timeout=300)
    text = done.stdout + done.stderr
    if done.returncode == 0:
        return "read", text
    if done.returncode < 0:
        return "crashed", text
    return ("asked" if ASKS.search(done.stderr) else "refused"), text


def rows_of(folder):
    path = os.path.join(folder, "doors.csv")
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def is_right(row, status, text):
    return status == row["status"] and all(re.search(part, text) for part in row["expect"].split(" && "))


def format_of(text):
    found = re.search(r"is taken for (.*): import (\S+) \(", text, re.M)
    return found.group(2) if found else "none"


def add(table, name, *columns):
    line = table.setdefault(name, dict.fromkeys(("samples", "right", "read", "asked", "refused", "crashed"), 0))
    for column in columns:
        line[column] += 1


def try_rest(orrery, folder, known, table, verbose):
    for where, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = os.path.relpath(os.path.join(where, name), folder)
            if path in known or name in ("doors.csv", "index.csv", "README.md"):
                continue
            status, text = run(orrery, folder, shlex.quote(path), CLUSTER)
            kind = os.path.dirname(path) or "."
            add(table, f"{kind}: {format_of(text)}", "samples", status)
            if verbose and status != "read":
                print(f"# {path}: {status}: {text.strip().splitlines()[-1][:160]}")


def print_table(table, prefix):
    columns = ("samples", "right", "read", "asked", "refused", "crashed")
    width = max(map(len, table), default=6)
    print(prefix + "format".ljust(width), *columns)
    for name in sorted(table):
        print(prefix + name.ljust(width), *(str(table[name][column]).rjust(len(column)) for column in columns))


SHARED = os.path.join(HERE, "..", "..", "..", "shared", "inputs")
PUBLISHED = (("out tok/s", "output_tokens_per_s", 1), ("req/s", "requests_per_s", 1), ("mean TTFT ms", "ttft_mean_s", 1e-3),
             ("mean TPOT ms", "tpot_mean_s", 1e-3), ("max conc", "concurrency", 1))


def published_of(folder):
    """File -> the published values of the folder's index.csv, {column: value}."""
    with open(os.path.join(folder, "index.csv"), encoding="utf-8") as file:
        lines = list(csv.DictReader(line for line in file if not line.startswith("#")))
    found = {}
    for line in lines:
        values = {}
        for label, column, scale in PUBLISHED:
            match = re.search(r"(?:^|, )" + re.escape(label) + r" ([0-9.]+)", line.get("published") or "")
            if match:
                values[column] = float(match.group(1)) * scale
        if line["file"] and values:
            found[line["file"]] = values
    return found


def has_values(text, values):
    """Whether a row of the CSV in the output has these values."""
    lines = text.splitlines()
    heads = [i for i, line in enumerate(lines) if line.startswith("source,tool,model")]
    rows = list(csv.DictReader(lines[heads[0]:])) if heads else []
    return any(all(abs(float(row.get(column) or "nan") / value - 1) < 1e-6 for column, value in values.items() if value)
               for row in rows)


def shared(orrery, inputs):
    if not os.path.isdir(inputs):
        print("1..0 # SKIP no ../shared/inputs")
        return 0
    with open(os.path.join(HERE, "..", "import", "doors", "shared.csv"), encoding="utf-8") as file:
        rows = {row["files"]: row["expect"].split(" && ") for row in csv.DictReader(x for x in file if not x.startswith("#"))}
    published, table, n, failed = published_of(inputs), {}, 0, 0
    for where, folders, names in os.walk(inputs):
        folders[:] = sorted(folder for folder in folders if folder != "cases")
        for path in sorted(os.path.relpath(os.path.join(where, name), inputs) for name in names):
            if path in ("index.csv", "README.md"):
                continue
            status, text = run(orrery, inputs, shlex.quote(path), CLUSTER)
            checks = path in rows or path in published
            right = all(re.search(part, text) for part in rows.get(path, ())) and (
                path not in published or has_values(text, published[path]))
            add(table, f"{os.path.dirname(path)}: {format_of(text)}", "samples", status, *(["right"] if checks and right else []))
            if checks or status == "crashed":
                n += 1
                good = status != "crashed" and right
                failed += not good
                print(f"{'ok' if good else 'not ok'} {n} - {path}")
                print("" if good else "\n".join("# " + line for line in text.splitlines()[-12:]) + "\n", end="")
    add_cases(orrery, table, inputs)
    print_table(table, "# ")
    print(f"1..{n}")
    return 1 if failed else 0


def add_cases(orrery, table, inputs):
    """The cases, each by its own command and patterns (tests/cli/test_cases.py holds them right)."""
    import test_cases
    with open(os.path.join(test_cases.CASES, "index.csv"), encoding="utf-8", newline="") as file:
        lines = [line for line in csv.DictReader(file)
                 if line["files"] and os.path.exists(os.path.join(inputs, "cases", line["files"].split()[0]))]
    for line in lines:
        right = not test_cases.faults_of(line, orrery)
        verb = " ".join(line["command"].split()[1:3])
        add(table, f"cases: {verb}", "samples", "read" if line["status"] == "0" else "refused", *(["right"] if right else []))


HEAD = """<!-- Generated by tests/cli/test_doors.py ORRERY --page: change tests/import/doors/doors.csv, not this file. -->

# Paste it: what is read of what you have

`orrery import FILE` looks at the file, says what it takes it for, and converts it. A line per format: a sample, the
command, and what its answer holds (the samples lie in `tests/import/doors`; a test runs each line). What a launch line
leaves open is assumed, and listed above the answer; `--strict` asks instead. [import.md](import.md) has the options.

| Format | Command | The answer holds |
|---|---|---|
"""


def page_of(folder):
    """The page, from the rows that are read or refused."""
    text = HEAD
    for row in rows_of(folder):
        parts = [re.sub(r"\\(.)", r"\1", part).replace("|", "\\\\|") for part in row["expect"].split(" && ")]
        words = {"read": "", "asked": "asks: ", "refused": "refused: "}[row["status"]]
        command = " ".join(("orrery import %s %s" % (row["files"], row["options"])).split())
        text += "| %s | `%s` | %s%s |\n" % (row["format"], command, words, ", ".join("`%s`" % part for part in parts))
    return text


def is_page_right(folder):
    with open(os.path.join(HERE, "..", "..", "docs", "paste.md"), encoding="utf-8") as file:
        return file.read() == page_of(folder)


def main():
    if sys.argv[2:] == ["--page"]:
        print(page_of(os.path.join(HERE, "..", "import", "doors")), end="")
        return 0
    orrery = os.path.abspath(sys.argv[1])
    if sys.argv[2:3] == ["--shared"]:
        return shared(orrery, (sys.argv[3:] or [SHARED])[0])
    folders = sys.argv[2:]
    table, n, failed = {}, 0, 0
    for folder in folders or [os.path.join(HERE, "..", "import", "doors")]:
        known = set()
        for row in rows_of(folder):
            status, text = run(orrery, folder, row["files"], row["options"])
            right = is_right(row, status, text)
            known.update(row["files"].split())
            add(table, row["format"], "samples", status, *(["right"] if right else []))
            n += 1
            failed += not right
            print("%s %d - %s %s" % ("ok" if right else "not ok", n, row["files"], row["options"]))
            if not right:
                print("\n".join("# " + line for line in (status + "\n" + text).splitlines()[-30:]))
        if folders:
            try_rest(orrery, folder, known, table, True)
    if not folders:
        n += 1
        right = is_page_right(folder)
        failed += not right
        print("%s %d - docs/paste.md is what --page prints" % ("ok" if right else "not ok", n))
    print_table(table, "# ")
    print(f"1..{n}")
    return 1 if failed else 0


sys.exit(main())
