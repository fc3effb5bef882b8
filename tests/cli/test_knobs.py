#!/usr/bin/env python3
"""test_knobs.py ORRERY ROOT - every option that `orrery help VERB` lists is used somewhere. TAP, one test per verb.

An option is used when a file in tests/, docs/, scenarios/, README.md or the Makefile has it within three lines of its
verb: in a command of a document, a test's command line, or a comment that tells the reader to pass it. An option that
nothing uses is named; it needs a test, or it can go. docs/reference is generated from the help and does not count.

Keys of documents likewise: every key of a schema is set by a scenario, a validation set, a shipped document, a test or a
page.
"""

import json
import pathlib
import re
import subprocess
import sys

orrery, root = sys.argv[1], pathlib.Path(sys.argv[2])
SUFFIXES = {".c", ".h", ".md", ".py", ".sh", ".yaml", ""}
EVERYWHERE = {"help", "library"}  # options of all verbs
COMPUTED = {"laid-over"}  # keys that the reader of a document sets: a profile's depth of bases


def help_of(*verb):
    return subprocess.run([orrery, "help", *verb], capture_output=True, text=True, check=True).stdout


def lines_of_files():
    """The text of each file that can use an option, and its lines."""
    paths = [root / "README.md", root / "Makefile"]
    for folder in ("tests", "docs", "scenarios"):
        paths += sorted((root / folder).rglob("*"))
    for path in paths:
        name = path.relative_to(root).as_posix()
        if path.is_file() and path.suffix in SUFFIXES and not name.startswith(("docs/reference/", "tests/lint_fixtures/")):
            text = path.read_text(errors="replace")
            yield text, text.split("\n")


def options_of(verb):
    """(short name or None, long name) of each option of @verb."""
    return [found.groups() for found in re.finditer(r"^  (?:-(.), )?--([a-z0-9-]+)", help_of(verb), flags=re.M)
            if found.group(2) not in EVERYWHERE]


def is_used(verb, short, long, files):
    command = re.compile(rf"(^|[\"'`(]|(orrery[\"')]*|run) ){verb}([ \"]|$)", flags=re.M)
    names = [(f"--{long}", rf"(?<![\w-])--{long}(?![\w-])")]
    names += [(f"-{short}", rf"(?<![\w-])-{short}(?![a-z-])")] if short else []
    return any(name in line and re.search(option, line) and command.search("\n".join(lines[max(0, at - 2):at + 1]))
               for name, option in names for text, lines in files if name in text for at, line in enumerate(lines))


def keys_of(schema):
    """All keys of the maps in @schema."""
    if isinstance(schema, list):
        return set().union(*map(keys_of, schema)) if schema else set()
    if not isinstance(schema, dict):
        return set()
    named = schema.get("properties")
    return (set(named) if isinstance(named, dict) else set()).union(*map(keys_of, schema.values()))


def unset_keys():
    """(number of keys, the keys that no file sets)."""
    keys = set()
    for kind in ("cluster", "device", "model", "profile", "scenario", "sweep", "workload"):
        keys |= keys_of(json.loads(subprocess.run([orrery, "describe", "--schema", kind], capture_output=True, text=True,
                                                  check=True).stdout))
    folders = ("scenarios", "tests", "docs", "models/generators", "models/recommenders", "models/zoo", "topologies", "calibration/profiles", "workloads/stacks")
    paths = [root / "README.md"] + [path for folder in folders for path in sorted((root / folder).rglob("*"))]
    text = "\n".join(path.read_text(errors="replace") for path in paths
                     if path.is_file() and path.suffix in {".md", ".yaml", ".c", ".h", ".py", ".sh"}
                     and not path.relative_to(root).as_posix().startswith(("docs/reference/", "topologies/fabrics/"))
                     and not (path.suffix in {".c", ".h"} and path.relative_to(root).parts[0] == "topologies"))
    used = set(re.findall(r"(?<![\w-])([a-z][\w-]*)\s*[:=]", text)) | set(re.findall(r"(?<=[.\"])([a-z][\w-]*)(?=[.=\"\\])", text))
    used |= {key for path in re.findall(r"\bset: ([\w.-]+)", text) for key in path.split(".")}  # of stacks
    return len(keys), keys - used


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
    n_keys, unset = unset_keys()
    unset -= COMPUTED
    print(f"{'not ok' if unset else 'ok'} {len(verbs) + 1} - keys of documents: {n_keys}, {len(unset)} of them set by nothing")
    for key in sorted(unset):
        print(f"# {key}: no scenario, document, test or page sets it")
    print(f"1..{len(verbs) + 1}")
    return 1 if n_unused or unset else 0


sys.exit(main())
