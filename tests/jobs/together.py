#!/usr/bin/env python3
"""together.py ORRERY: rules of scheduling, speed by place and failures, each with the others, over drawn jobs.

What holds of all: every job ends after its submission, and starts after the job that it waits for has ended; the jobs
stopped at a limit are those whose work exceeds it; no node has more than its GPUs in use; no gang changes nodes at no
cost, unless it is elastic; spans of jobs add up to the GPU-hours in use; GPU-hours add up to the cluster's. Ends with
status 1 where something does not.
"""
import os
import random
import sqlite3
import subprocess
import sys
import tempfile

NODES, GPUS = 8, 8
SCENARIO = """schema: scenario/1
name: together
question: Do the parts agree?
cluster:
  {base: dgx-h100-superpod, nodes: 8, max-nodes: 8, fabric: {kind: fat-tree, levels: 2, radix: 48, oversubscription: 2}}
workload: {kind: cluster, jobs: jobs.csv%s}
"""
QUEUES = "queues: [{name: a, quota: 40, reclaim: over-quota}, {name: b, quota: 24, reclaim: over-quota}]"
COSTS = "restart: 5 min, checkpoint: 20 min"
TABLE = "speed: {kind: table, leaf: 1.1, pod: 1.3}"
FAILURES = ("failures: {set: {processes: [{component: node, rate-per-hour: 0.02, scope: node, symptom: crash}, "
            "{component: job, rate-per-hour: 0.1, scope: job, symptom: crash, infant-multiple: 5, infant-for: 5 min}]}, "
            "repair: 3 h%s}")
BOTH = TABLE + ", " + FAILURES % ""
CASES = {  # what is on top of FIFO, and whether it preempts or fails
    "given": "policy: {}",
    "nearest, by a table": TABLE + ", policy: {placement: nearest}",
    "queues and victims": "policy: {%s, blocked: skip, preemption: {%s}}" % (QUEUES, COSTS),
    "queues, victims, speed and failures": BOTH + ", policy: {%s, blocked: skip, preemption: {%s}}" % (QUEUES, COSTS),
    "victims that are cancelled": BOTH + ", policy: {%s, preemption: {mode: cancel, %s}}" % (QUEUES, COSTS),
    "shares, and nodes replaced": FAILURES % ", on-failure: replace-node"
                                  + ", policy: {%s, between: fair-share, preemption: {%s}}" % (QUEUES, COSTS),
    "lower priority": BOTH + ", policy: {order: priority, preemption: {take: lower-priority, %s}}" % COSTS,
    "consolidation": BOTH + ", policy: {order: priority, placement: worst-fit, blocked: skip, "
                     "preemption: {take: lower-priority, consolidate: 8, %s}}" % COSTS,
    "consolidation between queues": "policy: {%s, placement: worst-fit, blocked: skip, preemption: {consolidate: 8, %s}}"
                                    % (QUEUES, COSTS),
    "fair sharing": BOTH + ", policy: {%s, blocked: skip, preemption: {%s}}"
                    % (QUEUES.replace("over-quota", "fair-sharing"), COSTS),
    "window": BOTH + ", policy: {backfill: window, preemption: {%s}}" % COSTS,
    "easy": BOTH + ", policy: {backfill: easy, placement: nearest, preemption: {%s}}" % COSTS,
    "srtf": BOTH + ", policy: {order: srtf, blocked: skip, preemption: {%s}}" % COSTS,
    "tiresias": BOTH + ", policy: {order: tiresias, blocked: skip, preemption: {%s}}" % COSTS,
    "las on slow places": "speed: {kind: table, leaf: 2.5, pod: 3.7}, policy: {order: las, blocked: skip, preemption: {%s}}" % COSTS,
    "fair share": BOTH + ", policy: {order: fair-share, preemption: {%s}}" % COSTS,
    "passes every minute": BOTH + ", policy: {period: 1 min, preemption: {%s}}" % COSTS,
    "suspended, by a table": TABLE + ", policy: {%s, preemption: {mode: suspend}}" % QUEUES,
    "conservative and nearest": "policy: {backfill: conservative, placement: nearest}",
    "checkpoints that take time": (TABLE + ", " + FAILURES % ", detection: 2 min"
                                   + ", policy: {blocked: skip, preemption: {%s, checkpoint-cost: 1 min}}" % COSTS),
    "elastic, with checkpoints": (BOTH + ", policy: {elastic: equal, preemption: {%s, checkpoint-cost: 1 min}}" % COSTS),
    "conservative, speed and failures": BOTH + ", policy: {backfill: conservative, preemption: {%s}}" % COSTS,
    "conservative on equal places": "speed: table, policy: {backfill: conservative}",
    "elastic, speed and failures": BOTH + ", policy: {elastic: equal, preemption: {%s}}" % COSTS,
    "elastic by gain, failures": FAILURES % ", on-failure: replace-node"
                                 + ", policy: {elastic: fastest, scaling: 0.8, preemption: {%s}}" % COSTS,
    "victims that shrink": BOTH + ", policy: {%s, blocked: skip, preemption: {mode: shrink, %s}}" % (QUEUES, COSTS),
    "failures that shrink": (TABLE + ", " + FAILURES % ", on-failure: shrink"
                             + ", policy: {blocked: skip, preemption: {%s}}" % COSTS),
    "suspended, and failures": BOTH + ", policy: {%s, preemption: {mode: suspend, %s}}" % (QUEUES, COSTS),
    "easy over queues": BOTH + ", policy: {queues: [{name: a, quota: 40}, {name: b, quota: 24}], backfill: easy, "
                        "preemption: {%s}}" % COSTS,
    "srtf over queues": BOTH + ", policy: {queues: [{name: a, quota: 40}, {name: b, quota: 24}], order: srtf, "
                        "blocked: skip, preemption: {%s}}" % COSTS,
    "kinds and failures": ("kinds: [{name: old, nodes: 5}, {name: new, nodes: 3, speed: 2}], " + BOTH
                           + ", policy: {kind-choice: fastest, blocked: skip, preemption: {%s}}" % COSTS),
    "kinds of other nodes and failures": ("kinds: [{name: old, nodes: 8, gpus: 4}, {name: new, nodes: 4, speed: 2}], "
                                          + FAILURES % ", on-failure: replace-node"
                                          + ", policy: {blocked: skip, preemption: {%s}}" % COSTS),
    "kinds": "kinds: [{name: old, nodes: 5}, {name: new, nodes: 3, speed: 2}], policy: {kind-choice: fastest, blocked: skip}",
    "kinds of other nodes": "kinds: [{name: old, nodes: 8, gpus: 4}, {name: new, nodes: 4, speed: 2}], policy: {blocked: skip}",
    "elastic": "policy: {elastic: equal, preemption: {restart: 1 min}}",
    "rounds, finish-time-fair": "kinds: [{name: old, nodes: 5}, {name: new, nodes: 3, speed: 2}], "
                                "policy: {rounds: {length: 6 min, allotment: finish-time-fair, start: 1 min}}",
    "rounds, allox": "kinds: [{name: old, nodes: 5}, {name: new, nodes: 3, speed: 2}], "
                     "policy: {rounds: {length: 6 min, allotment: allox}}",
    "limits": "policy: {blocked: skip}",
    "limits and failures": BOTH + ", policy: {%s, blocked: skip, preemption: {%s}}" % (QUEUES, COSTS),
    "limits, kinds": "kinds: [{name: old, nodes: 5}, {name: new, nodes: 3, speed: 2}], policy: {kind-choice: fastest}",
    "limits, rounds": "policy: {rounds: {length: 6 min}}",
    "rounds": "kinds: [{name: old, nodes: 5}, {name: new, nodes: 3, speed: 2}], policy: {rounds: {length: 6 min, allotment: max-min}}",
}


def write_jobs(path, has_limits):
    """The job that each waits for, and how many have less time than work."""
    draw, draw_limit, waits, cut = random.Random(7), random.Random(8), {}, 0
    with open(path, "w", encoding="utf-8") as file:
        file.write("job_id,submit_s,duration_s,gpus,user,queue,priority,min_gpus,max_gpus,after,limit_s\n")
        submit = 0
        for job in range(150):
            submit += int(draw.expovariate(1 / 900))
            gpus = draw.choice([1, 1, 2, 4, 8, 8, 16, 24])
            after = draw.randrange(job) if job and draw.random() < 0.1 else ""
            duration = int(draw.expovariate(1 / 7000)) + 1
            limit = max(1, int(duration * draw_limit.uniform(0.3, 1.7))) if has_limits and job % 2 else ""
            cut += limit != "" and limit < duration
            if after != "":
                waits[str(job)] = str(after)
            file.write(f"{job},{submit},{duration},{gpus},{draw.choice('xyz')},"
                       f"{draw.choice('ab')},{draw.randrange(3)},{(gpus + 1) // 2},{gpus * 2},{after},{limit}\n")
    return waits, cut


def overlap(spans):
    """The most GPUs in use at once on one node."""
    events, most = {}, 0
    for begin, end, first, last, gpus in spans:
        for node in range(first, last + 1):
            events.setdefault(node, []).extend([(begin, 1, gpus), (end, 0, -gpus)])
    for changes in events.values():
        used = 0
        for _, _, gpus in sorted(changes):
            used += gpus
            most = max(most, used)
    return most


def job_problems(db, waits, cut):
    times = {str(job): (start, end) for job, start, end in db.execute("SELECT job, start_s, end_s FROM cluster_job")}
    for job, on in waits.items():
        if job in times and on in times and times[job][0] < times[on][1]:
            yield f"job {job} starts at {times[job][0]}, before job {on} ends at {times[on][1]}"
    stopped = db.execute("SELECT n_timed_out FROM cluster_result").fetchone()[0]
    if stopped != cut:
        yield f"{stopped} jobs are stopped at a limit, {cut} have less time than work"


def problems(db, has_nodes, is_elastic):
    jobs, makespan, used, useful = db.execute("SELECT n_jobs, makespan_s, gpu_hours, useful FROM cluster_result").fetchone()
    hours = dict(db.execute("SELECT what, gpu_hours FROM cluster_hours"))
    all_hours = NODES * GPUS * makespan / 3600
    if db.execute("SELECT count(*) FROM cluster_job WHERE end_s > submit_s AND start_s >= submit_s").fetchone()[0] != jobs:
        yield "a job does not end after its submission"
    if abs(sum(hours.values()) - all_hours) > 1e-6 * all_hours:
        yield f"GPU-hours add up to {sum(hours.values())} of {all_hours}"
    yield from (f"{what}: {value} GPU-hours" for what, value in hours.items() if value < -1e-6)
    if abs(hours["useful"] / all_hours - useful) > 1e-9:
        yield f"useful: {hours['useful'] / all_hours} by hours, {useful} in the result"
    if not has_nodes:
        return
    spans = db.execute("SELECT begin_s, end_s, first_node, last_node, node_gpus FROM cluster_span").fetchall()
    held = sum((last - first + 1) * gpus * (end - begin) for begin, end, first, last, gpus in spans) / 3600
    if abs(held - used) > 1e-6 * used:
        yield f"spans add up to {held} of {used} GPU-hours"
    moved = db.execute("SELECT count(*) FROM cluster_span WHERE why = 'moved'").fetchone()[0]
    if moved and not is_elastic:
        yield f"{moved} times a gang changes its nodes at no cost"
    if overlap(spans) > GPUS:
        yield f"{overlap(spans)} GPUs in use on a node"


def main():
    orrery, ok = os.path.abspath(sys.argv[1]), True
    for name, more in CASES.items():
        with tempfile.TemporaryDirectory() as work:
            waits, cut = write_jobs(os.path.join(work, "jobs.csv"), "limits" in name)
            with open(os.path.join(work, "s.yaml"), "w", encoding="utf-8") as file:
                file.write(SCENARIO % (", " + more))
            done = subprocess.run([orrery, "run", "s.yaml", "--db", "r.db"], cwd=work, text=True, check=False,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)
            found = [done.stdout[-400:]]
            if done.returncode == 0:
                with sqlite3.connect(os.path.join(work, "r.db")) as db:
                    found = [*problems(db, "rounds" not in more, "elastic" in more), *job_problems(db, waits, cut)]
                    counts = db.execute("SELECT preemptions, failures FROM cluster_result").fetchone()
                    print(f"{name}: {counts[0]} preemptions, {counts[1]} failures")
            print("".join(f"  {text}\n" for text in found), end="")
            ok &= not found
    sys.exit(not ok)


main()
