# SPDX-License-Identifier: Apache-2.0
"""Tests scripts/dev/compiler_report with logs of ptxas."""
import contextlib
import importlib.machinery
import importlib.util
import io
import pathlib
import tempfile
import unittest

HOME = pathlib.Path(__file__).resolve().parent.parent.parent
loader = importlib.machinery.SourceFileLoader("compiler_report", str(HOME / "scripts/dev/compiler_report"))
report = importlib.util.module_from_spec(importlib.util.spec_from_loader("compiler_report", loader))
loader.exec_module(report)

FORWARD = "_ZN9attnscope4cuda22segment_forward_kernelI6__halfLi32EEEvNS0_16ForwardArgumentsE"
LOG = """[1/2] Building CUDA object
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '{name}' for '{architecture}'
ptxas info    : Function properties for {name}
    {stack} bytes stack frame, {stores} bytes spill stores, {loads} bytes spill loads
ptxas info    : Used {registers} registers, used 1 barriers, 440 bytes cmem[0]
"""


def log_of(name=FORWARD, architecture="sm_80", registers=96, stack=0, stores=0, loads=0):
    return LOG.format(name=name, architecture=architecture, registers=registers, stack=stack, stores=stores,
                      loads=loads)


def run(text, launches, markdown=None):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = report.report(text, launches, markdown)
    return status, out.getvalue(), err.getvalue()


LAUNCHES = {"segment_forward_kernel<__half, 32>": report.Launch(352, 22144)}


class CompilerReport(unittest.TestCase):
    def test_a_kernel_is_listed_with_its_registers_on_each_architecture(self):
        status, out, _ = run(log_of() + log_of(architecture="sm_90", registers=104), LAUNCHES)
        self.assertEqual(status, 0)
        row = next(line for line in out.splitlines() if line.startswith("segment_forward_kernel<__half, 32>"))
        self.assertIn(" 96 ", row)
        self.assertIn(" 104 ", row)
        self.assertIn("352", row)
        self.assertIn("0 spill registers", out)

    def test_spilled_registers_fail(self):
        for spill in ({"stores": 8}, {"loads": 4}):
            status, out, _ = run(log_of(stack=8, **spill), LAUNCHES)
            self.assertEqual(status, 1)
            self.assertIn("1 spill registers", out)

    def test_spills_of_a_called_function_count_for_its_kernel(self):
        called = ("ptxas info    : Function properties for helper\n"
                  "    16 bytes stack frame, 12 bytes spill stores, 12 bytes spill loads\n")
        self.assertEqual(run(log_of() + called, LAUNCHES)[0], 1)

    def test_a_kernel_without_a_known_launch_fails_and_is_named(self):
        status, _, err = run(log_of(), {})
        self.assertEqual(status, 1)
        self.assertIn("segment_forward_kernel<__half, 32>", err)

    def test_names_match_launch_shapes_for_all_argument_types(self):
        self.assertEqual(report.shorten("void attnscope::cuda::segment_backward_walk_kernel<__half, 32, "
                                        "(attnscope::cuda::Sums)3>(attnscope::cuda::BackwardWalkArguments)"),
                         "segment_backward_walk_kernel<__half, 32, 3>")
        self.assertEqual(report.shorten("void attnscope::cuda::windowed::(anonymous namespace)::windowed_sums_kernel<float, "
                                        "true>(Arguments)"), "windowed_sums_kernel<float, true>")

    def test_a_log_without_kernels_fails_and_explains_how_to_get_one(self):
        status, _, err = run("nothing to do\n", LAUNCHES)
        self.assertEqual(status, 1)
        self.assertIn("--resource-usage", err)

    def test_a_kernel_in_two_logs_counts_once(self):
        self.assertEqual(len(report.read_log(log_of() + log_of(registers=80))), 1)

    def test_markdown_has_the_same_rows(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "report.md"
            run(log_of(), LAUNCHES, file)
            self.assertIn("| `segment_forward_kernel<__half, 32>` | 352 | 22144 | 96 |", file.read_text())


class Occupancy(unittest.TestCase):
    """Compares with examples of the CUDA occupancy calculator, computed by hand."""

    def expect(self, architecture, registers, threads, shared, blocks, share, limit):
        kernel = report.Kernel("k", architecture, registers=registers)
        found = report.occupancy(kernel, report.Launch(threads, shared))
        self.assertEqual((found[0], found[2]), (blocks, limit))
        self.assertAlmostEqual(found[1], share)

    def test_threads_run_out_first(self):
        self.expect("sm_80", 32, 256, 0, 8, 1.0, "warps")

    def test_blocks_run_out_first(self):
        self.expect("sm_80", 16, 32, 0, 32, 0.5, "blocks")

    def test_registers_run_out_first(self):
        # 128 registers of 32 lanes are 4096; a quarter of the register file fits 4 such warps.
        self.expect("sm_80", 128, 256, 0, 2, 0.25, "registers")
        # 72 registers are 2304 per warp: 7 warps in a quarter, 28 in all, 3 blocks of 8.
        self.expect("sm_90", 72, 256, 0, 3, 0.375, "registers")

    def test_shared_memory_runs_out_first(self):
        # 33,280 bytes and a reserved kilobyte per block: 4 blocks fit in 164 kB, 6 in 228 kB.
        self.expect("sm_80", 32, 128, 33280, 4, 0.25, "shared memory")
        self.expect("sm_90", 32, 128, 33280, 6, 0.375, "shared memory")

    def test_a_block_that_does_not_fit_has_none(self):
        kernel = report.Kernel("k", "sm_80", registers=32)
        self.assertIsNone(report.occupancy(kernel, report.Launch(128, 164 * 1024)))

    def test_launch_shapes_are_those_of_the_sources(self):
        launches = report.launch_shapes()
        for kernel in ("segment_forward_kernel", "segment_backward_walk_kernel<__half, 32, 3>",
                       "windowed_sums_kernel<__nv_bfloat16, true>", "dense_softmax_kernel"):
            self.assertGreater(launches[kernel].threads, 0, kernel)


if __name__ == "__main__":
    unittest.main()
