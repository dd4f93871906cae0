#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the fixtures of tests/golden: make_golden.py [FOLDER]

Each file has one attention: q, k, v and the incoming gradient, and the results of the authors' code, the output and
three gradients. All are packed [tokens, heads, head_dim] without padding. The metadata has pattern, window and layout
in AttnScope's format. Run it by hand in an environment of scripts/dev/golden/requirements.txt; the same versions on the
same kind of processor write the same bytes.
"""
import json
import pathlib
import sys

import numpy
import torch
import transformers

import fixture_file
import originals

VERSIONS = {"numpy": numpy.__version__, "torch": torch.__version__.partition("+")[0],
            "transformers": transformers.__version__}


class Item:
    """[CLS], a query and one document, with the offsets of the starts of sentences if they are global."""

    def __init__(self, query, document, sentences=None):
        self.query, self.document, self.sentences = query, document, sentences
        self.first_of_document = 1 + query
        self.tokens = 1 + query + document

    def layout(self):
        sizes = {"cls": 1, "query": self.query, "document": self.document}
        return sizes if self.sentences is None else {**sizes, "sentences": self.sentences}

    def is_global(self):
        """[CLS], query and starts of sentences, as in Longformer and QDS-Transformer."""
        result = torch.zeros(self.tokens, dtype=torch.bool)
        result[:self.first_of_document] = True
        for start in self.sentences or []:
            result[self.first_of_document + start] = True
        return result


class Batch:
    """Random packed q, k, v and grad_o of items, and the conversion to a padded batch and back."""

    def __init__(self, items, heads, head_dim, seed):
        self.items = items
        draw = numpy.random.default_rng(seed)
        tokens = sum(item.tokens for item in items)
        self.inputs = {name: torch.from_numpy(draw.standard_normal((tokens, heads, head_dim), dtype=numpy.float32))
                       for name in ("q", "k", "v", "grad_o")}
        for name in ("q", "k", "v"):
            self.inputs[name].requires_grad_()

    def split(self, packed):
        return packed.split([item.tokens for item in self.items])

    def padded(self, packed, multiple):
        """[items, tokens, ...], padded at the end with zeros to a multiple of `multiple` tokens."""
        longest = max(item.tokens for item in self.items)
        rows = -(-longest // multiple) * multiple
        return torch.stack([torch.cat([part, part.new_zeros(rows - len(part), *part.shape[1:])])
                            for part in self.split(packed)])

    def packed(self, padded):
        return torch.cat([place[:item.tokens] for place, item in zip(padded, self.items)])

    def padded_qkv(self, multiple):
        return [self.padded(self.inputs[name], multiple) for name in ("q", "k", "v")]

    def real(self, multiple):
        return self.padded(torch.ones(sum(item.tokens for item in self.items), dtype=torch.bool), multiple)


def save(path, batch, output, source, extra_tensors=None, **metadata):
    """`output` is packed and has a graph back to the batch's q, k and v."""
    inputs = batch.inputs
    gradients = torch.autograd.grad(output, [inputs[name] for name in "qkv"], inputs["grad_o"].to(output.dtype))
    tensors = {**inputs, "o": output, **{f"grad_{name}": value for name, value in zip("qkv", gradients)}}
    arrays = {name: value.detach().float().contiguous().numpy() for name, value in tensors.items()}
    assert all(numpy.isfinite(values).all() for values in arrays.values()), path
    layout = json.dumps({"items": [item.layout() for item in batch.items]}, separators=(",", ":"))
    fixture_file.write(path, {**arrays, **(extra_tensors or {})},
                       {"source": source, "layout": layout, **metadata, **VERSIONS})
    print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB, {source}")


def make_longformer(folder, pattern, items, window, seed):
    batch = Batch(items, heads=2, head_dim=16, seed=seed)
    is_global = batch.padded(torch.cat([item.is_global() for item in items]), 2 * window)
    output = originals.longformer(*batch.padded_qkv(2 * window), window, batch.real(2 * window), is_global)
    save(folder / f"{pattern}-{window}.safetensors", batch, batch.packed(output),
         "transformers LongformerSelfAttention, evaluation, float32", pattern=pattern, window=str(window))


def make_bigbird(folder, name, items, heads, head_dim, block, seed):
    batch = Batch(items, heads, head_dim, seed)
    output, lists = originals.bigbird(*batch.padded_qkv(block), block, 3, seed, batch.real(block))
    save(folder / f"{name}.safetensors", batch, batch.packed(output),
         "transformers BigBirdBlockSparseAttention, training without dropout, float32",
         extra_tensors={"random_blocks": lists}, pattern="bigbird", block_length=str(block))


def sparse_pairs(item, window):
    """The paper's Fig. 1d: [CLS] attends to all, the query to itself, the document to [CLS], the query and its
    window."""
    token = torch.arange(item.tokens)
    in_document = token >= item.first_of_document
    in_query = (token > 0) & ~in_document
    near = (token[:, None] - token[None, :]).abs() <= window
    allowed = in_document[:, None] & (~in_document[None, :] | near)
    allowed |= in_query[:, None] & in_query[None, :]
    allowed[0] = True
    return allowed


def make_plain(folder, name, pairs_of, items, seed, **metadata):
    batch = Batch(items, heads=2, head_dim=16, seed=seed)
    parts = zip(*(batch.split(batch.inputs[each]) for each in "qkv"))
    output = torch.cat([originals.plain(*part, pairs_of(item)) for part, item in zip(parts, items)])
    save(folder / f"{name}.safetensors", batch, output, "torch in float64, rounded", **metadata)


def main(folder):
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    print(", ".join(f"{name} {version}" for name, version in VERSIONS.items()))
    folder.mkdir(parents=True, exist_ok=True)
    for window, seed, items in [(4, 1, [Item(6, 68), Item(3, 46)]), (16, 2, [Item(7, 92), Item(4, 57)])]:
        make_longformer(folder, "longformer", items, window, seed)
    for window, seed, items in [(4, 3, [Item(6, 68, [0, 11, 30, 31, 55]), Item(3, 46, [0, 20])]),
                                (16, 4, [Item(7, 92, [0, 30, 41, 91]), Item(4, 57, [3, 19])])]:
        make_longformer(folder, "qds", items, window, seed)
    make_bigbird(folder, "bigbird-8", [Item(7, 96), Item(5, 93)], heads=3, head_dim=8, block=8, seed=5)
    make_bigbird(folder, "bigbird-16", [Item(9, 182)], heads=2, head_dim=16, block=16, seed=6)
    plain_items = [Item(5, 37), Item(0, 11), Item(3, 1)]
    for window in [0, 1, 4, "inf"]:
        make_plain(folder, f"sparse-{window}", lambda item: sparse_pairs(item, float(window)), plain_items, seed=7,
                   pattern="sparse", window=str(window))
    make_plain(folder, "full", lambda item: torch.ones(item.tokens, item.tokens, dtype=torch.bool), plain_items,
               seed=8, pattern="full")


if __name__ == "__main__":
    home = pathlib.Path(__file__).resolve().parents[3]
    main(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else home / "tests" / "golden")
