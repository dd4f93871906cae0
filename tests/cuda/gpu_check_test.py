# SPDX-License-Identifier: Apache-2.0
"""Tests scripts/dev/gpu_check with stand-ins (gpu_stand_in.py) for the programs that it runs: limits and order of the
calls, their output if a step fails, is cut or is stopped, and the checks of the dry run."""
import contextlib
import importlib.machinery
import importlib.util
import io
import os
import pathlib
import shutil
import re
import signal
import subprocess
import sys
import tarfile
import tempfile
import unittest
from unittest import mock

HOME = pathlib.Path(__file__).resolve().parent.parent.parent
SCRIPT = HOME / "scripts/dev/gpu_check"
loader = importlib.machinery.SourceFileLoader("gpu_check", str(SCRIPT))
gpu_check = importlib.util.module_from_spec(importlib.util.spec_from_loader("gpu_check", loader))
sys.modules["gpu_check"] = gpu_check
loader.exec_module(gpu_check)
gpu_check.adopt_orphans()  # like the process of the script

STAND_IN = f"#!{sys.executable}\n" + (HOME / "tests/cuda/gpu_stand_in.py").read_text()


def result_of(summary, step):
    return re.search(rf"^{step} +(\w+)", summary, re.M)[1]


def is_alive(number):
    try:
        state = pathlib.Path(f"/proc/{number}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def alive(numbers):
    """Those of the process ids in a text that have not ended."""
    return [number for number in numbers.split() if is_alive(number)]


class WithStandIns(unittest.TestCase):
    """A copy of the script in a separate tree, with the packages of both calls made of stand-ins."""

    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        self.tree, self.out = self.folder / "tree", self.folder / "out"
        (self.tree / "scripts/dev").mkdir(parents=True)
        self.script = self.tree / "scripts/dev/gpu_check"
        self.script.write_text(SCRIPT.read_text())
        gpu_check.install(self.folder / "bin", ("nvidia-smi", "ncu", "compute-sanitizer", "python3"), STAND_IN)
        self.package = self.tree / "build/gpu-package"
        self.package.mkdir(parents=True)
        for name, plan in gpu_check.CALLS.items():
            self.pack(name, plan.programs)
        self.environment = dict(os.environ, PATH=f"{self.folder / 'bin'}:/usr/bin:/bin", STAND_IN_STATE=str(self.folder),
                                TMPDIR=str(self.folder))

    def pack(self, name, programs):
        folder = self.folder / f"programs-{name}-{len(programs)}"
        gpu_check.install(folder, programs, STAND_IN)
        with tarfile.open(self.package / f"{name}.tar.xz", "w:xz") as archive:
            for program in programs:
                archive.add(folder / program, arcname=program)

    def start(self, name, **environment):
        return subprocess.Popen([sys.executable, self.script, "--call", name, self.out], stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, env=dict(self.environment, **environment))

    def call(self, name, **environment):
        """Exit status and summary."""
        process = self.start(name, **environment)
        self.output, _ = process.communicate()
        return process.returncode, self.summary()

    def call_here(self, name, **environment):
        """Like call(), but in this process, where limits can be changed."""
        with mock.patch.dict(os.environ, dict(self.environment, **environment)), \
             tempfile.TemporaryDirectory(dir=self.folder) as work, contextlib.redirect_stdout(io.StringIO()):
            return gpu_check.Call(name, self.out, work, self.package).run(), self.summary()

    def summary(self):
        return (self.out / "summary.txt").read_text()

    def commands(self):
        return (self.folder / "commands").read_text().splitlines()


class Calls(WithStandIns):
    def test_a_call_writes_exactly_its_files(self):
        for name, plan in gpu_check.CALLS.items():
            with self.subTest(call=name):
                self.out = self.folder / f"out-{name}"
                status, summary = self.call(name)
                self.assertEqual(status, 0, self.output)
                self.assertEqual({path.name for path in self.out.iterdir()}, set(plan.files))
                self.assertLessEqual(len(plan.files), gpu_check.MOST_FILES)
                self.assertEqual(re.findall(r"^\S+ +(failed|cut)\b", summary, re.M), [])

    def test_limits_of_steps_fit_the_limit_of_the_call(self):
        for name, most in (("A", 330), ("B", 270)):
            self.assertLessEqual(gpu_check.seconds_of(name), most)
            self.assertEqual(gpu_check.CALLS[name].seconds, most)
            for step in gpu_check.CALLS[name].steps:
                self.assertTrue(step.seconds > max(gpu_check.GRACE.values()) or step.name == "more-bench", step.name)

    def test_a_step_that_fails_does_not_stop_the_rest(self):
        for name, fails, step in (("A", "bench.csv$", "bench"), ("A", "--variants", "variants"), ("A", "--tool racecheck", "racecheck"),
                                  ("B", "run kernels-cuda-backward --only sequence_tokens=174,", "backward-174"),
                                  ("B", "check --device", "check"), ("B", "cuda_rivals", "rivals")):
            with self.subTest(step=step):
                self.out = self.folder / f"out-{step}"
                status, summary = self.call(name, STAND_IN_FAILS=fails)
                self.assertEqual(status, 1)
                self.assertEqual(re.findall(r"^(\S+) +failed", summary, re.M), [step])
                for each in gpu_check.CALLS[name].steps:
                    self.assertRegex(result_of(summary, each.name), "passed|failed|nothing")

    def test_a_call_without_a_device_runs_every_step_and_fails(self):
        (self.folder / "bin/nvidia-smi").unlink()
        status, summary = self.call("A")
        self.assertEqual((status, result_of(summary, "card")), (1, "failed"))
        self.assertEqual(result_of(summary, "bench"), "passed")

    def test_skipped_tests_have_not_passed(self):
        self.assertIn("2 tests passed", gpu_check.tests_of("[       OK ] A.b (1 ms)\n[       OK ] A.c (1 ms)\n"))
        for output in ("[  SKIPPED ] A.b (1 ms)\n[  SKIPPED ] A.b\n", "[  SKIPPED ] A.b (1 ms)\n[       OK ] A.c (1 ms)\n", ""):
            with self.assertRaisesRegex(gpu_check.Failure, "were skipped"):
                gpu_check.tests_of(output)

    def test_the_seconds_of_refused_tools_go_to_the_benchmark(self):
        status, summary = self.call("A", STAND_IN_REFUSES="ncu compute-sanitizer")
        self.assertEqual(status, 0, self.output)
        for step in ("ncu-probe", "ncu-w4", "ncu-w64", "sanitizer-probe", "memcheck", "racecheck"):
            self.assertEqual(result_of(summary, step), "nothing")
        self.assertEqual(result_of(summary, "more-bench"), "passed")
        self.assertIn("--windows 16", self.commands()[-1])
        self.assertEqual(len((self.out / "bench.csv").read_text().splitlines()), 5)

    def test_tools_that_work_count_both_windows_and_check_a_short_part_of_the_suite(self):
        status, summary = self.call("A")
        self.assertEqual((status, result_of(summary, "more-bench")), (0, "nothing"))
        for step in ("ncu-w4", "ncu-w64", "memcheck", "racecheck"):
            self.assertEqual(result_of(summary, step), "passed")
        self.assertEqual([line.split(",")[1] for line in (self.out / "ncu.csv").read_text().splitlines()],
                         ['"Kernel Name"', '""', '"segment_walk_kernel"', '"segment_walk_kernel"'])
        for tool in ("memcheck", "racecheck"):
            self.assertTrue(any(f"--tool {tool}" in words and f"--gtest_filter={gpu_check.SHORT_SUITE}" in words
                                for words in self.commands()))

    def test_sweeps_run_the_longest_sequences_first_into_one_table_and_one_export(self):
        self.call("B")
        self.assertEqual(re.findall(r"attnscope run (\S+) --only sequence_tokens=(\d+)", "\n".join(self.commands())),
                         [("kernels-cuda", "4096"), ("kernels-cuda-launch", "174"), ("kernels-cuda-backward", "4096"),
                          ("kernels-cuda-backward", "174")])
        self.assertEqual((self.out / "kernels-cuda-backward.csv").read_text().splitlines(),
                         ["run,status,reason", "kernels-cuda-backward sequence_tokens=4096,ok,why",
                          "kernels-cuda-backward sequence_tokens=174,ok,why"])
        self.assertIn("export 1 2 3 4 -o", (self.out / "run.attn").read_text())

    def test_the_operator_is_that_of_the_pinned_torch(self):
        version = re.fullmatch(r"attnscope_torch-(.*)\.so", gpu_check.OPERATOR)[1]
        self.assertIn(f"torch=={version} ", (HOME / "scripts/dev/gpu_torch.txt").read_text())

    def test_benchmarks_also_measure_the_longest_sequences_first(self):
        self.assertIn("tokens{4096, 174}", (HOME / "tests/cuda/kernels_bench.cpp").read_text())
        self.assertIn("default=[4096, 174]", (HOME / "results/tools/cuda_rivals.py").read_text())

    def test_a_sweep_that_does_not_start_shows_no_rows_of_the_previous_sweep(self):
        _, summary = self.call("B", STAND_IN_FAILS="run kernels-cuda-backward --only sequence_tokens=174")
        self.assertIn("no run was started", summary)
        self.assertEqual(len((self.out / "kernels-cuda-backward.csv").read_text().splitlines()), 2)

    def test_a_sweep_without_measured_cells_fails(self):
        status, summary = self.call("B", STAND_IN_STATUS="unsupported")
        self.assertEqual((status, result_of(summary, "headline-4096")), (1, "failed"))
        self.assertIn("none of 1 cells was measured: why", summary)
        self.assertEqual(result_of(summary, "check"), "passed")

    def test_a_folder_with_results_of_an_earlier_call_is_refused_and_kept(self):
        self.out.mkdir()
        (self.out / "ncu.csv").write_text("measured")
        with self.assertRaisesRegex(SystemExit, "has ncu.csv of an earlier call; name another folder"):
            self.call_here("A")
        self.assertEqual([path.name for path in self.out.iterdir()], ["ncu.csv"])

    def test_a_program_that_a_package_lacks_is_named(self):
        self.pack("A", ("cuda_kernels_test",))
        status, summary = self.call("A")
        self.assertEqual((status, result_of(summary, "bench"), result_of(summary, "suite")), (1, "failed", "passed"))
        self.assertIn("kernels_bench is not in", summary)

    def test_a_damaged_or_missing_package_ends_the_call(self):
        (self.package / "A.tar.xz").write_bytes(b"cut off")
        status, summary = self.call("A")
        self.assertEqual((status, result_of(summary, "unpack")), (1, "failed"))
        self.assertNotIn("bench", summary)
        (self.package / "A.tar.xz").unlink()
        with self.assertRaisesRegex(SystemExit, "there is no .*A.tar.xz; copy the file"):
            self.call_here("A")


class Cuts(WithStandIns):
    def with_limit(self, call, step, seconds):
        plan = gpu_check.CALLS[call]
        steps = tuple(gpu_check.Step(each.name, seconds if each.name == step else each.seconds, each.do)
                      for each in plan.steps)
        self.enterContext(mock.patch.dict(gpu_check.CALLS, {call: gpu_check.dataclasses.replace(plan, steps=steps)}))

    def test_a_sweep_at_its_limit_is_cut_and_keeps_its_rows(self):
        self.with_limit("B", "headline-4096", 0)
        status, summary = self.call_here("B", STAND_IN_HANGS="run kernels-cuda --only sequence_tokens=4096")
        self.assertEqual((status, result_of(summary, "headline-4096")), (0, "cut"))
        self.assertIn("kernels-cuda sequence_tokens=4096", (self.out / "kernels-cuda.csv").read_text())
        self.assertEqual(result_of(summary, "check"), "passed")

    def test_a_benchmark_at_its_limit_fails_and_keeps_its_lines(self):
        self.with_limit("A", "bench", 0)
        status, summary = self.call_here("A", STAND_IN_HANGS="bench.csv$")
        self.assertEqual((status, result_of(summary, "bench"), result_of(summary, "suite")), (1, "failed", "passed"))
        self.assertEqual(len((self.out / "bench.csv").read_text().splitlines()), 4)

    def test_call_a_measures_every_variant_of_the_walks_and_every_type(self):
        self.call("A")
        measured = " ".join(words for words in self.commands() if words.startswith("kernels_bench --csv"))
        self.assertIn("--variants strips,alternate,strips+alternate", measured)
        self.assertIn("--types float16,float32", measured)

    def test_processes_of_a_step_end_with_it(self):
        self.with_limit("A", "suite", 0)
        self.call_here("A", STAND_IN_HANGS="^cuda_kernels_test")
        self.assertEqual(alive((self.folder / "hangs").read_text()), [])


class Stops(WithStandIns):
    def test_a_signal_ends_the_call_with_every_process_and_keeps_the_results(self):
        for name, hangs, number, done, stopped in (("A", "^cuda_kernels_test", signal.SIGINT, "bench", "suite"),
                                                   ("B", "^attnscope run", signal.SIGTERM, "torch", "headline-4096")):
            with self.subTest(call=name):
                (self.folder / "hangs").unlink(missing_ok=True)
                shutil.rmtree(self.out, ignore_errors=True)
                os.mkfifo(self.folder / "hangs")
                process = self.start(name, STAND_IN_HANGS=hangs)
                started = (self.folder / "hangs").read_text()  # waits until the processes exist
                process.send_signal(number)
                output, _ = process.communicate()
                self.assertEqual(process.returncode, 128 + number, output)
                self.assertEqual(alive(started), [])
                self.assertEqual(result_of(self.summary(), done), "passed")
                self.assertEqual(result_of(self.summary(), stopped), "failed")
                with tarfile.open(self.out / "logs.tar.gz") as logs:
                    self.assertIn(f"logs/{done}.log", logs.getnames())
                self.assertEqual(list(self.folder.glob("gpu-check-*")), [])

    def test_a_signal_ends_the_dry_run_with_every_process(self):
        hanging, places = self.folder / "hanging", self.folder / "places"
        os.mkfifo(hanging)
        places.mkdir()
        environment = dict(os.environ, STAND_IN_HANGS="^kernels_bench --csv", STAND_IN_HANGING=str(hanging), TMPDIR=str(places))
        process = subprocess.Popen([sys.executable, SCRIPT, "--dry-run", "--build", self.folder], stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True, env=environment)
        started = hanging.read_text()
        process.send_signal(signal.SIGTERM)
        output, _ = process.communicate()
        self.assertEqual(process.returncode, 128 + signal.SIGTERM, output)
        self.assertEqual(alive(started), [])
        self.assertEqual(list(places.glob("tmp*")), [])


class DryRuns(unittest.TestCase):
    """The limits; packing and starting programs needs a build."""

    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        for name in ("start", "copy_tree", "replay"):
            self.enterContext(mock.patch.object(gpu_check.DryRun, name, lambda *_: None))
        self.enterContext(mock.patch.object(gpu_check.DryRun, "tree_mib", lambda _: self.tree))
        self.enterContext(mock.patch.object(gpu_check, "pack", self.pack))
        self.tree, self.mib = 30, {"A": 4, "B": 20}

    def pack(self, name, *_):
        archive = self.folder / f"{name}.tar.xz"
        with archive.open("wb") as file:
            file.truncate(int(self.mib[name] * gpu_check.MIB))
        return archive if self.mib[name] else None

    def dry_run(self):
        dry, output, faults = gpu_check.DryRun(self.folder, self.folder), io.StringIO(), io.StringIO()
        (self.folder / "A.tar.xz").touch()
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(faults), \
             mock.patch.object(gpu_check.tarfile, "open"):
            return dry.run(), output.getvalue().splitlines()[-1], faults.getvalue()

    def test_the_last_line_states_sizes_and_times(self):
        status, line, faults = self.dry_run()
        self.assertEqual((status, faults), (0, ""))
        self.assertRegex(line, r"^package 24.0 MiB, call A \d+ s, call B \d+ s, \d+ files: fits$")

    def test_each_exceeded_limit_is_named(self):
        plans = gpu_check.CALLS
        slow = gpu_check.Step("slow", 400, None)
        for change, words in ((lambda: self.mib.update(A=8.1), "package A takes 8.1 MiB, over 8 MiB"),
                              (lambda: self.mib.update(B=28.1), "package B takes 28.1 MiB, over 28 MiB"),
                              (lambda: setattr(self, "tree", 41), "tree and package B take 61.0 MiB, over 60 MiB"),
                              (lambda: setattr(plans["A"], "steps", (*plans["A"].steps, slow)), "over 330 s"),
                              (lambda: setattr(plans["B"], "steps", (*plans["B"].steps, slow)), "over 270 s")):
            with self.subTest(words=words), mock.patch.dict(self.mib), mock.patch.object(self, "tree", self.tree), \
                 mock.patch.object(plans["A"], "steps", plans["A"].steps), \
                 mock.patch.object(plans["B"], "steps", plans["B"].steps):
                change()
                status, line, faults = self.dry_run()
                self.assertEqual(status, 1)
                self.assertIn(words, faults)
                self.assertIn("FAILED", line)

    def test_a_missing_package_fails_if_it_can_be_built(self):
        settings = self.folder / "CMakeCache.txt"
        for name, nvcc, torch, status in (("A", "/nvcc", "", 1), ("A", None, "", 0), ("B", "/nvcc", "", 0),
                                          ("B", "/nvcc", f"ATTNSCOPE_TORCH_DIR:PATH={gpu_check.TORCH}", 1)):
            with self.subTest(call=name, nvcc=nvcc, torch=torch), mock.patch.dict(self.mib, {name: 0}), \
                 mock.patch.object(gpu_check.shutil, "which", lambda _: nvcc):
                settings.write_text(torch)
                self.assertEqual(self.dry_run()[0], status)


class CommandLine(unittest.TestCase):
    def test_wrong_arguments_are_explained(self):
        for arguments, words in (((), "one of the arguments"), (("--call", "A"), "need OUT"), (("--call", "A", ""), "need OUT"),
                                 (("--dry-run", "OUT"), "nothing else takes one"), (("--call", "C", "OUT"), "invalid choice")):
            done = subprocess.run([sys.executable, SCRIPT, *arguments], capture_output=True, text=True)
            self.assertEqual(done.returncode, 2)
            self.assertIn(words, done.stderr)


if __name__ == "__main__":
    unittest.main()
