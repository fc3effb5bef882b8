#!/usr/bin/env python3
"""test_documents.py ROOT - the documents of a tree name what exists. TAP, a line a rule, the findings below it.

Documents are README.md, ARCHITECTURE.md, CONTRIBUTING.md, docs/ but for docs/reference, and the README.md of each folder.

paths     a path in backquotes exists: one that begins with a folder of the tree, or the bare name of a C, C++ or shell
          file, which is looked up by its name since names are unique. NAME and * stand for any name; {a, b} is not read
links     a relative link leads to a file, and its #anchor to a heading; also in docs/reference
contents  docs/modelling/README.md links to every page and every section beside it
parts     a section of docs/modelling that says **Model.** goes on with **Source.**, **Valid where** and **Known error.**,
          in this order; pages of tables (ACCOUNTS) have none
quotes    every backquote has its pair, also in docs/reference
releases  each version of CHANGELOG.md has its page in docs/changes, each page its version; CITATION.cff
          and meson.build have the newest one; a tag vX.Y.Z names a version with a date
width     lines have at most 120 columns, but for tables, code and comments
"""
import glob
import os
import re
import shutil
import subprocess
import sys

TOP = ("sim", "models", "topologies", "workloads", "calibration", "results", "scenarios", "docs", "tests", ".ci")
ACCOUNTS = ("README.md", "frameworks.md", "training-accuracy.md", "serving-accuracy.md", "limits.md")
PARTS = ["**Model.**", "**Source.**", "**Valid where**", "**Known error.**"]
FENCE = re.compile(r"^ *```.*?^ *```$", re.M | re.S)
SOURCE = re.compile(r"[\w*]+\.(c|h|cpp|cu|sh)")


def documents(root):
    found = [f"{root}/{name}" for name in ("ARCHITECTURE.md", "CONTRIBUTING.md") if os.path.exists(f"{root}/{name}")]
    for folder, folders, files in os.walk(root):
        folders[:] = [f for f in sorted(folders) if not f.startswith((".", "build")) and f != "lint_fixtures"]
        place = os.path.relpath(folder, root)
        if place.split(os.sep)[0] not in TOP + (".",) or place.startswith("docs/reference"):
            continue
        found += [f"{folder}/{name}" for name in sorted(files)
                  if name == "README.md" or name.endswith(".md") and place.startswith("docs")]
    return found


def prose_of(text):
    """@text without code blocks and comments, line by line as it was."""
    def blank(match):
        return re.sub(r"[^\n]", "", match[0])

    return re.sub(r"<!--.*?-->", blank, FENCE.sub(blank, text), flags=re.S)


def names_of(root):
    """The names of all sources of the tree."""
    return {name for top in TOP for _, _, files in os.walk(f"{root}/{top}") for name in files}


def path_exists(root, names, path):
    wanted = re.sub(r"[A-Z]{4,}", "*", path)
    if "/" not in path:
        return any(re.fullmatch(wanted.replace(".", r"\.").replace("*", r"\w*"), name) for name in names)
    return bool(glob.glob(f"{root}/{wanted}"))


def rule_paths(root, texts):
    names = names_of(root)
    for name, text in texts.items():
        folder = os.path.relpath(os.path.dirname(name), root)
        for path in sorted(set(re.findall(r"`([\w.*/-]+)`", text))):
            if path.split("/")[0] in TOP and "/" in path:
                if not path_exists(root, names, path) and not glob.glob(f"{root}/{folder}/{path}"):
                    yield f"{os.path.relpath(name, root)}: there is no {path}"
            elif SOURCE.fullmatch(path) and not path_exists(root, names, path):
                yield f"{os.path.relpath(name, root)}: no file is called {path}"


def anchors_of(text):
    return {re.sub(r"[^\w\- ]", "", re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", title).lower()).replace(" ", "-")
            for title in re.findall(r"^#{1,6} +(.*?) *$", text, re.M)}


def links_of(text):
    return [link for link in re.findall(r"\]\(([^)\s]+)\)", text) if not re.match(r"[a-z]+:", link)]


def generated(root):
    return {name: prose_of(open(name, encoding="utf-8").read()) for name in glob.glob(f"{root}/docs/reference/*.md")}


def rule_links(root, texts):
    for name, text in {**texts, **generated(root)}.items():
        for link in links_of(text):
            path, _, anchor = link.partition("#")
            target = os.path.normpath(os.path.join(os.path.dirname(name), path)) if path else name
            if not os.path.exists(target):
                yield f"{os.path.relpath(name, root)}: no such file: {link}"
            elif anchor and target.endswith(".md"):
                if anchor not in anchors_of(texts.get(target) or prose_of(open(target, encoding="utf-8").read())):
                    yield f"{os.path.relpath(name, root)}: no such heading: {link}"


def rule_contents(root, texts):
    linked = set(links_of(texts.get(f"{root}/docs/modelling/README.md", "")))
    for name, text in texts.items():
        page = os.path.basename(name)
        if os.path.dirname(name) != f"{root}/docs/modelling" or page == "README.md":
            continue
        titles = re.findall(r"^## +(.*?) *$", text, re.M)
        for link in [page] + [f"{page}#{anchor}" for title in titles for anchor in anchors_of(f"## {title}")]:
            if link not in linked:
                yield f"docs/modelling/README.md: does not link to {link}"


def rule_parts(root, texts):
    for name, text in texts.items():
        if os.path.dirname(name) != f"{root}/docs/modelling" or os.path.basename(name) in ACCOUNTS:
            continue
        for section in re.split(r"^## +", text, flags=re.M)[1:]:
            if re.findall("|".join(re.escape(part) for part in PARTS), section) != PARTS:
                yield f"{os.path.relpath(name, root)}: '{section.splitlines()[0]}' has not all of: {' '.join(PARTS)}"


def rule_width(root, texts):
    for name, text in texts.items():
        for at, line in enumerate(text.split("\n"), 1):
            if len(line) > 120 and not line.lstrip().startswith("|"):
                yield f"{os.path.relpath(name, root)}:{at}: {len(line)} columns"


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def tags_of(root):
    if not shutil.which("git"):
        return []
    done = subprocess.run(["git", "-C", root, "tag", "--list", "v*"], capture_output=True, text=True)
    return done.stdout.split() if done.returncode == 0 else []


def rule_releases(root, texts):
    if not os.path.exists(f"{root}/CHANGELOG.md"):
        return
    sections = re.findall(r"^## (\S+?),? (.*)$", read(f"{root}/CHANGELOG.md"), re.M)
    versions = [version for version, _ in sections]
    pages = {os.path.basename(name)[:-3] for name in glob.glob(f"{root}/docs/changes/*.md")}
    for version in sorted(set(versions) ^ pages):
        yield f"{version} is in CHANGELOG.md or in docs/changes, not in both"
    cited = re.search(r"^version: (\S+)$", read(f"{root}/CITATION.cff"), re.M)
    if not cited or cited[1] != versions[0]:
        yield f"CITATION.cff is not of {versions[0]}, the newest version of CHANGELOG.md"
    if f"version: '{versions[0]}'" not in read(f"{root}/meson.build"):
        yield f"meson.build, whose version --version prints, is not of {versions[0]}"
    released = {version for version, date in sections if re.fullmatch(r"\(\d{4}-\d\d-\d\d\)", date)}
    for tag in tags_of(root):
        if tag[1:] not in released:
            yield f"tag {tag}: CHANGELOG.md has no release of this version"


def rule_quotes(root, texts):
    """Also of docs/reference: every backquote of a paragraph, of a line of a table or of a list has its pair."""
    for name, text in {**texts, **generated(root)}.items():
        for block in re.split(r"\n\s*\n|\n(?=[|] ?|[*-] )", text):
            if block.count("`") % 2:
                yield f"{os.path.relpath(name, root)}: an open backquote in '{block.strip()[:60]}'"


def main(root):
    texts = {os.path.normpath(name): prose_of(open(name, encoding="utf-8").read()) for name in documents(root)}
    failed = False
    rules = ("paths", "links", "contents", "parts", "releases", "width", "quotes")
    for at, rule in enumerate(rules, 1):
        found = list(globals()[f"rule_{rule}"](root, texts))
        print(f"{'not ok' if found else 'ok'} {at} - documents: {rule}")
        for line in found:
            print(f"# {line}")
        failed = failed or bool(found)
    print(f"1..{len(rules)}")
    return 1 if failed else 0


sys.exit(main(os.path.abspath(sys.argv[1])))
