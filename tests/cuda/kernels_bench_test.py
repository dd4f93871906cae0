# SPDX-License-Identifier: Apache-2.0
"""Tests kernels_bench, built for the emulation: its arguments, the order of its cases, its lines.

usage: kernels_bench_test.py PROGRAM
"""
import csv
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM = sys.argv.pop(1)
SMALL = ("--documents", "2", "--heads", "1", "--groups", "1", "--repeats", "2", "--copy-mb", "1")


def bench(*arguments):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True)


class KernelsBench(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.csv = pathlib.Path(folder.name) / "bench.csv"

    def rows(self):
        with self.csv.open() as file:
            return list(csv.DictReader(file))

    def test_lengths_are_measured_in_the_order_given_with_every_window_direction_and_mode(self):
        done = bench(*SMALL, "--tokens", "30,14", "--windows", "4,64", "--csv", self.csv)
        self.assertEqual(done.returncode, 0, done.stderr)
        cells = [(row["tokens"], row["window"], row["direction"], row["mode"]) for row in self.rows()]
        self.assertEqual(cells, [(tokens, window, direction, mode) for tokens in ("30", "14") for window in ("4", "64")
                                 for direction in ("forward", "backward") for mode in ("warm", "cold", "graph")])
        self.assertEqual({(row["dtype"], row["variant"]) for row in self.rows()}, {("bfloat16", "default")})
        for row in self.rows():
            self.assertEqual({row["right"], row["documents_alike"], row["repeats_alike"]}, {"yes"})
            self.assertLessEqual(float(row["low_ms"]), float(row["median_ms"]))
            self.assertLessEqual(float(row["median_ms"]), float(row["high_ms"]))

    def test_types_and_variants_are_measured_and_named(self):
        done = bench(*SMALL, "--tokens", "90", "--windows", "64", "--modes", "graph", "--csv", self.csv,
                     "--types", "float16,float32", "--variants", "strips,alternate,strips+alternate")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([(row["dtype"], row["variant"], row["direction"], row["right"]) for row in self.rows()],
                         [(dtype, variant, direction, "yes") for dtype in ("float16", "float32")
                          for variant in ("strips", "alternate", "strips+alternate")
                          for direction in ("forward", "backward")])

    def test_a_second_call_adds_its_lines_to_the_file(self):
        for direction in ("forward", "backward"):
            bench(*SMALL, "--tokens", "24", "--windows", "4", "--directions", direction, "--modes", "graph", "--csv",
                  self.csv)
        self.assertEqual([row["direction"] for row in self.rows()], ["forward", "backward"])

    def test_once_only_makes_the_calls(self):
        done = bench(*SMALL, "--tokens", "24", "--windows", "4", "--once", "--csv", self.csv)
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)
        self.assertEqual(self.rows(), [])

    def test_wrong_arguments_are_explained(self):
        for arguments, words in ((("--tokens", "12"), "--tokens"), (("--windows", "200"), "--windows"),
                                 (("--modes", "lukewarm"), "lukewarm"), (("--groups", "0"), "--groups"),
                                 (("--variant", "fastest"), "fastest"), (("--types", "int8"), "int8")):
            with self.subTest(arguments=arguments):
                done = bench(*arguments)
                self.assertNotEqual(done.returncode, 0)
                self.assertIn(words, done.stderr)

    def test_a_file_that_cannot_be_written_is_named(self):
        done = bench(*SMALL, "--csv", "/nowhere/bench.csv")
        self.assertEqual(done.returncode, 1)
        self.assertIn("/nowhere/bench.csv cannot be written", done.stderr)

    def test_help_names_the_options(self):
        done = bench("--help")
        self.assertEqual(done.returncode, 0)
        for option in ("--tokens", "--windows", "--directions", "--modes", "--once", "--csv", "--variants", "--types"):
            self.assertIn(option, done.stdout)


if __name__ == "__main__":
    unittest.main()
