# SPDX-License-Identifier: Apache-2.0
"""Tests scripts/attnscope_dump.py on tiny random models, without network: the outputs computed from a dump are those
of the model's own attention.

Needs torch and transformers; without them it prints this and is skipped (77).
`attnscope_dump_test.py --golden FOLDER` makes the dumps of tests/inspect/golden.
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

try:
    import torch
    from safetensors import safe_open
    from safetensors.torch import save_file
    from transformers import (
        AutoModelForSequenceClassification, BertConfig, BertTokenizerFast, ElectraConfig, LongformerConfig)
except ImportError as missing:
    print(f"skipped: {missing}; install torch and transformers to run it")
    sys.exit(77)

SCRIPT = pathlib.Path(__file__).parents[2] / "scripts" / "attnscope_dump.py"
QUERY = "how tall is the tower"
DOCUMENT = "the tower is tall . it is a tower of iron . how tall is it ? it is tall"
SIZES = dict(hidden_size=16, num_attention_heads=2, num_hidden_layers=2, intermediate_size=16)


def make_model(folder, config):
    words = sorted(set((QUERY + " " + DOCUMENT).split()))
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]
    file = pathlib.Path(folder) / "vocab.txt"
    file.write_text("\n".join(vocabulary))
    try:
        tokenizer = BertTokenizerFast(vocab_file=str(file))
        assert tokenizer.convert_tokens_to_ids("tower") == vocabulary.index("tower")
    except Exception:  # from version 5 on the vocabulary is passed as a mapping
        tokenizer = BertTokenizerFast(vocab={word: i for i, word in enumerate(vocabulary)})
    tokenizer.save_pretrained(folder)
    config.vocab_size = len(vocabulary)
    torch.manual_seed(5)
    model = AutoModelForSequenceClassification.from_config(config).eval()
    for parameter in model.parameters():  # weights that make the softmax uneven
        parameter.data = torch.randn_like(parameter) * 0.5
    model.save_pretrained(folder)


def bert():
    return BertConfig(**SIZES, max_position_embeddings=64)


def longformer():
    return LongformerConfig(**SIZES, attention_window=[4, 8], max_position_embeddings=80, sep_token_id=3,
                            pad_token_id=0, type_vocab_size=2, bos_token_id=2, eos_token_id=3)


def dump(config, *arguments):
    """The dump's metadata and tensors, and the output of each layer's attention."""
    with tempfile.TemporaryDirectory() as folder:
        make_model(folder, config)
        output = pathlib.Path(folder) / "dump.safetensors"
        subprocess.run([sys.executable, SCRIPT, folder, "--query", QUERY, "--document", DOCUMENT, *arguments,
                        "-o", output], check=True, capture_output=True)
        with safe_open(output, "pt") as file:
            metadata = file.metadata() | {"model": f"tiny {config.model_type}, random weights"}
            tensors = {name: file.get_tensor(name) for name in file.keys()}
        return metadata, tensors, outputs(folder, metadata)


def outputs(folder, metadata):
    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    tokens = json.loads(metadata["tokens"])
    item = json.loads(metadata["layout"])["items"][0]
    vocabulary = [line for line in (pathlib.Path(folder) / "vocab.txt").read_text().split("\n")]
    ids = torch.tensor([[vocabulary.index(token) for token in tokens]])
    sides = torch.tensor([[0] * (1 + item["query"]) + [1] * item["document"]])
    inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids), "token_type_ids": sides}
    if "global_rows" in metadata:
        inputs["global_attention_mask"] = torch.zeros_like(ids)
        inputs["global_attention_mask"][0, json.loads(metadata["global_rows"])] = 1
    kept = {}
    for path, module in model.named_modules():
        if path.endswith("attention.self"):
            layer = int(path.split(".")[-3])
            module.register_forward_hook(
                lambda _, __, output, layer=layer: kept.update({layer: output[0][0, :len(tokens)]}))
    with torch.no_grad():
        model(**inputs)
    return {layer: output.reshape(len(tokens), 2, 8) for layer, output in kept.items()}


def allowed(metadata, layer):
    """The paper's Longformer pattern, pair by pair."""
    tokens = json.loads(metadata["tokens"])
    n = len(tokens)
    if metadata["pattern"] == "full":
        return torch.ones(n, n, dtype=torch.bool)
    window = int(metadata["window"].split(",")[layer])
    is_global = torch.zeros(n, dtype=torch.bool)
    is_global[json.loads(metadata["global_rows"])] = True
    i = torch.arange(n)
    return ((i[:, None] - i[None]).abs() <= window) | is_global[:, None] | is_global[None]


def attention(metadata, tensors, layer):
    q, k, v = (tensors[f"layer.{layer}.{part}"].double() for part in "qkv")
    mask = allowed(metadata, layer)

    def attended(q, k, v):
        scores = torch.einsum("ihd,jhd->hij", q, k) * float(metadata["scale"])
        return torch.einsum("hij,jhd->ihd", scores.masked_fill(~mask, -torch.inf).softmax(-1), v)

    result = attended(q, k, v)
    if "global_rows" in metadata:
        rows = json.loads(metadata["global_rows"])
        result[rows] = attended(*(tensors[f"layer.{layer}.{part}_global"].double() for part in "qkv"))[rows]
    return result


class AttnscopeDump(unittest.TestCase):
    def test_attention_can_be_computed_from_the_dump(self):
        for config in (bert(), ElectraConfig(**SIZES, embedding_size=16, max_position_embeddings=64), longformer()):
            with self.subTest(config.model_type):
                metadata, tensors, expected = dump(config)
                self.assertEqual(sorted(expected), [0, 1])
                for layer, output in expected.items():
                    torch.testing.assert_close(attention(metadata, tensors, layer), output.double(), rtol=0, atol=1e-5)

    def test_the_layout_counts_the_special_tokens(self):
        metadata, tensors, _ = dump(bert(), "--sentences")
        tokens = json.loads(metadata["tokens"])
        self.assertEqual(tokens[0], "[CLS]")
        self.assertEqual(json.loads(metadata["layout"]),
                         {"items": [{"cls": 1, "query": 6, "document": len(tokens) - 7,
                                     "sentences": [0, 5, 12, 17]}]})
        self.assertEqual(tensors["layer.0.q"].shape, (len(tokens), 2, 8))

    def test_layers_half_and_max_length_are_applied(self):
        metadata, tensors, _ = dump(bert(), "--layers", "1", "--half", "--max-length", "12")
        self.assertEqual(sorted(tensors), ["layer.1.k", "layer.1.q", "layer.1.v"])
        self.assertEqual(tensors["layer.1.q"].dtype, torch.float16)
        self.assertEqual(len(json.loads(metadata["tokens"])), 12)

    def test_a_missing_layer_is_reported(self):
        with self.assertRaises(subprocess.CalledProcessError) as failed:
            dump(bert(), "--layers", "7")
        self.assertIn(b"in layers 7", failed.exception.stderr)


def write_golden(folder):
    for config in (bert(), longformer()):
        metadata, tensors, expected = dump(config)
        tensors |= {f"expected.{layer}.o": output.contiguous() for layer, output in expected.items()}
        save_file(tensors, pathlib.Path(folder) / f"{config.model_type}.safetensors", metadata)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--golden"]:
        write_golden(sys.argv[2])
    else:
        unittest.main()
