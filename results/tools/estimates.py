#!/usr/bin/env python3
"""Compares the estimates of `attnscope estimate` for the named sweeps in results/estimates/sweeps.json with the time
that `attnscope run` then takes.

    results/tools/estimates.py ./attnscope quiet.csv                   # on an idle machine
    results/tools/estimates.py ./attnscope busy.csv --busy             # alongside one program that keeps a core busy
    results/tools/estimates.py ./attnscope some.csv --sweep long       # only this sweep; may be repeated

Writes a row for each sweep: estimated and measured seconds, their ratio, and the seconds that the estimate itself
took. Prints how many ratios are within 1.5x and 2x.
"""
import argparse
import csv
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SWEEPS = Path(__file__).resolve().parent.parent / "estimates" / "sweeps.json"
BUSY = "while True: pass"


def timed(command):
    start = time.monotonic()
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    seconds = time.monotonic() - start
    if done.returncode not in (0, 1):  # 1: some cell was wrong, which does not affect the time
        sys.exit(f"{' '.join(map(str, command))} ended with {done.returncode}: {done.stderr.strip()}")
    return done.stdout, seconds


def measure(program, sweep, folder):
    file = folder / f"{sweep['name']}.json"
    file.write_text(json.dumps(sweep))
    printed, took = timed([program, "estimate", file, "--json"])
    estimated = json.loads(printed)["estimated_seconds"]
    _, seconds = timed([program, "run", file, "--db", folder / "runs.db", "--quiet"])
    return {"sweep": sweep["name"], "estimated_seconds": round(estimated, 1), "measured_seconds": round(seconds, 1),
            "ratio": round(estimated / seconds, 3), "estimate_took_seconds": round(took, 1)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program")
    parser.add_argument("output", help="CSV file to write")
    parser.add_argument("--busy", action="store_true", help="run a program that keeps one core busy alongside")
    parser.add_argument("--sweep", action="append", help="name of a sweep to measure (default: all)")
    arguments = parser.parse_args()
    sweeps = [s for s in json.loads(SWEEPS.read_text()) if not arguments.sweep or s["name"] in arguments.sweep]
    busy = subprocess.Popen([sys.executable, "-c", BUSY]) if arguments.busy else None
    rows = []
    try:
        with tempfile.TemporaryDirectory() as folder, open(arguments.output, "w", newline="") as output:
            for sweep in sweeps:
                rows.append(measure(arguments.program, sweep, Path(folder)))
                writer = csv.DictWriter(output, rows[-1].keys())
                if len(rows) == 1:
                    writer.writeheader()
                writer.writerow(rows[-1])
                output.flush()
                print(*rows[-1].values(), flush=True)
    finally:
        if busy:
            busy.kill()
    for limit in (1.5, 2):
        within = sum(1 / limit <= row["ratio"] <= limit for row in rows)
        print(f"within {limit}x: {within} of {len(rows)}")


if __name__ == "__main__":
    main()
