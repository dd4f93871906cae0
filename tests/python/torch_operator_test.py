# SPDX-License-Identifier: Apache-2.0
"""Tests of attnscope.torch: the operator is compared with a mask in float64 and tested by PyTorch's own checks,
sparsify is compared with `attnscope score` and the golden scores. torch_operator_test.py BUILD_FOLDER

Needs transformers and the torch for which the operator was built; without them it prints this and is skipped (77).
ATTNSCOPE_PYTHON names a Python that has them; scripts/dev/golden/requirements.txt lists what to install.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(sys.argv.pop(1)) if len(sys.argv) > 1 else ROOT / "build" / "release"
sys.path.insert(0, str(ROOT / "python"))
try:
    import torch
    import transformers

    version = torch.__version__.split("+")[0]
    os.environ["ATTNSCOPE_TORCH_LIBRARY"] = str(BUILD / f"attnscope_torch-{version}.so")
    if not pathlib.Path(os.environ["ATTNSCOPE_TORCH_LIBRARY"]).exists():
        raise ImportError(f"{BUILD} has no operator for torch {version}")
    import attnscope.torch
    from attnscope.torch import segment_attention, sparsify
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

transformers.utils.logging.disable_progress_bar()
LAYOUT = [(1, 3, 20), (1, 2, 7)]
TOKENS, HEADS, DIM = 34, 2, 8
TEXT = attnscope.torch.layout_text(LAYOUT)


def drawn(*shape, seed=1, dtype=torch.float32, requires_grad=True):
    values = torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return values.to(dtype).requires_grad_(requires_grad)


def qkv(dtype=torch.float32, requires_grad=True):
    return [drawn(TOKENS, HEADS, DIM, seed=seed, dtype=dtype, requires_grad=requires_grad) for seed in (1, 2, 3)]


def sparse_mask(layout, window):
    """The pattern of the paper's Fig. 1d, pair by pair."""
    tokens = sum(map(sum, layout))
    allowed = torch.zeros(tokens, tokens, dtype=torch.bool)
    begin = 0
    for cls, query, document in layout:
        rest, end = begin + cls + query, begin + cls + query + document
        allowed[begin:begin + cls, begin:end] = True
        allowed[begin + cls:rest, begin + cls:rest] = True
        allowed[rest:end, begin:rest] = True
        at = torch.arange(document)
        allowed[rest:end, rest:end] = (at[:, None] - at[None]).abs() <= window
        begin = end
    return allowed


def masked(q, k, v, allowed, scale=None):
    """o and the log-sum-exps in float64."""
    q, k, v = (tensor.to(torch.float64) for tensor in (q, k, v))
    scores = torch.einsum("ihd,jhd->hij", q, k) * (q.shape[-1] ** -0.5 if scale is None else scale)
    scores = scores.masked_fill(~allowed, float("-inf"))
    return torch.einsum("hij,jhd->ihd", scores.softmax(-1), v), scores.logsumexp(-1).T


def gradients(o, tensors):
    weights = (torch.arange(o.numel()) * 0.37).sin().view(o.shape).to(o)
    return torch.autograd.grad(o, tensors, weights)


class Operator(unittest.TestCase):
    def assert_near(self, found, expected, tolerance):
        scale = max(1.0, expected.abs().max().item())
        self.assertLess((found.to(torch.float64) - expected).abs().max().item(), tolerance * scale)

    def test_output_and_gradients_match_a_mask_in_float64(self):
        for dtype, tolerance in ((torch.float64, 1e-12), (torch.float32, 2e-6), (torch.float16, 4e-3),
                                 (torch.bfloat16, 3e-2)):
            tensors = qkv(dtype)
            exact = [tensor.detach().to(torch.float64).requires_grad_() for tensor in tensors]
            for window, scale in ((4, None), (0, 0.3), ("inf", None)):
                allowed = sparse_mask(LAYOUT, 99 if window == "inf" else window)
                o, lse = segment_attention(*tensors, "sparse", LAYOUT, window, scale=scale, return_lse=True)
                expected, expected_lse = masked(*exact, allowed, scale)
                self.assertEqual((o.dtype, o.is_contiguous()), (dtype, True))
                self.assert_near(o, expected, tolerance)
                self.assert_near(lse, expected_lse, max(tolerance, 1e-12))
                for found, right in zip(gradients(o, tensors), gradients(expected, exact)):
                    self.assert_near(found, right, tolerance)

    def test_opcheck(self):
        for pattern, window, dtype in (("sparse", "4", torch.float32), ("longformer", "2", torch.float64)):
            q, k, v = qkv(dtype)
            torch.library.opcheck(torch.ops.attnscope.segment_attention.default, (q, k, v, pattern, TEXT, window))
            q, k, v = (tensor.detach() for tensor in (q, k, v))
            o, lse = torch.ops.attnscope.segment_attention(q, k, v, pattern, TEXT, window)
            torch.library.opcheck(torch.ops.attnscope.segment_attention_backward.default,
                                  (torch.ones_like(o), q, k, v, o, lse, pattern, TEXT, window))

    def test_gradcheck(self):
        layout = {"shared_query": 2, "items": [{"cls": 1, "documents": [3, 2]}, {"cls": 1, "document": 4}]}
        for pattern, window, items, tokens in (("sparse", 1, layout, 13), ("full", None, [(1, 2, 4)], 7),
                                               ("longformer", 1, [(1, 2, 4)], 7)):
            tensors = [drawn(tokens, 2, 3, seed=seed, dtype=torch.float64) for seed in (1, 2, 3)]
            self.assertTrue(torch.autograd.gradcheck(
                lambda q, k, v: segment_attention(q, k, v, pattern, items, window), tensors))

    def test_float32_gradients_match_float64_for_every_built_in_pattern(self):
        names = [json.loads(file.read_text())["name"] for file in (ROOT / "resources" / "patterns").glob("*.json")]
        self.assertGreater(len(names), 8)
        exact, tensors = qkv(torch.float64), qkv()
        for name in names:
            expected = segment_attention(*exact, name, LAYOUT, 2)
            found = segment_attention(*tensors, name, LAYOUT, 2)
            self.assert_near(found, expected, 2e-6)
            for gradient, right in zip(gradients(found, tensors), gradients(expected, exact)):
                self.assert_near(gradient, right, 4e-6)

    def test_compiles_into_one_graph(self):
        def layer(x, weights):
            q, k, v = (x @ weights).view(TOKENS, 3, HEADS, DIM).unbind(1)
            return torch.relu(segment_attention(q, k, v, "sparse", LAYOUT, 4)).flatten(1)

        x, weights = drawn(TOKENS, 16, seed=4), drawn(16, 3 * HEADS * DIM, seed=5)
        expected = layer(x, weights)
        compiled = torch.compile(layer, fullgraph=True)(x, weights)
        self.assert_near(compiled, expected.to(torch.float64), 2e-6)
        for found, right in zip(gradients(compiled, (x, weights)), gradients(expected, (x, weights))):
            self.assert_near(found, right.to(torch.float64), 1e-5)

    def test_autocast_computes_in_its_dtype_and_gradients_in_that_of_the_inputs(self):
        tensors = qkv()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            o = segment_attention(*tensors, "sparse", LAYOUT, 4)
        self.assertEqual(o.dtype, torch.bfloat16)
        expected = segment_attention(*(tensor.to(torch.bfloat16) for tensor in tensors), "sparse", LAYOUT, 4)
        self.assertTrue(torch.equal(o, expected))
        self.assertEqual({gradient.dtype for gradient in gradients(o, tensors)}, {torch.float32})

    def test_views_are_not_copied(self):
        together = drawn(TOKENS, 3, HEADS, DIM, seed=6)
        head_major = drawn(HEADS, TOKENS, DIM, seed=7)
        for leaf, views in ((together, together.unbind(1)), (head_major, [head_major.transpose(0, 1)] * 3)):
            with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
                o = segment_attention(*views, "sparse", LAYOUT, 4)
            called = {event.key for event in profile.key_averages()}
            self.assertIn("attnscope::segment_attention", called)
            self.assertFalse(called & {"aten::copy_", "aten::clone", "aten::contiguous", "aten::to"}, called)
            expected = segment_attention(*(view.contiguous() for view in views), "sparse", LAYOUT, 4)
            self.assertTrue(torch.equal(o, expected))
            self.assert_near(gradients(o, leaf)[0], gradients(expected, leaf)[0].to(torch.float64), 1e-6)

    def test_incoming_gradients_may_have_any_strides(self):
        tensors = qkv()
        o = segment_attention(*tensors, "sparse", LAYOUT, 4)
        for grad in (torch.ones(()).expand_as(o), drawn(DIM, HEADS, TOKENS, seed=8, requires_grad=False).permute(2, 1, 0),
                     drawn(HEADS, TOKENS, DIM, seed=9, requires_grad=False).transpose(0, 1)):
            found = torch.autograd.grad(o, tensors, grad, retain_graph=True)
            expected = torch.autograd.grad(o, tensors, grad.contiguous(), retain_graph=True)
            self.assertTrue(all(map(torch.equal, found, expected)))

    def test_empty_layouts_give_empty_outputs(self):
        for layout in ([], {"items": []}, [(0, 0, 0), (0, 0)]):
            tensors = [drawn(0, HEADS, DIM) for _ in range(3)]
            o, lse = segment_attention(*tensors, "sparse", layout, 4, return_lse=True)
            self.assertEqual((o.shape, lse.shape), ((0, HEADS, DIM), (0, HEADS)))
            self.assertEqual(torch.autograd.grad(o.sum(), tensors)[0].shape, (0, HEADS, DIM))

    def test_patterns_and_layouts_are_accepted_in_every_form(self):
        tensors = qkv(requires_grad=False)
        expected = segment_attention(*tensors, "sparse", LAYOUT, 4)
        file = ROOT / "resources" / "patterns" / "sparse.json"
        layout = {"items": [{"cls": 1, "query": 3, "document": 20}, {"query": 2, "document": 7}]}
        with tempfile.TemporaryDirectory() as folder:
            layout_file = pathlib.Path(folder) / "layout.json"
            layout_file.write_text(json.dumps(layout))
            for pattern in (str(file), file, json.loads(file.read_text()), file.read_text()):
                for form in (layout, json.dumps(layout), layout_file, layout["items"], [[1, 3, 20], layout["items"][1]]):
                    self.assertTrue(torch.equal(segment_attention(*tensors, pattern, form, "4"), expected))

    def test_threads_share_plans_and_evicted_layouts_are_recompiled(self):
        tensors = qkv(requires_grad=False)
        layouts = [[(1, query, 33 - query)] for query in range(33)] + [[(0, query, 34 - query)] for query in range(34)]
        alone = [segment_attention(*tensors, "sparse", layout, 1) for layout in layouts]
        wrong = []

        def work():
            for layout, expected in zip(layouts, alone):
                if not torch.equal(segment_attention(*tensors, "sparse", layout, 1), expected):
                    wrong.append(layout)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_invalid_arguments_raise_one_sentence(self):
        q, k, v = qkv()

        def call(q=q, k=k, v=v, pattern="sparse", layout=LAYOUT, window=4):
            return segment_attention(q, k, v, pattern, layout, window)

        refusals = [
            (dict(q=drawn(TOKENS + 1, HEADS, DIM)), "have 34 tokens in total, and q has 35"),
            (dict(layout=[(1, 3, 20)]), "have 24 tokens in total, and q has 34"),
            (dict(k=drawn(TOKENS, HEADS + 1, DIM)), "k has shape [34, 3, 8]; the plan needs [34, 2, head_dim]"),
            (dict(v=drawn(TOKENS, HEADS, 4)), "v has head_dim 4, and q has 8"),
            (dict(q=drawn(1, TOKENS, HEADS, DIM)), "q has 4 dimensions; the shape must be [tokens, heads, head_dim]"),
            (dict(k=k.to(torch.float16)), "k is Half, and q is Float; all tensors must have one dtype"),
            (dict(q=q.to(torch.float64)), "k is Float, and q is Double; all tensors must have one dtype"),
            (dict(q=q.int().detach(), k=k.int().detach(), v=v.int().detach()), "supports float32, float16 and bfloat16"),
            (dict(v=drawn(TOKENS, DIM, HEADS).transpose(1, 2)), "stride 2; give v.contiguous()"),
            (dict(v=v.detach().to_sparse()), "v is torch.sparse_coo; give v.to_dense()"),
            (dict(k=k.detach().numpy()), "k is a ndarray, and a torch.Tensor is needed"),
            (dict(pattern="spars"), "unknown pattern 'spars'"),
            (dict(pattern={"name": "p", "attends": {"cls": {"cls": "hole"}}}), "hole"),
            (dict(pattern=4), "pattern is a int; give a built-in's name"),
            (dict(layout=TOKENS), "layout is a int; give a list of items"),
            (dict(layout=[TOKENS]), "an item of the layout is 34; give (cls, query, document, ...)"),
            (dict(layout=[(1, 3, 30.0)]), "float"),
            (dict(layout=[(1, -3, 36)]), "-3"),
            (dict(layout={"item": []}), "item"),
            (dict(window=None), "window"),
            (dict(window=-1), "-1"),
            (dict(window=2.5), "2.5"),
        ]
        for arguments, sentence in refusals:
            with self.subTest(sentence), self.assertRaises((ValueError, TypeError)) as raised:
                call(**arguments)
            self.assertIn(sentence, str(raised.exception))
            self.assertNotIn("\n", str(raised.exception).strip())
        with self.assertRaisesRegex(ValueError, "k is on meta, and q is on cpu; all tensors must be on one device"):
            call(k=k.detach().to("meta"))

    def test_a_second_derivative_is_refused(self):
        tensors = qkv()
        o = segment_attention(*tensors, "sparse", LAYOUT, 4)
        with self.assertRaisesRegex(ValueError, "no second derivative; do not set create_graph"):
            torch.autograd.grad(o.sum(), tensors, create_graph=True)

    def test_a_library_for_another_torch_is_refused(self):
        fitting = pathlib.Path("attnscope_torch-2.15.0.so")
        self.assertEqual(attnscope.torch._fitting("2.15.0", [pathlib.Path("attnscope_torch-2.9.1.so"), fitting]), fitting)
        with self.assertRaisesRegex(ImportError, "2.15.0.so is not for torch 2.9.1, which this Python has"):
            attnscope.torch._fitting("2.9.1", [fitting])
        with self.assertRaisesRegex(ImportError, "not compiled for torch 2.9.1; run 'python -m attnscope.torch'"):
            attnscope.torch._fitting("2.9.1", [])

    @unittest.skipUnless(torch.cuda.is_available(), "no CUDA device")
    def test_cuda_results_and_gradients_match_the_cpu(self):
        tensors = qkv()
        there = [tensor.detach().cuda().requires_grad_() for tensor in tensors]
        for window in (4, 1, 4):
            o = segment_attention(*there, "sparse", LAYOUT, window)
            expected = segment_attention(*tensors, "sparse", LAYOUT, window)
            self.assert_near(o.cpu(), expected.to(torch.float64), 2e-6)
            for found, right in zip(gradients(o, there), gradients(expected, tensors)):
                self.assert_near(found.cpu(), right.to(torch.float64), 4e-6)


class Sparsify(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.golden = ROOT / "tests" / "golden" / "models" / "bert"
        cases = json.loads((cls.golden / "cases.json").read_text())
        cls.pairs, cls.scores = cases["pairs"], cases["scores"]

    def model(self, **options):
        return transformers.BertForSequenceClassification.from_pretrained(self.golden, **options).eval()

    def batch(self, left=False):
        rows = [[2] + pair["query"] + pair["document"] for pair in self.pairs]
        types = [[0] * (1 + len(pair["query"])) + [1] * len(pair["document"]) for pair in self.pairs]
        longest = max(map(len, rows))

        def padded(rows, value):
            padding = [[value] * (longest - len(row)) for row in rows]
            return torch.tensor([more + row if left else row + more for row, more in zip(rows, padding)])

        return {"input_ids": padded(rows, 1), "token_type_ids": padded(types, 0),
                "attention_mask": padded([[1] * len(row) for row in rows], 0)}

    def test_scores_match_the_golden_scores(self):
        model = self.model()
        for name, expected in self.scores.items():
            pattern, _, window = name.partition("/")
            with torch.no_grad():
                logits = sparsify(model, window or None, pattern)(**self.batch()).logits[:, 0]
            self.assertLess((logits - torch.tensor(expected)).abs().max().item(), 1e-5, name)

    def test_scores_match_attnscope_score(self):
        words = "how tall is the tower it a of iron . ?".split()
        vocabulary = {word: at for at, word in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words])}
        queries = ["how tall is the tower", "iron ?", "is it a tower"]
        documents = ["the tower is tall . it is a tower of iron . how tall is it ? it is tall", "a tower", "of iron . " * 9]
        with tempfile.TemporaryDirectory() as folder:
            torch.manual_seed(5)
            config = transformers.BertConfig(hidden_size=32, num_attention_heads=2, num_hidden_layers=2, num_labels=1,
                                             intermediate_size=32, max_position_embeddings=64,
                                             vocab_size=len(vocabulary), initializer_range=0.3)
            transformers.BertForSequenceClassification(config).save_pretrained(folder)
            tokenizer = transformers.BertTokenizerFast(vocab=vocabulary)
            tokenizer.save_pretrained(folder)
            pairs = pathlib.Path(folder) / "pairs.tsv"
            pairs.write_text("".join(f"{query}\t{document}\n" for query, document in zip(queries, documents)))
            model = transformers.BertForSequenceClassification.from_pretrained(folder).eval()
            batch = tokenizer(queries, documents, padding=True, return_tensors="pt")
            for pattern, window in (("sparse", 4), ("sparse", 0), ("full", None)):
                command = [BUILD / "attnscope", "score", "--checkpoint", folder, "--pairs", pairs, "--pattern", pattern]
                scored = subprocess.run(command + (["--window", str(window)] if window is not None else []),
                                        capture_output=True, text=True)
                self.assertEqual(scored.returncode, 0, scored.stderr)
                expected = torch.tensor([float(line) for line in scored.stdout.split()])
                with torch.no_grad():
                    logits = sparsify(model, window, pattern)(**batch).logits[:, 0]
                self.assertLess((logits - expected).abs().max().item(), 1e-5, (pattern, window))
            self.assertGreater((expected[0] - expected[1]).abs().item(), 1e-3)

    def test_hidden_states_are_at_their_tokens_also_with_left_padding(self):
        model = sparsify(self.model())
        with torch.no_grad():
            right = model(**self.batch(), output_hidden_states=True)
            plain = model.bert(**self.batch(), output_hidden_states=True, return_dict=False)
            kept = self.batch()["attention_mask"].bool()
            self.assertEqual(len(right.hidden_states), 3)
            for states, same in zip(right.hidden_states, plain[2]):
                self.assertTrue(torch.equal(states, same))
                self.assertEqual(states.shape[:2], kept.shape)
                self.assertEqual(states[~kept].abs().max().item(), 0)
            first = {name: values[:1, :67] for name, values in self.batch().items()}
            alone = model.bert(**first, output_hidden_states=True).hidden_states
            for states, expected in zip(right.hidden_states, alone):
                self.assertLess((states[0, :67] - expected[0]).abs().max().item(), 1e-5)
            positions = (self.batch(left=True)["attention_mask"].cumsum(1) - 1).clamp(min=0)
            embedded = model.bert(**self.batch(left=True), position_ids=positions).last_hidden_state
            shifted = embedded[self.batch(left=True)["attention_mask"].bool()]
            self.assertLess((shifted - right.hidden_states[-1][kept]).abs().max().item(), 1e-5)

    def test_gradients_match_the_masked_model(self):
        batch = {name: values[:1, :67] for name, values in self.batch().items()}
        exact = self.model(attn_implementation="eager")
        pair = self.pairs[0]
        mask = torch.zeros(1, 1, 67, 67)
        mask.masked_fill_(~sparse_mask([(1, len(pair["query"]), len(pair["document"]))], 4), float("-inf"))
        exact(**(batch | {"attention_mask": mask})).logits.sum().backward()
        model = sparsify(self.model())
        model(**batch).logits.sum().backward()
        for (name, found), (_, right) in zip(model.named_parameters(), exact.named_parameters()):
            scale = max(1.0, right.grad.abs().max().item())
            self.assertLess((found.grad - right.grad).abs().max().item(), 2e-5 * scale, name)

    def test_another_attention_restores_full_attention(self):
        model = sparsify(self.model())
        model.set_attn_implementation("sdpa")
        with torch.no_grad():
            logits = model(**self.batch()).logits[:, 0]
        self.assertLess((logits - torch.tensor(self.scores["full"])).abs().max().item(), 1e-5)

    def test_invalid_arguments_raise_one_sentence(self):
        model, batch = sparsify(self.model()), self.batch()
        swapped = 1 - batch["token_type_ids"]
        cube = batch["attention_mask"][:, None, None]
        for arguments, sentence in (
                (batch | {"token_type_ids": None}, "token_type_ids are missing"),
                (batch | {"token_type_ids": swapped}, "token_type_ids of item 0 are not 0 of [CLS] and the query, then 1"),
                (batch | {"token_type_ids": batch["token_type_ids"][:, 1:]}, "token_type_ids have shape"),
                (batch | {"attention_mask": cube}, "attention_mask has shape"),
                ({name: values[:0] for name, values in batch.items()}, "the batch has no tokens"),
                (batch | {"output_attentions": True}, "no output_attentions")):
            with self.subTest(sentence), self.assertRaises(ValueError) as raised:
                model(**arguments)
            self.assertIn(sentence, str(raised.exception))
            self.assertNotIn("\n", str(raised.exception))
        with self.assertRaisesRegex(ValueError, "no dropout here"):
            model.bert.encoder.layer[0].attention.self.dropout.p = 0.1
            model.train()(**batch)
        for wrong, sentence in (((4, "spars"), "unknown pattern"), ((None,), "window")):
            with self.assertRaisesRegex(ValueError, sentence):
                sparsify(self.model(), *wrong)
        with self.assertRaisesRegex(TypeError, "there is none in this Linear"):
            sparsify(torch.nn.Linear(1, 1))
        self.model().set_attn_implementation("attnscope")
        with self.assertRaisesRegex(ValueError, "attnscope.torch.sparsify"):
            self.model(attn_implementation="attnscope")(**batch)


if __name__ == "__main__":
    unittest.main()
