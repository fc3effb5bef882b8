#!/usr/bin/env python3
"""orrery calibrate of a HIP build, over the fake machine (fake_gpu/fake_gpu.h): the code that measures GPUs, in HIP's
names. What these tests cannot see: AMD's own headers, compiler, libraries and GPUs.

Usage: test_fake_hip.py PROGRAM FOLDER    PROGRAM: orrery-fake-hip; FOLDER: has the libraries that it opens
"""
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile

PROGRAM, LIBRARIES = (os.path.abspath(argument) for argument in sys.argv[1:3])
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FAMILIES = ("collective", "device-copy", "gemm", "interference", "launch", "memory", "moe-ffn")
results = []


def check(name, function):
    with tempfile.TemporaryDirectory() as folder:
        try:
            said = function(folder)
            results.append("ok")
            print(f"ok {len(results)} - {name}" + (f" # SKIP {said}" if said else ""))
        except AssertionError as error:
            results.append("not ok")
            print(f"not ok {len(results)} - {name}")
            for line in str(error).splitlines():
                print(f"# {line}")
    sys.stdout.flush()


def run(folder, args, code=0, **more):
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("SLURM_", "ORRERY_FAKE_"))}
    environment["LD_LIBRARY_PATH"] = LIBRARIES
    environment.update({key: str(value) for key, value in more.items()})
    process = subprocess.run([PROGRAM] + args, cwd=folder, env=environment, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True, timeout=300, check=False)
    assert process.returncode == code, f"{' '.join(args)}: {process.returncode}, not {code}\n{process.stdout}"
    return process.stdout


def query(folder, sql):
    with sqlite3.connect(os.path.join(folder, "rows.db")) as database:
        return database.execute(sql).fetchall()


def test_families(folder):
    """Every family but attention has rows, and every result is right; fp8 only where the numbers are OCP's."""
    for families, gpus, memory in (("collective,interference", 2, 400), ("launch,memory,device-copy,gemm", 1, 240),
                                   ("moe-ffn", 1, 600)):
        for name in families.split(","):
            run(folder, ["calibrate", "--db", "rows.db", "--families", name, "--budget", "5s"],
                ORRERY_FAKE_GPUS=gpus, ORRERY_FAKE_MEMORY=memory, ORRERY_FAKE_CAPABILITY=942)
    rows = query(folder, "select family, count(*), sum(verified = 'no') from kernel_sample group by 1")
    assert tuple(family for family, _, _ in rows) == FAMILIES and min(n for _, n, _ in rows) >= 3, rows
    assert not any(wrong for _, _, wrong in rows), rows
    formats = {row[0] for row in query(folder, """select distinct substr(shape, 7, 4) from kernel_sample
                                                  where family = 'gemm'""")}
    assert formats and formats <= {"fp32", "tf32", "fp16", "bf16"}, formats
    versions = query(folder, "select distinct runtime, blas, dnn, ccl, architecture from kernel_session")
    assert versions == [("6.3", "0.10.0", "", "2.21.5", 0x942)], versions


def test_attention_is_refused(folder):
    out = run(folder, ["calibrate", "--db", "rows.db", "--families", "attention-decode", "--budget", "1s"])
    assert "built without cuDNN" in out, out


def test_narrow(folder):
    """gfx950 has OCP's 8-bit floats: products of fp8 are right, and say nothing about how they accumulate."""
    run(folder, ["calibrate", "--db", "rows.db", "--families", "gemm", "--budget", "4s"], ORRERY_FAKE_MEMORY=120,
        ORRERY_FAKE_CAPABILITY=950)
    rows = query(folder, "select verified, setting from kernel_sample where shape like 'dtype=fp8 %'")
    assert rows and {verified for verified, _ in rows} == {"yes"}, rows
    assert not any("accum" in setting for _, setting in rows), rows


def test_doctor(folder):
    out = run(folder, ["calibrate", "doctor"], ORRERY_FAKE_GPUS=2)
    assert re.search(r"ok +driver +.*for HIP 6\.3; this program uses HIP 6\.3", out), out
    assert "hipBLASLt    0.10.0" in out and "rocm-smi" in out and "NVLink" not in out, out
    out = run(folder, ["calibrate", "doctor"], code=1, ORRERY_FAKE_FAULTS="no_driver=1")
    assert "there is no AMD GPU that can be used here" in out, out


def test_kernels(folder):
    """clang checks kernel.cu as HIP, host and device."""
    if not shutil.which("clang++"):
        return "there is no clang++"
    for side in ("--cuda-host-only", "--cuda-device-only"):
        process = subprocess.run(
            ["clang++", "-x", "hip", side, "--offload-arch=gfx90a", "-nogpuinc", "-nogpulib", "-fsyntax-only",
             "-std=c++17", "-Wall", "-Wextra", "-Werror", "-DORR_HIP", "-I", ROOT, "-isystem",
             os.path.join(ROOT, "calibration/measure/hip"), "-isystem",
             os.path.join(ROOT, "tests/calibration/fake_gpu/hip_stub"),
             os.path.join(ROOT, "calibration/measure/cuda/kernel.cu")],
            cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        assert process.returncode == 0, process.stdout
    return None


check("all families but attention are measured, and their results are right", test_families)
check("attention is refused", test_attention_is_refused)
check("8-bit products of gfx950", test_narrow)
check("the doctor", test_doctor)
check("the kernels are HIP", test_kernels)
print(f"1..{len(results)}")
sys.exit(results.count("not ok") > 0)
