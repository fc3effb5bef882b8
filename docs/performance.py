#!/usr/bin/env python3
"""performance.py [--check] - writes the figures of docs/performance.md and README.md from tests/bench/figures.tsv.

`make performance` measures (tests/bench/bench.sh) and then calls this. A line of the figures is what was measured, the
figure, its unit, its goal, with tabs between them; the lines `# machine:` and `# build:` say where and of what.
In the pages, what stands between `<!-- bench: NAME -->` and `<!-- /bench -->` is rewritten:
  a block   NAME begins the rows of a table: `engine` takes all rows `engine: ...` and `engine, SimGrid: ...`.
            Rows that differ only in what comes after the last comma (processor, peak memory) are one line.
            `goal, WORD` takes only lines that have a measure or a unit with that word.
  within    a sentence NAME is a whole row, or `machine` or `build`.
--check changes nothing, prints what would change, and exits with 1 if anything would.
"""
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
PAGES = [os.path.join(HERE, "performance.md"), os.path.join(os.path.dirname(HERE), "README.md")]
FIGURES = os.path.join(os.path.dirname(HERE), "tests", "bench", "figures.tsv")
MEASURES = ["wall time", "processor", "peak memory", "simulated points per processor second", "all points per processor second"]


def read(path):
    """The rows as {what: [(figure, unit, goal), ...]}, in order, and the notes of the `#` lines."""
    rows, notes = {}, {}
    for line in open(path, encoding="utf-8"):
        line = line.rstrip("\n")
        if line.startswith("# "):
            name, _, text = line[2:].partition(": ")
            notes[name] = text.strip()
        elif line:
            what, figure, unit, goal = line.split("\t")
            rows.setdefault(what, []).append((float(figure), unit, goal))  # 18 ms, 17 million ops/s
    return rows, notes


def say(figure, unit):
    """Three digits, as bench.h prints them."""
    scale, word = (1e6, "million ") if figure >= 1e6 else (1e3, "thousand ") if figure >= 1e4 else (1, "")
    shown = figure / scale
    digits = 0 if shown >= 100 else 1 if shown >= 10 else 2 if shown >= 1 else 3
    return f"{shown:.{digits}f} {word}{unit}".rstrip()


def cell(figures):
    """Figures with their goals."""
    return ", ".join(one_cell(*figure) for figure in figures)


def one_cell(figure, unit, goal):
    if not goal:
        return say(figure, unit)
    most = float(goal.split()[2])
    missed = figure > most if goal.startswith("at most") else figure < most
    return f"{say(figure, unit)} ({goal}{': missed' if missed else ''})"


def table(name, rows):
    """The lines of a table of all rows that begin with `prefix:` or `prefix, ...:`."""
    prefix, _, word = name.partition(", ")
    lines, measures = {}, []
    for what, row in rows.items():
        head, _, rest = what.partition(": ")
        if head != prefix and not head.startswith(prefix + ", "):
            continue
        title = rest if head == prefix else f"{head[len(prefix) + 2:]}: {rest}"
        base, _, measure = title.rpartition(", ")
        if measure not in MEASURES:
            base, measure = title, "figure"
        lines.setdefault(base, {})[measure] = row
    lines = {base: of for base, of in lines.items() if any(word in m or word in row[0][1] for m, row in of.items())}
    for of in lines.values():
        measures += [m for m in of if m not in measures]
    if not lines:
        sys.exit(f"{FIGURES}: no row for a table '{name}'")
    measures.sort(key=lambda m: MEASURES.index(m) if m in MEASURES else -1)
    text = ["| what | " + " | ".join(measures) + " |", "|---" * (1 + len(measures)) + "|"]
    for base, of in lines.items():
        text.append(f"| {base} | " + " | ".join(cell(of.get(m, [])) for m in measures) + " |")
    return text


def rewrite(page, rows, notes):
    """The text of @page as it is, and as the figures have it."""
    old = open(page, encoding="utf-8").read()

    def block(match):
        return match[1] + "\n".join(table(match[2], rows)) + "\n" + match[4]

    def within(match):
        name = " ".join(match[2].split())
        if match[3].startswith("\n"):
            return match[0]  # a block
        if name in notes:
            return match[1] + notes[name] + match[4]
        if name not in rows:
            sys.exit(f"{page}: no row '{name}' in {FIGURES}")
        return match[1] + say(*rows[name][0][:2]) + match[4]

    new = re.sub(r"(<!-- bench: ([^>]*?) -->\n)(.*?)(<!-- /bench -->)", block, old, flags=re.S)
    return old, re.sub(r"(<!--\s+bench:\s+([^>]*?)\s+-->)([^<]*?)(<!--\s+/bench\s+-->)", within, new)


def main(arguments):
    if arguments not in ([], ["--check"]):
        sys.exit("usage: performance.py [--check]")
    rows, notes = read(FIGURES)
    differ = 0
    for page in PAGES:
        old, new = rewrite(page, rows, notes)
        if new == old:
            continue
        differ = 1
        if not arguments:
            open(page, "w", encoding="utf-8").write(new)
            continue
        for a, b in zip(old.split("\n"), new.split("\n")):
            if a != b:
                print(f"{page}:\n- {a}\n+ {b}")
    if not differ:
        print("docs/performance.md and README.md have the figures of tests/bench/figures.tsv")
    return differ if arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
