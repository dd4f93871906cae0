#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the figures of docs/trust.md: how often verdicts are wrong, whether a planted slowdown is found, what the
tool itself costs, and whether other tools measure the same times.

    trust.py aa          one sweep against itself: false verdicts within runs (twins) and between runs
    trust.py slowdown    segment and a copy of it that takes 3% longer: how often this is found
    trust.py busy        equal code, and code that takes twice as long, under five kinds of load
    trust.py overhead    time outside timed calls, on cells of 100 ms and more, and where it goes
    trust.py crosscheck  one kernel call measured by AttnScope, Google Benchmark and perf stat
    trust.py readme      writes results/trust/README.md from the figures that are there

Each command first prints how long it takes, continues where it was stopped, and writes results/trust/NAME.json. They
need a quiet machine. With `aa --launcher CMD` another program starts the runs (`CMD DATABASE SWEEP COUNT`), for example
one that drives the window; its figures are written under the name `--name`, next to the headless ones.

Build first: ninja -C build/release attnscope attnscope-worker trial_worker attnscope_identical_call
"""
import argparse
import json
import pathlib

import trust_busy
import trust_crosscheck
import trust_overhead
import trust_readme
import trust_verdicts
from trust_runs import HOME, report


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["aa", "slowdown", "busy", "overhead", "crosscheck",
                                            "readme"])
    parser.add_argument("--build", type=pathlib.Path, default=HOME / "build/release")
    parser.add_argument("--work", type=pathlib.Path, help="folder of the runs (default: trust in the build folder)")
    parser.add_argument("--out", type=pathlib.Path, default=HOME / "results/trust")
    parser.add_argument("--repeats", type=int, help="default: 20 for aa, slowdown and busy, 1 for overhead, 9 for crosscheck")
    parser.add_argument("--launcher", help="aa: CMD, which is called with DATABASE SWEEP COUNT and starts the runs")
    parser.add_argument("--name", help="aa: name of the figures (default: aa)")
    parser.add_argument("--quick", action="store_true", help="a small and short test; no figures are written")
    arguments = parser.parse_args()
    if arguments.command == "readme":
        return trust_readme.write(arguments.out)
    measure = {"aa": trust_verdicts.same_against_same, "slowdown": trust_verdicts.planted_slowdown,
               "busy": trust_busy.measure,
               "overhead": trust_overhead.measure, "crosscheck": trust_crosscheck.measure}[arguments.command]
    figures = measure(arguments)
    text = json.dumps(figures, separators=(",", ":")) + "\n"  # small: it is tracked
    if arguments.quick:
        return print(text)
    arguments.out.mkdir(parents=True, exist_ok=True)
    file = arguments.out / f"{figures['name']}.json"
    file.write_text(text)
    trust_readme.write(arguments.out)
    report(f"wrote {file} and the README.md next to it")


if __name__ == "__main__":
    main()
