# SPDX-License-Identifier: Apache-2.0
"""Counts wrong verdicts: code is not faster than itself, and a copy that takes 3% longer is slower."""
import math
import statistics

from trust_runs import Bench

TWINS = {"sdpa-twin": "full/sdpa", "segment-twin": "sparse/segment/4", "windowed-twin": "sparse/windowed/4"}
SLOWED = "sparse/segment-slowed/4"
NO_DIFFERENCE = "no difference shown"


def is_difference(verdict):
    """Neither "no difference shown" nor "interval too wide"."""
    return verdict in ("faster", "slower")


def wilson(hits, trials, z=1.96):
    """95% interval of a fraction. It is too narrow for verdicts of one run, which are not independent."""
    if trials == 0:
        return [0.0, 1.0]
    share = hits / trials
    middle = (share + z * z / (2 * trials)) / (1 + z * z / trials)
    half = z * math.sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials)) / (1 + z * z / trials)
    return [max(0.0, middle - half), min(1.0, middle + half)]


def counted(verdicts, wrong):
    """How many verdicts are wrong: of all, and by length and kind."""
    def count(chosen):
        hits = sum(1 for verdict in chosen if wrong(verdict["verdict"]))
        return {"verdicts": len(chosen), "false": hits, "share": hits / len(chosen) if chosen else None,
                "interval": wilson(hits, len(chosen))}
    groups = {}
    for verdict in verdicts:
        groups.setdefault(f"{verdict['tokens']} tokens", []).append(verdict)
        groups.setdefault(verdict["kind"], []).append(verdict)
    return {**count(verdicts), "by": {name: count(chosen) for name, chosen in groups.items()}}


def within_run(bench, run):
    """The verdicts of each twin relative to its original, in the same heats."""
    verdicts = []
    for twin, original in TWINS.items():
        for row in bench.table(run, original):
            if row["implementation"] == twin and row["verdict"]:
                verdicts.append({"run": run, "tokens": row["sequence_tokens"], "kind": original,
                                 "verdict": row["verdict"], "ratio": row["ratio"], "low": row["ratio_low"],
                                 "high": row["ratio_high"], "paired": row["paired"]})
    return verdicts


def between_runs(bench, a, b):
    return [{"run": b, "tokens": cell["sequence_tokens"], "kind": cell["contender"], "verdict": cell["verdict"],
             "ratio": cell["ratio"], "low": cell["ratio_low"], "high": cell["ratio_high"]}
            for cell in bench.compared(a, b)["cells"] if cell["verdict"]]


def same_against_same(arguments):
    lengths = [128, 512] if arguments.quick else [128, 256, 512, 1024, 2048]
    repeats = arguments.repeats or (2 if arguments.quick else 20)
    name = arguments.name or ("aa-window" if arguments.launcher else "aa")
    # The default stop rule, with less time, so that a repeat takes less than 40 s.
    sweep = {"name": name, "sequence_tokens": lengths, "windows": [4], "batch": {"max": 4},
             "contenders": ["full/sdpa", "full/sdpa-twin", "sparse/segment", "sparse/segment-twin",
                            "sparse/windowed", "sparse/windowed-twin"],
             "stop": {"max_seconds": 0.2 if arguments.quick else 1.0}}
    bench = Bench(arguments, name + ("-quick" if arguments.quick else ""), sweep)
    runs = bench.repeat(repeats, arguments.launcher)
    within = [verdict for run in runs for verdict in within_run(bench, run)]
    between = [verdict for a, b in zip(runs, runs[1:]) for verdict in between_runs(bench, a, b)]
    return {"name": name, "repeats": len(runs), "launcher": arguments.launcher, "sweep": sweep,
            "machine": bench.machine(runs[-1]), "within": counted(within, is_difference),
            "between": counted(between, is_difference), "verdicts_within": within, "verdicts_between": between}


def planted_slowdown(arguments):
    lengths = [512, 1024] if arguments.quick else [512, 1024, 2048, 4096]
    repeats = arguments.repeats or (2 if arguments.quick else 20)
    sweep = {"name": "slowdown", "sequence_tokens": lengths, "windows": [4],
             "contenders": ["sparse/segment", "sparse/segment-slowed"]}
    if arguments.quick:
        sweep["stop"] = {"max_seconds": 0.3}
    bench = Bench(arguments, "slowdown" + ("-quick" if arguments.quick else ""), sweep)
    runs = bench.repeat(repeats)
    verdicts = []
    for run in runs:
        for row in bench.table(run, "sparse/segment/4"):
            if row["contender"] == SLOWED and row["verdict"]:
                verdicts.append({"run": run, "tokens": row["sequence_tokens"], "kind": SLOWED,
                                 "verdict": row["verdict"], "ratio": row["ratio"], "low": row["ratio_low"],
                                 "high": row["ratio_high"], "median_ms": row["median_ms"]})
    by_length = []
    for tokens in lengths:
        here = [verdict for verdict in verdicts if verdict["tokens"] == tokens]
        found = sum(1 for verdict in here if verdict["verdict"] == "slower")
        by_length.append({"tokens": tokens, "repeats": len(here), "found": found, "interval": wilson(found, len(here)),
                          "wrong_way": sum(1 for verdict in here if verdict["verdict"] == "faster"),
                          "median_ratio": statistics.median(verdict["ratio"] for verdict in here),
                          "median_low": statistics.median(verdict["low"] for verdict in here),
                          "median_high": statistics.median(verdict["high"] for verdict in here),
                          "holds_3_percent": sum(1 for verdict in here if verdict["low"] <= 1.03 <= verdict["high"])})
    return {"name": "slowdown", "repeats": len(runs), "planted": 0.03, "sweep": sweep,
            "machine": bench.machine(runs[-1]), "by_length": by_length, "verdicts": verdicts}
