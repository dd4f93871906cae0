# SPDX-License-Identifier: Apache-2.0
"""Tests scripts/dev/compiler_report with logs of ptxas, and scripts/dev/hot_path.py with the machine code of a small
kernel; and, if nvcc and nvdisasm are installed, that the project's kernels are not worse than in hot_path.json, which
scripts/dev/compiler_report --hot-path --record tests/cuda/hot_path.json writes."""
import contextlib
import importlib.machinery
import importlib.util
import io
import json
import pathlib
import shutil
import sys
import tempfile
import unittest

HOME = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(HOME / "scripts/dev"))
import hot_path  # noqa: E402

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
        self.assertRegex(out, r"(?m)^segment_forward_kernel<__half, 32> .*\b352\b.* 96 .* 104 ")
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
        for name, short in (("segment_backward_walk_kernel<__half, 32, (attnscope::cuda::Sums)3>"
                             "(attnscope::cuda::BackwardWalkArguments)", "segment_backward_walk_kernel<__half, 32, 3>"),
                            ("windowed::(anonymous namespace)::windowed_sums_kernel<float, true>(Arguments)",
                             "windowed_sums_kernel<float, true>")):
            self.assertEqual(report.shorten(f"void attnscope::cuda::{name}"), short)

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

    def test_blocks_of_a_multiprocessor_and_their_limit(self):
        for architecture, registers, threads, shared, blocks, share, limit in (
                ("sm_80", 32, 256, 0, 8, 1.0, "warps"),
                ("sm_80", 16, 32, 0, 32, 0.5, "blocks"),
                # 128 registers of 32 lanes are 4096; a quarter of the register file fits 4 such warps.
                ("sm_80", 128, 256, 0, 2, 0.25, "registers"),
                # 72 registers are 2304 per warp: 7 warps in a quarter, 28 in all, 3 blocks of 8.
                ("sm_90", 72, 256, 0, 3, 0.375, "registers"),
                # 33,280 bytes and a reserved kilobyte per block: 4 blocks fit in 164 kB, 6 in 228 kB.
                ("sm_80", 32, 128, 33280, 4, 0.25, "shared memory"),
                ("sm_90", 32, 128, 33280, 6, 0.375, "shared memory"),
                # 48 warps, and 16 or 24 blocks.
                ("sm_86", 32, 256, 0, 6, 1.0, "warps"),
                ("sm_86", 16, 32, 0, 16, 1 / 3, "blocks"),
                ("sm_89", 16, 32, 0, 24, 0.5, "blocks"),
                ("sm_120", 32, 128, 33280, 2, 1 / 6, "shared memory")):
            kernel = report.Kernel("k", architecture, registers=registers)
            self.assertEqual(report.occupancy(kernel, report.Launch(threads, shared)), (blocks, share, limit))

    def test_a_block_that_does_not_fit_has_none(self):
        kernel = report.Kernel("k", "sm_80", registers=32)
        for threads, shared in ((128, 164 * 1024), (128, 48 * 1024 + 1), (1056, 0)):
            self.assertIsNone(report.occupancy(kernel, report.Launch(threads, shared)), (threads, shared))

    def test_a_launch_that_does_not_fit_every_gpu_fails_and_is_named(self):
        launches = {"segment_forward_kernel<__half, 32>": report.Launch(128, 0, [report.Launch(1024, 0)])}
        status, out, _ = run(log_of(registers=64), launches)
        self.assertEqual(status, 0)
        self.assertRegex(out, r"sm_89 +sm_80 +1 +65536 of 65536 +0 of 49152 +1 \(segment_forward_kernel")
        status, _, err = run(log_of(registers=65), launches)
        self.assertEqual(status, 1)
        for card in ("sm_80", "sm_86", "sm_89"):
            self.assertIn("segment_forward_kernel<__half, 32> with 1024 threads, 65 registers and 0 bytes of shared memory "
                          f"per block on {card} cannot be launched", err)

    def test_the_kernels_of_the_written_report_fit_every_gpu(self):
        launches, seen = report.launch_shapes(), 0
        lines = (HOME / "docs/cuda-compiler-report.md").read_text().split(report.EVERY_KERNEL)[1].splitlines()
        for cells in (line.split(" | ") for line in lines if line.startswith("| `")):
            name = cells[0].strip("| `")
            for code, registers in (("sm_80", int(cells[3])), ("sm_90", int(cells[9]))):
                launch = report.launch_of(name, launches)
                for card in (card for card, limits in report.CARDS.items() if limits.code == code):
                    for each in (launch, *launch.others):
                        kernel = report.Kernel(name, code, registers)
                        self.assertIsNotNone(report.occupancy(kernel, each, card), (name, card, each))
                        seen += 1
        self.assertGreater(seen, 400)

    def test_launch_shapes_are_those_of_the_sources(self):
        launches = report.launch_shapes()
        for kernel in ("segment_forward_kernel", "segment_backward_walk_kernel<__half, 32, 3>",
                       "windowed_sums_kernel<__nv_bfloat16, true>", "dense_softmax_kernel"):
            self.assertGreater(launches[kernel].threads, 0, kernel)


SOURCE = """__device__ float clean(float x) {  // of numbers that are {not finite
  return isfinite(x) ? x : 0;
}
__global__ void kernel(float* x, int rows) {
  float sum = 0;
  const auto take_row = [&](int row) {
    float y = x[row];
    if (!isfinite(y)) y = clean(y);
    sum += exp2f(y);
  };
  for (int row = 0; row < rows; ++row) take_row(row);
  x[0] = sum / rows;
}
"""
PARTS = [("strip", "kernel.cuh", "take_row"), ("never", "kernel.cuh", "clean")]

# As nvdisasm -c -gi writes it: a loop of lines 6 to 10 in which clean() is inlined behind a branch, whose BSYNC
# still has clean's line; a branch to a point of reconvergence; a call of a slow division.
SASS = """
	.section	.text._Z6kernelPfi,"ax",@progbits
.text._Z6kernelPfi:
	//## File "/home/kernel.cuh", line 5
        /*0000*/                   LDC R1, c[0x0][0x28] ;
        /*0010*/                   ISETP.GE.AND P0, PT, R0, R3, PT ;
        /*0020*/               @P0 EXIT ;
.L_x_1:
	//## File "/home/kernel.cuh", line 7
        /*0030*/                   LDG.E R2, desc[UR4][R2.64] ;
        /*0040*/                   HMMA.16816.F32.BF16 R4, R4, R8, RZ ;
        /*0050*/                   BRA.DIV UR4, `(.L_x_5) ;
.L_x_2:
	//## File "/home/kernel.cuh", line 8
        /*0060*/                   BSSY B0, `(.L_x_3) ;
        /*0070*/              @!P1 BRA `(.L_x_4) ;
	//## File "/home/kernel.cuh", line 2 inlined at "/home/kernel.cuh", line 8
	//## File "/home/kernel.cuh", line 8
        /*0080*/                   FSETP.NEU.AND P1, PT, |R2|, +INF , PT ;
        /*0090*/                   FSEL R2, R2, RZ, P1 ;
.L_x_4:
        /*00a0*/                   BSYNC B0 ;
.L_x_3:
	//## File "/home/kernel.cuh", line 9
        /*00b0*/              @!P2 FMUL R2, R2, 0.5 ;
        /*00c0*/                   MUFU.EX2 R2, R2 ;
        /*00d0*/              @!P0 BRA `(.L_x_1) ;
	//## File "/home/kernel.cuh", line 12
        /*00e0*/                   CALL.REL.NOINC `($__internal_0_$__cuda_sm3x_div_rn_noftz_f32_slowpath) ;
        /*00f0*/                   STG.E desc[UR4][R2.64], R5 ;
        /*0100*/                   EXIT ;
.L_x_5:
        /*0110*/                   WARPSYNC.COLLECTIVE R5, `(.L_x_6) ;
.L_x_6:
        /*0120*/                   BRA `(.L_x_2) ;
$__internal_0_$__cuda_sm3x_div_rn_noftz_f32_slowpath:
        /*0130*/                   MUFU.RCP R3, R3 ;
        /*0140*/                   RET.REL.NODEC R6 `(_Z6kernelPfi) ;
"""


class SmallKernel(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        (pathlib.Path(folder.name) / "kernel.cuh").write_text(SOURCE)
        self.addCleanup(setattr, hot_path, "SEGMENT", hot_path.SEGMENT)
        hot_path.SEGMENT = pathlib.Path(folder.name)
        hot_path.lines_of.cache_clear()
        self.addCleanup(hot_path.lines_of.cache_clear)
        self.blocks = hot_path.read_kernels(SASS)["_Z6kernelPfi"]

    def issued(self, **counts):
        return hot_path.issued(self.blocks, PARTS, counts)

    def test_a_part_ends_with_its_block_even_if_comments_have_braces(self):
        for name, lines in (("clean", (1, 3)), ("take_row", (6, 10)), ("kernel", (4, 13))):
            self.assertEqual(hot_path.lines_of("kernel.cuh", name), lines)

    def test_a_name_that_is_not_defined_exactly_once_is_reported(self):
        (hot_path.SEGMENT / "kernel.cuh").write_text(SOURCE + SOURCE)
        for name in ("exp2f", "clean"):
            with self.assertRaisesRegex(ValueError, f"'{name}'.*hot_path.py"):
                hot_path.lines_of("kernel.cuh", name)

    def test_a_loop_is_executed_as_often_as_its_part(self):
        # 3 + 2 + 1 + 2 instructions, of them BSYNC with a line of clean(), which is executed with the loop.
        self.assertEqual(self.issued(walk=0, strip=1).instructions, 9)
        self.assertEqual(self.issued(walk=0, strip=1000).instructions, 9000)

    def test_code_before_and_after_a_loop_is_executed_once_per_walk(self):
        self.assertEqual(self.issued(walk=1, strip=0).instructions, 6)

    def test_slow_divisions_and_reconvergence_are_not_counted(self):
        found = self.issued(walk=1, strip=1)
        self.assertEqual((found.instructions, found.exponentials, found.products), (15, 1, 1))

    def test_a_part_without_a_loop_is_executed_at_most_as_often_as_its_loop(self):
        parts = [PARTS[0], ("edge", *PARTS[1][1:])]
        counts = {"walk": 0, "strip": 10, "edge": 4}
        self.assertEqual(hot_path.issued(self.blocks, parts, counts).instructions, 90 + 4 * 2)
        self.assertEqual(hot_path.issued(self.blocks, parts, counts | {"edge": 40}).instructions, 90 + 10 * 2)
        self.assertEqual(hot_path.issued(self.blocks, parts, counts | {"strip, edge": 1}).instructions, 90 + 2)


class Bounds(unittest.TestCase):
    ROWS = 100 * 4096 * 12

    def test_forward_moves_four_rows_and_a_log_sum_exp(self):
        self.assertEqual(hot_path.moved_bytes(4096, "forward"), (self.ROWS * 260, self.ROWS * 256))

    def test_times_are_those_of_the_machine(self):
        a_second = hot_path.Issued(instructions=132 * 4 * 1.98e9 * 0.46, exponentials=132 * 16 / 32 * 1.98e9)
        found = hot_path.bound([a_second, a_second], (4096, 4), "forward")
        self.assertAlmostEqual(found.issue, 2000)
        self.assertAlmostEqual(hot_path.bound([a_second], (4096, 64), "backward").issue, 1000)
        self.assertAlmostEqual(hot_path.bound([a_second], (4096, 4), "backward").issue, 1000 * 0.46 / 0.27)
        self.assertAlmostEqual(found.exponentials, 2000)
        self.assertAlmostEqual(found.memory, 1e3 * self.ROWS * 260 / 4.3e12)

    def test_the_largest_of_the_three_is_the_bound(self):
        found = hot_path.Bound(issue=1, memory=2, exponentials=1.5, least=1)
        self.assertEqual((found.time, found.name, found.of_copy), (2, "memory", 0.5))


class Regressions(unittest.TestCase):
    BEFORE = {"4096": {"kernel": {"instructions a strip": 400, "registers": 128, "spilled bytes": 0,
                                  "blocks an SM": 8}}}

    def found(self, **numbers):
        now = self.BEFORE["4096"]["kernel"] | {name.replace("_", " "): number for name, number in numbers.items()}
        return hot_path.regressions(self.BEFORE, {"4096": {"kernel": now}})

    def test_up_to_ten_percent_pass(self):
        self.assertEqual(self.found(instructions_a_strip=440, registers=100, blocks_an_SM=8), [])

    def test_larger_changes_and_missing_kernels_are_named_with_the_recorded_numbers(self):
        self.assertEqual(self.found(instructions_a_strip=441),
                         ["4096: kernel has 441 instructions a strip, recorded are 400"])
        self.assertEqual(len(self.found(blocks_an_SM=7, spilled_bytes=4)), 2)
        self.assertEqual(len(hot_path.regressions(self.BEFORE, {})), 1)


class OurKernels(unittest.TestCase):
    RECORDED = (HOME / "tests/cuda/hot_path.json").read_text()

    def test_the_parts_are_in_the_sources(self):
        for _, file, name in (part for parts in hot_path.PARTS.values() for part in parts):
            self.assertLessEqual(*hot_path.lines_of(file, name))

    def test_counts_are_those_of_the_work_lists(self):
        cases = hot_path.walk_counts()
        self.assertEqual(list(cases), [(tokens, window) for tokens in (4096, 174) for window in (4, 16, 64)])
        # 4,084 rows of a document are 256 strips, in walks of 16; the query's 11 are one more.
        counts = cases[4096, 4]["forward"]["segment_walk_kernel<__nv_bfloat16, 32, false, false>"]
        self.assertEqual((counts["strip"], counts["walk"]), (1200 * 257, 1200 * 17))
        # A step's 32 rows and 64 keys to both sides are 10 chunks of 16, at the edges or inside, without those beyond
        # the ends of a document.
        counts = cases[4096, 64]["forward"]["segment_broad_walk_kernel<__nv_bfloat16, 32, false>"]
        self.assertEqual(counts["step"], 1200 * (128 + 1))
        chunks = counts["band, rim"] + counts["stretch"] + counts["whole"]
        self.assertEqual(chunks, 1200 * (128 * 10 - 2 * (4 + 2)))

    def test_recorded_numbers_are_written_as_they_are_in_the_file(self):
        self.assertEqual(hot_path.as_json(json.loads(self.RECORDED)), self.RECORDED)

    def test_the_report_explains_missing_counts(self):
        self.assertIn("nvdisasm", report.hot_path_section(None, report.as_markdown))

    def test_a_new_report_keeps_the_table_of_the_hot_path(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "report.md"
            report.write_markdown(file, "first\n", "a table\n")
            report.write_markdown(file, "second\n")
            self.assertIn("second", file.read_text())
            self.assertNotIn("first", file.read_text())
            self.assertTrue(file.read_text().endswith("a table\n"))

    def test_no_count_is_more_than_ten_percent_worse_than_recorded(self):
        if not shutil.which("nvcc") or not hot_path.find_nvdisasm():
            self.skipTest("nvcc or nvdisasm is not here (scripts/dev/compiler_report fetches the latter)")
        with contextlib.redirect_stdout(io.StringIO()):
            counted = report.count_hot_path(report.launch_shapes())
        self.assertEqual(hot_path.regressions(json.loads(self.RECORDED), hot_path.record(*counted)), [])
        # The parts are still distinguished: 10 products for the scores of a strip, 12 for its sums,
        # 6 for those of [CLS], 4 for a walk's last keys. Only those of the tensor cores are known in advance.
        measured, cases, _ = counted
        kernel, one = next(iter(measured[4096, 4]["forward"].items()))
        counts = cases[4096, 4]["forward"][kernel]
        self.assertEqual(one.products, 22 * counts["strip"] + 6 * counts["wide"] +
                         6 * counts["first"] + 4 * counts["walk, wide"])


if __name__ == "__main__":
    unittest.main()
