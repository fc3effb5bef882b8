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
import time

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
IS_SMALL = os.environ.get("ORRERY_TEST_SIZE") == "small"  # as `make sanitize` sets it: less of what takes long


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


def ranks(folder, n, families, budget, faults=None, **more):
    """One process for each rank, as srun starts them; returns what each printed and its exit status."""
    processes = []
    for rank in range(n):
        slurm = {"SLURM_PROCID": rank, "SLURM_LOCALID": rank, "SLURM_NTASKS": n, "SLURM_STEP_NUM_TASKS": n,
                 "ORRERY_FAKE_GPUS": n, "ORRERY_RENDEZVOUS": folder}
        if faults:
            slurm["ORRERY_FAKE_FAULTS"] = faults
        slurm.update(more)
        processes.append(start(folder, ["calibrate", "--db", "rows.db", "--families", families, "--budget", budget],
                               **slurm))
    return processes


def outcomes(processes, limit=60):
    found = []
    for process in processes:
        try:
            out = process.communicate(timeout=limit)[0]
        except subprocess.TimeoutExpired:
            process.kill()
            out = process.communicate()[0] + "(killed by the test)"
        found.append((process.returncode, out))
    return found


def measure_all(folder, **more):
    """A little of every family: attention on a small device, where its shapes are small as well."""
    calibrate(folder, "attention-decode,attention-mixed,attention-prefill", "7s", ORRERY_FAKE_MEMORY=48, **more)
    calibrate(folder, "device-copy", "5s", ORRERY_FAKE_GPUS=2, **more)
    calibrate(folder, "interference", "1000s", ORRERY_FAKE_GPUS=2, ORRERY_FAKE_MEMORY=900, **more)
    budget, gpus = ("5s", 2) if IS_SMALL else ("16s", 4)
    calibrate(folder, "collective", budget, ORRERY_FAKE_GPUS=gpus, **more)
    calibrate(folder, "launch,memory", "9s", ORRERY_FAKE_MEMORY=240, **more)
    calibrate(folder, "moe-ffn", "3s", ORRERY_FAKE_MEMORY=240, **more)
    calibrate(folder, "gemm", "16s", ORRERY_FAKE_MEMORY=240, **more)


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
    all_products_are_exported(folder)
    bursts_and_sustained(folder)


def rows_are_the_devices(folder):
    """2 us and a gap of 0.8, and the longer of FLOPs and bytes, at the device's own efficiencies."""
    for family, peak, rate in (("attention-prefill", 0.6 * 1070.5e6, 0.9 * 3.352e6), ("memory", 1e30, 0.9 * 3.352e6),
                               ("gemm' and shape like 'dtype=bf16%", 0.75 * 1070.5e6, 0.9 * 3.352e6)):
        ratios = sorted(us / (2.8 + max(flops / peak, size / rate)) for us, flops, size in
                        query(folder, f"select median_us, flops, bytes from kernel_sample where family = '{family}'"))
        near(ratios[len(ratios) // 2], 1, 0.05, f"{family}: median of measured over expected, us")


def fit_gives_back(folder):
    with open(os.path.join(folder, "fake-gpu.yaml"), "w", encoding="utf-8") as file:
        file.write(DEVICE)
    report = run(folder, ["calibrate", "report", "--db", "rows.db"])
    assert " rows of 7 sessions" in report, report
    profile = run(folder, ["calibrate", "fit", "rows.db", "--device", "./fake-gpu.yaml", "--name", "mine"])
    near(constant(profile, "gemm-efficiency"), 70, 0.1, "gemm-efficiency, %, of 75 for endless products")
    for key, factor in (("overlap-slowdown", 1.25), ("overlap-slowdown-by-copy", 1.06), ("collective-slowdown", 1.5),
                        ("collective-slowdown-by-copy", 1.15), ("copy-slowdown", 1.1),
                        ("copy-slowdown-by-collective", 1.3)):
        near(constant(profile, key), factor, 0.04, key)  # of 16 MiB a part is launch, which nothing slows
    # 8 of 32 blocks: 1 + 0.25 / 4 for products; 8 of the 12 that reach the link's rate: 1.5 alone
    limited = re.search(r"held to 8 thread blocks products take ([0-9.]+) times as long, all-reduces ([0-9.]+) times "
                        r"beside products and ([0-9.]+) times alone", re.sub(r"\s+", " ", profile))
    assert limited, profile[:4000]
    for found, wanted, what in zip(limited.groups(), (1.0625, 1.5, 1.5), ("products", "all-reduces", "alone")):
        near(float(found), wanted, 0.03, f"8 thread blocks: {what}")


def all_products_are_exported(folder):
    """Gradients and batches, too: each row of a format that has a word there is a line of gemm.csv, and the profile has
    a table of each layout."""
    run(folder, ["calibrate", "export", "out", "--db", "rows.db"])
    with open(os.path.join(folder, "out", "gemm.csv"), encoding="utf-8") as file:
        lines = [line.split(",") for line in file.read().splitlines()[2:]]
    found = sorted((line[0], line[4], line[5], line[1], line[2], line[3]) for line in lines)
    rows = [dict(word.split("=") for word in shape.split()) for shape, in
            query(folder, "select shape from kernel_sample where family = 'gemm' and verified = 'yes'")]
    assert found == sorted(tuple(row[key] for key in ("dtype", "layout", "batch", "m", "n", "k")) for row in rows), found
    assert {line[1] for line in found} == {"forward", "dgrad", "wgrad"} and {line[2] for line in found} > {"1"}, found
    profile = run(folder, ["calibrate", "fit", "rows.db", "--device", "./fake-gpu.yaml", "--name", "mine"])
    for key in ("layout: dgrad", "layout: wgrad", "batch: "):
        assert key in profile, (key, profile[:2000])


def test_crowded(folder):
    """With another GPU, that one is busy while the first settles, which leaves 670 W of 700: the clock is sqrt(570 /
    600) = 0.975 of a lone GPU's. The burst is the same."""
    states = []
    for gpus in (1, 2):
        calibrate(folder, "gemm", "1s", ORRERY_FAKE_MEMORY=240, ORRERY_FAKE_GPUS=gpus)
        states += query(folder, """select sm_clock_hz, sustained_sm_clock_hz, watts from kernel_sample
                                   where watts is not null and sustained_gpus = %d""" % gpus)
    (burst, alone, watts), (crowded_burst, crowded, fewer) = states
    near(crowded_burst / burst, 1, 0.001, "clocks of the bursts")
    near(crowded / alone, 0.975, 0.005, "clock with both GPUs busy over a lone GPU's")
    near(fewer / watts, 670 / 700, 0.01, "watts, likewise")


def test_killed(folder):
    """A session that is killed has stored all but its last rows, and the next one measures none of them again."""
    process = start(folder, ["calibrate", "--db", "rows.db", "--families", "device-copy,memory", "--budget", "1h"],
                    ORRERY_FAKE_FAULTS="no_nvml=1", ORRERY_FAKE_MEMORY=240)
    stored = 0
    for _ in range(600):
        time.sleep(0.1)
        try:
            stored = query(folder, "select count(*) from kernel_sample")[0][0]
        except sqlite3.OperationalError:
            pass
        if stored >= 64 or process.poll() is not None:
            break
    process.kill()
    process.communicate()
    assert stored >= 64, stored
    out = calibrate(folder, "device-copy,memory", "1s", ORRERY_FAKE_FAULTS="no_nvml=1", ORRERY_FAKE_MEMORY=240)
    known = int(re.search(r"(\d+) rows known before", out).group(1))
    assert known >= stored, (known, stored)
    twice = query(folder, "select shape from kernel_sample group by family, shape having count(*) > 1")
    assert not twice, twice


def bursts_and_sustained(folder):
    """Products draw 850 W at the full clock of a board of 700 W: the burst is at the full clock. 1.5 s later the clock
    is sqrt(600 / 750) = 0.894 of it, and both are in the row. Rows of a long burst, at that clock, are brought back by
    the fit."""
    burst, sustained, clock, settled, watts, throttle, settled_throttle, gpus = query(folder, """
        select median_us, sustained_us, sm_clock_hz, sustained_sm_clock_hz, watts, throttle, sustained_throttle,
               sustained_gpus from kernel_sample
        where family = 'gemm' and watts is not null order by watts desc limit 1""")[0]
    near(clock, 1.98e9, 0.01, "clock of the burst")
    near(settled, 0.894 * 1.98e9, 0.01, "clock after 1.5 s")
    near(watts, 700, 0.01, "watts")
    near(sustained / burst, 1 / 0.894, 0.03, "sustained over burst")
    assert throttle & 4 == 0 and settled_throttle & 4 and gpus == 1, (throttle, settled_throttle, gpus)
    slowest = query(folder, "select min(sm_clock_hz) from kernel_sample where family = 'gemm'")[0][0]
    near(slowest, 1.98e9, 0.01, "the slowest clock of a burst")
    fit = ["calibrate", "fit", "rows.db", "--device", "./fake-gpu.yaml", "--name", "mine"]
    efficiency = constant(run(folder, fit), "gemm-efficiency")
    query(folder, """update kernel_sample set median_us = median_us / 0.894, sm_clock_hz = 0.894 * 1.98e9, watts = 700,
                     harness = 1 where family = 'gemm' and flops / bytes * 3.352 > case substr(shape, 7, 4)
                     when 'fp32' then 66.9 when 'tf32' then 535.3 when 'fp8 ' then 2141 else 1070.5 end""")
    near(constant(run(folder, fit), "gemm-efficiency"), efficiency, 0.01, "gemm-efficiency of throttled rows")


def test_ranks(folder):
    """Processes on loopback, one for each rank: collectives of all four and of two are right."""
    for code, out in outcomes(ranks(folder, 4, "collective", "48s", "no_nvml=1")):
        assert code == 0, out
    rows = query(folder, "select shape, verified, method from kernel_sample")
    sizes = {re.search(r"ranks=(\d+)", shape).group(1) for shape, _, _ in rows}
    assert sizes == {"2", "4"}, sizes
    assert {(verified, method) for _, verified, method in rows} == {("yes", "graph")}, rows


def test_attempt_after_failure(folder):
    """A rank dies, and the others say so. The next attempt, in the same folder and without a job id, measures."""
    first = outcomes(ranks(folder, 2, "collective", "8s", "die=1,die_at=9"))
    assert first[0][0] == 1 and "did not end" in first[0][1], first
    with open(os.path.join(folder, "orrery-nccl-job-0-failed"), encoding="utf-8") as file:
        assert "rank 0" in file.read()
    for code, out in outcomes(ranks(folder, 2, "collective", "3s")):
        assert code == 0, out


def test_absent_rank(folder):
    """A rank is lost before it calls NCCL: the other one ends, with the reason."""
    processes = ranks(folder, 2, "collective", "8s", "absent=1")
    out = processes[0].communicate(timeout=60)[0]
    processes[1].kill()
    processes[1].communicate()
    assert processes[0].returncode == 1 and "ncclCommInitRank did not end in 120 s" in out, out


def test_processes_without_rendezvous(folder):
    """srun -n 8 without a folder to meet in: refused, since all would measure GPU 0. A batch script's shell is not."""
    slurm = {"SLURM_PROCID": 1, "SLURM_NTASKS": 8}
    out = calibrate(folder, "launch", "1s", code=1, SLURM_STEP_NUM_TASKS=8, **slurm)
    assert "ORRERY_RENDEZVOUS is not set" in out, out
    calibrate(folder, "launch", "1s", **slurm)


def test_failed_capture(folder):
    """Libraries that cannot be captured are measured on a stream, attention as well."""
    for families, memory in (("attention-decode,attention-prefill", 24), ("gemm", 240)):
        calibrate(folder, families, "2s", ORRERY_FAKE_FAULTS="capture=1,no_nvml=1", ORRERY_FAKE_MEMORY=memory)
    methods = dict(query(folder, "select family, group_concat(distinct method) from kernel_sample group by 1"))
    assert methods == {"attention-decode": "stream", "attention-prefill": "stream", "gemm": "stream"}, methods


def test_blackwell(folder):
    """sm_100 has mxfp8 and nvfp4: products and experts in both are right."""
    blackwell = {"ORRERY_FAKE_CAPABILITY": 100, "ORRERY_FAKE_FAULTS": "no_nvml=1", "ORRERY_FAKE_MEMORY": 120}
    calibrate(folder, "gemm", "3s", **blackwell)
    formats = query(folder, "select distinct substr(shape, 7, 5), verified from kernel_sample")
    assert {"mxfp8", "nvfp4"} <= {format for format, _ in formats}, formats
    assert {verified for _, verified in formats} == {"yes"}, formats


def test_slow_posting(folder):
    """The host posts slowly after the hold was chosen: the hold grows. If no hold is long enough the row is stored as
    unheld, measured again by the next session, and neither exported nor fitted."""
    calibrate(folder, "collective", "6s", ORRERY_FAKE_GPUS=2, ORRERY_FAKE_FAULTS="slow_post=60,slow_us=100")
    rows = query(folder, "select method, median_us, shape from kernel_sample order by rowid")
    assert rows and {method for method, _, _ in rows} == {"stream"}, rows
    calibrate(folder, "collective", "12s", ORRERY_FAKE_GPUS=2, ORRERY_FAKE_FAULTS="slow_post=1,slow_us=20000")
    unheld = query(folder, "select count(*) from kernel_sample where method = 'unheld'")[0][0]
    assert unheld > 0, query(folder, "select method, median_us from kernel_sample")
    out = run(folder, ["calibrate", "export", "out", "--db", "rows.db"])
    with open(os.path.join(folder, "out", "collectives.csv"), encoding="utf-8") as file:
        n_lines = len(file.read().splitlines())
    assert n_lines == 2 + len(rows), (n_lines, len(rows), out)


def test_faults(folder):
    """What fails ends the session or passes one shape over, with the reason, and the next session goes on."""
    out = calibrate(folder, "memory", "6s", ORRERY_FAKE_FAULTS="oom=20", ORRERY_FAKE_MEMORY=240)
    assert "do not fit into the device's memory" in out, out
    out = calibrate(folder, "memory", "6s", code=1, ORRERY_FAKE_FAULTS="launch=3000", ORRERY_FAKE_MEMORY=240)
    assert "unspecified launch failure" in out, out
    before = query(folder, "select count(*) from kernel_sample")[0][0]
    out = calibrate(folder, "memory", "5s", ORRERY_FAKE_MEMORY=240)
    assert f"{before} rows known before" in out, (before, out)
    out = calibrate(folder, "collective", "3s", code=1, ORRERY_FAKE_GPUS=2, ORRERY_FAKE_FAULTS="hang=30")
    assert "did not end in 120 s" in out, out
    failures = [row[0] for row in query(folder, "select failure from kernel_session where failure <> ''")]
    assert len(failures) == 2, failures
    calibrate(folder, "gemm", "2s", code=1, ORRERY_FAKE_FAULTS="wrong=1", ORRERY_FAKE_MEMORY=240)
    wrong = query(folder, "select count(*), sum(verified = 'no') from kernel_sample where family = 'gemm'")[0]
    assert wrong[0] == wrong[1] > 0, wrong


def median(folder, shape):
    return query(folder, f"select median_us from kernel_sample where shape = '{shape}' order by rowid desc")[0][0]


def test_slow_machines(folder):
    """A hot board, noise, and a link at half its rate show in the rows."""
    calibrate(folder, "gemm", "3s", ORRERY_FAKE_FAULTS="throttle=0.6", ORRERY_FAKE_MEMORY=240)
    clock, throttle = query(folder, "select max(sm_clock_hz), min(throttle) from kernel_sample")[0]
    near(clock, 0.6 * 1.98e9, 0.01, "clock of a hot board")
    assert throttle & 0x40, throttle
    calibrate(folder, "memory", "3s", ORRERY_FAKE_FAULTS="noise=0.05,clock_noise=0.02", ORRERY_FAKE_MEMORY=240)
    spread = query(folder, "select max(spread) from kernel_sample where family = 'memory'")[0][0]
    assert 0.01 < spread < 0.5, spread
    calibrate(folder, "collective", "3s", ORRERY_FAKE_GPUS=2)
    largest = "op=all-reduce dtype=fp16 ranks=2 bytes=524288"
    whole = median(folder, largest)
    os.remove(os.path.join(folder, "rows.db"))
    calibrate(folder, "collective", "3s", ORRERY_FAKE_GPUS=2, ORRERY_FAKE_FAULTS="link=0.5")
    near(median(folder, largest) - whole, 524288 / 300e9 * 1e6, 0.05, "half the link's rate, us more for 512 KiB")


DOCTOR = (
    ("mig=1", "problem", "MIG"),
    ("other_processes=2", "problem", "processes"),
    ("old_clock=1", "problem", "clocks"),
    ("throttle=0.6", "problem", "throttling"),
    ("hot=1", "problem", "heat"),
    ("no_nvlink=1", "problem", "NVLink"),
    ("no_nvml=1", "problem", "NVML"),
    ("old_driver=1", "problem", "driver"),
    ("ecc_off=1", "note", "ECC"),
    ("persistence_off=1", "note", "persistence"),
    ("low_cap=1", "note", "power limit"),
)


def doctor(folder, code, faults="", **more):
    return run(folder, ["calibrate", "doctor"], code, ORRERY_FAKE_FAULTS=faults, ORRERY_FAKE_GPUS=2, **more)


def test_doctor(folder):
    """A sound node has no problem; each fault is one finding, and problems are the exit status."""
    sound = doctor(folder, 0)
    assert "0 problems, 0 notes, 0 unknown" in sound, sound
    assert sound.startswith("Fake GPU, 2 GPUs"), sound
    for fault, word, topic in DOCTOR:
        out = doctor(folder, word == "problem", fault)
        found = [line for line in out.splitlines()[1:-1] if line.split()[0] in ("problem", "note")]
        assert len(found) == 1 and found[0].split(maxsplit=1)[1].startswith(topic), (fault, out)
        assert found[0].split()[0] == word, (fault, out)
    out = doctor(folder, 1, CUDA_LAUNCH_BLOCKING=1, NCCL_PROTO="LL")
    assert "CUDA_LAUNCH_BLOCKING=1: each launch waits" in out and "NCCL_PROTO=LL" in out, out
    out = doctor(folder, 1, "no_driver=1")
    assert "there is no NVIDIA GPU that can be used here: no NVIDIA driver is loaded" in out, out
    assert not os.path.exists(os.path.join(folder, "calibration.db"))


if sys.argv[1] == "--skip":
    print(f"1..0 # SKIP {sys.argv[2]}")
    sys.exit(0)
PROGRAM, LIBRARIES = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
check("all families are measured, and the profile gives back the device's constants", test_all_families)
check("all GPUs are busy while one settles", test_crowded)
check("a session that is killed", test_killed)
if not IS_SMALL:
    check("ranks as processes", test_ranks)
check("an attempt after one that failed", test_attempt_after_failure)
check("a rank that never calls NCCL", test_absent_rank)
check("several processes without a rendezvous are refused", test_processes_without_rendezvous)
check("captures that fail", test_failed_capture)
check("formats of Blackwell", test_blackwell)
check("a host that posts slowly", test_slow_posting)
check("memory, launches and collectives that fail, and wrong results", test_faults)
if not IS_SMALL:
    check("hot boards, noise, slow links", test_slow_machines)
check("the doctor names each fault", test_doctor)
print(f"1..{len(results)}")
sys.exit(results.count("not ok") > 0)
