#!/usr/bin/env python3
"""Writes attention-modules.yaml from the tables of sparse and linear attention.

usage: attention_modules.py SPARSE.csv LINEAR.csv AMD_LINEAR.csv AMD_SPARSE.csv > attention-modules.yaml

Columns are aiconfigurator's, and those of AMD's aiter and Primus: of aiter's decodes the batches nearest to a
geometric ladder, of Primus the forward passes over compressed entries. Rows of latency 0 (beneath the source's resolution) are left out. The scales of each table
are the ones that make 260 of its rows, drawn, most likely (calibration/cost/cost_module.c); they are listed here.
"""
import csv
import sys

DEVICES = [  # name, alias, chip, standing, TB/s, TFLOP/s in bf16, fp8, fp4: as the device documents
    ("a100-80gb-sxm", "a100_sxm", "ampere", None, 2.039, 312, 312, 312),
    ("h100-sxm", "h100_sxm", "hopper", None, 3.35, 989, 1979, 1979),
    ("h200-sxm", "h200_sxm", "hopper", None, 4.8, 989, 1979, 1979),
    ("b200", "b200_sxm", "blackwell", None, 8, 2250, 4500, 9000),
    ("b300", "b300_sxm", "blackwell", "b200", 8, 2250, 4500, 12600),
    ("gb200", None, "blackwell", None, 8, 2500, 5000, 10000),
    ("gb300", None, "blackwell", "gb200", 8, 2500, 5000, 15000),
    ("mi300x", "gfx942", "cdna3", None, 5.325, 1307.4, 2614.9, 2614.9),
    ("mi355x", "gfx950", "cdna4", None, 8, 2516.6, 5033.2, 10066.3),
]
LADDER = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256]  # of sequences


def mla(hidden, q, nope, value, index_heads):
    """DeepSeek Sparse Attention over a latent cache of 512 + 64."""
    return dict(hidden=hidden, weights=hidden * (q + 576), key_width=576, value_width=512, topk=2048,
                head_weights=q * (nope + 64) + 512 * (nope + value) + value * hidden, index_heads=index_heads,
                index_width=128, index_weights=q * index_heads * 128 + hidden * (128 + index_heads))


def compressed(hidden, q, groups, heads, topk, ratio):
    """DeepSeek-V4's attention: queries of rank q, one key of 512 that is also the value, grouped output of rank 1,024."""
    doubled = 2 if ratio == 4 else 1
    layer = dict(hidden=hidden, weights=hidden * (q + 512) + 2 * hidden * 512 * doubled, ratio=ratio, window=128,
                 head_weights=q * 512 + 512 * 1024 + groups * 1024 * hidden / heads, key_width=512, value_width=512)
    if ratio == 4:
        layer.update(topk=topk, index_heads=64, index_width=128, index_weights=q * 8192 + hidden * (64 + 4 * 128))
    return layer


LAYERS = {
    "deepseek-v3.2": mla(7168, 1536, 128, 128, 64),
    "glm-5": mla(6144, 2048, 192, 256, 32),
    "deepseek-v4-flash-csa": compressed(4096, 1024, 8, 64, 512, 4),
    "deepseek-v4-flash-hca": compressed(4096, 1024, 8, 64, 512, 128),
    "deepseek-v4-pro-csa": compressed(7168, 1536, 16, 128, 1024, 4),
    "deepseek-v4-pro-hca": compressed(7168, 1536, 16, 128, 1024, 128),
}

OPS = {
    "dsa_context_module": "dsa-prefill", "dsa_context_module_skip_indexer": "dsa-prefill-shared",
    "dsa_generation_module": "dsa-decode", "dsa_generation_module_skip_indexer": "dsa-decode-shared",
    "dsv4_csa_context_module": "csa-prefill", "dsv4_hca_context_module": "hca-prefill",
    "dsv4_csa_generation_module": "csa-decode", "dsv4_hca_generation_module": "hca-decode",
    "dsv4_csa_topk_calib": "topk", "glm5_topk_module": "topk", "glm5_mqa_logits_module": "index-scores",
    "dsv4_paged_mqa_logits_module": "index-scores", "glm5_dsa_attn_module": "sparse-core",
    "dsv4_hca_attn_module": "sparse-core", "dsv4_flash_hca_attn_module": "sparse-core",
}

TABLES = [  # name, kind, ops, scales, differences, variance, noise
    ("dsa prefill", "sparse", ["dsa-prefill", "dsa-prefill-shared"],
     [40.0, 20.1, 25.4, 10.1, 6.22],
     [0.0193, 0.0449, 0.557, 0.12, 0.0112, 0.00791, 0.00176, 0.1, 0.0494], 2.03, 0.000335),
    ("dsa decode", "sparse", ["dsa-decode", "dsa-decode-shared"],
     [16.1, 3.0, 18.7, 40.0, 3.7],
     [0.00114, 0.863, 0.776, 0.448, 0.0567, 0.0716, 0.0372, 0.1, 0.64], 0.42, 0.000509),
    ("csa prefill", "sparse", ["csa-prefill"],
     [13.6, 13.2, 20.2, 7.9, 10.9],
     [0.00112, 0.00662, 0.0391, 0.0391, 0.0219, 0.1, 0.00388, 0.1, 0.1], 0.486, 0.000335),
    ("hca prefill", "sparse", ["hca-prefill"],
     [16.1, 18.2, 24.4, 6.59, 17.2],
     [0.001, 0.00571, 0.0277, 0.0277, 0.0237, 0.1, 0.00222, 0.1, 0.1], 0.558, 0.000335),
    ("csa decode", "sparse", ["csa-decode"],
     [18.4, 3.0, 3.54, 5.31, 16.4],
     [0.00268, 0.0172, 0.452, 0.452, 0.382, 0.1, 0.0282, 0.1, 0.1], 0.115, 0.000335),
    ("hca decode", "sparse", ["hca-decode"],
     [3.58, 3.0, 40.0, 5.88, 6.31],
     [0.001, 0.0841, 0.0702, 0.0702, 0.407, 0.1, 0.0768, 0.1, 0.1], 0.0423, 0.000335),
    ("choice of keys", "sparse", ["topk"],
     [39.8, 40.0, 10.6, 18.2, 12.2],
     [0.0026, 0.0349, 0.1, 0.0233, 0.1, 0.1, 0.0171, 0.0555, 0.024], 3.64, 0.000335),
    ("scores of the indexer", "sparse", ["index-scores"],
     [40.0, 36.5, 13.1, 3.0, 6.41],
     [0.0016, 0.00597, 0.558, 0.387, 0.1, 0.1, 0.733, 0.1, 0.733], 2.2, 0.00274),
    ("core over chosen keys", "sparse", ["sparse-core"],
     [9.07, 4.44, 15.3, 3.11, 10.7],
     [0.00601, 0.0451, 0.109, 0.342, 0.1, 0.1, 0.46, 0.1, 0.339], 0.658, 0.00212),
    ("convolution, prompt", "linear", ["conv"],
     [37.6, 40.0, 40.0, 40.0, 34.8],
     [0.001, 0.00197, 0.53, 0.1, 0.1, 0.1, 0.00378, 0.1, 0.1], 10.6, 0.000335),
    ("state, prompt", "linear", ["scan"],
     [40.0, 8.85, 8.85, 40.0, 3.02],
     [0.00407, 0.138, 0.811, 0.811, 0.1, 0.1, 0.001, 0.1, 0.1], 0.607, 0.000335),
    ("convolution and state, decode", "linear", ["conv-update", "state-update"],
     [34.3, 3.0, 3.0, 40.0, 3.89],
     [0.164, 0.0258, 0.882, 0.159, 0.1, 0.1, 0.0153, 0.1, 0.262], 0.308, 0.000478),
]


def sparse_layer(row):
    model = row["model"]
    if "GLM" in model or "V3.2" in model:
        return "glm-5" if "GLM" in model else "deepseek-v3.2"
    size = "flash" if "Flash" in model else "pro"
    return f"deepseek-v4-{size}-{'hca' if row['compress_ratio'] == '128' else 'csa'}"


def linear_layer(row):
    """A head of 128 x 128 and its part of the keys; or one of 64 x N and its part of B and C."""
    if row["op_name"] == "gdn":
        per_key = int(row["num_v_heads"]) / int(row["num_k_heads"])
        name = f"gated-delta-{per_key:g}"
        LAYERS.setdefault(name, dict(channels=2 * 128 / per_key + 128, state=128 * 128, output=128))
        return name
    state, per_group = int(row["d_state"]), int(row["nheads"]) / int(row["n_groups"])
    name = f"mamba-2-{state}-{per_group:g}"
    LAYERS.setdefault(name, dict(channels=64 + 2 * state / per_group, state=64 * state, output=64))
    return name


def linear_op(row):
    if "conv" in row["kernel_source"]:
        return "conv" if row["phase"] == "context" else "conv-update"
    return "scan" if row["phase"] == "context" else "state-update"


def read(path):
    with open(path, encoding="utf-8") as file:
        rows = csv.DictReader(line for line in file if not line.startswith("#"))
        return [row for row in rows if float(row.get("latency", 1)) > 0]


def device_of(system):
    return next(name for name, alias, *_ in DEVICES if system in (name, alias))


def groups_of(sparse, linear):
    groups = {}
    for row in sparse:
        key = (OPS[row["op_name"]], device_of(row["system"]), row["engine"], row["kernel_source"], row["gemm_type"],
               row["kv_cache_dtype"], sparse_layer(row), row["score_mode"])
        at = (row["num_heads"], row["batch_size"], row["isl"], str(int(row["step"]) + int(row["isl"])))
        groups.setdefault(key, []).append((at, float(row["latency"]) * 1e3))
    for row in linear:
        key = (linear_op(row), device_of(row["system"]), row["engine"], row["kernel_source"], "bfloat16", "bfloat16",
               linear_layer(row), "")
        at = (row["num_v_heads"] or row["nheads"], row["batch_size"], row["seq_len"], row["seq_len"])
        groups.setdefault(key, []).append((at, float(row["latency"]) * 1e3))
    return groups


def delta_layer(row):
    """Gated delta rule by aiter: named as aiconfigurator's, and by the state's format where it is not fp32."""
    per_key = int(row["v_heads"]) / int(row["k_heads"])
    name, width = f"gated-delta-{per_key:g}", {"float32": 4, "bfloat16": 2}[row["state_dtype"]]
    if width == 4:
        return name
    LAYERS.setdefault(f"{name}-bf16", dict(LAYERS[name], state_bytes=width))
    return f"{name}-bf16"


def add_amd(groups, linear, sparse):
    shapes = {}
    for row in linear:  # the chunk-state kernel is a part of a prompt's scan: not comparable
        if row["op"] == "gated delta rule decode":
            key = ("state-update", device_of(row["gfx"]), "aiter", "gdr_decode", "bfloat16", "bfloat16",
                   delta_layer(row), "")
            shapes.setdefault((key, row["v_heads"]), {})[int(row["batch"])] = float(row["us"])
    for (key, heads), rows in shapes.items():
        for batch in sorted({min(rows, key=lambda have: abs(have / rung - 1)) for rung in LADDER}):
            groups.setdefault(key, []).append(((heads, str(batch), "1", "1"), rows[batch]))
    for row in sparse:
        if row["phase"] == "forward" and row["compression"] == "128":
            key = ("sparse-core", device_of("gfx950"), "primus", row["backend"], "bfloat16", "bfloat16",
                   "deepseek-v4-flash-hca", "")
            at = (row["heads"], row["mbs"], row["seq"], row["seq"])
            groups.setdefault(key, []).append((at, float(row["latency_ms"]) * 1e3))


def number(value):
    return f"{value:.10g}"


def print_group(key, rows):
    names = ("op", "device", "engine", "kernel", "weights", "cache", "layer", "mode")
    texts = [f"{name}: {value}" for name, value in zip(names, key) if value]
    print(f"        - {{{', '.join(texts[:4])},\n           {', '.join(texts[4:])},")
    line = '           rows: "'
    for at, us in rows:
        item = " ".join(at) + f" {us:.4g} "
        if len(line) + len(item) > 118:
            print(line.rstrip())
            line = "             "
        line += item
    print(line.rstrip() + '"}')


def main():
    groups = groups_of(read(sys.argv[1]), read(sys.argv[2]))
    add_amd(groups, read(sys.argv[3]), read(sys.argv[4]))
    print("""# tests/validate/attention_modules.py SPARSE.csv LINEAR.csv AMD_LINEAR.csv AMD_SPARSE.csv > attention-modules.yaml
# Sparse attention (DeepSeek-V3.2, GLM-5, DeepSeek-V4) and linear attention (gated delta nets, Mamba-2) on six devices by
# three engines. NVIDIA aiconfigurator 095f58a51 (2026-08-21, Apache-2.0), aic-core/.../systems/data: rows drawn by hash
# from the newest version of each table. A row is heads of the rank, sequences, queries and keys of each, microseconds.
# Engine aiter: ROCm/aiter e4048607a5 (2026-08-22, MIT), gated delta decodes tuned on MI300X and MI355X with states in fp32
# and in 16 bits (layers -bf16). Engine primus: AMD-AGI/Primus fd1eeabb (2026-08-22), DeepSeek-V4's attention over all
# compressed entries on MI355X.
schema: profile/1
name: attention-modules
device: a100-80gb-sxm
source: NVIDIA aiconfigurator 095f58a51 (2026-08-21, Apache-2.0); AMD's aiter e4048607a5 and Primus fd1eeabb (2026-08-22)
modules:
  devices:""")
    for name, alias, chip, standing, bandwidth, bf16, fp8, fp4 in DEVICES:
        more = (f", alias: {alias}" if alias else "") + (f", standing: {standing}" if standing else "")
        print(f"    - {{name: {name}{more}, chip: {chip}, bandwidth: {bandwidth} TB/s, bf16: {bf16} TFLOP/s,\n"
              f"       fp8: {fp8} TFLOP/s, fp4: {fp4} TFLOP/s}}")
    print("  layers:")
    for name, layer in LAYERS.items():
        text = ", ".join(f"{key.replace('_', '-')}: {number(value)}" for key, value in layer.items())
        head, _, tail = text.partition(", head-weights")
        tail = tail.replace(", index-heads", ",\n       index-heads")
        print(f"    - {{name: {name}, {head}" + (f",\n       head-weights{tail}" if tail else "") + "}")
    print("  tables:")
    for name, kind, ops, scales, differences, variance, noise in TABLES:
        mine = {key: rows for key, rows in groups.items() if key[0] in ops}
        floor = min(us for rows in mine.values() for _, us in rows)
        print(f"    - name: {name}\n      kind: {kind}\n      source: aiconfigurator's collector; scales of the most likely fit"
              f"\n      floor: {floor:.4g} us\n      scales: {scales}\n      differences: {differences}\n"
              f"      variance: {variance}\n      noise: {noise}\n      groups:")
        for key in sorted(mine):
            print_group(key, mine[key])


main()
