# SPDX-License-Identifier: Apache-2.0
"""Verdicts under load: equal code, code that takes twice as long, and whether ratios are those of a quiet machine.

    quiet      nothing else
    one        a program that keeps one core busy
    two        one for every core
    bursts     one for every core, each busy for 0.3 s of every second
    throttled  the worker is stopped for 3 of every 10 ms
"""
import contextlib
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import threading

from trust_runs import Bench
from trust_verdicts import NO_DIFFERENCE, counted, is_difference, wilson

LOADS = {"quiet": "nothing else", "one": "a program that keeps one core busy",
         "two": "one for every core", "bursts": "one for every core, 0.3 s of every second",
         "throttled": "the worker is stopped for 3 of every 10 ms"}
TWINS = {"full/sdpa-twin": "full/sdpa", "sparse/segment-twin/4": "sparse/segment/4"}
TWICE, ONCE = "sparse/segment-twice/4", "sparse/segment/4"
BUSY = "while True: pass"
BURST = """import time
while True:
    end = time.monotonic() + 0.3
    while time.monotonic() < end: pass
    time.sleep(0.7)"""
WIDEST_KNOWN = 10  # above this, tables show "interval too wide" (is_known in engine/statistics/summary.h)


def workers_of(program):
    """Process ids of the workers that this program's driver has started."""
    found = []
    for stat in pathlib.Path("/proc").glob("[0-9]*/exe"):
        with contextlib.suppress(OSError):
            if os.readlink(stat) == str(program):
                found.append(int(stat.parent.name))
    return found


class Stopper:
    """Stops a worker for 3 of every 10 ms, like a machine that is throttled."""

    def __init__(self, program):
        self.program = program
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        workers, turns = [], 0
        while not self.ended.is_set():
            if turns % 50 == 0:
                workers = workers_of(self.program)
            turns += 1
            self.send(workers, signal.SIGSTOP)
            self.ended.wait(0.003)
            self.send(workers, signal.SIGCONT)
            self.ended.wait(0.007)

    @staticmethod
    def send(workers, signal_number):
        for worker in workers:
            with contextlib.suppress(ProcessLookupError):
                os.kill(worker, signal_number)

    def end(self):
        self.ended.set()
        self.thread.join()


@contextlib.contextmanager
def load(name, bench):
    cores = len(os.sched_getaffinity(0))
    programs = {"one": [BUSY], "two": [BUSY] * cores, "bursts": [BURST] * cores}.get(name, [])
    running = [subprocess.Popen([sys.executable, "-c", text]) for text in programs]
    stopper = Stopper((bench.build / "trial_worker").resolve()) if name == "throttled" else None
    try:
        yield
    finally:
        if stopper:
            stopper.end()
        for program in running:
            program.kill()
            program.wait()


def verdicts_of(bench, run):
    """The verdicts of each twin and of the slower copy relative to their original."""
    kept = []
    for contender, original in [*TWINS.items(), (TWICE, ONCE)]:
        for row in bench.table(run, original):
            if row["contender"] == contender and row["status"] == "ok":
                kept.append({"run": run, "tokens": row["sequence_tokens"], "kind": contender,
                             "verdict": row["verdict"] or NO_DIFFERENCE, "ratio": row["ratio"],
                             "low": row["ratio_low"], "high": row["ratio_high"], "disturbed": row["disturbed"]})
    return kept


def is_known(verdict):
    return verdict["ratio"] is not None and verdict["low"] > 0 and verdict["high"] / verdict["low"] <= WIDEST_KNOWN


def of_load(name, bench, runs):
    verdicts = [verdict for run in runs for verdict in verdicts_of(bench, run)]
    planted = [verdict for verdict in verdicts if verdict["kind"] == TWICE]
    equal = [verdict for verdict in verdicts if verdict["kind"] != TWICE]
    found = sum(1 for verdict in planted if verdict["verdict"] == "slower")
    known = [verdict for verdict in verdicts if is_known(verdict)]
    return {"load": name, "repeats": len(runs), "machine": bench.machine(runs[-1]),
            "equal": counted(equal, is_difference),
            "planted": {"cells": len(planted), "found": found, "interval": wilson(found, len(planted)),
                        "wrong_way": sum(1 for verdict in planted if verdict["verdict"] == "faster"),
                        "median_ratio": statistics.median(verdict["ratio"] for verdict in planted)},
            "widest_known": max((verdict["high"] / verdict["low"] for verdict in known), default=None),
            "interval_too_wide": len(verdicts) - len(known),
            "disturbed": sum(1 for verdict in verdicts if verdict["disturbed"]),
            "verdicts": verdicts}


def hold_the_quiet_ratio(loads):
    """Adds to each load how many of its intervals contain the median ratio of the quiet machine."""
    quiet = {}
    for verdict in loads["quiet"]["verdicts"]:
        quiet.setdefault((verdict["kind"], verdict["tokens"]), []).append(verdict["ratio"])
    middle = {place: statistics.median(ratios) for place, ratios in quiet.items()}
    for figures in loads.values():
        known = [verdict for verdict in figures["verdicts"]
                 if is_known(verdict) and (verdict["kind"], verdict["tokens"]) in middle]
        held = sum(1 for verdict in known
                   if verdict["low"] <= middle[verdict["kind"], verdict["tokens"]] <= verdict["high"])
        figures["holds_quiet"] = {"intervals": len(known), "held": held, "interval": wilson(held, len(known))}


def measure(arguments):
    lengths = [512] if arguments.quick else [512, 1024, 2048]
    repeats = arguments.repeats or (1 if arguments.quick else 20)
    sweep = {"name": "busy", "sequence_tokens": lengths, "windows": [4], "batch": {"max": 4},
             "contenders": ["full/sdpa", "full/sdpa-twin", "sparse/segment", "sparse/segment-twin",
                            "sparse/segment-twice"],
             "stop": {"max_seconds": 0.2 if arguments.quick else 0.5}}
    loads = {}
    for name in LOADS:
        bench = Bench(arguments, f"busy-{name}" + ("-quick" if arguments.quick else ""), sweep)
        with load(name, bench):
            runs = bench.repeat(repeats)
        loads[name] = of_load(name, bench, runs)
    hold_the_quiet_ratio(loads)
    return {"name": "busy", "sweep": sweep, "machine": loads["quiet"]["machine"], "loads": loads}
