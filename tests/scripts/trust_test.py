#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests the evaluation of verdicts, events and figures by results/tools/trust.py."""
import json
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "results/tools"))
import trust_overhead  # noqa: E402
import trust_readme  # noqa: E402
import trust_verdicts  # noqa: E402

MACHINE = {"device": "Some CPU", "cores": 2, "kernel": "Linux 6.1", "governor": None, "commit": "0123456789abcdef",
           "dirty": False, "compiler": "GNU 12.2", "libtorch": "2.15.0"}


def verdict(tokens, kind, word):
    return {"tokens": tokens, "kind": kind, "verdict": word}


class Verdicts(unittest.TestCase):
    def test_wilson_interval_contains_the_share_within_0_and_1(self):
        low, high = trust_verdicts.wilson(5, 100)
        self.assertAlmostEqual(low, 0.0215, places=3)  # Wilson 1927, by the formula
        self.assertAlmostEqual(high, 0.1118, places=3)
        self.assertEqual(trust_verdicts.wilson(0, 20)[0], 0)
        self.assertAlmostEqual(trust_verdicts.wilson(20, 20)[1], 1)
        self.assertEqual(trust_verdicts.wilson(0, 0), [0, 1])

    def test_false_verdicts_are_counted_by_length_and_kind(self):
        verdicts = [verdict(128, "full/sdpa", "faster"), verdict(128, "sparse/segment/4", "no difference shown"),
                    verdict(512, "full/sdpa", "no difference shown"), verdict(512, "full/sdpa", "slower")]
        counts = trust_verdicts.counted(verdicts, lambda word: word != trust_verdicts.NO_DIFFERENCE)
        self.assertEqual((counts["verdicts"], counts["false"]), (4, 2))
        self.assertEqual(counts["by"]["128 tokens"]["false"], 1)
        self.assertEqual(counts["by"]["full/sdpa"]["verdicts"], 3)
        self.assertEqual(counts["by"]["sparse/segment/4"]["share"], 0)


class Overhead(unittest.TestCase):
    def test_phases_follow_the_events(self):
        def phase(event, text=""):
            return trust_overhead.phase_of({"event": event, "text": text})
        self.assertEqual(phase("contender", "sparse/segment/4: check"), trust_overhead.PHASES["check"])
        self.assertEqual(phase("contender", "full/dense: time"), trust_overhead.PHASES["time"])
        self.assertEqual(phase("heat-started"), "worker starts")

    def test_timed_seconds_are_calls_times_their_duration(self):
        cell = {"samples": [[0, 0, 0, 2e9, 3, 0, 0.0], [0, 0, 1, 4e9, 1, 0, 0.0], [0, 0, 2, 3e9, 1, 0, 0.0]]}
        self.assertEqual(trust_overhead.timed_seconds(cell), 13)
        self.assertEqual(trust_overhead.call_ms(cell), 3000)


class Readme(unittest.TestCase):
    def test_every_present_figure_has_its_section(self):
        counts = trust_verdicts.counted([verdict(128, "full/sdpa", "faster")], lambda word: True)
        parts = [
            {"name": "aa", "repeats": 20, "launcher": None, "machine": MACHINE, "within": counts, "between": counts},
            {"name": "aa-window", "repeats": 20, "launcher": "drive", "machine": MACHINE, "within": counts,
             "between": counts},
            {"name": "slowdown", "repeats": 20, "planted": 0.03, "machine": MACHINE,
             "by_length": [{"tokens": 512, "found": 19, "repeats": 20, "interval": [0.76, 0.99], "wrong_way": 0,
                            "median_ratio": 1.031, "median_low": 1.01, "median_high": 1.05,
                            "holds_3_percent": 19}]},
            {"name": "overhead", "machine": MACHINE, "sweeps": {"one": {
                "title": "some kernels", "cells": [1, 2], "least_call_ms": 120, "wall_s": 10.0, "timed_s": 8.0,
                "first_calls_s": 1.0, "share_outside": 0.2, "share_own": 0.1, "outside_s": {"worker starts": 1.0}}}},
            {"name": "crosscheck", "machine": MACHINE, "rounds": 9,
             "sweep": {"sequence_tokens": [1024], "windows": [64], "batch": {"max": 8}},
             "median_ms": {"AttnScope": 2.0, "perf stat": 2.02}, "against": {"perf stat": -0.0099}}]
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            for figures in parts:
                (folder / f"{figures['name']}.json").write_text(json.dumps(figures))
            trust_readme.write(folder)
            text = (folder / "README.md").read_text()
        for part in ["headless", "`drive`", "19 of 20", "+3.1%", "**10.0 %**", "-0.99%", "commit 0123456789,"]:
            self.assertIn(part, text)
        self.assertLess(text.index("headless"), text.index("`drive`"))


if __name__ == "__main__":
    unittest.main()
