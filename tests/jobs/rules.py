#!/usr/bin/env python3
"""rules.py ORRERY: hand-worked cases of queues, preemption, placement, dependencies and limits.

A case is a policy, jobs as columns of the trace, and the start and end wanted of each job, with the words that say why.
The cluster has NODES nodes of 8 GPUs. Times are in seconds. Ends with status 1 where a job differs.
"""
import os
import sqlite3
import subprocess
import sys
import tempfile

SCENARIO = """schema: scenario/1
name: rules
question: When does each job start?
cluster: {{base: dgx-h100-superpod, nodes: {nodes}}}
workload: {{kind: cluster, jobs: {trace}, policy: {policy}{more}}}
"""
FIVE_THREE = "queues: [{name: a, quota: 5}, {name: b, quota: 3}]"
TWO_KINDS = ", kinds: [{name: old, nodes: 1}, {name: new, nodes: 1, speed: 2}]"
CASES = [
    # name, nodes, policy, columns, jobs, wanted starts, wanted ends (None: not checked)
    ("quota: a has 5 of 8 GPUs and may borrow 1; b's 3 stay idle", 1,
     "{queues: [{name: a, quota: 5, borrow: 1}, {name: b, quota: 3}], blocked: skip}",
     "queue,submit_s,duration_s,gpus", ["a,0,10,4", "a,0,10,2", "a,0,10,1"], [0, 0, 10], None),
    ("lend: b lends 2 of its 3", 1,
     "{queues: [{name: a, quota: 5}, {name: b, quota: 3, lend: 2}], blocked: skip}",
     "queue,submit_s,duration_s,gpus", ["a,0,10,8", "a,0,10,7", "a,0,10,1", "b,0,10,1"],
     [None, 0, 10, 0], None),
    ("a blocked job holds back its own queue only", 1,
     "{" + FIVE_THREE + "}",
     "queue,submit_s,duration_s,gpus", ["a,0,10,4", "a,1,10,5", "a,2,10,1", "b,3,10,3"], [0, 10, 13, 3], None),
    ("reclaim over quota: a borrows b's GPUs; the newest of a goes, and is back when b ends", 1,
     "{queues: [{name: a, quota: 5}, {name: b, quota: 3, reclaim: over-quota}]}",
     "queue,submit_s,duration_s,gpus", ["a,0,100,4", "a,1,100,4", "b,10,20,2"], [0, 1, 10], [100, 121, 30]),
    ("reclaim needs lower priority: b's first job waits for the second, which has it, and then borrows", 1,
     "{queues: [{name: a, quota: 5}, {name: b, quota: 3, reclaim: lower-priority}], order: priority, blocked: skip}",
     "queue,submit_s,duration_s,gpus,priority", ["a,0,100,8,1", "b,10,20,2,1", "b,20,20,2,2"], [0, 20, 20],
     [120, 40, 40]),
    ("a queue never takes beyond its quota: b wants 4 and has 3", 1,
     "{queues: [{name: a, quota: 5}, {name: b, quota: 3, reclaim: over-quota}]}",
     "queue,submit_s,duration_s,gpus", ["a,0,100,8", "b,10,20,4"], [0, 100], [100, 120]),
    ("min-run: nobody is preempted in the first 50 s", 1,
     "{queues: [{name: a, quota: 5, min-run: 50 s}, {name: b, quota: 3, reclaim: over-quota}]}",
     "queue,submit_s,duration_s,gpus", ["a,0,100,8", "b,10,20,2"], [0, 50], [120, 70]),
    ("fair share: 8 GPUs, quota 0 each, weights 1 and 3: b's share is 6, so a keeps 2 until b's jobs end", 1,
     "{queues: [{name: a, quota: 0}, {name: b, quota: 0, weight: 3}], reclaim: over-fair-share, blocked: skip}",
     "queue,submit_s,duration_s,gpus", ["a,0,100,2"] * 4 + ["b,10,20,2"] * 4, [0, 0, 0, 0, 10, 10, 10, None],
     [100, 120, 120, 140, 30, 30, 30, 50]),
    ("fair sharing, final share: 8 GPUs, quota 0 each: b takes from a while b's share with the job, 2 and 4, is at most "
     "a's without the victim, 6 and 4; its third job would make 6 against 2", 1,
     "{queues: [{name: a, quota: 0}, {name: b, quota: 0}], reclaim: fair-sharing, blocked: skip}",
     "queue,submit_s,duration_s,gpus", ["a,0,100,2"] * 4 + ["b,10,20,2"] * 3, [0, 0, 0, 0, 10, 10, 30],
     [100, 100, 120, 140, 30, 30, 50]),
    ("fair sharing, initial share: b's 2 exceed what a keeps without its only job, 0, but not what a has, 8", 1,
     "{queues: [{name: a, quota: 0}, {name: b, quota: 0}], reclaim: fair-sharing, blocked: skip}",
     "queue,submit_s,duration_s,gpus", ["a,0,100,8", "b,10,20,2"], [0, 10], [120, 30]),
    ("fair sharing by weight: b's third job makes 6 / 3 = 2, a's share without a victim", 1,
     "{queues: [{name: a, quota: 0}, {name: b, quota: 0, weight: 3}], reclaim: fair-sharing, blocked: skip}",
     "queue,submit_s,duration_s,gpus", ["a,0,100,2"] * 4 + ["b,10,20,2"] * 3, [0, 0, 0, 0, 10, 10, 10], None),
    ("between fair-share: the queue with less goes first", 1,
     "{" + FIVE_THREE + ", between: fair-share}",
     "queue,submit_s,duration_s,gpus", ["a,0,10,4", "a,1,10,4", "a,2,10,4", "b,3,10,4"], [0, 1, 11, 10], None),
    ("easy and quotas: job 2 waits for its queue's GPUs, which it is promised at 100; b's job has its own", 1,
     "{queues: [{name: a, quota: 4, borrow: 0}, {name: b, quota: 4, borrow: 0}], backfill: easy}",
     "queue,submit_s,duration_s,gpus", ["a,0,100,4", "a,1,50,4", "b,2,200,4"], [0, 100, 2], None),
    ("easy over queues: b's job of 200 s would delay the promise to a's of 8 GPUs, that of 97 s does not", 1,
     "{queues: [{name: a, quota: 8}, {name: b, quota: 8}], backfill: easy}",
     "queue,submit_s,duration_s,gpus", ["a,0,100,6", "a,1,50,8", "b,2,200,2", "b,3,97,2"], [0, 100, 150, 3], None),
    ("srtf and quotas: a has borrowed b's GPUs; b's job is longer and gets its own all the same", 1,
     "{queues: [{name: a, quota: 4}, {name: b, quota: 4}], order: srtf, blocked: skip}",
     "queue,submit_s,duration_s,gpus", ["a,0,100,8", "b,10,200,4"], [0, 10], [300, 210]),
    ("srtf and quotas: what b leaves idle a's shortest borrows", 1,
     "{queues: [{name: a, quota: 2}, {name: b, quota: 6}], order: srtf, blocked: skip}",
     "queue,submit_s,duration_s,gpus", ["a,0,100,2", "a,0,50,2", "a,0,10,2", "b,0,60,4"], [10, 0, 0, 0], [110, 50, 10, 60]),
    ("yunikorn spreads over the emptiest nodes, so a gang of 8 waits; a later job passes it", 2,
     "{base: yunikorn}",
     "submit_s,duration_s,gpus", ["0,100,4", "1,100,4", "2,10,8", "3,10,4"], [0, 1, 100, 3], None),
    ("yunikorn: a queue below its guaranteed 5 takes from one above its 3", 1,
     "{base: yunikorn, queues: [{name: a, quota: 5}, {name: b, quota: 3}]}",
     "queue,submit_s,duration_s,gpus", ["b,0,100,4", "b,1,100,4", "a,10,20,4"], [0, 1, 10], [100, 121, 30]),
    ("consolidation: 4 of 8 GPUs are free on each of two nodes; the newer job moves, restarts for 5 s, and a gang of 8 "
     "starts", 2,
     "{placement: worst-fit, preemption: {take: lower-priority, consolidate: 1, restart: 5 s}}",
     "submit_s,duration_s,gpus", ["0,100,4", "1,100,4", "10,20,8"], [0, 1, 10], [100, 106, 30]),
    ("consolidation needs room for all that move: 12 GPUs on three nodes of 8 cannot make way for 16 until 4 end", 3,
     "{placement: worst-fit, preemption: {take: lower-priority, consolidate: 16}}",
     "submit_s,duration_s,gpus", ["0,100,4", "1,100,4", "2,100,4", "10,20,16"], [0, 1, 2, 100], None),
    ("consolidation moves no more pods than it may: two nodes must be emptied, and one pod may move; at 100 one is", 4,
     "{placement: worst-fit, preemption: {take: lower-priority, consolidate: 1}}",
     "submit_s,duration_s,gpus", ["0,100,4", "1,100,4", "2,100,4", "3,100,4", "10,20,16"], [0, 1, 2, 3, 100], None),
    ("take: a job of higher priority preempts; the victim loses nothing without checkpoints", 1,
     "{order: priority, preemption: {take: lower-priority}}",
     "submit_s,duration_s,gpus,priority", ["0,100,8,0", "10,20,8,1"], [0, 10], [120, 30]),
    ("requeue from the last checkpoint, 30 s back, and 5 s to restart", 1,
     "{order: priority, preemption: {take: lower-priority, checkpoint: 40 s, restart: 5 s}}",
     "submit_s,duration_s,gpus,priority", ["0,100,8,0", "70,10,8,1"], [0, 70], [145, 80]),
    ("checkpoints of 5 s after 30 s of work: three within 100 s; a preemption at 80 s loses 10 s of work", 1,
     "{order: priority, preemption: {take: lower-priority, checkpoint: 30 s, checkpoint-cost: 5 s, restart: 5 s}}",
     "submit_s,duration_s,gpus,priority", ["0,100,8,0", "80,10,8,1"], [0, 80], [140, 90]),
    ("checkpoints count towards the limit: 45 s of work and one checkpoint in 50 s", 1,
     "{preemption: {checkpoint: 30 s}}",
     "submit_s,duration_s,gpus,limit_s,checkpoint_cost_s", ["0,100,8,50,5", "0,10,8,,"], [0, 50], [50, 60]),
    ("checkpoints on a kind that is twice as fast: 60 s of work and one of 10 s take 35 s", 2,
     "{preemption: {checkpoint: 30 s, checkpoint-cost: 10 s}, kind-choice: fastest}",
     "submit_s,duration_s,gpus", ["0,60,8"], [0], [35], TWO_KINDS),
    ("cancel: the victim ends there", 1,
     "{order: priority, preemption: {take: lower-priority, mode: cancel}}",
     "submit_s,duration_s,gpus,priority", ["0,100,8,0", "10,20,8,1"], [0, 10], [10, 30]),
    ("suspend: it goes on where it was, so it waits for its own node", 2,
     "{order: priority, preemption: {take: lower-priority, mode: suspend, victims: [newest], restart: 9 s}}",
     "submit_s,duration_s,gpus,priority", ["0,100,8,1", "1,100,8,0", "10,200,8,2"], [0, 1, 10], [100, 301, 210]),
    ("shrink: an elastic gang of 8 goes on with 4 at half its speed", 1,
     "{order: priority, preemption: {take: lower-priority, mode: shrink}}",
     "submit_s,duration_s,gpus,min_gpus,priority", ["0,100,8,4,0", "20,10,4,,1"], [0, 20], [180, 30]),
    ("victims: least-lost spares the job that would lose more since its checkpoint", 2,
     "{order: priority, preemption: {take: lower-priority, checkpoint: 50 s, victims: [least-lost]}}",
     "submit_s,duration_s,gpus,priority", ["0,1000,8,0", "30,1000,8,0", "60,10,8,1"], [0, 30, 60],
     [1000 + 10 + 10, 1030, 70]),
    ("victims that turn out to be needless are spared: one gang of 8 makes room by itself", 2,
     "{order: priority, preemption: {take: lower-priority, victims: [fewest-gpus]}}",
     "submit_s,duration_s,gpus,priority", ["0,100,8,0", "1,100,4,0", "2,100,4,5", "10,10,8,1"], [0, 1, 2, 10],
     [110, 101, 102, 20]),
    ("a tree: research may use its 6 in any of its queues, and no more", 1,
     "{queues: [{name: research, quota: 6, borrow: 0}, {name: a, parent: research, quota: 4}, "
     "{name: b, parent: research, quota: 2}, {name: default, quota: 2}], blocked: skip}",
     "queue,submit_s,duration_s,gpus", ["a,0,10,6", "b,0,10,1", "c,0,10,2"], [0, 10, 0], None),
    ("skip starves a gang: 4 GPUs stay free of its 5 while small jobs keep coming (Kueue #534)", 1,
     "{placement: count, blocked: skip}",
     "submit_s,duration_s,gpus", ["0,10,4", "1,10,5", "2,10,4", "11,10,4", "13,10,4"], [0, 23, 2, 11, 13], None),
    ("dominant resource fairness: 9 CPUs, 18 GB: 3 tasks of 1 CPU and 4 GB, 2 of 3 CPUs and 1 GB", 1,
     "{queues: [{name: a}, {name: b}], between: dominant-share, placement: count}",
     "queue,submit_s,duration_s,gpus,cpus,memory_gb", ["a,0,10,1,1,4"] * 5 + ["b,0,10,1,3,1"] * 3,
     [0, 0, 0, 10, 10, 0, 0, 10], None, ", node-cpus: 9, node-memory: 18 GB"),
    ("Slurm's blocks: 36 nodes in segments of 12 on 3 blocks of 17: one each, so no second gang", 51,
     "{placement: {kind: blocks, block: 17, segment: 12}}",
     "submit_s,duration_s,gpus", ["0,10,288", "0,10,96", "0,10,8"], [0, 10, 10], None),
    ("Slurm's blocks: one segment of 18 nodes never fits; the job is left out", 51,
     "{placement: {kind: blocks, block: 17}}",
     "submit_s,duration_s,gpus,segment", ["0,10,144,18", "0,10,8,"], [None, 0], None),
    ("64 nodes in 15 leaf groups: two gangs of 8 nodes fit in one group each", 64,
     "{placement: {kind: fewest-domains, groups: [1,1,2,2,2,3,3,3,5,5,6,6,6,8,11], required: group}, blocked: skip}",
     "submit_s,duration_s,gpus", ["0,10,64"] * 8, [0, 0, 10, 10, 20, 20, 30, 30], None),
    ("the same groups where they are only preferred: eight gangs", 64,
     "{placement: {kind: fewest-domains, groups: [1,1,2,2,2,3,3,3,5,5,6,6,6,8,11]}}",
     "submit_s,duration_s,gpus", ["0,10,64"] * 8, [0] * 8, None),
    ("fgd: a node with 4 free is worth keeping for gangs of 4; best-fit would break it", 2,
     "{placement: fgd, blocked: skip}",
     "submit_s,duration_s,gpus", ["0,50,4", "0,50,2", "1,50,2", "2,50,4"] + ["100,1,4"] * 20, [0, 0, 1, 2] + [None] * 20,
     None),
    ("after: job 3 waits for 1 and 2, whatever its place in the queue", 1,
     "{}",
     "submit_s,duration_s,gpus,after", ["0,10,2,", "0,20,2,", "1,5,2,1|2", "2,5,2,"], [0, 0, 20, 2], None),
    ("after: job 2 is submitted when job 1 ends, and runs once", 1,
     "{}",
     "submit_s,duration_s,gpus,after", ["0,10,4,", "10,5,4,1", "11,10,4,"], [0, 10, 11], [10, 15, 21]),
    ("after: job 1 waits for job 2 of a later line, which ends at 15", 1,
     "{}",
     "submit_s,duration_s,gpus,after", ["0,1000,8,2", "5,10,8,"], [15, 5], [1015, 15]),
    ("after: a chain that begins with the last line, at 2; with EASY job 4 fills the time before", 1,
     "{backfill: easy}",
     "submit_s,duration_s,gpus,after", ["0,10,8,2", "1,10,8,3", "2,10,8,", "0,2,8,"], [22, 12, 2, 0], [32, 22, 12, 2]),
    ("rounds of 10 s: job 1 waits for job 2 of a later line, which ends at 15", 1,
     "{rounds: {length: 10 s, reset: 0 s}}",
     "submit_s,duration_s,gpus,after", ["0,5,4,2", "0,15,4,"], [15, 0], [20, 15]),
    ("limit: no job runs longer than 50 s", 1,
     "{limit: 50 s}",
     "submit_s,duration_s,gpus", ["0,100,8", "0,10,8"], [0, 50], [50, 60]),
    ("period: passes at multiples of 10 s", 1,
     "{period: 10 s}",
     "submit_s,duration_s,gpus", ["1,12,8", "2,5,8"], [10, 30], [22, 35]),
    ("depth: a pass tries two jobs, so the third waits though it would fit", 1,
     "{depth: 2, blocked: skip}",
     "submit_s,duration_s,gpus", ["0,10,6", "0,10,4", "0,10,4", "0,10,2"], [0, 10, 10, 20], None),
    ("kinds: the first that fits, at its speed", 2,
     "{}", "submit_s,duration_s,gpus", ["0,10,8", "0,10,8"], [0, 0], [10, 5], TWO_KINDS),
    ("kinds: the fastest that fits", 2,
     "{kind-choice: fastest}", "submit_s,duration_s,gpus", ["0,10,8", "0,10,8"], [0, 0], [5, 10], TWO_KINDS),
    ("quota by kind: a has 4 new GPUs, so its second job gets old ones", 2,
     "{queues: [{name: a, by-kind: [{kind: new, quota: 4, borrow: 0}]}], kind-choice: fastest}",
     "queue,submit_s,duration_s,gpus", ["a,0,10,4", "a,0,10,4"], [0, 0], [5, 10], TWO_KINDS),
    ("rounds of 10 s, one node of each kind: two gangs take turns on the new one, 15 s of work per 20 s", 2,
     "{rounds: {length: 10 s, reset: 5 s, allotment: max-min}}",
     "submit_s,duration_s,gpus", ["0,30,8", "0,30,8"], [0, 0], [20, 20], TWO_KINDS),
    ("rounds of 10 s: job 2 waits for job 1 and comes when the round ends in which job 1 does, at 15", 1,
     "{rounds: {length: 10 s, reset: 0 s}}",
     "submit_s,duration_s,gpus,after", ["0,15,4,", "0,5,4,1", "20,5,4,2"], [0, 15, 20], [15, 20, 25]),
    ("rounds of 10 s: job 1 is stopped at its own limit, 15 s, job 2 at the policy's, 20 s", 1,
     "{limit: 20 s, rounds: {length: 10 s}}",
     "submit_s,duration_s,gpus,limit_s", ["0,100,4,15", "0,100,4,30"], [0, 0], [15, 20]),
    ("rounds on a node of twice the speed: 16 s of run time do 32 s of the work, and there it is stopped", 2,
     "{rounds: {length: 10 s, allotment: fifo-fastest}}",
     "submit_s,duration_s,gpus,limit_s", ["0,100,8,16"], [0], [16], TWO_KINDS),
    ("tiresias: 8 GPU-s in queue 0; job 1 falls at 2, job 2 and 3 pass it; job 2 falls behind it", 1,
     "{order: {kind: tiresias, thresholds: [8 s]}, blocked: skip}",
     "submit_s,duration_s,gpus", ["0,6,4", "1,3,8", "1,1,8"], [0, 2, 3], [8, 10, 4]),
    ("srtf: job 1 leaves node 0 at 100, job 3 takes it, and job 2 stays on node 1", 2,
     "{order: srtf, preemption: {restart: 600 s, checkpoint: 5000 s}}",
     "submit_s,duration_s,gpus", ["0,100,8", "0,1000,8", "50,2000,8"], [0, 0, 100], [100, 1000, 2100]),
    ("srtf: job 4 gets a new node at 500, and job 3 does its 1,000 s on the old one, whatever is idle beside it", 3,
     "{order: srtf, kind-choice: fastest}",
     "submit_s,duration_s,gpus", ["0,1000,8", "0,1000,8", "0,1000,8", "100,1000,8"], [0, 0, 0, 500], [500, 500, 1000, 1000],
     ", kinds: [{name: old, nodes: 1}, {name: new, nodes: 2, speed: 2}]"),
    ("srtf: 4 GPUs are free on each of two nodes when job 4 wants 8; job 1 moves beside job 3, loses the 30 s since it "
     "began and takes 5 s to restart", 2,
     "{order: srtf, blocked: skip, preemption: {restart: 5 s, checkpoint: 40 s}}",
     "submit_s,duration_s,gpus", ["0,100,4", "0,20,4", "0,200,4", "30,300,8"], [0, 0, 0, 30], [30 + 105, 20, 200, 330]),
    ("srtf: job 3 cannot start before 100, so job 1, which comes after it, runs until then; job 4 takes what is free", 3,
     "{order: srtf, preemption: {restart: 5 s}}",
     "submit_s,duration_s,gpus", ["0,500,8", "0,100,8", "10,200,24", "20,50,8"], [0, 0, 100, 20], [705, 100, 300, 70]),
    ("priority-preempt: job 3 takes the node of job 2, whose priority is lowest; job 1 and job 4 stay", 3,
     "{order: priority-preempt, preemption: {restart: 5 s, checkpoint: 40 s}}",
     "submit_s,duration_s,gpus,priority", ["0,100,8,1", "0,100,8,0", "50,20,8,2", "0,100,8,1"], [0, 0, 50, 0],
     [100, 70 + 60 + 5, 70, 100]),
    ("throughputs: 100 steps of a at 10 a second on new, 4 on old; b knows old only", 2,
     "{kind-choice: fastest}", "submit_s,duration_s,gpus,model,steps", ["0,1,8,a,100", "0,1,8,b,100", "0,1,8,a,100"],
     [0, 0, 10], [10, 50, 20], TWO_KINDS + ", throughputs: speeds.csv"),
    ("elastic, equal: one gang has all 8 GPUs, two have 4 each; 40 GPU-s of work each", 1,
     "{elastic: equal}", "submit_s,duration_s,gpus,min_gpus,max_gpus", ["0,10,4,1,8", "2,10,4,1,8"], [0, 2], [8, 10]),
    ("elastic, fastest: with a square root two gangs share equally, and a restart costs 1 s", 1,
     "{elastic: fastest, scaling: 0.5, preemption: {restart: 1 s}}",
     "submit_s,duration_s,gpus,min_gpus,max_gpus", ["0,4,2,1,8", "1,4,2,1,8"], [0, 1],
     [2 + 2 / 2 ** 0.5, None]),
    ("elastic: speeds of the table, 4 GPUs at 3 steps a second and 8 at 4; size 6 is as fast as 4", 1,
     "{elastic: fastest}", "submit_s,duration_s,gpus,min_gpus,max_gpus,model,steps", ["0,1,4,4,6,c,30", "0,1,4,4,8,c,30"],
     [0, 0], [10, 10], ", kinds: [{name: new, nodes: 1}], throughputs: speeds.csv"),
    ("elastic: 4 of 8 GPUs are free on each of two nodes when job 5 wants 8; job 2 stays, job 4 moves to it and takes "
     "5 s to restart", 2,
     "{elastic: equal, placement: first-fit, preemption: {restart: 5 s}}",
     "submit_s,duration_s,gpus,min_gpus,max_gpus",
     ["0,10,4,4,4", "0,50,4,4,4", "0,10,4,4,4", "0,50,4,4,4", "20,20,8,8,8"], [0, 0, 0, 0, 20], [10, 50, 10, 55, 40]),
    ("window: job 3 ends before job 2's start, job 4 would not; on a grid of 7 s job 2 is planned at 14", 1,
     "{backfill: window, window: {resolution: 7 s, interval: 0 s}}",
     "submit_s,duration_s,gpus", ["0,10,6", "0,10,7", "0,14,2", "0,15,2"], [0, 14, 0, 24], None),
    ("window: job 2's start lies beyond the window, so it holds back nobody", 1,
     "{backfill: window, window: {ahead: 9 s, resolution: 0 s, interval: 0 s}}",
     "submit_s,duration_s,gpus", ["0,10,6", "0,10,7", "0,15,2"], [0, 15, 0], None),
    ("window: only the first job in the queue is planned", 1,
     "{backfill: window, window: {depth: 1, resolution: 0 s, interval: 0 s}}",
     "submit_s,duration_s,gpus", ["0,10,6", "0,10,7", "0,5,2"], [0, 10, 20], None),
]


def run(orrery, case):
    """Starts and ends by job number."""
    name, nodes, policy, columns, jobs = case[:5]
    with tempfile.TemporaryDirectory() as folder:
        trace, scenario, database = (os.path.join(folder, name) for name in ("t.csv", "s.yaml", "r.db"))
        with open(trace, "w", encoding="utf-8") as file:
            file.write("job_id," + columns + "\n")
            file.writelines(f"{i + 1},{job}\n" for i, job in enumerate(jobs))
        with open(os.path.join(folder, "speeds.csv"), "w", encoding="utf-8") as file:
            file.write("model,gpus,gpu_type,steps_per_s\na,8,new,10\na,8,old,4\nb,8,old,2\nc,4,new,3\nc,8,new,4\n")
        with open(scenario, "w", encoding="utf-8") as file:
            file.write(SCENARIO.format(nodes=nodes, trace=trace, policy=policy, more=case[7] if len(case) > 7 else ""))
        result = subprocess.run([orrery, "run", scenario, "--db", database], capture_output=True, text=True, check=False)
        if result.returncode != 0:
            print(f"{name}: {result.stderr}")
            return {}
        with sqlite3.connect(database) as db:
            has_nodes = db.execute("SELECT count(*) FROM sqlite_master WHERE name = 'cluster_span'").fetchone()[0]
            moved = db.execute("SELECT count(*) FROM cluster_span WHERE why = 'moved'").fetchone()[0] if has_nodes else 0
            if moved > 0 and "elastic" not in policy:
                print(f"{name}: {moved} times a gang changes its nodes at no cost")
                return {}
            return {int(job): (start, end) for job, start, end in db.execute("SELECT job, start_s, end_s FROM cluster_job")}


def check(orrery, case):
    found, ok = run(orrery, case), True
    for what, wanted in enumerate((case[5], case[6])):
        for i, value in enumerate(wanted or []):
            if value is None:
                continue
            have = found.get(i + 1, (None, None))[what]
            if have is None or abs(have - value) > 1e-6:
                print(f"{case[0]}: job {i + 1} {('starts', 'ends')[what]} at {have}, want {value}")
                ok = False
    return ok


def main():
    bad = [case[0] for case in CASES if not check(sys.argv[1], case)]
    print(f"{len(CASES) - len(bad)} of {len(CASES)} cases agree")
    sys.exit(1 if bad else 0)


main()
