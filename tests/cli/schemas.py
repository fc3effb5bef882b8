"""schemas.py ORRERY ROOT - the JSON Schemas of `orrery describe --schema` against the shipped documents, as an editor uses
them: PyYAML reads the document, jsonschema validates it, and nothing of Orrery's own reader takes part. TAP.

Four claims:
  1. Every document that `orrery check` accepts and we ship is valid, by file and as `import` and `describe` write it.
  2. No plain scalar of a shipped document changes its type between YAML 1.1 (PyYAML) and YAML 1.2's core schema (most
     editors): 5e9 is a text in 1.1, `on` is true, 1:30 is 90.
  3. The workload and the sweep of every shipped scenario are valid by the schema of their own kind.
  4. The schemas still refuse: what a user gets wrong is invalid, at the key that is wrong.
"""

import json
import pathlib
import re
import subprocess
import sys

import jsonschema
import yaml

orrery, root = sys.argv[1], pathlib.Path(sys.argv[2])
Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
n_tests = 0
status = 0
validators = {}


def report(name, faults):
    """One line of TAP; @faults say what is wrong."""
    global n_tests, status
    n_tests += 1
    print(f"{'not ok' if faults else 'ok'} {n_tests} - {name}")
    for fault in faults[:20]:
        print(f"# {fault}")
    if faults:
        status = 1


def run(*args):
    return subprocess.run([orrery, *args], check=True, capture_output=True, text=True).stdout


def validator(kind):
    if kind not in validators:
        schema = json.loads(run("describe", "--schema", kind))
        jsonschema.Draft202012Validator.check_schema(schema)
        validators[kind] = jsonschema.Draft202012Validator(schema)
    return validators[kind]


def fault_of(document, kind=None):
    """None, or where and why @document, of @kind or of the kind that it names, is invalid."""
    kind = kind or str(document["schema"]).split("/", maxsplit=1)[0]
    error = jsonschema.exceptions.best_match(validator(kind).iter_errors(document))
    return error and f"{'.'.join(str(step) for step in error.absolute_path)}: {error.message[:200]}"


# --- what is shipped ---

CORE = re.compile(
    r"(?P<null>|~|null|Null|NULL)$|(?P<bool>true|True|TRUE|false|False|FALSE)$"
    r"|(?P<int>[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)$"
    r"|(?P<float>[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))$"
)


def core_type(text):
    found = CORE.match(text)
    return found.lastgroup if found and found.lastgroup else "str"


def old_type(text):
    resolvers = yaml.SafeLoader.yaml_implicit_resolvers
    for tag, pattern in resolvers.get(text[:1], []) + resolvers.get(None, []):
        if pattern.match(text):
            return tag.rsplit(":", maxsplit=1)[-1]
    return "str"


def ambiguous(text):
    """Plain scalars of a YAML text that are of one type in YAML 1.1 and of another in 1.2."""
    scalars = (event for event in yaml.parse(text, Loader=Loader) if isinstance(event, yaml.ScalarEvent))
    return [f"line {one.start_mark.line + 1}: {one.value}" for one in scalars
            if one.implicit[0] and len(one.value) < 40 and old_type(one.value) != core_type(one.value)]


def blocks(path):
    """The documents in the ```yaml blocks of a page."""
    return [text for text in re.findall(r"^```yaml\n(.*?)^```", path.read_text(), re.M | re.S)
            if text.startswith("schema: ")]


def check_texts(name, texts):
    faults = []
    for where, text in texts:
        fault = fault_of(yaml.load(text, Loader=Loader))
        faults += [f"{where}: {fault}"] if fault else []
        faults += [f"{where}: {one} is of another type in YAML 1.1" for one in ambiguous(text)]
    report(f"{name}: {len(texts)} documents are valid", faults if texts else ["there are none"])


def shipped():
    folders = ("calibration", "models", "scenarios", "topologies", "workloads")
    return sorted(path for folder in folders for path in (root / folder).rglob("*.yaml"))


kinds = {}
for file in shipped():
    content = file.read_text()
    declared = re.search(r"^schema: ([a-z-]+)/1", content, re.M)
    kinds.setdefault(declared.group(1) if declared else "none", []).append((file.relative_to(root), content))
for kind_name in sorted(kinds):
    check_texts(f"shipped {kind_name}", kinds[kind_name])
pages = [root / "README.md", *sorted((root / "docs").glob("*.md"))]
check_texts("README and docs", [(page.name, text) for page in pages for text in blocks(page)])

# --- sections of scenarios, by the schema of their own kind ---

sections = {"workload": [], "sweep": []}
for path, content in kinds["scenario"]:
    tree = yaml.load(content, Loader=Loader)
    if "base" not in tree and "base" not in tree.get("workload", {"base": "there are jobs"}):
        sections["workload"].append((path, {"schema": "workload/1"} | tree["workload"]))
    if "sweep" in tree:
        sections["sweep"].append((path, tree["sweep"]))
for section, found in sections.items():
    faults = [f"{path}: {fault}" for path, tree in found if (fault := fault_of(tree, section))]
    report(f"{section} sections: {len(found)} are valid", faults if found else ["there are none"])
kinds_found = {tree["kind"] for _, tree in sections["workload"]}
report("workload sections of every kind", [] if kinds_found == {"cluster", "collectives", "diffusion", "diffusion-training", "post-training", "recommendation", "serving", "trace", "training"} else [str(kinds_found)])

# --- what the program writes ---

written = [(f"describe cluster {name}", run("describe", "cluster", name)) for name in ("gb200-nvl72", "tpu-v4-slice")]
written = [(name, text[text.index("schema: "):]) for name, text in written]
configs = sorted((root / "tests/models/huggingface").glob("*.json"))
written += [(f"import {path.name}", run("import", "huggingface", str(path))) for path in configs]
check_texts("describe and import", written)

# --- what a user gets wrong ---

TRAINING = {"schema": "scenario/1", "name": "x", "cluster": "dgx-h100-superpod", "model": "llama-3.1-8b",
            "workload": {"kind": "training", "batch": {"global": 64}}}


def changed(path, value):
    """TRAINING with the member at the dotted @path set, or taken away (None)."""
    tree = json.loads(json.dumps(TRAINING))
    *sections, last = path.split(".")
    node = tree
    for section in sections:
        node = node.setdefault(section, {})
    if value is None:
        del node[last]
    else:
        node[last] = value
    return tree


def expect(name, document, wanted):
    fault = fault_of(document) or "valid"
    report(f"{name}: {wanted}", [] if wanted in fault else [f"found: {fault}"])


expect("a training scenario", TRAINING, "valid")
expect("above a base nothing is required", {"schema": "scenario/1", "base": "x", "workload": {"steps": 5}}, "valid")
expect("above a base a key is still a key", {"schema": "scenario/1", "base": "x", "workload": {"stepz": 5}}, "workload")
expect("without a base all is required", changed("cluster", None), "'cluster' is a required property")
expect("without its schema", changed("schema", None) | {"schema": "scenario/2"}, "'scenario/1' was expected")
sharding = {"kind": "fsdp", "reshard-after-forward": False}
expect("a word that YAML takes for a truth value", changed("workload.optimizer.sharding", sharding), "valid")
expect("a misspelt key", changed("workload.btach", {}), "('btach' was unexpected)")
expect("a key of another kind", changed("workload.collective", "all-reduce"), "('collective' was unexpected)")
expect("a kind that does not exist", changed("workload.kind", "trainning"), "workload.kind")
expect("a section of a document by base", changed("cluster", {"base": "dgx-h100-superpod", "nodes": 4}), "valid")
expect("a misspelt key beside base", changed("cluster", {"base": "dgx-h100-superpod", "noodes": 4}), "'noodes'")
expect("a choice of the default kind", changed("workload.pipeline", {"microbatch-group": 1}), "workload.pipeline")
BOUNDS = {"value": 64, "low": 32, "high": 128}
expect("a number with bounds", changed("workload.batch.global", BOUNDS), "valid")
bounds = {"value": "400 Gb/s", "low": "300 Gb/s", "high": "400 Gb/s"}
device = {"base": "h100-sxm", "memory-bandwidth": bounds}
expect("a quantity with bounds", changed("cluster", {"base": "x", "device": device}), "valid")
expect("a misspelt bound", changed("workload.batch.global", BOUNDS | {"hihg": 8}), "('hihg' was unexpected)")
expect("a bound that is missing", changed("workload.batch.global", {"value": 8}), "'low' is a required property")
expect("bounds of a word", changed("workload.recompute", BOUNDS), "workload.recompute")
NEEDED = {
    "cluster": {"jobs": "trace.csv"},
    "collectives": {},
    "diffusion": {"generator": "flux.1-dev"},
    "diffusion-training": {"generator": "flux.1-dev", "batch": 8},
    "recommendation": {"recommender": "dlrm-dcnv2", "batch": 8},
    "serving": {"load": {"kind": "poisson", "rate": 8}, "input": {"tokens": 512}, "output": {"tokens": 128}},
    "trace": {"file": "x.et"},
    "training": {"batch": {"global": 64}},
}
for kind_name, needed in NEEDED.items():
    document = {"schema": "workload/1", "kind": kind_name} | needed
    expect(f"a workload document of {kind_name}", document, "valid")
    expect(f"{kind_name} with a key of no kind", document | {"beginn": 8}, "'beginn'")
expect("training with a key of collectives", {"schema": "workload/1", "kind": "training"} | NEEDED["training"] |
       {"begin": "8 B"}, "'begin'")

print(f"1..{n_tests}")
sys.exit(status)
