#!/usr/bin/env python3
"""test_dead_fields.py - every key of a document is read by some code.

A key that is documented and checked, but that nothing reads, changes no answer without a word. The
test collects the members that the field tables of the sources fill, and looks for a source that
reads a member of that name (->name or .name, other than to set it), or for a condition of a stack
that names the key (when: model.name). Tables of rows that the program only writes are left out:
their readers are SQL and people.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
FOLDERS = ("calibration", "models", "results", "sim", "topologies", "workloads")
WRITTEN = {"calibration/measure/measure_visit.c", "sim/sweep/sweep_bands.c", "sim/sweep/sweep_store.c"}

MACRO = re.compile(r'\bORR_(?:FIELD|COLUMN)_\w+\(\s*\w+,\s*"([^"]+)",\s*([\w.\[\]]+)')
ENTRY = re.compile(
    r'\.name = "([^"]+)"(?:(?!\.name =).)*?(?:offsetof\(\w+, |MEMBER\(\w+, |AT\()([\w.\[\]]+)\)',
    re.S)
READ = re.compile(r"(?:->|\.)(\w+)\b(?!\s*=[^=])")
WHEN = re.compile(r"\bwhen: ([^,}]*)")
NAMED = re.compile(r"(?<=\.)[a-z][\w-]*")


def last_of(member):
    return member.split(".")[-1].split("[")[0]


def sources():
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.[chi]*")):
            if path.suffix in (".c", ".h", ".inc", ".cpp"):
                yield path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")


def conditions():
    for path in sorted((ROOT / "workloads/stacks").glob("*.yaml")):
        for condition in WHEN.findall(path.read_text(encoding="utf-8")):
            yield from NAMED.findall(condition)


def dead_fields(files, keys=()):
    fields, reads = [], set()
    for name, text in files:
        for pattern in (MACRO, ENTRY):
            if name not in WRITTEN:
                fields += [(name, *match.groups()) for match in pattern.finditer(text)]
            text = pattern.sub("", text)
        reads.update(READ.findall(text))
    return len(fields), [field for field in fields
                         if last_of(field[2]) not in reads and field[1] not in keys]


def main():
    n, dead = dead_fields(list(sources()), set(conditions()))
    sample = [("a.c", 'ORR_FIELD_INT(OrrX, "kept", kept, "0", "x"), '
                      'ORR_FIELD_INT(OrrX, "lost", lost, "0", "x"), f(x->kept); x->lost = 1;')]
    print("1..3")
    for at, (good, what) in enumerate((
            (n > 800, f"{n} fields of documents are found"),
            (dead_fields(sample)[1] == [("a.c", "lost", "lost")],
             "a field that is set and not read is found"),
            (not dead, "every field of a document is read")), 1):
        print(f"{'ok' if good else 'not ok'} {at} - {what}")
    for name, key, member in dead:
        print(f"# {name}: key '{key}' ({member}) is read by no code: use it or remove it")
    return 0


if __name__ == "__main__":
    sys.exit(main())
