# SPDX-License-Identifier: Apache-2.0
"""Tests scripts/dev/hot_path.py on the machine code of a small kernel; and, if nvcc and nvdisasm are there, that the
project's kernels are not worse than in hot_path.json, which is written by
scripts/dev/compiler_report --hot-path --record tests/cuda/hot_path.json."""
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

RECORDED = HOME / "tests/cuda/hot_path.json"

SOURCE = """__device__ float clean(float x) {  // of numbers that are {not finite
  return isfinite(x) ? x : 0;
}
__global__ void kernel(float* x, int rows) {
  float sum = 0;
  for (int row = 0; row < rows; ++row) {
    float y = x[row];
    if (!isfinite(y)) y = clean(y);
    sum += exp2f(y);
  }
  x[0] = sum / rows;
}
"""
PARTS = [("strip", "kernel.cuh", "for (int row = 0; row < rows; ++row) {"),
         ("never", "kernel.cuh", "float clean(float x) {")]

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
	//## File "/home/kernel.cuh", line 11
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
        self.assertEqual(hot_path.lines_of("kernel.cuh", "float clean(float x) {"), (1, 3))
        self.assertEqual(hot_path.lines_of("kernel.cuh", "for (int row = 0; row < rows; ++row) {"), (6, 10))
        self.assertEqual(hot_path.lines_of("kernel.cuh", "if (!isfinite(y)) y"), (8, 8))

    def test_a_text_that_does_not_occur_exactly_once_is_named(self):
        for text in ("double", "float"):
            with self.assertRaisesRegex(ValueError, f"'{text}'.*hot_path.py"):
                hot_path.lines_of("kernel.cuh", text)

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
        a_second = hot_path.Issued(instructions=132 * 4 * 1.755e9 * 0.6, exponentials=132 * 16 / 32 * 1.755e9)
        found = hot_path.bound([a_second, a_second], 4096, "forward")
        self.assertAlmostEqual(found.issue, 2000)
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

    def test_larger_changes_are_named_with_the_recorded_numbers(self):
        self.assertEqual(self.found(instructions_a_strip=441),
                         ["4096: kernel has 441 instructions a strip, recorded are 400"])
        self.assertEqual(len(self.found(blocks_an_SM=7, spilled_bytes=4)), 2)

    def test_a_missing_kernel_is_named(self):
        self.assertEqual(len(hot_path.regressions(self.BEFORE, {})), 1)


class OurKernels(unittest.TestCase):
    def test_the_parts_are_in_the_sources(self):
        for parts in hot_path.PARTS.values():
            for _, file, beginning in parts:
                first, last = hot_path.lines_of(file, beginning)
                self.assertLessEqual(first, last)

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
        self.assertEqual(hot_path.regressions(json.loads(RECORDED.read_text()), hot_path.record(*counted)), [])
        # The parts are still distinguished: 10 products for the scores of a strip, 12 for its sums,
        # 6 for those of [CLS], 4 for a walk's last keys. Only those of the tensor cores are known in advance.
        measured, cases, _ = counted
        kernel, one = next(iter(measured[4096, 4]["forward"].items()))
        counts = cases[4096, 4]["forward"][kernel]
        self.assertEqual(one.products, 22 * counts["strip"] + 6 * counts["wide"] +
                         6 * counts["first"] + 4 * counts["walk, wide"])


if __name__ == "__main__":
    unittest.main()
