# SPDX-License-Identifier: Apache-2.0
"""Tests results/tools/paper_claims.py with tables of made-up times and memory."""
import contextlib
import csv
import importlib.util
import io
import pathlib
import tempfile
import unittest

HOME = pathlib.Path(__file__).resolve().parent.parent.parent
spec = importlib.util.spec_from_file_location("paper_claims", HOME / "results/tools/paper_claims.py")
claims = importlib.util.module_from_spec(spec)
spec.loader.exec_module(claims)

LENGTHS = (64, 4096)
COLUMNS = ["contender", "name", "implementation", "pattern", "window", "sequence_tokens", "status", "operation",
           "median_ms", "low_ms", "high_ms", "ms_per_document", "peak_bytes_per_document", "ratio", "ratio_low",
           "ratio_high", "provenance", *claims.SETTING]
SETTING = dict(zip(claims.SETTING, ["cpu", "2", "float32", "head-major", "warm", "forward", "12", "32", "16"]))
# Times in ms and memory in bytes of one document, by window and length, as in the paper.
PAPER = {
    ("full", "dense"): lambda w, n: (n * n / 1e4, n * n),
    ("sparse", "windowed"): lambda w, n: (n * max(w, n < 2 * w + 1 and 150) / 1e4, n * w),
    ("sparse", "longformer-chunks"): lambda w, n: (n * 200 / 1e4, 4 * n * w),
    ("bigbird", "bigbird"): lambda w, n: (n * 220 / 1e4, n * 512),
    ("sparse", "longformer-banded"): lambda w, n: (n * 200 / 1e4 if w == 4 and n == 64 else n * 20 * w / 1e4, 2 * n * w),
}


def row(pattern, implementation, window, tokens, time, size, base, spread=0.01):
    ratio = time / base
    width = 0 if ratio == 1 else spread
    return {"contender": f"{pattern}/{implementation}", "implementation": implementation, "pattern": pattern,
            "name": implementation.capitalize() + (f", w = {window}" if window else ""), "window": window,
            "sequence_tokens": tokens, "status": "ok", "operation": "windowed-matmul",
            # A call has two documents.
            "median_ms": 2 * time, "low_ms": 2 * time * (1 - spread), "high_ms": 2 * time * (1 + spread),
            "ms_per_document": time, "peak_bytes_per_document": size, "ratio": ratio,
            "ratio_low": ratio * (1 - width), "ratio_high": ratio * (1 + width), "provenance": "Run 7, made up",
            **SETTING}


def products(window, numbers=PAPER, ours="windowed"):
    rows = []
    for tokens in LENGTHS:
        base = numbers["sparse", ours](window, tokens)[0]
        for (pattern, implementation), of in numbers.items():
            own = "" if pattern in ("full", "bigbird") else str(window)
            rows.append(row(pattern, implementation, own, tokens, *of(window, tokens), base))
    return rows


def attention(window, factor):
    numbers = {("full", "sdpa"): lambda w, n: (n * n / 1e4, 1), ("sparse", "segment"): lambda w, n: (factor * n * n / 1e4, 1)}
    return [{**fields, "operation": "attention"} for fields in products(window, numbers, "segment")]


def page_of(*tables):
    """Exit status, page and error message."""
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for i, rows in enumerate(tables):
            paths.append(f"{folder}/{i}.csv")
            with open(paths[-1], "w", newline="", encoding="utf-8") as file:
                writer = csv.DictWriter(file, COLUMNS)
                writer.writeheader()
                writer.writerows(rows)
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = claims.main(paths)
    return status, out.getvalue(), err.getvalue()


def verdicts(page):
    """{claim: (yes, no or –, reason)} of the page's summary."""
    lines = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| ") and "w =" not in line[:6]]
    return {line[0]: (line[1], line[2]) for line in lines if len(line) == 3 and line[1] in ("yes", "no", "–")}


def verdict_of(page, part):
    found = [answer for claim, answer in verdicts(page).items() if part in claim]
    assert len(found) == 1, (part, page)
    return found[0]


class PaperClaims(unittest.TestCase):
    def test_the_papers_numbers_confirm_every_claim(self):
        status, page, _ = page_of(products(4), products(64), attention(4, 0.5), attention(64, 1))
        self.assertEqual(status, 0)
        answers = verdicts(page)
        self.assertEqual(len(answers), 7, page)
        for claim, (answer, why) in answers.items():
            self.assertEqual(answer, "yes", f"{claim}: {why}")
        self.assertIn("shown to be faster in 3 of 4; slower where the window exceeds the sequence: w = 64, 64 tokens", page)
        self.assertIn("Run 7, made up", page)

    def test_a_claim_is_denied_with_the_cells_that_contradict_it(self):
        smaller = {**PAPER, ("sparse", "longformer-banded"): lambda w, n: (n * 20 * w / 1e4, n * w - 1)}
        close = {**PAPER, ("bigbird", "bigbird"): lambda w, n: (PAPER["sparse", "windowed"](w, n)[0] * 1.005, n * 512)}
        slow = {**PAPER, ("sparse", "windowed"): lambda w, n: (n * n / 5e3, n * w)}
        for claim, tables, reasons in (
                ("space-optimal", (products(4), products(64, smaller)),
                 ["in 10 of 12 cells", "Longformer-banded, w = 64, 4096 tokens (0.262 MB against 0.262 MB)"]),
                # An interval around 1 shows no difference.
                ("faster than every earlier", (products(4, close), products(64)),
                 ["Bigbird, w = 4, 4096 tokens (1x [0.995, 1.02])"]),
                ("slower than full attention only where", (products(4, slow), products(64)),
                 ["slower although the window fits: w = 4, 64 tokens (0.5x"]),
                # The fused kernel is judged from the tables of attention.
                ("never slower", (attention(4, 0.5), attention(64, 1.2)),
                 ["w = 64, 64 tokens (0.833x", "shown to be faster in 2 of 4"])):
            with self.subTest(claim=claim):
                answer, why = verdict_of(page_of(*tables)[1], claim)
                self.assertEqual(answer, "no")
                for reason in reasons:
                    self.assertIn(reason, why)

    def test_unmeasured_cells_are_named_and_ignored(self):
        tables = [products(4), products(64)]
        for rows in tables:
            for fields in rows:
                if fields["implementation"] == "longformer-chunks" and fields["sequence_tokens"] == 4096:
                    fields.update({key: "" for key in COLUMNS if key.startswith("ratio") or "ms" in key or "bytes" in key})
                    fields["status"] = "oom"
        _, page, error = page_of(*tables)
        self.assertEqual(error, "")
        answer, why = verdict_of(page, "faster than every earlier")
        self.assertEqual(answer, "yes")
        self.assertIn("in 10 of 10 cells; not measured: Longformer-chunks, w = 4, 4096 tokens", why)
        self.assertIn("| 4 | 4096 | oom |", page)

    def test_tables_of_another_baseline_or_operation_are_refused(self):
        rows = products(4)
        for fields in rows:
            fields["ratio_low"] = fields["ratio_high"] = ""
        status, page, error = page_of(rows)
        self.assertEqual((status, page), (2, ""))
        self.assertIn("name it with --baseline sparse/windowed/WINDOW", error)
        self.assertEqual(error.count("\n"), 1)
        _, _, error = page_of([{**fields, "operation": "model"} for fields in products(4)])
        self.assertIn("no claim is about operation model", error)


if __name__ == "__main__":
    unittest.main()
