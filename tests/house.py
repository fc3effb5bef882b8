#!/usr/bin/env python3
"""house.py BUILD - prints the size and the structure of the code: lines, headers, call cycles, verbs, walks.

Structure is what decides how long a change takes, so it is measured like speed is. BUILD is a build folder whose program
is up to date. The figures:

* C product lines: of sim, models, topologies, workloads, calibration and results; code lines are without blank lines and
  comments.
* Words of one maker: NVIDIA, CUDA, NVLink and NCCL in the code and the texts of what simulates (without comments, and
  without what measures on its boards or reads its formats), whole words in any case, and as parts of names.
* Headers with one user: headers that one file includes, not counting the file of the same name.
* Call cycle: files that call each other's functions in a circle (nm on BUILD's objects). A call through a table, such as
  a registry of entries, is none.
* Walk: the functions and files on a debugger's stack (gdb) at the stations of one walk through the program, each counted
  once. An inlined function counts.
"""
import collections
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

PRODUCT = ("sim", "models", "topologies", "workloads", "calibration", "results")
BLANK = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|//[^\n]*|/\*.*?\*/', flags=re.S)

WALKS = (
    ("YAML to row", ("run", "gpt3-175b-1024-a100", "--db", ":memory:"),
     ("orr_yaml_parse", "orr_training_compile", "orr_executor_begin", "orr_store_add_rows")),
    ("serving request to row", ("run", "serving-llama-3.1-8b-h100", "--set", "workload.requests=20", "--db", ":memory:"),
     ("orr_replica_take", "orr_replica_plan", "orr_replica_finish_step", "orr_store_add_rows")),
    ("launch line to scenario", ("import", "launch", "-"),
     ("orr_shell_expand", "orr_launch_draft_add", "orr_launch_draft_set", "orr_launch_draft_scenario")),
)
ENGINE = ("sim/engine", "models", "topologies", "calibration/cost", "calibration/profile", "workloads")
MAKER = ("nvidia", "cuda", "nvlink", "nccl")
LAUNCH_LINE = "torchrun --nnodes 2 --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size 4 --num-layers 4\n"


def output(*command, **more):
    return subprocess.run(command, check=False, capture_output=True, text=True, **more).stdout


def say(label, *values):
    print(f"{label:<44} {' / '.join(f'{value:,}' for value in values)}")


def without_comments(text):
    return BLANK.sub(lambda found: found.group(0) if found.group(0)[0] in "\"'" else "\n" * found.group(0).count("\n"), text)


def sizes(root):
    names = [name for name in output("git", "-C", root, "ls-files", *PRODUCT).split("\n")
             if name.endswith((".c", ".h", ".inc", ".cu"))]
    texts = {name: (root / name).read_text() for name in names if (root / name).exists()}
    code = sum(bool(line.strip()) for text in texts.values() for line in without_comments(text).split("\n"))
    say("C product lines / code lines", sum(text.count("\n") for text in texts.values()), code)
    say("files", len(texts))
    longest = max((text.count("\n"), name) for name, text in texts.items() if name.endswith(".h"))
    say(f"longest header ({longest[1]})", longest[0])
    users = collections.Counter()
    for name, text in texts.items():
        for header in set(re.findall(r'^#include "([^"]+)"', text, flags=re.M)):
            users[header] += name.rpartition(".")[0] != header.rpartition(".")[0]
    say("headers / with one user", sum(name.endswith(".h") for name in texts),
        sum(name.endswith(".h") and users[name] == 1 for name in texts))


def maker_words(root):
    names = [name for name in output("git", "-C", root, "ls-files", *ENGINE).split("\n") if name.endswith((".c", ".h", ".inc"))]
    code = "\n".join(without_comments((root / name).read_text()) for name in names if (root / name).exists()).lower()
    whole = [len(re.findall(rf"(?<![a-z0-9_]){word}(?![a-z0-9_])", code)) for word in MAKER]
    say(f"words {', '.join(MAKER)}", *whole)
    say("the same as parts of names", *(code.count(word) - n for word, n in zip(MAKER, whole)))


def cycles(graph):
    """The strongly connected components of more than one node (Tarjan, without recursion), largest first."""
    index, low, stack, found = {}, {}, [], []
    for start in graph:
        work = [(start, iter(graph[start]))] if start not in index else []
        if work:
            index[start] = low[start] = len(index)
            stack.append(start)
        while work:
            node, rest = work[-1]
            for other in rest:
                if other not in index:
                    index[other] = low[other] = len(index)
                    stack.append(other)
                    work.append((other, iter(graph[other])))
                    break
                if other in stack:
                    low[node] = min(low[node], index[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    at = stack.index(node)
                    found.append(stack[at:])
                    del stack[at:]
    return sorted((part for part in found if len(part) > 1), key=len, reverse=True)


def call_cycles(build):
    defined, needed = {}, collections.defaultdict(set)
    for path in sorted(build.glob("liborrery-*.p/*.o")):
        for line in output("nm", "-P", "-g", path).split("\n"):
            symbol, kind = (line.split() + ["", ""])[:2]
            if kind == "U":
                needed[path.stem].add(symbol)
            elif kind in ("T", "W"):
                defined[symbol] = path.stem
    graph = {name: {defined[symbol] for symbol in needed[name] if symbol in defined} - {name}
             for name in set(needed) | set(defined.values())}
    found = cycles(graph)
    say("call cycles of files: largest five", *[len(part) for part in found[:5]])
    for part in (part for part in found if len(part) > 5):
        print("   ", " ".join(sorted(name.removesuffix(".c") for name in part)))


def doors(orrery):
    text = output(orrery, "help")
    verbs = [verb for verb in re.findall(r"^  ([a-z]+) ", text, flags=re.M) if verb != "help"]
    flags = {flag for verb in verbs for flag in re.findall(r"^  (?:-., )?--([a-z0-9-]+)", output(orrery, "help", verb), flags=re.M)}
    say("verbs / flags / views", len(verbs), len(flags), output(orrery, "list", "views").count("\n"))


def stack(orrery, args, station):
    """(function, file) of each frame when @station is first reached, main() last; empty: never reached."""
    words = " ".join(f"'{arg}'" for arg in args)
    commands = ["set pagination off", "set confirm off", "set print frame-arguments none", f"break {station}",
                f"run {words} > /dev/null 2>&1", "bt"]
    text = output("gdb", "-batch", *[part for command in commands for part in ("-ex", command)], orrery)
    return [tuple(found) for found in re.findall(r"^#\d+ +(?:0x[0-9a-f]+ in )?(\w+) \(.*?\) at (?:\.\./)*([\w/.]+):\d+", text, flags=re.M)
            if found[1].startswith(PRODUCT)]


def walks(orrery, scratch):
    line = scratch / "line.sh"
    line.write_text(LAUNCH_LINE)
    for name, args, stations in WALKS:
        args = [str(line) if arg == "-" else str(scratch / "walk.db") if arg == ":memory:" else arg for arg in args]
        frames = {station: stack(orrery, args, station) for station in stations}
        for station in (station for station in stations if not frames[station]):
            print(f"{name}: {station} is not reached")
        seen = {frame for part in frames.values() for frame in part}
        say(f"walk {name}: functions / files", len(seen), len({file for _, file in seen}))


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    build = pathlib.Path(sys.argv[1]).resolve()
    root = pathlib.Path(__file__).resolve().parent.parent
    sizes(root)
    maker_words(root)
    call_cycles(build)
    doors(build / "orrery")
    if not shutil.which("gdb"):
        print("walks: gdb is not installed")
        return
    with tempfile.TemporaryDirectory() as scratch:
        walks(build / "orrery", pathlib.Path(scratch))


if __name__ == "__main__":
    main()
