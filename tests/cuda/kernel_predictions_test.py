# SPDX-License-Identifier: Apache-2.0
"""Tests results/tools/kernel_predictions.py with the recorded counts, and the predictions in results/kernels-h200."""
import json
import pathlib
import sys
import tempfile
import unittest

HOME = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(HOME / "results/tools"))
import kernel_predictions as predictions  # noqa: E402

RECORDED = json.loads((HOME / "tests/cuda/hot_path.json").read_text())
FILE = HOME / "results/kernels-h200/predictions.csv"
BENCH = ("tokens,window,direction,mode,dtype,variant,median_ms,copy_gb_s\n"
         "4096,4,forward,warm,bfloat16,default,0.4000,4300\n"
         "4096,4,forward,warm,bfloat16,strips,0.1000,4300\n"
         "4096,4,forward,cold,bfloat16,default,0.9000,4300\n")


def cells(rows):
    return {tuple(str(row[column]) for column in predictions.COLUMNS[:6]): row for row in rows}


class Predictions(unittest.TestCase):
    def setUp(self):
        self.rows = predictions.predict(RECORDED)

    def test_every_cell_has_a_time_within_its_range(self):
        # A copy, two lengths of full attention, and 2 lengths x 2 windows x 3 types x 2 directions x 2 modes.
        self.assertEqual(len(cells(self.rows)), 1 + 2 + 48)
        for row in self.rows:
            self.assertLess(float(row["low_ms"]), float(row["predicted_ms"]), row)
            self.assertLess(float(row["predicted_ms"]), float(row["high_ms"]), row)

    def test_one_launch_is_the_first_runs_fit_of_latency_and_bytes(self):
        counted = {"instructions a strip": 394, "blocks an SM": 8}
        self.assertAlmostEqual(predictions.launch_ms(4096, 4, "forward", "rows", counted),
                               0.032 + 100 * 4096 * 12 * 260 / 3.9e9, places=4)
        # Many more instructions than bytes.
        slow = predictions.launch_ms(4096, 64, "forward", "rows", {"instructions a strip": 3940, "blocks an SM": 8})
        self.assertAlmostEqual(slow, 0.32 + 1200 * 257 * 3940 / (132 * 4 * 1.98e9 * 0.46) * 1e3, places=4)

    def test_few_walks_take_at_least_the_latency_of_the_longest(self):
        one_wave = {"instructions a strip": 394, "blocks an SM": 32}
        self.assertAlmostEqual(predictions.launch_ms(174, 4, "forward", "rows", one_wave), 0.032 * 11 / 16, places=4)

    def test_measured_times_are_those_of_the_default_walks(self):
        with tempfile.TemporaryDirectory() as folder:
            file, bench = pathlib.Path(folder) / "predictions.csv", pathlib.Path(folder) / "bench.csv"
            bench.write_text(BENCH)
            predictions.main("predict", file)
            before = cells(predictions.read(file))
            predictions.main("fill", file, bench)
            after = cells(predictions.read(file))
            with self.assertRaisesRegex(SystemExit, "has measured times"):
                predictions.main("predict", file)
        filled = [cell for cell, row in after.items() if row["measured_ms"]]
        cell = ("segment", "4096", "4", "bfloat16", "forward", "launch")
        self.assertEqual(sorted(filled), sorted([cell, ("copy", "", "", "", "", "")]))
        self.assertEqual((after[cell]["measured_ms"], after[cell]["predicted_ms"]),
                         ("0.4000", before[cell]["predicted_ms"]))
        self.assertAlmostEqual(float(after[cell]["error"]), 0.4 / float(before[cell]["predicted_ms"]) - 1, places=3)

    def test_the_predictions_on_record_are_those_of_the_recorded_counts_until_times_are_measured(self):
        recorded = predictions.read(FILE)
        self.assertEqual(set(cells(recorded)), set(cells(self.rows)))
        if not any(row["measured_ms"] for row in recorded):
            self.assertEqual([list(row.values()) for row in recorded],
                             [[str(value) for value in row.values()] for row in self.rows])


if __name__ == "__main__":
    unittest.main()
