#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests that Python functions are measured like the built-in implementations and models, and affect no others.

contenders_test.py BUILD_FOLDER
"""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import unittest

try:
    import numpy  # noqa: F401  what the contenders compute with
except ImportError:
    print("skipped: NumPy is not installed")
    sys.exit(77)

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(sys.argv.pop()).resolve() if len(sys.argv) > 1 else HERE.parents[1] / "build/release"
if not (BUILD / "attnscope-worker").exists():
    print("skipped: this build has no worker")
    sys.exit(77)
CONTENDERS = HERE / "contenders.py"
SWEEP = {"name": "with", "query_tokens": 5, "sequence_tokens": 24, "batch": {"max": 3}, "heads": 2, "head_dim": 8,
         "threads": 1, "stop": {"relative_interval": 0.5, "max_seconds": 0.05, "min_samples": 3, "placements": 2,
                                "processes": 1}}


class Contenders(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.environment = {**os.environ, "ATTNSCOPE_PYTHON": sys.executable, "PYTHONDONTWRITEBYTECODE": "1"}
        # A build outside of build/ and an installed package are found in this way.
        self.environment["PYTHONPATH"] = str(HERE.parents[1] / "python")
        self.environment["TMPDIR"] = str(self.folder)

    def attnscope(self, *arguments):
        return subprocess.run([BUILD / "attnscope", *map(str, arguments)], capture_output=True, text=True,
                              env=self.environment, cwd=self.folder, timeout=600)

    def refused(self, *arguments):
        done = self.attnscope(*arguments)
        self.assertEqual(done.returncode, 2, done.stderr)
        return done.stderr.strip().split("\n")[-1]

    def script(self, name, text):
        (self.folder / name).write_text(text)
        return self.folder / name

    def cells(self, contenders, code=0, **changes):
        sweep = self.folder / "sweep.json"
        sweep.write_text(json.dumps({**SWEEP, **changes, "contenders": contenders}))
        done = self.attnscope("run", sweep, "--quiet", "--with", CONTENDERS, "--db", "runs.db")
        self.assertEqual(done.returncode, code, done.stderr)
        table = self.attnscope("table", "last", "--format", "json", "--db", "runs.db")
        self.assertEqual(table.returncode, 0, table.stderr)
        self.assertEqual(self.left_over(), [])
        return {row["contender"]: row for row in json.loads(table.stdout)}

    def left_over(self):
        """Folders with a model's weights that were not removed."""
        return list(self.folder.glob("attnscope-*"))

    def models(self, contenders, code=0, **changes):
        return self.cells(contenders, code, **{"operation": "model", "layers": 2, "feed_forward": 32, **changes})

    def test_python_contenders_are_measured_in_both_memory_orders(self):
        for order in ("head-major", "token-major"):
            cells = self.cells(["full/sdpa", "full/by-hand", "sparse/by-hand", "longformer/by-hand", "full/in-place"]
                               if order == "head-major" else ["full/sdpa", "full/by-hand", "sparse/by-hand"],
                               windows=[3], memory_order=order)
            for name, cell in cells.items():
                with self.subTest(order=order, contender=name):
                    self.assertEqual(cell["status"], "ok", cell["reason"])
                    self.assertEqual(cell["batch"], 3)
                    self.assertLess(cell["relative_error"], 1e-6)
                    self.assertGreater(cell["median_ms"], 0)
                    self.assertIsNotNone(cell["peak_bytes"])
        shown = self.attnscope("show", "last", "--db", "runs.db").stdout
        words = " ".join(shown.split())
        self.assertRegex(words, r"by-hand computed by \S+contenders\.py \(numpy [\d.]+, python [\d.]+\)")
        self.assertRegex(words, r"each call includes [\d.]+ us of communication with that process")
        self.assertIn(f"--with {CONTENDERS}", words)

    def test_a_wrong_contender_fails_only_its_cell(self):
        expected = {"copies": ("wrong", "the relative error of its output"),
                    "shape": ("crashed", "it returned the shape [3, 2, 24, 1] where [3, 2, 24, 8] is required"),
                    "dtype": ("crashed", "it returned float64, not float32"),
                    "nothing": ("crashed", "it returned nothing"),
                    "lazy": ("crashed", "it returned a __main__.Later, not a numpy.ndarray"),
                    "derived": ("crashed", "it returned a __main__.Derived, not a numpy.ndarray"),
                    # The comparison of an earlier call may find its effect first.
                    "spoils-later": ("wrong", ("it changed its inputs after it was checked",
                                               "wrong in the timed calls: the relative error of its output")),
                    "raises": ("crashed", "ValueError: not my day (contenders.py:"),
                    "writes": ("wrong", "it changed its inputs"),
                    "remembers": ("wrong", "it was correct when it was checked, but wrong in the timed calls"),
                    "nan-now-and-then": ("wrong", "wrong in the timed calls"),
                    "row-now-and-then": ("wrong", "a row of its output differs from that of the call that was checked"),
                    "later": ("wrong", "wrong in the timed calls"),
                    "writes-once": ("wrong", "wrong in the timed calls"),
                    "rounds": ("wrong", "the relative error of its output"),
                    "dies-in-supports": ("crashed", "was ended by signal 9 (SIGKILL)"),
                    "dies-in-prepare": ("crashed", "was ended by signal 9 (SIGKILL)"),
                    "dies-in-peak-bytes": ("crashed", "was ended by signal 9 (SIGKILL)"),
                    "dies": ("crashed", "was ended by signal 11 (SIGSEGV)"),
                    "leaves": ("crashed", "ended with exit code 3; its last output: I had enough"),
                    "forks": ("ok", ""), "by-hand": ("ok", ""), "sdpa": ("ok", "")}
        self.assert_outcomes(self.cells([f"full/{name}" for name in expected], code=1), expected)

    def assert_outcomes(self, cells, expected):
        """Each cell has its status, and one of its reasons in one line."""
        for name, (status, reasons) in expected.items():
            cell = cells[f"full/{name}"]
            with self.subTest(contender=name):
                self.assertEqual(cell["status"], status, cell["reason"])
                parts = (reasons,) if isinstance(reasons, str) else reasons
                self.assertTrue(any(part in cell["reason"] for part in parts), cell["reason"])
                self.assertNotIn("\n", cell["reason"])

    def test_timed_calls_have_new_inputs(self):
        names = ["bytes", "queries", "keys", "values", "a-row", "sums", "sizes"]
        # With 16 channels the same signs would be drawn again at times.
        for name, cell in self.cells([f"full/knows-{name}" for name in names], head_dim=64).items():
            with self.subTest(contender=name):
                self.assertEqual(cell["status"], "ok", cell["reason"])
        (cell,) = self.models(["full/bert-knows-pairs"]).values()
        self.assertEqual(cell["status"], "ok", cell["reason"])

    def test_unsupported_cells_have_a_reason(self):
        for contender, reason, changes in (
                ("sparse/in-place", "in-place supports the patterns full, not sparse", {"windows": [2]}),
                ("full/in-place", "in-place supports float32, not bfloat16", {"dtype": "bfloat16"}),
                ("full/in-place", "in-place has no backward pass", {"direction": "forward-backward"})):
            (cell,) = self.cells([contender], **changes).values()
            self.assertEqual((cell["status"], cell["reason"]), ("unsupported", reason))

    def test_models_are_measured_with_the_built_in_ones(self):
        cells = self.models(["full/sdpa", "full/bert", "full/bert-off-int8"])
        for cell in cells.values():
            self.assertEqual(cell["status"], "ok", cell["reason"])
            self.assertEqual(cell["batch"], 3)
            self.assertGreater(cell["median_ms"], 0)
            self.assertIsNotNone(cell["peak_bytes"])
        bound = cells["full/sdpa"]["error_bound"]
        self.assertEqual(cells["full/bert"]["error_bound"], bound)
        self.assertLess(cells["full/bert"]["relative_error"], bound / 10)
        self.assertEqual(cells["full/bert"]["useful_flop"], cells["full/sdpa"]["useful_flop"])
        # A rounded result may have a larger error, which is reported.
        self.assertGreater(cells["full/bert-off-int8"]["relative_error"], 10 * bound)
        self.assertGreater(cells["full/bert-off-int8"]["error_bound"], 100 * bound)
        shown = " ".join(self.attnscope("show", "last", "--db", "runs.db").stdout.split())
        self.assertRegex(shown, r"bert computed by \S+contenders\.py \(numpy [\d.]+, python [\d.]+\)")
        self.assertRegex(shown, r"bert-off-int8 computed by \S+contenders\.py \(numpy [\d.]+, precision int8, python")

    def test_documents_of_several_lengths_are_padded(self):
        del SWEEP["sequence_tokens"]
        self.addCleanup(SWEEP.update, sequence_tokens=24)
        (cell,) = self.models(["full/bert"], document_tokens={"lognormal": [8, 14], "max": 20}).values()
        self.assertEqual(cell["status"], "ok", cell["reason"])
        (cell,) = self.models(["full/bert"], document_tokens=16, candidates=7, batch={"memory_mb": 1}).values()
        self.assertEqual((cell["status"], cell["batch"]), ("ok", 7), cell["reason"])

    def test_models_with_their_own_weights_are_compared_with_themselves(self):
        cells = self.models(["full/sdpa", "sparse/own", "full/own-drifts", "full/own-remembers"], windows=[4], code=1)
        # Pairs are at other positions in every call.
        self.assertIn("its scores of the same ids differ in its next call", cells["full/own-remembers"]["reason"])
        self.assertEqual(cells["sparse/own/4"]["status"], "ok", cells["sparse/own/4"]["reason"])
        self.assertEqual(cells["sparse/own/4"]["relative_error"], 0)
        self.assertEqual(cells["full/own-drifts"]["status"], "wrong")
        self.assertIn("its scores of the same ids differ in its next call", cells["full/own-drifts"]["reason"])

    def test_a_model_with_scores_independent_of_documents_is_wrong(self):
        of_the_same = "it returns cached scores: different documents have exactly the same scores"
        for pairs, name, reason in ((1, "bert-remembers", of_the_same), (1, "bert-remembers-int8", of_the_same),
                                    (3, "bert-remembers-int8", of_the_same),
                                    (3, "bert-of-one-for-all-int8", "all 3 documents have exactly the same score")):
            with self.subTest(contender=name, pairs=pairs):
                cell = self.models(["full/bert", f"full/{name}"], code=1, batch={"max": pairs})[f"full/{name}"]
                self.assertEqual((cell["status"], cell["reason"]), ("wrong", reason))

    def test_a_wrong_model_fails_only_its_cell(self):
        expected = {"bert-off": ("wrong", "scores differ from the float64 model's"),
                    "bert-of-one-text": ("wrong", "scores differ from the float64 model's"),
                    "bert-shape": ("crashed", "it returned the shape [3, 1] where [3] is required"),
                    "bert-derived": ("crashed", "it returned a __main__.Derived, not a numpy.ndarray"),
                    "bert-nan-now-and-then": ("wrong", "a score is not a number"),
                    "bert-stale-now-and-then": ("wrong", ""),
                    "bert-dies-loading": ("crashed", "was ended by signal 9 (SIGKILL)"),
                    "bert-dies-in-peak": ("crashed", "was ended by signal 9 (SIGKILL)"),
                    "bert-raises": ("crashed", "ValueError: not these ids (contenders.py:"),
                    "bert-no-weights": ("crashed", "OSError: no such weights (contenders.py:"),
                    "bert-of-the-ends": ("wrong", "a score between the first and the last differs"),
                    "bert-spoils-weights": ("ok", ""),
                    "bert-complex": ("crashed", "it returned scores of complex64"),
                    "bert-nothing": ("crashed", "it returned NoneType when it loaded the model"),
                    "bert-dies": ("crashed", "was ended by signal 11 (SIGSEGV)"),
                    "bert-short": ("unsupported", "bert-short takes one layer"),
                    "by-hand": ("ok", ""), "bert": ("ok", ""), "sdpa": ("ok", "")}
        self.assert_outcomes(self.models([f"full/{name}" for name in expected], code=1), expected)

    def test_unsupported_models_have_a_reason(self):
        cells = self.models(["sparse/bert", "longformer/own", "full+cls-only-last-layer/bert", "colbert/bert"], windows=[4])
        self.assertEqual({name: cell["reason"] for name, cell in cells.items()}, {
            "sparse/bert/4": "bert supports the patterns full, not sparse",
            "longformer/own/4": "own receives a BERT checkpoint, and 'longformer' needs separate projections for "
                                "global tokens",
            "full+cls-only-last-layer/bert": "bert does not support '+cls-only-last-layer', which only attnscope's own "
                                             "implementations compute",
            "colbert/bert": "bert computes cross-encoders of BERT's rows, not of the family colbert"})
        (cell,) = self.models(["full/bert"], dtype="bfloat16").values()
        self.assertEqual((cell["status"], cell["reason"]), ("unsupported", "bert supports float32, not bfloat16"))
        (cell,) = self.cells(["full/bert"]).values()
        self.assertEqual((cell["status"], cell["reason"]), (
            "unsupported", "bert is a whole re-ranker; name it as MODEL/bert in a sweep of operation model"))

    def test_repeating_a_run_needs_its_program(self):
        self.cells(["full/by-hand"])
        again = self.attnscope("run", "--again", "last", "--with", CONTENDERS, "--db", "runs.db")
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertIn("there is no implementation 'by-hand'",
                      self.refused("run", "--again", "last", "--db", "runs.db"))

    def test_invalid_programs_are_refused(self):
        run = ("list", "implementations", "--with")
        self.assertIn("'absent.py' could not be started: No such file or directory", self.refused(*run, "absent.py"))
        mark = "from attnscope import implementation, serve\n@implementation({!r})\ndef f(q, k, v, plan): pass\nserve()\n"
        other = "import json, socket\ns = socket.socket(fileno=3)\ns.recv(999)\ns.sendall({!r})\nwhile s.recv(99): s.sendall(b'd\\n')\n"
        for text, message in (
                ("nonsense\n", "ended with exit code 1; its last output: NameError: name 'nonsense' is not defined"),
                ("pass\n", "ended with exit code 0"),
                ("from attnscope import serve\nserve()\n", "offers no implementation and no model"),
                (mark.format("segment"), "'segment', whose id is already in use"),
                (mark.format("a/b"), "an id must consist of letters, digits"),
                (other.format(b'{"protocol": 3}\n'), "uses version 3 of the contenders' protocol, and this program version 2"),
                *((other.format(answer), "contenders' protocol") for answer in (
                    b"[1]\n", b"hello\n", b'{"protocol": 2, "implementations": [7]}\n',
                    b'{"protocol": 2, "implementations": [{"id": 7}]}\n'))):
            with self.subTest(text=text):
                self.assertIn(message, self.refused(*run, self.script("invalid.py", text)))
        twice = self.script("twice.py", mark.format("twice"))
        self.assertIn("'twice', whose id is already in use", self.refused(*run, twice, "--with", twice))

    def test_running_the_file_alone_prints_its_usage(self):
        done = subprocess.run([sys.executable, CONTENDERS], capture_output=True, text=True, env=self.environment)
        self.assertEqual(done.returncode, 1)
        self.assertIn("attnscope run SWEEP.json --with contenders.py", done.stderr)

    def test_it_ends_with_the_worker_during_a_call(self):
        self.kill_while_it_hangs("hangs", {"operation": "attention"})

    def test_it_ends_with_the_worker_while_loading_and_the_next_run_removes_its_weights(self):
        model = {"operation": "model", "memory_order": "token-major", "layers": 1, "feed_forward": 16}
        self.kill_while_it_hangs("bert-hangs", model)
        self.assertEqual(len(self.left_over()), 1)
        self.models(["full/bert"])  # which also checks that nothing is left

    def kill_while_it_hangs(self, implementation, changes):
        point = {"operation": "attention", "direction": "forward", "sequence_tokens": 16, "query_tokens": 4,
                 "documents": 1, "shared_query": False, "batch_max": 1, "batch_memory_mb": 64, "heads": 1,
                 "head_dim": 8, "dtype": "float32", "memory_order": "head-major", "cache": "warm", "device": "cpu",
                 "threads": 1, "seed": 1, **changes}
        pattern = (HERE.parents[1] / "resources/patterns/full.json").read_text()
        contender = {"pattern": "full", "implementation": implementation, "name": "hangs", "window": None,
                     "pattern_json": pattern, "model": "full" if point["operation"] == "model" else ""}
        version = re.search(r"project\(AttnScope VERSION (\S+)", (HERE.parents[1] / "CMakeLists.txt").read_text()).group(1)
        protocol = int(re.search(r"Protocol version (\d+)", (HERE.parents[1] / "docs/protocol.md").read_text()).group(1))
        requests = [{"request": "hello", "protocol": protocol, "version": version, "with": [str(CONTENDERS)]},
                    {"request": "heat", "process": 0, "placements": [0],
                     "heat": {"index": 0, "point": point, "contenders": [contender],
                              "stop": {"relative_interval": 0.5, "max_seconds": 1, "min_samples": 1, "placements": 1,
                                       "processes": 1}}}]
        with subprocess.Popen([BUILD / "attnscope-worker"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True, env=self.environment, start_new_session=True) as worker:
            worker.stdin.write("".join(json.dumps(request) + "\n" for request in requests))
            worker.stdin.flush()
            hanging = int(next(line for line in worker.stderr if line.strip().isdigit()))
            os.killpg(worker.pid, signal.SIGKILL)
            # The pipe of its errors is closed when the last process that has it ends.
            self.assertEqual([line for line in worker.stderr if line.strip().isdigit()], [])
        with self.assertRaises(ProcessLookupError):
            while os.kill(hanging, 0) is None:
                pass


if __name__ == "__main__":
    unittest.main()
