#!/usr/bin/env python3
"""test_trace.py ORRERY - the trace for Perfetto: an arrow joins every send with its receive, and counters show memory,
power and the use of the busiest links as the database has them. TAP."""

import json
import os
import sqlite3
import subprocess
import sys
import tempfile

orrery = os.path.abspath(sys.argv[1])
n_checks = 0


def check(name, holds, found=""):
    global n_checks
    n_checks += 1
    print(f"{'ok' if holds else 'not ok'} {n_checks} - {name}")
    if not holds:
        print(f"# {found}")


def enclosing(spans, event):
    """The span of the event's thread that holds its time."""
    for span in spans.get((event["pid"], event["tid"]), []):
        if span["ts"] <= event["ts"] <= span["ts"] + span["dur"]:
            return span
    return None


def check_arrows(events, threads):
    spans = {}
    for event in events:
        if event["ph"] == "X":
            spans.setdefault((event["pid"], event["tid"]), []).append(event)
    begins = {event["id"]: event for event in events if event["ph"] == "s"}
    ends = {event["id"]: event for event in events if event["ph"] == "f"}
    of = {stream: [span for (pid, tid), some in spans.items() if threads[pid, tid] == stream for span in some]
          for stream in ("send-next", "send-prev", "recv-next", "recv-prev")}
    n_sends = len(of["send-next"]) + len(of["send-prev"])
    check("there are sends, and each has an arrow", n_sends == len(begins) > 0, (n_sends, len(begins)))
    check("each arrow has both ends", begins.keys() == ends.keys())
    wrong = []
    for number in list(begins)[:400]:
        send, receive = enclosing(spans, begins[number]), enclosing(spans, ends[number])
        pair = threads[begins[number]["pid"], begins[number]["tid"]], threads[ends[number]["pid"], ends[number]["tid"]]
        if not send or not receive or pair not in (("send-next", "recv-prev"), ("send-prev", "recv-next")) or \
                send["name"] != receive["name"] or send["args"]["micro-batch"] != receive["args"]["micro-batch"] or \
                begins[number]["pid"] == ends[number]["pid"]:
            wrong.append((number, pair, send, receive))
    check("it leads from a send to the receive of the same micro-batch on another lane", not wrong, wrong[:2])


def check_counters(events, database):
    counters = {}
    for event in events:
        if event["ph"] == "C":
            counters.setdefault(event["name"], []).append(event)
    check("memory and power are counters", {"memory, GiB", "power of all GPUs, kW"} <= counters.keys(), counters.keys())
    links = database.execute("SELECT link, begin_s, utilization FROM link_time ORDER BY link, begin_s").fetchall()
    shown = sorted((name, event["ts"] / 1e6, event["args"]["% of bandwidth"] / 100)
                   for name, some in counters.items() for event in some if "% of bandwidth" in event["args"])
    close = len(links) == len(shown) > 0 and all(
        a[0] == b[0] and abs(a[1] - b[1]) < 1e-6 and abs(a[2] - b[2]) < 1e-5 for a, b in zip(links, shown))
    check("link counters are the table link_time", close, (links[:1], shown[:1]))


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    subprocess.run([orrery, "run", "megatron-sc21-39b", "--trace", "t.json", "--db", "r.db"], check=True, stdout=subprocess.DEVNULL)
    trace = json.load(open("t.json"))["traceEvents"]
    names = {(event["pid"], event["tid"]): event["args"]["name"] for event in trace
             if event["ph"] == "M" and event["name"] == "thread_name"}
    check_arrows(trace, names)
    check_counters(trace, sqlite3.connect("r.db"))
print(f"1..{n_checks}")
