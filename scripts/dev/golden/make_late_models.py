#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the checkpoints and scores of tests/golden/models of the late-interaction families: make_late_models.py
[FOLDER]

This is a second implementation of MixEncoder and of the models it is compared with, in PyTorch and float64, on padded
batches with masks as in the papers' code; AttnScope packs without padding. Each folder has a small random checkpoint
and a cases.json: token ids of pairs, each part with its [SEP], and the score of each pair. Run it by hand in an
environment of scripts/dev/golden/requirements.txt.
"""
import json
import math
import pathlib
import sys

import torch
from torch.nn import functional as F

import fixture_file

CLS, SEP, PAD = 2, 3, 0
LAYERS, HIDDEN, HEADS, WIDE, WORDS, POSITIONS = 3, 24, 2, 40, 96, 128
SIZES = [(5, 31), (1, 20), (9, 1), (3, 50)]  # tokens of query and document, [SEP] included
PUNCTUATION = [7, 8, 9, 20, 21]
HIDDEN_BY_MASK = -1e4


def pairs():
    draw = torch.Generator().manual_seed(1)
    words = lambda count: torch.randint(4, WORDS, (count - 1,), generator=draw).tolist() + [SEP]
    return [{"query": words(query), "document": words(document)} for query, document in SIZES]


class Weights:
    """Random float32 tensors by their names in the checkpoint, read as float64."""

    def __init__(self, seed, prefix):
        self.draw, self.prefix, self.tensors = torch.Generator().manual_seed(seed), prefix, {}
        body = prefix + "embeddings."
        self.matrix(body + "word_embeddings.weight", WORDS, HIDDEN)
        self.matrix(body + "position_embeddings.weight", POSITIONS, HIDDEN)
        self.matrix(body + "token_type_embeddings.weight", 2, HIDDEN)
        self.norm(body + "LayerNorm")
        for layer in range(LAYERS):
            name = f"{prefix}encoder.layer.{layer}."
            for part in ("query", "key", "value"):
                self.linear(f"{name}attention.self.{part}", HIDDEN, HIDDEN)
            self.linear(name + "attention.output.dense", HIDDEN, HIDDEN)
            self.norm(name + "attention.output.LayerNorm")
            self.linear(name + "intermediate.dense", WIDE, HIDDEN)
            self.linear(name + "output.dense", HIDDEN, WIDE)
            self.norm(name + "output.LayerNorm")
        self.linear(prefix + "pooler.dense", HIDDEN, HIDDEN)

    def matrix(self, name, *shape, around=0.0):
        self.tensors[name] = around + 0.25 * torch.randn(*shape, generator=self.draw)

    def linear(self, name, out, inp, bias=True):
        self.matrix(name + ".weight", out, inp)
        if bias:
            self.matrix(name + ".bias", out)

    def norm(self, name):
        self.matrix(name + ".weight", HIDDEN, around=1.0)
        self.matrix(name + ".bias", HIDDEN)

    def __getitem__(self, name):
        return self.tensors[name].double()

    def through(self, name, x):
        return F.linear(x, self[name + ".weight"], self[name + ".bias"])

    def normed(self, name, x):
        return F.layer_norm(x, (HIDDEN,), self[name + ".weight"], self[name + ".bias"], 1e-12)


def by_heads(x):
    return x.view(*x.shape[:-1], HEADS, HIDDEN // HEADS).transpose(-2, -3)


def attention(q, k, v, mask=None):
    """q, k, v [..., rows, hidden]; mask [..., keys], 1 if a key counts."""
    scores = by_heads(q) @ by_heads(k).transpose(-1, -2) / math.sqrt(HIDDEN // HEADS)
    if mask is not None:
        scores = scores + (1 - mask.double())[..., None, None, :] * HIDDEN_BY_MASK
    out = scores.softmax(-1) @ by_heads(v)
    return out.transpose(-2, -3).flatten(-2)


def layer(weights, number, x, mask):
    name = f"{weights.prefix}encoder.layer.{number}."
    q, k, v = (weights.through(f"{name}attention.self.{part}", x) for part in ("query", "key", "value"))
    y = weights.normed(name + "attention.output.LayerNorm",
                       x + weights.through(name + "attention.output.dense", attention(q, k, v, mask)))
    wide = F.gelu(weights.through(name + "intermediate.dense", y))
    return weights.normed(name + "output.LayerNorm", y + weights.through(name + "output.dense", wide))


def padded(texts, before=(CLS,)):
    rows = [list(before) + text for text in texts]
    longest = max(map(len, rows))
    ids = torch.tensor([row + [PAD] * (longest - len(row)) for row in rows])
    mask = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in rows])
    return ids, mask


def embedded(weights, ids, types=0, contexts=None):
    name = weights.prefix + "embeddings."
    words = weights[name + "word_embeddings.weight"][ids]
    if contexts is not None:
        words = torch.cat([contexts.expand(len(ids), -1, -1), words], 1)
    types = torch.full(words.shape[:2], types) if isinstance(types, int) else types
    sums = words + weights[name + "position_embeddings.weight"][:words.shape[1]]
    return weights.normed(name + "LayerNorm", sums + weights[name + "token_type_embeddings.weight"][types])


def encoded(weights, x, mask, first=0, end=LAYERS):
    for number in range(first, end):
        x = layer(weights, number, x, mask)
    return x


def texts_of(some, part):
    return [pair[part] for pair in some]


def states(weights, texts, types=0, end=LAYERS):
    ids, mask = padded(texts)
    return encoded(weights, embedded(weights, ids, types), mask, end=end), mask


def composed(codes, h, mask):
    """softmax(codes H^T) H without a scale."""
    scores = codes @ h.transpose(-1, -2) + (1 - mask.double())[..., None, :] * -1e5
    return scores.softmax(-1) @ h


def dual_bert(some):
    weights = Weights(11, "bert_model.")
    q, _ = states(weights, texts_of(some, "query"))
    c, _ = states(weights, texts_of(some, "document"))
    return weights, {}, (q[:, 0] * c[:, 0]).sum(-1)


def poly_encoder(some):
    weights = Weights(12, "bert_model.")
    weights.matrix("query_composition_layer.query", 6, HIDDEN)
    q, mask = states(weights, texts_of(some, "query"))
    c = states(weights, texts_of(some, "document"))[0][:, :1]
    y = composed(weights["query_composition_layer.query"], q, mask)
    picked = (c @ y.transpose(1, 2)).softmax(-1) @ y
    return weights, {"codes": 6}, (picked * c).sum((1, 2))


def colbert(some):
    weights = Weights(13, "bert.")
    weights.linear("linear", 10, HIDDEN, bias=False)
    vectors = lambda x: F.normalize(F.linear(x, weights["linear.weight"]), dim=-1)
    scores = []
    for pair in some:  # a query by itself has no padding
        q = vectors(states(weights, [pair["query"]])[0])[0]
        # The longest document's padding is part of every document's matrix, as zero vectors.
        ids, mask = padded(texts_of(some, "document"))
        keep = mask * ~torch.isin(ids, torch.tensor(PUNCTUATION))
        d = vectors(encoded(weights, embedded(weights, ids), mask)) * keep[..., None]
        d = torch.cat([d, torch.zeros_like(d[:, :1])], 1)[some.index(pair)]
        scores.append((q @ d.T).max(1).values.sum())
    return weights, {"output_dim": 10, "punctuation_ids": PUNCTUATION}, torch.stack(scores)


def score_head(weights, x):
    pooled = weights.through(weights.prefix + "pooler.dense", x[:, 0]).tanh()
    return weights.through("bert_model.classifier", pooled)[:, 0]


def deformer(some):
    weights = Weights(14, "bert_model.bert.")
    weights.linear("bert_model.classifier", 1, HIDDEN)
    top = 1
    q, q_mask = states(weights, texts_of(some, "query"), end=LAYERS - top)
    c, c_mask = states(weights, texts_of(some, "document"), types=1, end=LAYERS - top)
    x = encoded(weights, torch.cat([q, c], 1), torch.cat([q_mask, c_mask], 1), first=LAYERS - top)
    return weights, {"top_layers": top}, score_head(weights, x)


def cross_bert(some):
    weights = Weights(15, "bert_model.bert.")
    weights.linear("bert_model.classifier", 1, HIDDEN)
    scores = []
    for pair in some:  # one by one: padding between both texts would shift positions
        ids = torch.tensor([[CLS] + pair["query"] + [CLS] + pair["document"]])
        types = torch.tensor([[0] * (1 + len(pair["query"])) + [1] * (1 + len(pair["document"]))])
        scores.append(score_head(weights, encoded(weights, embedded(weights, ids, types), torch.ones_like(ids))))
    return weights, {}, torch.cat(scores)


def virt_like(some):
    weights = Weights(16, "bert_model.")
    weights.linear("virt.hidden", HIDDEN, 4 * HIDDEN)
    weights.linear("virt.score", 1, HIDDEN)
    scores = []
    for pair in some:
        x, y = (states(weights, [pair[part]])[0][0] for part in ("query", "document"))
        scale = math.sqrt(HIDDEN)
        u = ((x @ y.T / scale).softmax(1) @ y).mean(0)
        v = ((y @ x.T / scale).softmax(1) @ x).mean(0)
        both = torch.cat([u, v, (u - v).abs(), torch.maximum(u, v)])
        scores.append(weights.through("virt.score", weights.through("virt.hidden", both).relu())[0])
    return weights, {}, torch.stack(scores)


def mixencoder(seed, contexts, layers, strategy="S", disentangled=False, score="dot"):
    def make(some):
        weights = Weights(seed, "bert_model.")
        for number in layers:
            for part in ("candidate_query", "candidate_key", "candidate_value", "compress_query"):
                weights.linear(f"decoder.{part}.{number}", HIDDEN, HIDDEN)
            chunk = f"decoder.layer_chunks.{number}."
            weights.linear(chunk + "attention.dense", HIDDEN, HIDDEN)
            weights.norm(chunk + "attention.LayerNorm")
            weights.linear(chunk + "intermediate.dense", WIDE, HIDDEN)
            weights.linear(chunk + "output.dense", HIDDEN, WIDE)
            weights.norm(chunk + "output.LayerNorm")
        weights.linear("decoder.LSTM.weight_layer", HIDDEN, 3 * HIDDEN)
        codes = "context_cls" if strategy == "S" else "composition_layer.query"
        weights.matrix(codes, contexts, HIDDEN)
        e = contexts_of(weights, some, contexts, strategy, weights[codes])
        scores = torch.stack([
            one_query(weights, pair, e, layers, disentangled, score)[number] for number, pair in enumerate(some)])
        return weights, {"contexts": contexts, "strategy": strategy, "interaction_layers": layers,
                         "disentangled": disentangled, "score": score}, scores

    return make


def contexts_of(weights, some, contexts, strategy, codes):
    if strategy == "C":
        h, mask = states(weights, texts_of(some, "document"))
        return composed(codes, h, mask)
    ids, mask = padded(texts_of(some, "document"), before=())
    mask = torch.cat([torch.ones(len(ids), contexts, dtype=mask.dtype), mask], 1)
    return encoded(weights, embedded(weights, ids, contexts=codes), mask)[:, :contexts]


def one_query(weights, pair, e, layers, disentangled, score):
    """Scores of all candidates, whose contexts are e [candidates, contexts, hidden]."""
    ids, mask = padded([pair["query"]])
    x = embedded(weights, ids)
    h = torch.zeros(len(e), HIDDEN, dtype=torch.float64)
    for number in range(max(layers) + 1):
        if number in layers:
            e, h = interaction(weights, number, x, e, h, disentangled)
        x = layer(weights, number, x, mask)
    means = e[:, :-1] if disentangled and e.shape[1] > 1 else e
    means = means.mean(1)
    return F.cosine_similarity(means, h, dim=1) if score == "cosine" else (means * h).sum(1)


def interaction(weights, number, x, e, h, disentangled):
    self = f"{weights.prefix}encoder.layer.{number}.attention.self."
    k, v = (weights.through(self + part, x).expand(len(e), -1, -1) for part in ("key", "value"))
    own = lambda part, rows: weights.through(f"decoder.{part}.{number}", rows)
    chunk = f"decoder.layer_chunks.{number}."
    hint = e[:, -1] if disentangled else e.mean(1)

    def fed_forward(rows):
        wide = F.gelu(weights.through(chunk + "intermediate.dense", rows))
        return weights.normed(chunk + "output.LayerNorm", rows + weights.through(chunk + "output.dense", wide))

    o = attention(own("candidate_query", e), torch.cat([k, own("candidate_key", e)], 1),
                  torch.cat([v, own("candidate_value", e)], 1))
    new_e = fed_forward(weights.normed(chunk + "attention.LayerNorm",
                                       weights.through(chunk + "attention.dense", o) + e))
    t = weights.through(chunk + "attention.dense", attention(own("compress_query", hint)[:, None], k, v)[:, 0])
    g = weights.through("decoder.LSTM.weight_layer", torch.cat([hint, t, h], 1)).sigmoid()
    new_h = fed_forward(weights.normed(chunk + "attention.LayerNorm", g * t + (1 - g) * h))
    return new_e, new_h


MODELS = {
    "dual-bert": ("dual-bert", dual_bert),
    "poly-encoder": ("poly-encoder", poly_encoder),
    "colbert": ("colbert", colbert),
    "deformer": ("deformer", deformer),
    "cross-bert": ("cross-bert", cross_bert),
    "virt-like": ("virt-like", virt_like),
    "mixencoder-a": ("mixencoder", mixencoder(21, 1, [2])),
    "mixencoder-c": ("mixencoder", mixencoder(22, 2, [0, 1, 2], disentangled=True)),
    "mixencoder-composed": ("mixencoder", mixencoder(23, 3, [1, 2], strategy="C", score="cosine")),
}


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else
                        pathlib.Path(__file__).parents[3] / "tests" / "golden" / "models")
    shape = {"hidden_size": HIDDEN, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS,
             "intermediate_size": WIDE, "vocab_size": WORDS, "max_position_embeddings": POSITIONS,
             "type_vocab_size": 2}
    for name, (model_type, make) in MODELS.items():
        folder = root / name
        folder.mkdir(parents=True, exist_ok=True)
        some = pairs()
        weights, own, scores = make(some)
        (folder / "config.json").write_text(json.dumps({"model_type": model_type, **shape, **own}, indent=1) + "\n")
        fixture_file.write(folder / "model.safetensors",
                           {key: value.numpy() for key, value in weights.tensors.items()}, {})
        cases = {"made_with": {"torch": torch.__version__.partition("+")[0]}, "cls": CLS, "pairs": some,
                 "scores": {"full": scores.tolist()}}
        (folder / "cases.json").write_text(json.dumps(cases, indent=1) + "\n")
        print(name, [round(score, 4) for score in scores.tolist()])


if __name__ == "__main__":
    main()
