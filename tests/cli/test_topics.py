#!/usr/bin/env python3
"""test_topics.py ORRERY ROOT - the page "How do I model X?" (docs/reference/topics.txt) leads to what exists. TAP.

commands   run with --set, describe, new and calibrate cost run, serving for MOST_REQUESTS at most; a shipped scenario as it
           is, and a sweep or rate of one, is a document that `orrery check` finds fine, all in one command; any other
           command stands on the page that its row names, where the tests of that page run it
pages      the row's page exists, and has its section
questions  a row has a question of its own, or names a scenario
scenarios  each shipped scenario has a row (the ten of megatron-sc21 share one)
course     every command of docs/course.md is one of a row, so that the rules above hold for it
"""

import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

orrery, root = str(pathlib.Path(sys.argv[1]).resolve()), pathlib.Path(sys.argv[2])
SCENARIO_VERBS = ("run", "sweep")
FAMILY = "megatron-sc21-"
MOST_REQUESTS = 14000  # more than the first 480 s, after which a region is lost


def rows():
    for line in (root / "docs/reference/topics.txt").read_text().split("\n"):
        if line and line[0] not in "#=":
            cells = [cell.strip() for cell in line.split("|")]
            yield cells + [""] * (4 - len(cells))


def scenarios():
    return {path.stem for path in (root / "scenarios").glob("*.yaml")}


def with_settings(name, settings):
    """A scenario that lies on @name and has each PATH=VALUE of @settings."""
    text = [f"schema: scenario/1\nname: topic\nbase: {name}"]
    for setting in settings:
        path, value = setting.split("=", 1)
        keys = path.split(".")
        text += [f"{'  ' * depth}{key}:" for depth, key in enumerate(keys)]
        text[-1] += f" {value}"
    return "\n".join(merged(text)) + "\n"


def merged(lines):
    """Without the keys that the line before them opened already: two settings of one section."""
    seen, out = set(), []
    for line in lines:
        if not (line.endswith(":") and line in seen):
            out.append(line)
        seen.add(line)
    return out


def settings_of(words):
    return [words[at + 1] for at, word in enumerate(words) if word == "--set"]


def shortened(words):
    """@words of a run, with fewer requests where the scenario or --set asks for more than MOST_REQUESTS."""
    known = re.findall(r"^  requests: (\d+)$", (root / f"scenarios/{words[1]}.yaml").read_text(), re.M)
    known += [setting.split("=")[1] for setting in settings_of(words) if setting.startswith("workload.requests=")]
    return ["--set", f"workload.requests={MOST_REQUESTS}"] if known and int(known[-1]) > MOST_REQUESTS else []


def fault_of_console(command, page):
    text = (root / "docs" / page.split("#")[0]).read_text()
    return "" if f"$ orrery {command}" in text else f"{page} does not run 'orrery {command}'"


def fault_of_command(words, command, page, folder):
    if words[:2] == ["plan", "rate"]:
        words = words[1:]
    if words[0] == "run" and "--set" in words:
        asked = [orrery, *words, *shortened(words), "--db", "none"]
    elif words[0] in SCENARIO_VERBS + ("rate",):
        if words[1] == "--from-launch":
            return fault_of_console(command, page)
        if words[1] not in scenarios():
            return f"there is no scenario {words[1]}"
        document = folder / f"scenario-{len(list(folder.iterdir()))}.yaml"
        document.write_text(f"# orrery {command}\n" + with_settings(words[1], settings_of(words)))
        return ""  # rule_commands checks them all at once
    elif words[0] in ("describe", "new") or words[:2] == ["calibrate", "cost"]:
        asked = [orrery, *words]
    else:
        return fault_of_console(command, page)
    done = subprocess.run(asked, capture_output=True, text=True, cwd=root)
    return f"'orrery {command}': {done.stderr.strip()}" if done.returncode else ""


def rule_commands():
    with tempfile.TemporaryDirectory() as folder:
        for _, command, page, _ in rows():
            fault = fault_of_command(shlex.split(command), command, page, pathlib.Path(folder))
            if fault:
                yield fault
        documents = sorted(pathlib.Path(folder).glob("*.yaml"))
        done = subprocess.run([orrery, "check", *map(str, documents)], capture_output=True, text=True, cwd=root)
        if done.returncode:
            yield done.stderr.strip()
            for document in documents:
                if document.name in done.stderr:
                    yield f"{document.name} is {document.read_text().splitlines()[0][2:]}"


def anchors_of(text):
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in re.findall(r"^#+ +(.*?) *$", text, re.M)}


def rule_pages():
    for topic, _, page, _ in rows():
        name, _, anchor = page.partition("#")
        path = root / "docs" / name
        if not path.exists():
            yield f"'{topic}': there is no docs/{name}"
        elif anchor and anchor not in anchors_of(path.read_text()):
            yield f"'{topic}': docs/{name} has no section #{anchor}"


def rule_questions():
    for topic, command, _, question in rows():
        if not question and shlex.split(command)[1] not in scenarios():
            yield f"'{topic}' has no question, and its command names no scenario"


def rule_scenarios():
    named = {word for _, command, _, _ in rows() for word in shlex.split(command)}
    for name in sorted(scenarios() - named):
        if not name.startswith(FAMILY):
            yield f"no row of docs/reference/topics.txt names the scenario {name}"


def rule_course():
    known = {command for _, command, _, _ in rows()}
    found = re.findall(r"`orrery ([^`]*)`", (root / "docs/course.md").read_text())
    if len(found) < 60:
        yield f"docs/course.md has {len(found)} commands"
    for command in found:
        if command not in known:
            yield f"docs/course.md: no row of docs/reference/topics.txt has '{command}'"


failed = False
RULES = ("commands", "pages", "questions", "scenarios", "course")
for at, rule in enumerate(RULES, 1):
    found = list(globals()[f"rule_{rule}"]())
    print(f"{'not ok' if found else 'ok'} {at} - topics: {rule}")
    for line in found:
        print("# " + line.replace("\n", "\n# "))
    failed = failed or bool(found)
print(f"1..{len(RULES)}")
sys.exit(failed)
