# SPDX-License-Identifier: Apache-2.0
"""Where the time of a sweep goes, by the times at which the events of `attnscope run --events` arrive.

The timed part is the sum over all samples of the time of a call times the number of calls. All other time is attributed
to phases; a phase lasts from the event that begins it to the next event. A part of it is unavoidable: the first call of
each contender in each process, which warms up, is metered and is checked. It is estimated by the cell's median (it
takes longer, because of page faults). The rest is the tool's own time.
"""
import json
import subprocess
import time

from trust_runs import Bench, report

LEAST_MS = 100
SAMPLE_TIME, SAMPLE_ITERATIONS = 3, 4  # places in a sample's list (docs/protocol.md)
PHASES = {"prepare": "plans and buffers", "check": "memory metering and comparison with the float64 reference",
          "time": "warm-up and rounds"}


def phase_of(event):
    kind = event["event"]
    if kind == "contender":
        return PHASES.get(event["text"].rsplit(": ", 1)[-1], "other")
    # After these events the driver waits for a worker to start, or for ceilings.
    return {"started": "ceilings before", "ceilings": "ceilings before", "heat-started": "worker starts",
            "heat-finished": "between heats"}.get(kind, "other")


def follow(bench, command):
    """Seconds of each phase, and the heats' results."""
    spent, heats = {}, []
    started = last = time.monotonic()
    phase = "program and worker start"
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=bench.environment()) as process:
        for line in process.stdout:
            event = json.loads(line)
            now = time.monotonic()
            spent[phase] = spent.get(phase, 0) + now - last
            last = now
            if event["event"] == "warning":
                continue
            phase = phase_of(event)
            if event["event"] == "heat-finished":
                heats.append(event["result"])
                if event["heats_done"] == event["heats_planned"]:
                    phase = "ceilings after"
            elif event["event"] == "ceilings" and heats:
                phase = "ceilings after"
    end = time.monotonic()
    spent[phase] = spent.get(phase, 0) + end - last
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    return spent, heats, end - started


def timed_seconds(cell):
    return sum(sample[SAMPLE_TIME] * sample[SAMPLE_ITERATIONS] for sample in cell["samples"]) / 1e9


def call_ms(cell):
    times = sorted(sample[SAMPLE_TIME] for sample in cell["samples"])
    return times[len(times) // 2] / 1e6


SWEEPS = {
    "fused": ("fused kernels and masks", ["full/sdpa", "sparse/sdpa-mask", "sparse/sdpa-flash", "longformer/sdpa-mask"]),
    "matrices": ("with matrices of gigabytes, whose pages the system clears for every new process",
                 ["full/dense", "full/sdpa", "sparse/sdpa-mask", "bigbird/sdpa-mask"]),
}


def measure_one(arguments, name):
    title, contenders = SWEEPS[name]
    quick = arguments.quick
    sweep = {"name": f"overhead-{name}", "sequence_tokens": [2048] if quick else [2048, 3072, 4096], "windows": [64],
             "batch": {"max": 4, "memory_mb": 12288}, "contenders": contenders}
    bench = Bench(arguments, f"overhead-{name}" + ("-quick" if quick else ""), sweep)
    report(f"overhead, {title}: at most {bench.seconds_of_one() / 60:.1f} min")
    command = [str(bench.build / "attnscope"), "run", str(bench.sweep_file), "--events", "--db", str(bench.database)]
    spent, heats, wall = follow(bench, command)
    cells = [{"contender": f"{cell['contender']['pattern']}/{cell['contender']['implementation']}",
              "tokens": heat["point"]["sequence_tokens"], "call_ms": call_ms(cell), "samples": len(cell["samples"]),
              "processes": len({sample[0] for sample in cell["samples"]}),
              "timed_s": timed_seconds(cell)}
             for heat in heats for cell in heat["cells"] if cell["status"] == "ok"]
    short = [cell for cell in cells if cell["call_ms"] < LEAST_MS]
    if short:
        report(f"{len(short)} cells are shorter than {LEAST_MS} ms a call: {short}")
    timed = sum(cell["timed_s"] for cell in cells)
    first_calls = sum(cell["call_ms"] * cell["processes"] for cell in cells) / 1e3
    spent[PHASES["time"]] -= timed
    return {"title": title, "sweep": sweep, "machine": bench.machine("last"), "wall_s": wall, "timed_s": timed,
            "first_calls_s": first_calls, "share_outside": 1 - timed / wall,
            "share_own": 1 - (timed + first_calls) / wall,
            "least_call_ms": min(cell["call_ms"] for cell in cells),
            "outside_s": dict(sorted(spent.items(), key=lambda phase: -phase[1])), "cells": cells}


def measure(arguments):
    sweeps = {name: measure_one(arguments, name) for name in SWEEPS}
    return {"name": "overhead", "machine": sweeps["fused"]["machine"], "sweeps": sweeps}
