# SPDX-License-Identifier: Apache-2.0
"""Tests results/tools/effectiveness with a stand-in for training and ranking: effectiveness_test.py BUILD_FOLDER"""
import gzip
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import unittest

HOME = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(sys.argv.pop()) if len(sys.argv) > 1 else HOME / "build/release"

# Records its arguments; trains by writing a folder, ranks worse with smaller windows, and evaluates with attnscope.
STAND_IN = """#!/usr/bin/env python3
import gzip, os, pathlib, random, signal, sys
home = pathlib.Path(__file__).parent
command, out = sys.argv[1], pathlib.Path(sys.argv[-1])
option = lambda name: sys.argv[sys.argv.index(name) + 1]
if command == "evaluate":
    os.execv(%r, ["attnscope", *sys.argv[1:]])
with open(home / "calls", "a") as file:
    file.write(" ".join(sys.argv[1:]) + "\\n")
if command == "train":
    out.mkdir(parents=True, exist_ok=True)
    with open(out / "steps", "a") as file:
        file.write("begun\\n")
    if (home / "stops").exists() and option("--pattern") == "longformer":
        sys.exit("stopped")
    if (home / "ready").exists():
        def stop(*_):
            (out / "saved").touch()
            sys.exit(130)
        signal.signal(signal.SIGTERM, stop)
        (home / "ready").write_text("ready")  # a pipe
        signal.pause()
    (out / "window").write_text(option("--window") if "--window" in sys.argv else "64")
    (out / "model.safetensors").touch()
else:
    trained = pathlib.Path(option("--checkpoint"))
    window, draw = int((trained / "window").read_text()), random.Random(trained.name[-1])
    lines = []
    for line in gzip.open(option("--run"), "rt"):
        query, q0, document, rank, score, tag = line.split()
        score = draw.random()
        if document == query:
            is_right = {16: query != "p7", 0: score < 0.5}.get(window, True)
            score = 2 if is_right else -1
        lines.append((query, -score, f"{query} Q0 {document} 1 {score} {trained.name}\\n"))
    with gzip.open(out, "wt") as file:
        file.write("".join(line for _, _, line in sorted(lines)))
"""


class Effectiveness(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.home = pathlib.Path(scratch.name)
        self.program = self.home / "attnscope"
        self.program.write_text(STAND_IN % str(BUILD / "attnscope"))
        self.program.chmod(0o755)
        self.folder = self.home / "out"
        self.collect(self.folder / "collection", "")
        self.collect(self.folder / "collection/long", "long")
        (self.folder / "start").mkdir()
        (self.folder / "start/config.json").touch()

    def collect(self, texts, prefix):
        texts.mkdir(parents=True)
        ids = [f"{prefix}p{at}" for at in range(40)]
        write = lambda name, lines: (texts / name).write_text("".join(line + "\n" for line in lines))
        write("README.md", ["An index."])
        write("triples.tsv", ["a\tb\tc"])
        write("documents.tsv", (f"{id}\ttext" for id in ids))
        write("queries.test.tsv", (f"{id}\tquery" for id in ids))
        write("qrels.test.txt", (f"{id} 0 {id} 1" for id in sorted(ids)))
        write("bm25.test.trec", (f"{id} Q0 {other} {rank} {9 - rank} bm25" for id in sorted(ids)
                                 for rank, other in enumerate([*[other for other in ids if other != id][:3], id], 1)))

    def effectiveness(self, *options):
        return subprocess.run([HOME / "results/tools/effectiveness", self.folder, "--queries", "30", *options],
                              env={**os.environ, "ATTNSCOPE": str(self.program)}, capture_output=True, text=True)

    def calls(self):
        file = self.home / "calls"
        return file.read_text().splitlines() if file.exists() else []

    def test_patterns_are_trained_ranked_and_tabulated_alike(self):
        done = self.effectiveness("--margin", "0.1")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.check_table(done.stdout)
        calls = self.calls()
        self.assertEqual(len(calls), 28)
        trained = [call for call in calls if call.startswith("train")]
        patterns = [re.search(r"--pattern (\w+)(?: --window (\d+))?", call).groups() for call in trained]
        self.assertEqual(patterns, 2 * [("full", None), ("longformer", "64"), ("sparse", "64"), ("sparse", "16"),
                                        ("sparse", "4"), ("sparse", "1"), ("sparse", "0")])
        rest = {re.sub(r"--pattern \w+( --window \d+)?|--seed \d|-o .*", "", call) for call in trained}
        self.assertEqual(len(rest), 1, rest)
        runs = sorted((self.folder / "results/runs").iterdir())
        self.assertEqual(len(runs), 15)
        for run in runs:
            self.assertEqual(len({line.split()[0] for line in gzip.open(run, "rt")}), 30)
        sweep = json.loads((self.folder / "results/sweep.json").read_text())
        self.assertEqual(len(sweep["contenders"]), 7)
        for file in (sweep["qrels"], *(contender["run"] for contender in sweep["contenders"])):
            self.assertTrue((self.folder / "results" / file).is_file(), file)

    def check_table(self, table):
        self.assertEqual((self.folder / "results/table.md").read_text(), table)
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()
                if line.startswith("|")]
        self.assertEqual([row[0] for row in rows], ["nDCG@10", "---", "seed 1", "seed 2", "mean"])
        self.assertEqual(rows[0][1:4], ["BM25", "full w = ∞", "longformer w = 64"])
        for row in rows[2:4]:
            self.assertEqual(row[1:3], ["0.431", "**1.000**"])  # 1 / log2(5)
            self.assertEqual(row[5], "0.981†")  # one query of 30
            self.assertRegex(row[8], r"^0\.\d+\\\*$")
        same = "equivalent to full attention with"
        self.assertIn(f"- sparse w = 16: {same} 2 of 2 seeds; differences -0.0190 (", table)
        self.assertRegex(table, rf"- sparse w = 0: {same} 0 of 2 seeds; differences -0\.\d+ \(")
        self.assertIn("seed 2 against that of seed 1, for scale: +0.0000 (each query's: no test)", table)
        self.assertIn("| nDCG@10 | full-seed2 |", (self.folder / "results/tests-seed1.md").read_text())

    def test_a_stopped_run_resumes_in_its_folder(self):
        (self.home / "stops").touch()
        done = self.effectiveness()
        self.assertEqual(done.returncode, 2)
        self.assertIn("effectiveness: train longformer-64-seed1 was not finished", done.stderr)
        self.assertEqual(len(self.calls()), 3)
        self.assertFalse((self.folder / "results/table.md").exists())
        (self.home / "stops").unlink()
        self.assertEqual(self.effectiveness("--seeds", "1").returncode, 0)
        models = self.folder / "models"
        self.assertEqual((models / "longformer-64-seed1/steps").read_text(), "begun\nbegun\n")
        self.assertEqual((models / "full-seed1/steps").read_text(), "begun\n")
        self.assertEqual(len(list(models.iterdir())), 7)

    def test_a_signal_waits_until_the_program_has_saved(self):
        os.mkfifo(self.home / "ready")
        with subprocess.Popen([HOME / "results/tools/effectiveness", self.folder], stderr=subprocess.PIPE, text=True,
                              env={**os.environ, "ATTNSCOPE": str(self.program)}) as running:
            self.assertEqual((self.home / "ready").read_text(), "ready")
            running.send_signal(signal.SIGTERM)
            self.assertIn("train full-seed1 was not finished; the same command continues", running.communicate()[1])
        self.assertEqual(running.returncode, 2)
        self.assertTrue((self.folder / "models/full-seed1/saved").exists())

    def test_a_second_run_repeats_nothing_and_other_settings_need_another_folder(self):
        first, calls = self.effectiveness("--seeds", "1"), self.calls()
        second = self.effectiveness("--seeds", "1")
        self.assertEqual((second.returncode, second.stdout, self.calls()), (0, first.stdout, calls))
        self.assertIn("within ± 0.1 ", self.effectiveness("--margin", "0.1", "--seeds", "1").stdout)
        done = self.effectiveness("--steps", "7", "--batch", "2")
        self.assertEqual(done.returncode, 2)
        self.assertIn("other batch, steps", done.stderr)
        self.assertEqual(self.calls(), calls)

    def test_long_documents_use_the_long_collection_and_extended_positions(self):
        self.assertEqual(self.effectiveness("--long", "--max-tokens", "4096", "--seeds", "1").returncode, 0)
        for call in self.calls():
            self.assertIn("--extend-positions 4096", call)
            self.assertIn("collection/long/", call)

    def test_a_missing_program_is_reported(self):
        self.program.unlink()
        done = self.effectiveness()
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, r"effectiveness: .*attnscope: No such file or directory\n$")


if __name__ == "__main__":
    unittest.main()
