#!/usr/bin/env python3
"""orrery calibrate from end to end on a machine with fake GPUs (fake_gpu/fake_gpu.h): the code that measures GPUs runs
unchanged, over simulated devices whose constants the fitted profile must give back.

Usage: test_fake_gpu.py PROGRAM FOLDER    PROGRAM: orrery-fake-gpu; FOLDER: has the libraries that it opens
       test_fake_gpu.py --skip REASON     prints why nothing is tested
"""
import os
import re
import sqlite3
import subprocess
import sys
import tempfile

DEVICE = """schema: device/1
name: fake-gpu
base: h100-sxm
sms: 132
memory-bandwidth: 3.352 TB/s
bf16: 1070.5 TFLOP/s
fp16: 1070.5 TFLOP/s
fp8: 2141 TFLOP/s
tf32: 535.3 TFLOP/s
fp32: 66.9 TFLOP/s
"""

results = []


def check(name, function):
    with tempfile.TemporaryDirectory() as folder:
        try:
            function(folder)
            results.append("ok")
            print(f"ok {len(results)} - {name}")
        except AssertionError as error:
            results.append("not ok")
            print(f"not ok {len(results)} - {name}")
            for line in str(error).splitlines():
                print(f"# {line}")
    sys.stdout.flush()


def environment(**more):
    found = {key: value for key, value in os.environ.items() if not key.startswith(("SLURM_", "ORRERY_FAKE_"))}
    found["LD_LIBRARY_PATH"] = LIBRARIES
    found.update({key: str(value) for key, value in more.items()})
    return found


def start(folder, args, **more):
    return subprocess.Popen([PROGRAM] + args, cwd=folder, env=environment(**more), stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True)


def run(folder, args, code=0, **more):
    process = start(folder, args, **more)
    out = process.communicate(timeout=300)[0]
    assert process.returncode == code, f"{' '.join(args)}: {process.returncode}, not {code}\n{out}"
    return out


def calibrate(folder, families, budget, code=0, **more):
    return run(folder, ["calibrate", "--db", "rows.db", "--families", families, "--budget", budget], code, **more)


def query(folder, sql):
    with sqlite3.connect(os.path.join(folder, "rows.db")) as database:
        return database.execute(sql).fetchall()


def near(found, wanted, fraction, what):
    assert abs(found / wanted - 1) <= fraction, f"{what}: {found:g}, should be {wanted:g} within {100 * fraction:g} %"


def constant(text, key):
    found = re.search(rf"^  {key}: ([0-9.e+-]+)", text, re.M)
    assert found, f"the profile has no {key}\n{text[:2000]}"
    return float(found.group(1))


def measure_all(folder, **more):
    """A little of every family: attention on a small device, where its shapes are small as well."""
    calibrate(folder, "attention-decode,attention-mixed,attention-prefill", "9s", ORRERY_FAKE_MEMORY=48, **more)
    calibrate(folder, "collective,device-copy,interference", "20s", ORRERY_FAKE_GPUS=2, **more)
    calibrate(folder, "gemm,launch,memory,moe-ffn", "20s", ORRERY_FAKE_MEMORY=240, **more)


def test_all_families(folder):
    """Every family has rows, and every result is right."""
    measure_all(folder)
    families = dict(query(folder, "select family, count(*) from kernel_sample group by 1"))
    assert len(families) == 10 and min(families.values()) >= 5, families
    wrong = query(folder, "select family, shape, max_error from kernel_sample where verified = 'no'")
    assert not wrong, wrong
    checked = query(folder, "select count(*) from kernel_sample where verified = 'yes'")[0][0]
    assert checked > 100, checked
    unheld = query(folder, "select family, shape from kernel_sample where method = 'unheld'")
    assert not unheld, unheld
    rows_are_the_devices(folder)
    fit_gives_back(folder)


def rows_are_the_devices(folder):
    """2 us and a gap of 0.8, and the longer of FLOPs and bytes, at the device's own efficiencies."""
    for family, peak, rate in (("attention-prefill", 0.6 * 1070.5e6, 0.9 * 3.352e6), ("memory", 1e30, 0.9 * 3.352e6)):
        ratios = sorted(us / (2.8 + max(flops / peak, size / rate)) for us, flops, size in
                        query(folder, f"select median_us, flops, bytes from kernel_sample where family = '{family}'"))
        near(ratios[len(ratios) // 2], 1, 0.05, f"{family}: median of measured over expected, us")


def fit_gives_back(folder):
    with open(os.path.join(folder, "fake-gpu.yaml"), "w", encoding="utf-8") as file:
        file.write(DEVICE)
    report = run(folder, ["calibrate", "report", "--db", "rows.db"])
    assert " rows of 3 sessions" in report, report
    profile = run(folder, ["calibrate", "fit", "--raw", "rows.db", "--device", "./fake-gpu.yaml", "--name", "mine"])
    near(constant(profile, "kernel-overhead"), 2.8, 0.1, "kernel-overhead, us")
    near(constant(profile, "overlap-slowdown"), 1.25, 0.03, "overlap-slowdown")


if sys.argv[1] == "--skip":
    print(f"1..0 # SKIP {sys.argv[2]}")
    sys.exit(0)
PROGRAM, LIBRARIES = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
check("all families are measured, and the profile gives back the device's constants", test_all_families)
print(f"1..{len(results)}")
sys.exit(results.count("not ok") > 0)
