# SPDX-License-Identifier: Apache-2.0
"""Tests run --slurm with a real Slurm and a worker that needs no LibTorch: slurm_test.py BUILD_FOLDER FAKE_WORKER"""
import contextlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import private_slurm
from private_slurm import PrivateSlurm, wait_until

FAKE_WORKER = pathlib.Path(sys.argv.pop()) if len(sys.argv) > 2 else None
PROGRAM = pathlib.Path(sys.argv.pop()) / "attnscope" if len(sys.argv) > 1 else None

SHORT = [64 + step for step in range(8)]  # lengths of the first heat of each task
LONG = [1024 + step for step in range(8)]  # lengths of the second heats, which wait for a file to be removed

# Each of eight tasks gets one heat of each kind: heats with a third contender are estimated to take longer.
SWEEP = {
    "name": "eight tasks", "threads": 1, "sequence_tokens": SHORT + LONG,
    "contenders": ["full/dense", "full/sdpa", "full/held"],
    "skip": [f"implementation=held,sequence_tokens={tokens}" for tokens in SHORT],
    "stop": {"min_samples": 3, "placements": 1, "processes": 1, "max_seconds": 1},
}


class Slurm(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="attnscope-slurm-")
        self.addCleanup(temporary.cleanup)
        self.home = pathlib.Path(temporary.name)
        self.slurm = PrivateSlurm(self.home)
        self.addCleanup(self.slurm.stop)
        self.hold, self.log = self.home / "hold", self.home / "log"
        # Each task simulates its own node, so that it does not wait for other measurements.
        worker = self.home / "worker"
        worker.write_text(f"""#!/bin/sh
            export ATTNSCOPE_LOCKS="{self.home}/locks-${{SLURM_ARRAY_TASK_ID:-0}}"
            mkdir -p "$ATTNSCOPE_LOCKS"
            exec "{FAKE_WORKER}" "$@"
            """)
        worker.chmod(0o755)
        self.slurm.environment.update(
            XDG_DATA_HOME=str(self.home), TMPDIR=str(self.home), ATTNSCOPE_WORKER=str(worker),
            FAKE_WORKER_HOLD=str(self.hold), FAKE_WORKER_LOG=str(self.log))
        (self.home / "sweep.json").write_text(json.dumps(SWEEP))

    def attnscope(self, *arguments):
        return self.slurm.run(str(PROGRAM), *arguments, "--db", str(self.home / "runs.db"), cwd=self.home)

    def send(self, *arguments):
        sent = self.attnscope("run", *arguments)
        self.assertEqual(sent.returncode, 0, sent.stderr)
        folder = pathlib.Path(re.search(r"their files are in (.*)$", sent.stderr, re.MULTILINE)[1])
        return sent.stdout.strip(), folder

    def requested(self):
        """The lengths of all heats that the tasks requested."""
        lines = self.log.read_text().split("\n") if self.log.exists() else []
        return sorted(int(line.split()[1]) for line in lines if line.startswith("heat "))

    def wait_for_the_queue_to_be_empty(self):
        wait_until(lambda: not self.slurm.queue(), "the end of all jobs", 120,
                   lambda: self.slurm.run("scontrol", "show", "jobs").stdout)

    def start_eight_tasks(self, more=""):
        """Sends the sweep and waits until every task has measured its short heat and started the long one."""
        self.hold.touch()
        sent = self.send("sweep.json", "--slurm", "array=8,partition=test,mem=10,time=5" + more)
        wait_until(lambda: self.requested() == SHORT + LONG, "eight tasks that measure", 120)
        return sent

    def restart_soon(self, job, task):
        """A requeued job would wait for two minutes."""
        self.slurm.run("scontrol", "update", f"JobId={job}_{task}", "StartTime=now+2")

    def measured_by_tasks(self, folder):
        return {task: self.lengths_in(folder / f"task-{task}.db") for task in range(8)}

    def test_killed_and_requeued_tasks(self):
        job, folder = self.start_eight_tasks()
        of_task = self.measured_by_tasks(folder)
        self.assertEqual(sorted(sum(of_task.values(), [])), SHORT)
        lost = self.slurm.run("scancel", f"{job}_5")
        self.assertEqual(lost.returncode, 0, lost.stderr)
        requeued = self.slurm.run("scontrol", "requeue", f"{job}_3")
        self.assertEqual(requeued.returncode, 0, requeued.stderr)
        # Slurm resets changes that are made while the task is "COMPLETING".
        wait_until(lambda: self.slurm.queue().get(f"{job}_3") == "PENDING" and f"{job}_5" not in self.slurm.queue(),
                   "the end of two tasks", 60)
        self.restart_soon(job, 3)
        self.hold.unlink()
        self.wait_for_the_queue_to_be_empty()

        # The restarted task measured only its second heat again.
        requested = self.requested()
        merged = (folder / "merge.txt").read_text()
        missing, = set(SHORT + LONG) - set(self.lengths())
        again = {tokens for tokens in requested if requested.count(tokens) > 1} - {missing}
        self.assertEqual(again, set(self.lengths_in(folder / "task-3.db")) - set(of_task[3]), requested)
        self.assertRegex(merged, rf"lacks 1 of 16: heat \d+, {missing} tokens \(task-5\.db\)")

        self.log.unlink()
        _, folder = self.send("--resume", "last", "--slurm", "array=4,partition=test")
        self.wait_for_the_queue_to_be_empty()
        self.assertEqual(self.requested(), [missing])
        self.assertIn("which now has all 16", (folder / "merge.txt").read_text())
        self.expect_whole()

    def test_a_lost_node_loses_only_heats_in_progress(self):
        job, folder = self.start_eight_tasks()
        nodes = self.slurm.run("squeue", "--noheader", "--array", "--states=RUNNING", "--format=%K %N").stdout
        lost = [task for task, node in (line.split() for line in nodes.splitlines()) if node == "n2"]
        self.assertTrue(lost)
        self.slurm.lose_node("n2")
        self.hold.unlink()
        wait_until(lambda: all(self.slurm.queue().get(f"{job}_{task}") == "PENDING" for task in lost),
                   "requeued tasks", 60, lambda: str(self.slurm.queue()))
        for task in lost:
            self.restart_soon(job, task)
        self.wait_for_the_queue_to_be_empty()
        self.assertEqual(self.lengths(), SHORT + LONG, (folder / "merge.txt").read_text())
        requested = self.requested()
        self.assertEqual(len(requested) - len(SHORT + LONG), len(lost), requested)
        self.expect_whole()

    def test_tasks_wait_for_free_disk_space(self):
        small = self.home / "small"
        small.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m", "small", small], capture_output=True, text=True)
        if mounted.returncode != 0:
            self.skipTest(f"cannot mount a tmpfs: {mounted.stderr.strip()}")
        self.addCleanup(subprocess.run, ["umount", "--lazy", small])
        _, folder = self.start_eight_tasks(f",dir={small}")
        filler = small / "filler"
        with contextlib.suppress(OSError), filler.open("wb", buffering=0) as file:
            while True:
                file.write(b" " * 4096)
        self.hold.unlink()
        # Ceilings are measured before and after the heats.
        wait_until(lambda: self.log.read_text().split("\n").count("ceilings") == 2 * 8, "eight tasks that have measured", 60)
        self.assertEqual(sorted(sum(self.measured_by_tasks(folder).values(), [])), SHORT)
        filler.unlink()
        self.wait_for_the_queue_to_be_empty()
        self.assertEqual(self.requested(), SHORT + LONG)
        self.expect_whole()

    def lengths_in(self, file):
        listed = self.slurm.run(str(PROGRAM), "table", "last", "--format", "json", "--db", str(file))
        self.assertEqual(listed.returncode, 0, listed.stderr)
        return sorted({row["sequence_tokens"] for row in json.loads(listed.stdout)})

    def lengths(self):
        return self.lengths_in(self.home / "runs.db")

    def expect_whole(self):
        rows = json.loads(self.attnscope("table", "last", "--format", "json").stdout)
        cells = [(row["sequence_tokens"], row["contender"]) for row in rows]
        self.assertEqual(len(cells), 8 * 2 + 8 * 3)
        self.assertEqual(len(set(cells)), len(cells))
        self.assertEqual({row["status"] for row in rows}, {"ok"})
        machines = {row["machine"] for row in rows}
        self.assertLessEqual(machines, {f"{node} (Fake processor)" for node in private_slurm.NODES})
        for tokens in SHORT + LONG:
            self.assertEqual(len({row["machine"] for row in rows if row["sequence_tokens"] == tokens}), 1)
        shown = self.attnscope("show", "last").stdout
        for machine in machines:
            self.assertIn(machine, shown)
        run, = json.loads(self.attnscope("list", "runs", "--json").stdout)
        self.assertEqual(run["status"], "done")
        sound = self.attnscope("check-store")
        self.assertEqual(sound.returncode, 0, sound.stderr)


if __name__ == "__main__":
    if why := private_slurm.missing():
        print(f"skipped: {why}; scripts/setup --with-tests installs them")
        sys.exit(77)
    unittest.main()
