#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The proofs behind docs/trust.md: how often verdicts are wrong, whether a planted slowdown is found, what the
tool itself costs, and whether its times are those of other tools.

    trust.py aa          one sweep against itself: false verdicts within runs (twins) and between runs
    trust.py slowdown    segment beside a copy of it that takes 3% longer: how often that is found
    trust.py busy        equal code, and code that takes twice as long, beside five kinds of load
    trust.py overhead    time outside timed calls, on cells of 100 ms and more, and where it goes
    trust.py crosscheck  one kernel call by AttnScope, Google Benchmark and perf stat
    trust.py readme      results/trust/README.md from the figures that are there

Each says first how long it takes, goes on where it was stopped, and writes results/trust/NAME.json. They want a
quiet machine. `aa --launcher CMD` has another program start the runs (`CMD DATABASE SWEEP COUNT`), such as
one that drives the window: its figures are kept beside the headless ones, under the name `--name` gives.

Built first: ninja -C build/release attnscope attnscope-worker trial_worker attnscope_identical_call
"""
import argparse
import json
import pathlib

import trust_busy
import trust_crosscheck
import trust_overhead
import trust_readme
import trust_verdicts
from trust_runs import HOME, tell


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["aa", "slowdown", "busy", "overhead", "crosscheck",
                                            "readme"])
    parser.add_argument("--build", type=pathlib.Path, default=HOME / "build/release")
    parser.add_argument("--work", type=pathlib.Path, help="where runs are kept; the build's folder trust")
    parser.add_argument("--out", type=pathlib.Path, default=HOME / "results/trust")
    parser.add_argument("--repeats", type=int, help="20 of aa, slowdown and busy, 1 of overhead, 9 of crosscheck")
    parser.add_argument("--launcher", help="aa: CMD that is given DATABASE SWEEP COUNT and starts the runs")
    parser.add_argument("--name", help="aa: name of the figures, aa unless given")
    parser.add_argument("--quick", action="store_true", help="small and short, to see that it works; no figures kept")
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
    tell(f"{file} and README.md beside it are written")


if __name__ == "__main__":
    main()
