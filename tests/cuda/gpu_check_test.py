# SPDX-License-Identifier: Apache-2.0
"""scripts/gpu_check from its first step to its table, with stand-ins for the programs that it runs."""
import contextlib
import importlib.machinery
import importlib.util
import io
import os
import pathlib
import sys
import tarfile
import tempfile
import unittest

HOME = pathlib.Path(__file__).resolve().parent.parent.parent
loader = importlib.machinery.SourceFileLoader("gpu_check", str(HOME / "scripts/gpu_check"))
gpu_check = importlib.util.module_from_spec(importlib.util.spec_from_loader("gpu_check", loader))
sys.modules["gpu_check"] = gpu_check
loader.exec_module(gpu_check)

# One program for all names. What fails is named in FAKE_FAILS, what never ends in FAKE_HANGS.
FAKE = """#!/usr/bin/env python3
import json, os, pathlib, signal, sys
name, arguments = pathlib.Path(sys.argv[0]).name, sys.argv[1:]
words = " ".join([name, *arguments])
fails = os.environ.get("FAKE_FAILS")
if fails and fails in words:
    sys.exit(1)
folder = pathlib.Path(os.environ["FAKE_FOLDER"])
if name == "cmake" and arguments[0] == "--build":
    for target in arguments[arguments.index("--target") + 1:arguments.index("--")]:
        if target == os.environ.get("FAKE_UNBUILT"):
            continue
        where = folder / "build" / ("tests/" + target if target.endswith(("_test", "_bench")) else target)
        where.parent.mkdir(parents=True, exist_ok=True)
        where.unlink(missing_ok=True)
        where.symlink_to(sys.argv[0])
    kernel = "_ZN9attnscope4cuda22segment_forward_kernelI6__halfLi32EEEvNS0_16ForwardArgumentsE"
    print(f"ptxas info    : Compiling entry function '{kernel}' for 'sm_90'")
    print("    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads")
    print("ptxas info    : Used 96 registers, used 1 barriers")
    sys.exit(1 if "FAKE_UNBUILT" in os.environ else 0)
elif name == "ctest" and "-N" in arguments:
    for number, suite in enumerate(os.environ["FAKE_SUITES"].split()):
        print(f"  Test #{number}: {suite}")
elif name == "g++":
    program = pathlib.Path(arguments[arguments.index("-o") + 1])
    program.write_text("#!/bin/sh\\nprintf 'segment_forward_kernel\\\\t352\\\\t22144\\\\n'\\n")
    program.chmod(0o755)
elif name == "nvidia-smi":
    print("NVIDIA Test GPU, 9.0, 580.1")
elif name == "attnscope":
    runs = folder / "runs"
    have = runs.read_text().split() if runs.exists() else []
    if arguments[0] == "run":
        runs.write_text(" ".join(have + [arguments[1]]))
        if arguments[1] == os.environ.get("FAKE_HANGS"):
            signal.signal(signal.SIGINT, lambda *_: sys.exit(130))
            signal.pause()
    elif arguments[:2] == ["list", "runs"]:
        print(json.dumps([{"run": i + 1} for i in range(len(have))]))
    elif arguments[0] == "table":
        print("table of " + have[-1])
    elif arguments[0] == "export":
        pathlib.Path(arguments[arguments.index("-o") + 1]).write_text(" ".join(arguments))
"""


class GpuCheck(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.folder = pathlib.Path(self.temporary.name)
        self.bin = self.folder / "bin"
        self.bin.mkdir()
        for name in ("cmake", "ctest", "ninja", "nvcc", "compute-sanitizer", "nvidia-smi", "g++"):
            (self.bin / name).write_text(FAKE)
            (self.bin / name).chmod(0o755)
        self.environment = dict(os.environ, PATH=f"{self.bin}:/usr/bin:/bin", FAKE_FOLDER=str(self.folder),
                                FAKE_SUITES=" ".join(gpu_check.ALL_SUITES))

    def without_gpu(self):
        (self.bin / "nvidia-smi").unlink()

    def check(self, **options):
        return gpu_check.Check(self.folder / "out", build=self.folder / "build", environment=self.environment,
                               python=str(self.folder / "no-python"), **options)

    def run_check(self, **options):
        check = self.check(**options)
        with contextlib.redirect_stdout(io.StringIO()):
            status = check.run()
        return status, {name: outcome.result for name, outcome in check.outcomes.items()}

    def names(self):
        return [step.name for step in gpu_check.steps(self.check())]

    def test_with_a_gpu_every_step_passes_and_what_came_of_it_is_there(self):
        status, results = self.run_check()
        self.assertEqual(results, {name: "passed" for name in self.names()})
        self.assertEqual(status, 0)
        out = self.folder / "out"
        expected = {"summary.txt", "logs.tar.gz", "run.attn", "tables.md", "kernels_bench.txt", "compiler-report.md"}
        expected |= {f"{sweep}.csv" for sweep in gpu_check.SWEEPS}
        self.assertEqual({path.name for path in out.iterdir()}, expected)
        self.assertEqual((out / "kernels-cuda.csv").read_text().strip(), "table of kernels-cuda")
        self.assertIn("export 1 2 3", (out / "run.attn").read_text())

    def test_a_dry_run_reports_every_step_and_says_which_need_a_device(self):
        self.without_gpu()
        status, results = self.run_check(dry_run=True)
        needing = {step.name for step in gpu_check.steps(self.check()) if step.needs_device}
        self.assertEqual(results, {name: "no device" if name in needing else "passed" for name in self.names()})
        self.assertEqual(status, 0)
        summary = (self.folder / "out/summary.txt").read_text()
        for name in self.names():
            self.assertRegex(summary, f"(?m)^{name} +(passed|no device) +[0-9.]+")
        self.assertIn("no GPU", summary)

    def test_every_step_that_ran_has_its_log(self):
        self.without_gpu()
        self.run_check(dry_run=True)
        with tarfile.open(self.folder / "out/logs.tar.gz") as archive:
            self.assertIn("logs/configure.log", archive.getnames())
            log = archive.extractfile("logs/configure.log").read().decode()
        self.assertIn("--preset headless", log)
        self.assertIn("passed", log)

    def test_without_a_gpu_what_needs_one_fails(self):
        self.without_gpu()
        status, results = self.run_check()
        self.assertEqual(status, 1)
        self.assertEqual(results["memcheck"], "failed")
        self.assertEqual(results["cpu-suites"], "passed")

    def test_a_step_that_fails_does_not_stop_the_rest(self):
        for fails, step in (("check --device", "check-cuda"), ("run kernels-cuda-backward", "kernels-cuda-backward"),
                            ("--tool racecheck", "racecheck")):
            with self.subTest(step=step):
                self.environment["FAKE_FAILS"] = fails
                (self.folder / "runs").unlink(missing_ok=True)
                status, results = self.run_check()
                self.assertEqual(status, 1)
                self.assertEqual(results, {name: "failed" if name == step else "passed" for name in self.names()})

    def test_what_is_not_built_is_left_out_and_the_rest_runs(self):
        self.environment["FAKE_UNBUILT"] = "attnscope-worker"
        status, results = self.run_check()
        self.assertEqual(status, 1)
        self.assertEqual(results["build"], "failed")
        self.assertEqual(results["check-cuda"], "left out")
        self.assertEqual(results["kernels-cuda"], "left out")
        self.assertEqual(results["cuda-suites"], "passed")
        self.assertEqual(results["memcheck"], "passed")
        self.assertEqual(results["compiler-report"], "passed")

    def test_when_nothing_configures_all_else_is_left_out(self):
        self.environment["FAKE_FAILS"] = "cmake --preset"
        status, results = self.run_check()
        self.assertEqual(status, 1)
        self.assertEqual(results["configure"], "failed")
        self.assertEqual({results[name] for name in self.names()[2:]}, {"left out"})

    def test_a_sweep_at_its_limit_is_cut_and_keeps_its_table(self):
        self.environment["FAKE_HANGS"] = "kernels-cuda"
        limits = gpu_check.steps

        def with_a_short_limit(check):
            listed = limits(check)
            next(step for step in listed if step.name == "kernels-cuda").seconds = 0
            return listed
        gpu_check.steps = with_a_short_limit
        self.addCleanup(setattr, gpu_check, "steps", limits)
        status, results = self.run_check()
        self.assertEqual(results["kernels-cuda"], "cut")
        self.assertEqual(status, 0)
        self.assertEqual((self.folder / "out/kernels-cuda.csv").read_text().strip(), "table of kernels-cuda")

    def test_a_suite_that_is_not_built_is_named(self):
        self.environment["FAKE_SUITES"] = "cuda_kernels_test kernels_test"
        check = self.check()
        with contextlib.redirect_stdout(io.StringIO()):
            check.run()
        self.assertIn("not built: cuda_devices_test", check.outcomes["cuda-suites"].remark)

    def test_a_part_is_its_steps_alone(self):
        names = [{step.name for step in gpu_check.steps(self.check(parts=(part,)))} for part in gpu_check.PARTS]
        self.assertEqual(set().union(*names), set(self.names()))
        self.assertIn("memcheck", names[0] - names[1] - names[2])
        self.assertIn("kernels-cuda", names[1] - names[0] - names[2])
        self.assertIn("models-cuda", names[2] - names[0] - names[1])

    def test_steps_may_be_chosen(self):
        names = [step.name for step in gpu_check.steps(self.check(only=["racecheck", "models-cuda"]))]
        self.assertEqual(names, ["unpack", "configure", "build", "devices", "models-cuda", "export", "compiler-report",
                                 "racecheck"])
        with self.assertRaisesRegex(SystemExit, "no step nothing; the steps are .*racecheck"):
            gpu_check.steps(self.check(only=["nothing"]))

    def test_packed_programs_are_run_and_nothing_is_built(self):
        packed = self.folder / "packed"
        packed.mkdir()
        with tarfile.open(packed / gpu_check.PROGRAMS, "w:xz") as archive:
            for name in ("attnscope", "attnscope-worker", "tests/cuda_kernels_test"):
                archive.add(self.bin / "cmake", arcname=name)
        status, results = self.run_check(programs=packed)
        self.assertEqual(status, 0)
        self.assertEqual(set(results) & {"configure", "build", "compiler-report"}, set())
        self.assertEqual(results["memcheck"], "passed")

    def test_programs_that_were_not_packed_are_said(self):
        check = self.check(programs=self.folder / "nowhere")
        with contextlib.redirect_stdout(io.StringIO()):
            self.assertEqual(check.run(), 1)
        self.assertIn("--pack writes it", check.outcomes["unpack"].remark)


if __name__ == "__main__":
    unittest.main()
