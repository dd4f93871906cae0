# SPDX-License-Identifier: Apache-2.0
"""Runs attnscope for trust.py in repeats that can be resumed, and reads the results from the store."""
import json
import os
import pathlib
import subprocess
import sys
import time

HOME = pathlib.Path(__file__).resolve().parents[2]


def report(text):
    print(text, file=sys.stderr, flush=True)


class Bench:
    """One experiment's folder: its sweep, its database, and the program that measures into it."""

    def __init__(self, arguments, name, sweep):
        self.build = arguments.build.resolve()
        self.folder = (arguments.work or self.build / "trust").resolve() / name
        self.folder.mkdir(parents=True, exist_ok=True)
        self.database = self.folder / "runs.db"
        self.sweep = sweep
        self.sweep_file = self.folder / "sweep.json"
        text = json.dumps(sweep, indent=1)
        if self.sweep_file.exists() and self.sweep_file.read_text() != text and self.runs():
            sys.exit(f"{self.sweep_file} belongs to another experiment, whose runs are in the same folder; name another "
                     "folder with --work, or remove this one")
        self.sweep_file.write_text(text)

    def environment(self, trial_worker=False):
        settings = dict(os.environ)
        if trial_worker:
            worker = self.build / "trial_worker"
            if not worker.exists():
                sys.exit(f"{worker} is missing: ninja -C {self.build} trial_worker")
            settings["ATTNSCOPE_WORKER"] = str(worker)
        return settings

    def attnscope(self, *arguments, check=True, **options):
        command = [str(self.build / "attnscope"), *map(str, arguments), "--db", str(self.database)]
        done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
        if check and done.returncode != 0:
            sys.exit(f"{' '.join(command)} ended with {done.returncode}: {done.stderr.strip()}")
        return done

    def runs(self):
        """UUIDs of the finished runs, oldest first."""
        if not self.database.exists():
            return []
        listed = json.loads(self.attnscope("list", "runs", "--json").stdout)
        return [run["uuid"] for run in reversed(listed) if run["status"] == "done"]

    def seconds_of_one(self):
        """The most that one repeat may take: the time limits of all cells, and worker starts, checks and ceilings."""
        stop = {"max_seconds": 3, **self.sweep.get("stop", {})}
        contenders = len(self.sweep["contenders"])
        lengths = len(self.sweep["sequence_tokens"])
        return lengths * contenders * stop["max_seconds"] + lengths * 4 + 8

    def repeat(self, count, launcher=None):
        """Measures until there are `count` finished runs, or lets `launcher DB SWEEP N` measure them."""
        there = len(self.runs())
        left = max(0, count - there)
        report(f"{self.folder.name}: {there} of {count} repeats exist; {left} to measure, at most "
               f"{self.seconds_of_one():.0f} s each, {left * self.seconds_of_one() / 60:.0f} min in all")
        environment = self.environment(trial_worker=True)
        if launcher and left:
            subprocess.run([*launcher.split(), str(self.database), str(self.sweep_file), str(left)], check=True,
                           env=environment, stdout=sys.stderr)
        for number in range(0 if launcher else left):
            started = time.monotonic()
            done = self.attnscope("run", self.sweep_file, "--quiet", check=False, env=environment)
            if done.returncode != 0:
                sys.exit(f"repeat {there + number + 1} ended with {done.returncode}: {done.stderr.strip()}\n"
                         "The finished ones are kept: start again to continue.")
            report(f"  repeat {there + number + 1} of {count}: {time.monotonic() - started:.0f} s")
        runs = self.runs()
        if len(runs) < count:
            sys.exit(f"only {len(runs)} of {count} repeats are finished; start again to continue")
        return runs[:count]

    def table(self, run, baseline=None):
        more = ["--baseline", baseline] if baseline else []
        return json.loads(self.attnscope("table", run, "--format", "json", *more).stdout)

    def compared(self, a, b):
        return json.loads(self.attnscope("compare", a, b, "--json").stdout)

    def machine(self, run):
        """Machine and build of a run."""
        shown = json.loads(self.attnscope("show", run, "--json").stdout)
        build = shown["provenance"]["build"]
        device = shown["provenance"]["device"]
        return {"device": device["name"], "cores": device["cores"], "kernel": device.get("kernel"),
                "governor": device.get("governor"), "commit": build["commit"], "dirty": build["dirty"],
                "compiler": build["compiler"], "libtorch": build["libtorch"]}
