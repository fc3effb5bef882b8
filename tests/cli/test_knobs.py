#!/usr/bin/env python3
"""test_knobs.py ORRERY ROOT - every option that `orrery help VERB` lists is used somewhere. TAP, one test per verb.

An option is used when a file in tests/, docs/, scenarios/, README.md or the Makefile has it within three lines of its
verb: in a command of a document, a test's command line, or a comment that tells the reader to pass it. An option that
nothing uses is named; it needs a test, or it can go. docs/reference is generated from the help and does not count.
"""

import pathlib
import re
import subprocess
import sys

orrery, root = sys.argv[1], pathlib.Path(sys.argv[2])
SUFFIXES = {".c", ".h", ".md", ".py", ".sh", ".yaml", ""}
EVERYWHERE = {"help", "library"}  # options of all verbs


def help_of(*verb):
    return subprocess.run([orrery, "help", *verb], capture_output=True, text=True, check=True).stdout


def lines_of_files():
    """The lines of each file that can use an option."""
    paths = [root / "README.md", root / "Makefile"]
    for folder in ("tests", "docs", "scenarios"):
        paths += sorted((root / folder).rglob("*"))
    for path in paths:
        name = path.relative_to(root).as_posix()
        if path.is_file() and path.suffix in SUFFIXES and not name.startswith(("docs/reference/", "tests/lint_fixtures/")):
            yield path.read_text(errors="replace").split("\n")


def options_of(verb):
    """(short name or None, long name) of each option of @verb."""
    return [found.groups() for found in re.finditer(r"^  (?:-(.), )?--([a-z0-9-]+)", help_of(verb), flags=re.M)
            if found.group(2) not in EVERYWHERE]


def is_used(verb, short, long, files):
    command = re.compile(rf"(^|[\"'`(]|orrery[\"')]* ){verb}([ \"]|$)", flags=re.M)
    names = rf"--{long}(?![\w-])" + (rf"|-{short}(?![a-z-])" if short else "")
    option = re.compile(rf"(?<![\w-])(?:{names})")
    return any(option.search(line) and command.search("\n".join(lines[max(0, at - 2):at + 1]))
               for lines in files for at, line in enumerate(lines))


def main():
    files = list(lines_of_files())
    verbs = [verb for verb in re.findall(r"^  ([a-z]+) +\S", help_of(), flags=re.M) if verb != "help"]
    n_options = n_unused = 0
    for number, verb in enumerate(verbs, 1):
        options = options_of(verb)
        unused = [long for short, long in options if not is_used(verb, short, long, files)]
        n_options += len(options)
        n_unused += len(unused)
        print(f"{'not ok' if unused else 'ok'} {number} - options of {verb}: {len(options)}")
        for long in unused:
            print(f"# orrery {verb} --{long}: no test, document or scenario uses it")
    print(f"# {n_options} options of {len(verbs)} verbs")
    print(f"1..{len(verbs)}")
    return 1 if n_unused else 0


sys.exit(main())
