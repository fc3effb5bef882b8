#!/usr/bin/env python3
"""test_readme.py ORRERY [--write] FILE... - runs the commands that the documents show and holds the documents to them.

A block is what follows ```console, or stands in a comment `<!-- console ... -->` that the reader does not see: lines that
begin with "$ " are run in a folder of their own, stdout and stderr together, and the lines below are what they print.

1. A command exits with 0, every part of a pipe too. A block that shows a failure shows its status: `orrery ...; echo $?`.
2. A line of "..." stands for any lines, but not for a diagnostic ("error:", "warning:", or a line that begins with
   "orrery:"). Within a line "..." stands for text without a digit: it hides no figure. Of a diagnostic it can only leave
   out the end, such as a list of what is allowed.
3. `<word>` stands for what differs from run to run or from machine to machine (a wall time, a path, a version).
4. A figure in prose, that is a number with a unit of UNITS or in a list before one, stands in a block, command or
   ```yaml of the same section, to the digits that the prose prints; or in a comment of the section:
     <!-- given: 22 s, 5 % -->                     an input or a quotation, not an answer of the program
     <!-- figure: 100 * (1 - 39.2 / 59.1) = 34 % -->  arithmetic on figures of the blocks
   Text between <!-- accuracy ... --> and <!-- /accuracy --> is checked by docs/accuracy.py instead, that between
   <!-- bench: ... --> and <!-- /bench --> by docs/performance.py, that between <!-- fit: ... --> and <!-- /fit --> is
   written by docs/fit_campaigns.py. Of docs/modelling, whose figures are mostly other
   people's, only sections with a block are checked.
5. Commands that set the machine up (make, git, apt-get, sudo, cd) are not run; those that draw are skipped where gnuplot
   is not installed. Both are reported as skipped.

TAP, a line for each command and for each section with figures. --write replaces shown lines by what is printed now.
"""
import difflib
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SET_UP = re.compile(r"make|git|apt-get|sudo|cd ")
MARKER = re.compile(r"(?:^|[ :])(?:error|warning): |^orrery: ")
TOKEN = re.compile(r"\.\.\.|<[a-z-]+>|\d[\d,.]*\d|\d|\s+|[^\s\d<.]+|.")
SCALE = {"us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40, "kB": 1e3,
         "MB": 1e6, "GB": 1e9, "TB": 1e12, "GB/s": 1e9, "TB/s": 1e12, "TFLOP/s": 1, "tokens/s": 1, "requests/s": 1, "%": 1,
         "times": 1, "tokens": 1, "requests": 1, "points": 1, "combinations": 1, "preemptions": 1}
UNITS = "|".join(sorted(SCALE, key=len, reverse=True))
NUMBER = r"(?<![\w.,/-])[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?"
LIST = rf"(?:{NUMBER}(?:,|,? (?:and|to|or|against|instead of)) )*"  # "114, 84 and 65 ms": each has the unit
FIGURE = re.compile(rf"({LIST}{NUMBER})[ -]?({UNITS})(?![\w/])")


class Block:
    """A command, the lines that follow it (@wanted) and where they begin in the file."""

    def __init__(self, command, at):
        self.command, self.at, self.wanted, self.got, self.status = command, at, [], [], 0


def blocks_of(lines):
    found, inside, end = [], False, None
    for at, line in enumerate(lines):
        text = line.strip()
        if not inside and (text.startswith("```console") or text == "<!-- console"):
            inside, end = True, "```" if text.startswith("`") else "-->"
        elif inside and text == end:
            inside = False
            found.append(None)  # the lines below belong to no command
        elif inside and text.startswith("$ "):
            found.append(Block(text[2:], at + 1))
        elif inside and found and found[-1]:
            found[-1].wanted.append(line)
    return [block for block in found if block]


def pattern(wanted, any_number=False):
    """The regular expression of a shown line; with @any_number also of the same line with other figures."""
    parts, is_padded = [], re.search(r"<[a-z-]+>", wanted)  # columns are as wide as what varies
    for token in TOKEN.findall(wanted):
        if token == "...":
            parts.append(r"(\D*?)")
        elif re.fullmatch(r"<[a-z-]+>", token):
            parts.append(r"(\S+)")
        elif any_number and token[0].isdigit():
            parts.append(r"(\d[\d,.]*?)")
        elif (any_number or is_padded) and token.isspace():
            parts.append(r"(\s+)")
        else:
            parts.append(f"({re.escape(token)})")
    return "".join(parts) + "$"


def like(text, wanted):
    marker = MARKER.search(text)
    if "..." in wanted and marker:
        shown = wanted[:-3]
        return "..." not in shown and len(shown) >= marker.end() + 8 and text.startswith(shown)
    return re.match(pattern(wanted), text) is not None


def matches(wanted, got):
    if not wanted:
        return not got
    if wanted[0] == "...":
        for i in range(len(got) + 1):
            if matches(wanted[1:], got[i:]):
                return True
            if i < len(got) and MARKER.search(got[i]):
                return False
        return False
    return bool(got) and like(got[0], wanted[0]) and matches(wanted[1:], got[1:])


def renewed(wanted, got):
    """@wanted with the figures of @got: each shown line is replaced by the printed line that is most like it."""
    def masked(text):
        return re.sub(r"\d[\d,.]*", "#", re.sub(r"\s+", " ", text))

    lines, first = [], 0
    for line in wanted:
        if line == "...":
            lines.append(line)
            continue
        scores = [difflib.SequenceMatcher(None, masked(line), masked(text)).ratio() - 0.001 * i
                  for i, text in enumerate(got[first:])]
        if not scores or max(scores) < 0.5:
            lines.append(line)
            continue
        first += scores.index(max(scores)) + 1
        found = re.match(pattern(line, True), got[first - 1])
        tokens = TOKEN.findall(line)
        lines.append(got[first - 1] if not found else "".join(
            token if token == "..." or re.fullmatch(r"<[a-z-]+>", token) else text
            for token, text in zip(tokens, found.groups())))
    return lines


def run(block, folder, environment):
    done = subprocess.run(["bash", "-o", "pipefail", "-c", block.command], cwd=folder, env=environment, check=False,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    block.status = done.returncode
    block.got = done.stdout.decode("utf-8", "replace").splitlines()


def sections_of(text):
    """(title, text) of each section of a document."""
    parts = re.split(r"^#{1,6} +(.*)$", re.sub(r"^( *```\w*\n)(.*?)^( *```)$", lambda m: m[1] + re.sub(
        r"^#", " #", m[2], flags=re.M) + m[3], text, flags=re.M | re.S), flags=re.M)
    return list(zip(parts[1::2], parts[2::2]))


def value(number):
    return float(number.replace(",", ""))


def digits(number):
    return len(number.split(".")[1]) if "." in number else 0


def known_in(text):
    """Figures of the blocks and comments: (value in the unit, unit or None)."""
    known = []
    amount = r"(?<![\w.])[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?"
    for number, unit in re.findall(rf"({amount}) ?((?:{UNITS})(?![\w/]))?", text):
        known.append((value(number), unit or None))
    return known


def holds(number, unit, known):
    """Whether @number, rounded as it is, is one of @known."""
    half = 0.5000001 * 10.0 ** -digits(number)
    for known_value, known_unit in known:
        if known_unit and known_unit != unit and (known_unit not in SCALE or unit not in SCALE):
            continue
        scale = SCALE[known_unit] / SCALE[unit] if known_unit and unit else 1
        if scale != 1 and not same_kind(known_unit, unit):
            continue
        if abs(abs(known_value * scale) - abs(value(number))) <= half:
            return True
    return False


def same_kind(one, other):
    kinds = [{"us", "µs", "ms", "s"}, {"KiB", "MiB", "GiB", "TiB", "kB", "MB", "GB", "TB"}, {"GB/s", "TB/s"}]
    return one == other or any(one in kind and other in kind for kind in kinds)


def arithmetic(comment, known):
    """The figure that `EXPRESSION = FIGURE` makes known, or what is wrong with it."""
    expression, _, result = comment.partition("=")
    said = re.fullmatch(rf"\s*({NUMBER})\s*({UNITS})?\s*", result)
    if not said or not re.fullmatch(r"[\d.,+*/() -]+", expression):
        return None, f"not 'EXPRESSION = FIGURE': {comment}"
    for operand in re.findall(r"\d[\d,]*(?:\.\d+)?", expression):
        if value(operand) not in (1, 100, 1000) and not any(abs(abs(k) - value(operand)) < 1e-9 for k, _ in known):
            return None, f"{operand} of '{comment.strip()}' stands in no block of the section"
    worth = eval(expression.replace(",", ""))  # nothing but numbers and operators, as checked above
    if abs(abs(worth) - abs(value(said[1]))) > 0.5000001 * 10.0 ** -digits(said[1]):
        return None, f"'{comment.strip()}' is {worth:.6g}"
    return (value(said[1]), said[2]), None


def faults_of(section):
    """What the prose of a section says and no block shows; None where the prose has no figure."""
    section = re.sub(r"<!--\s+(accuracy|bench|fit):.*?<!--\s+/\1\s+-->", "", section, flags=re.S)
    shown = "\n".join(re.findall(r"^ *```(?:console|yaml)\n(.*?)^ *```$", section, re.M | re.S) +
                      re.findall(r"<!-- (?:console|given:)(.*?)-->", section, re.S))
    known, faults = known_in(shown), []
    for comment in re.findall(r"<!-- figure:(.*?)-->", section, re.S):
        figure, fault = arithmetic(comment, known)
        if fault:
            faults.append(fault)
        else:
            known.append(figure)
    prose = re.sub(r"^ *```.*?^ *```$", "", section, flags=re.M | re.S)
    prose = re.sub(r"<!--.*?-->|`[^`]*`|\]\([^)]*\)|https?://\S+", "", prose, flags=re.S)
    figures = [(number, unit) for numbers, unit in FIGURE.findall(re.sub(r"\s+", " ", prose))
               for number in re.findall(NUMBER, numbers)]
    faults += [f"{number} {unit}" for number, unit in figures if not holds(number, unit, known)]
    return faults if figures or faults else None


class Tap:
    def __init__(self):
        self.n, self.failed = 0, False

    def line(self, good, name, detail=()):
        self.n += 1
        print(f"{'ok' if good else 'not ok'} {self.n} - {name}")
        for text in [] if good else detail:
            print(f"# {text}")
        self.failed |= not good


def check_block(block, name, tap):
    good = block.status == 0 and matches(block.wanted, block.got)
    detail = [] if block.status == 0 else [
        f"exit status {block.status}, wanted 0 (a block that shows a failure ends in: ; echo $?)"]
    detail += ["wanted:"] + [f"  {line}" for line in block.wanted] + ["got:"] + [f"  {line}" for line in block.got]
    tap.line(good, f"{name}: {block.command.replace('#', ' ')}", detail)


def check_file(path, folder, environment, write, tap):
    name, lines = os.path.basename(path), open(path, encoding="utf-8").read().split("\n")
    found = blocks_of(lines)
    for block in found:
        if SET_UP.match(block.command):
            tap.line(True, f"{name}: {block.command} # SKIP sets the machine up")
        elif block.command.startswith("orrery plot") and not shutil.which("gnuplot"):
            tap.line(True, f"{name}: {block.command} # SKIP gnuplot is not installed")
        else:
            run(block, folder, environment)
            check_block(block, name, tap)
    if write:
        for block in reversed(found):
            if block.got and not matches(block.wanted, block.got):
                lines[block.at:block.at + len(block.wanted)] = renewed(block.wanted, block.got)
        open(path, "w", encoding="utf-8").write("\n".join(lines))
    for title, section in sections_of("\n".join(lines)):
        if "/modelling/" in path and not re.search("^(```|<!-- )console", section, re.M):
            continue
        faults = faults_of(section)
        if faults is not None:
            tap.line(not faults, f"{name}: the figures of '{title}' stand in its blocks", faults)


def main(arguments):
    write = "--write" in arguments
    names = [a for a in arguments if a != "--write"]
    with tempfile.TemporaryDirectory() as work:
        os.makedirs(f"{work}/bin")
        os.makedirs(f"{work}/here")
        os.symlink(os.path.realpath(names[0]), f"{work}/bin/orrery")
        for folder in ("scenarios", "models", "topologies", "calibration", "workloads"):
            os.symlink(f"{ROOT}/{folder}", f"{work}/here/{folder}")
        environment = dict(os.environ, PATH=f"{work}/bin:{os.environ['PATH']}", ORRERY_SHIPPED=ROOT)
        tap = Tap()
        for path in names[1:]:
            check_file(path, f"{work}/here", environment, write, tap)
    if not tap.n:
        tap.line(True, "no console blocks # SKIP")
    print(f"1..{tap.n}")
    return 1 if tap.failed else 0


sys.exit(main(sys.argv[1:]))
