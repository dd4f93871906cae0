# SPDX-License-Identifier: Apache-2.0
"""Tests scripts/ir_datasets with a data set that is registered here; skipped without the package."""
import contextlib
import importlib.machinery
import importlib.util
import io
import json
import pathlib
import subprocess
import sys
import tempfile
import typing
import unittest

HOME = pathlib.Path(__file__).resolve().parent.parent.parent
SCRIPT = HOME / "scripts/ir_datasets"
sys.dont_write_bytecode = True  # writes no files next to the scripts
try:
    import ir_datasets
except ImportError:
    ir_datasets = None

loader = importlib.machinery.SourceFileLoader("ir_datasets_script", str(SCRIPT))
script = importlib.util.module_from_spec(importlib.util.spec_from_loader("ir_datasets_script", loader))
loader.exec_module(script)


class NoPackage(unittest.TestCase):
    def test_the_error_names_the_pip_command(self):
        # Without site packages ir_datasets is not found.
        done = subprocess.run([sys.executable, "-I", "-S", SCRIPT, "any", "/nowhere"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("-m pip install ir_datasets", done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1)


class Titled(typing.NamedTuple):
    doc_id: str
    text: str
    title: str

    def default_text(self):
        return f"{self.title} {self.text}"


class Parts(typing.NamedTuple):
    doc_id: str
    title: str
    headings: str
    body: str

    def default_text(self):
        return f"{self.title} {self.headings} {self.body}"


def handler(base, **members):
    return type("Handler", (base,), {name: (lambda self, value=value: value) for name, value in members.items()})()


def registered(name, documents, scores=(("1", "b", 2.0), ("1", "a", 3.0))):
    """Registers a data set of these documents, with two queries and a judgement for each; returns its id."""
    formats = ir_datasets.formats
    dataset = ir_datasets.Dataset(
        handler(formats.BaseDocs, docs_iter=documents),
        handler(formats.BaseQueries, queries_iter=[formats.GenericQuery("1", "how é"),
                                                    formats.GenericQuery("2", "why")]),
        handler(formats.BaseQrels, qrels_iter=[formats.TrecQrel("1", "a", 2, "0"),
                                                formats.TrecQrel("2", 'b"', 0, "0")]),
        handler(formats.BaseScoredDocs, scoreddocs_iter=[formats.GenericScoredDoc(*score) for score in scores]))
    ir_datasets.registry.register(name, dataset)
    return name


@unittest.skipIf(ir_datasets is None, "the Python package ir_datasets is not installed: pip install ir_datasets")
class IrDatasets(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.out = pathlib.Path(folder.name) / "out"

    def written(self, *arguments):
        output, wrong = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(wrong):
            code = script.main([*arguments[:1], str(self.out), *arguments[1:]])
        return code, output.getvalue(), wrong.getvalue()

    def lines(self, name):
        return (self.out / name).read_text(encoding="utf-8").splitlines()

    def test_the_folder_has_the_layout_of_beir(self):
        code, output, wrong = self.written(registered("made-up/titled", [Titled("a", "rye bread", "Bread"),
                                                                       Titled("b", "bees", "")]), "--split", "dev")
        self.assertEqual((code, wrong), (0, ""))
        self.assertIn("2 documents, 2 queries, 2 judgements, 2 candidates of a first stage", output)
        self.assertEqual([json.loads(line) for line in self.lines("corpus.jsonl")],
                         [{"_id": "a", "title": "Bread", "text": "rye bread"},
                          {"_id": "b", "title": "", "text": "bees"}])
        self.assertEqual([json.loads(line) for line in self.lines("queries.jsonl")],
                         [{"_id": "1", "text": "how é"}, {"_id": "2", "text": "why"}])
        self.assertEqual(self.lines("qrels/dev.tsv"), ["query-id\tcorpus-id\tscore", "1\ta\t2", '2\t"b"""\t0'])
        self.assertEqual(self.lines("run.trec"), ["1 Q0 a 1 3.0 ir_datasets", "1 Q0 b 2 2.0 ir_datasets"])
        code, _, wrong = self.written("made-up/titled")
        self.assertEqual(code, 2)
        self.assertIn("is not an empty folder", wrong)

    def test_other_documents_have_their_default_text(self):
        code, output, _ = self.written(registered("made-up/parts", [Parts("a", "T", "H", "b")],
                                                [("1", "a", 0), ("1", "b", 0)]))
        self.assertEqual(code, 0)
        self.assertIn("all with equal scores", output)
        self.assertEqual(json.loads(self.lines("corpus.jsonl")[0]), {"_id": "a", "title": "", "text": "T H b"})

    def test_unwritable_data_sets_are_reported(self):
        for name, message in (("made-up/none", "has no data set 'made-up/none'"),
                              (registered("made-up/ids", [Titled("a\tb", "t", "")]), "cannot be written to a TSV file")):
            code, _, wrong = self.written(name)
            self.assertEqual(code, 2)
            self.assertIn(message, wrong)


if __name__ == "__main__":
    if ir_datasets is None:
        done = unittest.TextTestRunner().run(unittest.defaultTestLoader.loadTestsFromTestCase(NoPackage))
        if done.wasSuccessful():
            print("skipped: the Python package ir_datasets is not installed: pip install ir_datasets")
        sys.exit(77 if done.wasSuccessful() else 1)
    unittest.main()
