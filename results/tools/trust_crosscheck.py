# SPDX-License-Identifier: Apache-2.0
"""Times one kernel call (segment, forward, sparse pattern, 1024 tokens) with three tools in turn: AttnScope, Google
Benchmark, and perf stat on a loop. The location of buffers changes a time by several percent. Each round therefore
starts new processes of every tool, and a tool's figure is the median over rounds of its medians."""
import json
import random
import statistics
import subprocess

from trust_runs import Bench, report

TOKENS, WINDOW, ITEMS, THREADS = 1024, 64, 8, 1
PLACES = 5  # as many as a cell has by default
PLACE = random.Random(2)
CALLS = {"quick": 10, "whole": 60}  # of some 20 ms each


def output_of(command):
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}: {done.stderr.strip()}")
    return done


def identical_call(bench):
    """The program, with its buffers shifted by a new offset."""
    return [str(bench.build / "attnscope_identical_call"), "--place", str(PLACE.randrange(1 << 30))]


def by_attnscope(bench, _):
    bench.attnscope("run", bench.sweep_file, "--quiet", env=bench.environment())
    (row,) = bench.table("last")
    if row["status"] != "ok" or row["batch"] != ITEMS:
        raise SystemExit(f"the cell is {row['status']} with batch {row['batch']}: {row['reason']}")
    return row["median_ms"]


def by_google_benchmark(bench, calls):
    """Median over processes, which have one placement each, as AttnScope pools placements."""
    medians = []
    for _ in range(PLACES):
        done = output_of([*identical_call(bench), "--benchmark_repetitions=15",
                          f"--benchmark_min_time={calls / 600}", "--benchmark_report_aggregates_only=true",
                          "--benchmark_format=json", "--benchmark_filter=segment"])
        (median,) = [entry["real_time"] for entry in json.loads(done.stdout)["benchmarks"]
                     if one["aggregate_name"] == "median"]
        medians.append(median)
    return statistics.median(medians)


def by_perf_stat(bench, calls):
    """From the difference between a loop of `calls` calls and one of three times as many, without start and set-up."""
    times = []
    for _ in range(PLACES):
        program = identical_call(bench)
        elapsed = {}
        for count in (calls, 3 * calls):
            done = output_of(["perf", "stat", "-x", ",", "-e", "duration_time", "--",
                              *program, "--loop", str(count)])
            (line,) = [line for line in done.stderr.splitlines() if "duration_time" in line]
            elapsed[count] = float(line.split(",")[0]) / 1e6
        times.append((elapsed[3 * calls] - elapsed[calls]) / (2 * calls))
    return statistics.median(times)


TOOLS = {"AttnScope": by_attnscope, "Google Benchmark": by_google_benchmark, "perf stat": by_perf_stat}


def measure(arguments):
    calls = CALLS["quick" if arguments.quick else "whole"]
    rounds = arguments.repeats or (2 if arguments.quick else 9)
    sweep = {"name": "crosscheck", "sequence_tokens": [TOKENS], "windows": [WINDOW], "threads": THREADS,
             "batch": {"max": ITEMS}, "contenders": ["sparse/segment"],
             "stop": {"max_seconds": 1 if arguments.quick else 3}}
    bench = Bench(arguments, "crosscheck" + ("-quick" if arguments.quick else ""), sweep)
    report(f"crosscheck: {rounds} rounds of {len(TOOLS)} tools, about {rounds * (PLACES * calls * 0.14 + 10) / 60:.0f} min")
    order = random.Random(1)
    figures = {name: [] for name in TOOLS}
    for number in range(rounds):
        for name in order.sample(list(TOOLS), len(TOOLS)):
            figures[name].append(TOOLS[name](bench, calls))
        report("  round {} of {}: ".format(number + 1, rounds)
               + ", ".join(f"{name} {values[-1]:.4f} ms" for name, values in figures.items()))
    medians = {name: statistics.median(values) for name, values in figures.items()}
    return {"name": "crosscheck", "sweep": sweep, "machine": bench.machine("last"), "rounds": rounds,
            "median_ms": medians, "times_ms": figures,
            "against": {name: medians["AttnScope"] / value - 1 for name, value in medians.items()
                        if name != "AttnScope"}}
