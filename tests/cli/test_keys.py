#!/usr/bin/env python3
"""test_keys.py ORRERY - keys that no shipped document sets move the answer the way their sentence says (TAP).

Each case runs a shipped scenario twice, with and without the key, and compares one number of --json. The runs without are
done once for all cases that share them; a small run (ORRERY_TEST_SIZE) has those with a key alone.
"""
import functools
import json
import os
import subprocess
import sys
import tempfile

orrery = os.path.abspath(sys.argv[1])
library = tempfile.TemporaryDirectory()
UP, DOWN, OTHER = "rises", "falls", "differs"
IS_SMALL = os.environ.get("ORRERY_TEST_SIZE") == "small"

CHAT = "serving-llama-3.1-8b-h100"
TWO = ["cluster.gpus=2", "workload.replicas=2", "workload.router.kind=prefix-aware", "workload.shared-prefix=256",
       "workload.engine.prefix-caching=radix"]
ZERO_3 = ["workload.optimizer.sharding.kind=zero-3", "workload.optimizer.sharding.by-tensor=true",
          "workload.optimizer.sharding.overlap-comm=false"]
DRAGONFLY = ["cluster.nodes=9", "cluster.max-nodes=9", "workload.collective=all-to-all", "workload.begin=1 GiB",
             "cluster.fabric={kind: dragonfly, hosts-per-router: 8, routers-per-group: 3, global-per-router: 1}"]
CUSTOM = ["cluster.nodes=2", "cluster.max-nodes=2", "workload.collective=send-recv", "workload.ranks=2",
          "workload.stride=8", "workload.begin=1 GiB", "workload.end=1 GiB", "cluster.routing=adaptive",
          "cluster.fabric={kind: custom, hosts: [{switch: a, ports: 8}, {switch: b, ports: 8}], cables: "
          "[{from: a, to: c, bandwidth: 50 Gb/s}, {from: c, to: b, bandwidth: 50 Gb/s}, "
          "{from: a, to: d, bandwidth: 50 Gb/s}, {from: d, to: b, bandwidth: 50 Gb/s}]}"]
TOKENS = ["cluster.base=gb200-nvl72", "cluster.nodes=1", "workload.ranks=4", "workload.collective=all-to-all",
          "workload.experts=256", "workload.begin=8 MiB", "workload.end=8 MiB", "workload.algorithm=trtllm-one-sided"]
QUEUED = ["workload.begin=8 MiB", "workload.end=8 MiB"]
DCQCN = QUEUED + ["cluster.queues=dcqcn"]
CREDIT = QUEUED + ["cluster.queues=credit"]
NGRAM = ["workload.engine.speculation={kind: ngram, num-speculative-tokens: 3, found: 50 %, acceptance: [0.6]}"]
TRACE = ["workload.load={kind: sharegpt, file: %s/chats.json, rate: 1}" % library.name, "workload.input={}",
         "workload.output={}", "workload.requests=0"]

# scenario, settings of both runs, the key's, the number, what it does
CASES = [
    ("nccl-tests-dgx-h100-16", ["workload.collective=all-to-all", "workload.end=1 MiB"],
     "cluster.transport.message-rate=1e6", "time_s", UP),
    ("two-jobs-one-uplink", ["cluster.routing=adaptive"], "cluster.transport.adaptive-efficiency=50 %", "0.together_s", UP),
    ("nccl-tests-dgx-h100-16", ["cluster.transport.offloaded=1"], "cluster.transport.dpu-work=20 us", "time_s", UP),
    ("nccl-tests-dgx-h100-16", DRAGONFLY, "cluster.fabric.global-bandwidth=10 GB/s", "time_s", UP),
    ("nccl-tests-dgx-h100-16", DRAGONFLY, "cluster.fabric.local-bandwidth=10 GB/s", "time_s", UP),
    ("nccl-tests-dgx-h100-16", CUSTOM, "cluster.fabric.spray=1", "time_s", UP),
    ("nccl-tests-dgx-h100-16", TOKENS, "workload.experts-dtype=fp4", "time_s", OTHER),
    ("queues-all-to-all-64-h100", QUEUED, "cluster.queues.xoff=140 KiB", "peak_bytes", DOWN),
    ("queues-all-to-all-64-h100", QUEUED, "cluster.queues.xon=8 KiB", "added_s", OTHER),
    ("queues-all-to-all-64-h100", DCQCN, "cluster.queues.kmin=1 MB", "marked", DOWN),
    ("queues-all-to-all-64-h100", DCQCN, "cluster.queues.kmax=20 MB", "marked", DOWN),
    ("queues-all-to-all-64-h100", DCQCN, "cluster.queues.pmax=20 %", "marked", OTHER),
    ("queues-all-to-all-64-h100", DCQCN, "cluster.queues.gain=0.5", "marked", OTHER),
    ("queues-all-to-all-64-h100", DCQCN, "cluster.queues.cnp-interval=10 us", "marked", OTHER),
    ("queues-all-to-all-64-h100", DCQCN, "cluster.queues.timer=500 us", "marked", OTHER),
    ("queues-all-to-all-64-h100", DCQCN, "cluster.queues.counter=100 kB", "marked", OTHER),
    ("queues-all-to-all-64-h100", DCQCN, "cluster.queues.increase=40 Gb/s", "marked", OTHER),
    ("queues-all-to-all-64-h100", DCQCN, "cluster.queues.rtt=80 us", "marked", OTHER),
    ("queues-all-to-all-64-h100", DCQCN, "cluster.queues.packet=256 B", "marked", OTHER),
    ("queues-all-to-all-64-h100", CREDIT, "cluster.queues.credit=30 %", "time_s", UP),
    ("queues-all-to-all-64-h100", CREDIT, "cluster.queues.unsolicited=1 kB", "peak_bytes", OTHER),
    ("ecmp-all-reduce-128-h100", [], "cluster.hash-take=worst", "time_s", UP),
    ("ecmp-all-reduce-128-h100", [], "cluster.hash-draws=8", "mean_s", OTHER),
    ("ecmp-all-reduce-128-h100", ["cluster.queue-pairs=4"], "cluster.split-data-on-qps=false", "time_s", UP),
    ("two-jobs-one-uplink", ["jobs.1.placement=packed", "jobs.0.placement={kind: rail-aligned, gpus-per-node: 4}"],
     "jobs.0.placement={kind: rail-aligned, gpus-per-node: 8}", "0.alone_s", OTHER),
    (CHAT, TWO, "workload.router.balance-abs=0", "ttft_mean_s", OTHER),
    (CHAT, TWO + ["workload.router.balance-abs=1"], "workload.router.balance-rel=100", "ttft_mean_s", OTHER),
    (CHAT, TWO, "workload.router.cache-threshold=0.99", "ttft_mean_s", OTHER),
    (CHAT, TWO, "workload.router.remembered=1", "ttft_mean_s", UP),
    (CHAT, [], "cluster.device.power.active=10 W", "energy_j_per_output_token", DOWN),
    (CHAT, [], "cluster.device.power.static=10 W", "energy_j_per_output_token", DOWN),
    (CHAT, [], "cluster.device.power.memory=1 pJ/B", "energy_j_per_output_token", DOWN),
    (CHAT, [], "cluster.device.power.on-chip=1 pJ/B", "energy_j_per_output_token", DOWN),
    (CHAT, [], "cluster.device.power.tensor=100 W", "energy_j_per_output_token", DOWN),
    (CHAT, ["workload.stack=vllm-0.11", "workload.sampling=top-p"], "cluster.device.power.simt=10 W", "energy_j_per_output_token", DOWN),
    ("serving-llama-3.1-70b-h100", ["workload.requests=50"], "cluster.device.power.scale-up=1 nJ/B",
     "energy_j_per_output_token", UP),
    (CHAT, ["workload.engine.max-num-batched-tokens=4096"], "workload.engine.scheduler.long-prefill-token-threshold=128",
     "ttft_mean_s", UP),
    (CHAT, NGRAM, "workload.engine.speculation.lookup=1 ms", "tpot_mean_s", UP),
    (CHAT, ["workload.engine.kv-blocks=1200"], "workload.engine.reserve-prompt=false", "ttft_mean_s", OTHER),
    (CHAT, ["workload.load={kind: closed-loop, concurrency: 8}"], "workload.load.stagger=1 s", "ttft_mean_s", DOWN),
    (CHAT, TRACE, "workload.load.characters-per-token=2", "input_tokens_per_s", OTHER),
    ("serving-mooncake-4-h200", ["workload.requests=400", "workload.engine.scheduler=sglang",
                                 "workload.engine.prefix-caching=radix"],
     "workload.engine.scheduler.longest-prefix-first=true", "ttft_mean_s", OTHER),
    ("overlap-llama-70b-64-h100", [], "workload.memory.communicator=2 GiB", "memory_peak_bytes", UP),
    ("overlap-llama-70b-64-h100", [], "workload.memory.workspace=1 GiB", "memory_peak_bytes", UP),
    ("overlap-llama-70b-64-h100", [], "workload.parallel.tp-comm-overlap.pieces=16", "iteration_time_s", UP),
    ("offload-gpt3-13b-8-a100", [], "workload.optimizer.sharding.reduce-bucket=10000000", "iteration_time_s", OTHER),
    ("offload-gpt3-13b-8-a100", ZERO_3, "workload.optimizer.sharding.persistence-threshold=100000000",
     "iteration_time_s", DOWN),
    ("megatron-sc21-1.7b", ["cluster.device.profile=old", "workload.batch={global: 32, micro: 1}"],
     "cluster.device.profile=slow-operators", "iteration_time_s", UP),
    ("megatron-sc21-1.7b", ["cluster.device.profile=old", "workload.batch={global: 32, micro: 1}"],
     "cluster.device.profile=many-operators", "iteration_time_s", UP),
    ("nccl-tests-dgx-h100-16", ["cluster=l40s-server", "cluster.device.profile=near", "workload.algorithm=ring",
                                "workload.protocol=ll"],
     "cluster.device.profile=far", "time_s", UP),
]

PROFILES = {
    "old": "base: a100-80gb-sxm\nconstants: {eager-operator: 10 us}",
    "slow-operators": "base: a100-80gb-sxm\nconstants: {eager-operator: 1 ms}",
    "many-operators": "base: a100-80gb-sxm\nconstants: {eager-operators: 90}",
    "near": "base: l40s\nnccl: [{algorithm: ring, protocol: simple, host-step: 1 us}, "
            "{algorithm: ring, protocol: ll, host-step: 2 us}]",
    "far": "base: l40s\nnccl: [{algorithm: ring, protocol: simple, host-step: 1 us}, "
           "{algorithm: ring, protocol: ll, host-step: 1 ms}]",
}


# scenario, settings, what the output or the refusal says
SAID = [
    ("nccl-tests-dgx-h100-16", ["workload.redop=max"], " max "),
    ("sharp-dgx-h100-4", ["cluster.transport.in-network-reduction=false"], "a transport with in-network-reduction"),
]


def prepare():
    folder = os.path.join(library.name, "profiles")
    os.makedirs(folder)
    for name, text in PROFILES.items():
        with open(os.path.join(folder, name + ".yaml"), "w", encoding="utf-8") as file:
            file.write(f"schema: profile/1\nname: {name}\n{text}\n")
    talk = [{"conversations": [{"value": "question " * 40}, {"value": "answer " * 40}]} for _ in range(20)]
    with open(os.path.join(library.name, "chats.json"), "w", encoding="utf-8") as file:
        json.dump(talk, file)


def run(scenario, settings, *options):
    args = [orrery, "run", scenario, "--db", "none", "--library", library.name, *options]
    return subprocess.run(args + [word for setting in settings for word in ("--set", setting)], capture_output=True, text=True)


@functools.cache
def answer_of(scenario, settings):
    done = run(scenario, settings, "--json")
    if done.returncode:
        return None, done.stderr
    value = json.loads(done.stdout)
    return value.get("result", value) if isinstance(value, dict) else value, ""


def number_of(scenario, settings, path):
    value, said = answer_of(scenario, tuple(settings))
    if value is None:
        return None, said
    found = find(value, path.split("."))
    return found, f"{path} is {found}"


def find(value, keys):
    """The first number below @value whose path ends with @keys."""
    if isinstance(value, (dict, list)):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        items = [(str(key), below) for key, below in items]
        for key, below in items:
            if key == keys[0]:
                return below if len(keys) == 1 else find(below, keys[1:])
        for _, below in items:
            found = find(below, keys)
            if found is not None:
                return found
    return None


def is_as_said(before, after, verdict):
    if IS_SMALL:
        return after is not None
    if before is None or after is None:
        return False
    return after > before if verdict == UP else after < before if verdict == DOWN else after != before


def main():
    prepare()
    failed = False
    for number, (scenario, settings, key, path, verdict) in enumerate(CASES, 1):
        before, first = (None, "not run") if IS_SMALL else number_of(scenario, settings, path)
        after, second = number_of(scenario, settings + [key], path)
        good = is_as_said(before, after, verdict)
        failed |= not good
        print(f"{'ok' if good else 'not ok'} {number} - {scenario}: {path} {verdict} with {key}")
        if not good:
            print(f"# without: {first[:600]}\n# with: {second[:600]}".replace("\n", "\n# "))
    for number, (scenario, settings, words) in enumerate(SAID, len(CASES) + 1):
        done = run(scenario, settings)
        good = words in done.stdout + done.stderr
        failed |= not good
        print(f"{'ok' if good else 'not ok'} {number} - {scenario}: {settings[0]} is said: {words}")
    print(f"1..{len(CASES) + len(SAID)}")
    return 1 if failed else 0


sys.exit(main())
