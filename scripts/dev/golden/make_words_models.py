#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the checkpoints and scores of tests/golden/models of the re-rankers over word vectors.

    make_words_models.py [FOLDER]
    make_words_models.py --time tkl 2000

This is a second implementation of TKL, TK, KNRM, CONV-KNRM, MatchPyramid, PACRR and CO-PACRR as PyTorch modules on
padded batches with masks, as in their authors' programs: whole tensors of kernels, packed windows, region sums by
unfold. The fixtures are computed in float64 and one pair at a time, because a score must not depend on the longest
document of a batch. Each folder has a small random checkpoint, its words and a cases.json: word ids of pairs and the
score of each.

`--time FAMILY WORDS` prints milliseconds per document of the modules at their papers' sizes, in float32 and eager mode,
for batches of 32 documents with this number of words, a query of 10 and 2 threads. Run it by hand in an environment of
scripts/dev/golden/requirements.txt.
"""
import argparse
import json
import math
import pathlib
import statistics
import time

import torch
from torch import nn
from torch.nn import functional as F

import fixture_file

KERNELS = [1, .9, .7, .5, .3, .1, -.1, -.3, -.5, -.7, -.9]
MOST_QUERY = 30
SIZES = [(5, 43), (1, 1), (3, 0), (7, 85), (4, 200), (2, 41), (6, 5), (3, 84), (8, 130)]  # words of query and document


def cosines(a, b):
    unit = lambda x: x / (x.norm(dim=-1, keepdim=True) + 1e-13)
    return unit(a) @ unit(b).transpose(-1, -2)


class Words(nn.Module):
    """The shared part: word vectors, and which ids are words."""
    sigma_of_first = 0.1

    def __init__(self, vocabulary, hidden, idfs=False):
        super().__init__()
        self.hidden = hidden
        self.word_embeddings = nn.Embedding(vocabulary, hidden, padding_idx=0)
        if idfs:
            self.word_idfs = nn.Embedding(vocabulary, 1, padding_idx=0)

    def add_kernels(self):
        self.register_buffer("mu", torch.tensor(KERNELS))
        self.register_buffer("sigma", torch.tensor([self.sigma_of_first] + [0.1] * 10))

    def kernels(self, c):
        return torch.exp(-(c[..., None] - self.mu) ** 2 / (2 * self.sigma ** 2))

    def log_sums(self, q, d, q_mask, d_mask):
        """KNRM's pooling: [batch, 11]."""
        mask = q_mask[:, :, None] * d_mask[:, None, :]
        sums = (self.kernels(cosines(q, d) * mask) * mask[..., None]).sum(2)
        return (0.01 * sums.clamp(min=1e-10).log() * q_mask[..., None]).sum(1)


class Knrm(Words):
    sigma_of_first = 1e-4

    def __init__(self, **sizes):
        super().__init__(**sizes)
        self.add_kernels()
        self.dense = nn.Linear(11, 1, bias=False)

    def forward(self, q, d):
        q_mask, d_mask = (q > 0).to(self.mu), (d > 0).to(self.mu)
        return self.dense(self.log_sums(self.word_embeddings(q), self.word_embeddings(d), q_mask, d_mask))[:, 0]


class ConvKnrm(Words):
    sigma_of_first = 1e-3

    def __init__(self, **sizes):
        super().__init__(**sizes)
        self.add_kernels()
        self.convolutions = nn.ModuleList(
            nn.Sequential(nn.ConstantPad1d((0, n - 1), 0), nn.Conv1d(self.hidden, 128, n), nn.ReLU()) for n in (1, 2, 3))
        self.dense = nn.Linear(99, 1, bias=False)

    def forward(self, q, d):
        q_mask, d_mask = (q > 0).to(self.mu), (d > 0).to(self.mu)
        grams = lambda ids: [conv(self.word_embeddings(ids).transpose(1, 2)).transpose(1, 2) for conv in self.convolutions]
        documents = grams(d)
        pooled = [self.log_sums(x, y, q_mask, d_mask) for x in grams(q) for y in documents]
        return self.dense(torch.cat(pooled, 1))[:, 0]


class Contextualized(Words):
    def __init__(self, heads=10, layers=2, wide=100, **sizes):
        super().__init__(**sizes)
        self.add_kernels()
        layer = nn.TransformerEncoderLayer(self.hidden, heads, wide, dropout=0, batch_first=True)
        self.contextualizer = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)

    def in_context(self, ids, positions):
        mask = ids > 0
        e = self.word_embeddings(ids)
        context = self.contextualizer(e + positions, src_key_padding_mask=~mask)
        return (self.mixer * e + (1 - self.mixer) * context) * mask[..., None], mask.to(e)

    def sinusoids(self, count):
        half = self.hidden // 2
        rates = torch.exp(torch.arange(half) * (-math.log(10000) / (half - 1)))
        angles = torch.arange(count)[:, None] * rates.to(self.mu)
        return torch.cat([angles.sin(), angles.cos()], 1)


class Tk(Contextualized):
    def __init__(self, **sizes):
        super().__init__(**sizes)
        self.mixer = nn.Parameter(torch.full((1, 1, 1), 0.5))
        self.nn_scaler = nn.Parameter(torch.tensor([0.01]))
        self.dense, self.dense_mean = nn.Linear(11, 1, bias=False), nn.Linear(11, 1, bias=False)
        self.dense_comb = nn.Linear(2, 1, bias=False)

    def forward(self, q, d):
        q, q_mask = self.in_context(q, self.sinusoids(q.shape[1]))
        length = (d > 0).sum(1)[:, None, None]
        if not length.any():  # a text without words has no context
            d, d_mask = self.word_embeddings(d) * 0, (d > 0).to(self.mu)
        else:
            d, d_mask = self.in_context(d, self.sinusoids(d.shape[1]))
        mask = q_mask[:, :, None] * d_mask[:, None, :]
        sums = (self.kernels(cosines(q, d) * mask) * mask[..., None]).sum(2)
        counted = q_mask[..., None] * self.nn_scaler
        logs = (sums.clamp(min=1e-10).log2() * counted).sum(1)
        means = (sums / (length + 1) * counted).sum(1)
        return self.dense_comb(torch.cat([self.dense(logs), self.dense_mean(means)], 1))[:, 0]


class Tkl(Contextualized):
    CHUNK, OVERLAP, REGION, STEP = 40, 5, 30, 2

    def __init__(self, saturation="embedding", tail="full", positions=2050, **sizes):
        super().__init__(idfs=saturation in ("idf", "linear"), **sizes)
        self.saturation, self.tail = saturation, tail
        self.positional_features_q = nn.Parameter(self.sinusoids(MOST_QUERY)[None])
        self.positional_features_d = nn.Parameter(self.sinusoids(500 + positions)[None, 500:])
        self.mixer, self.mixer_sat, self.mixer_end = (nn.Parameter(torch.tensor([0.5])) for _ in range(3))
        self.saturation_linear, self.saturation_linear2, self.saturation_linear3 = (nn.Linear(2, 1) for _ in range(3))
        for linear in (self.saturation_linear, self.saturation_linear2, self.saturation_linear3):
            nn.init.uniform_(linear.weight, -0.014, 0.014)
            nn.init.constant_(linear.bias, 100)
        self.sat_normer, self.sat_emb_reduce1 = nn.LayerNorm(2), nn.Linear(self.hidden, 1, bias=False)
        self.kernel_mult = nn.Parameter(torch.ones(4, 1, 1, 1, 11))
        self.dense = nn.Linear(11, 1, bias=False)
        self.chunk_scoring = nn.Parameter(torch.ones(1, 15))

    def chunks(self, length):
        if self.tail == "as-published":
            return (length - 5) // self.CHUNK + 1 if length > 5 else 1
        return max(1, math.ceil(length / self.CHUNK))

    def forward(self, q_ids, d_ids):
        q, q_mask = self.in_context(q_ids, self.positional_features_q[:, :q_ids.shape[1]])
        batch, length = d_ids.shape
        chunks, window = self.chunks(length), self.CHUNK + 2 * self.OVERLAP
        ids = F.pad(d_ids, (self.OVERLAP, chunks * self.CHUNK + self.OVERLAP - length))
        windows = ids.unfold(1, window, self.CHUNK).reshape(batch * chunks, window)
        middle = windows[:, self.OVERLAP:-self.OVERLAP]
        kept = (middle > 0).any(1)
        k = q.new_zeros(batch * chunks, q.shape[1], self.CHUNK, len(KERNELS))
        if kept.any():
            d, mask = self.in_context(windows[kept], self.positional_features_d[:, :window])
            d, mask = d[:, self.OVERLAP:-self.OVERLAP], mask[:, self.OVERLAP:-self.OVERLAP]
            of_window = torch.arange(batch).repeat_interleave(chunks)[kept]
            k[kept] = self.kernels(cosines(q[of_window], d)) * mask[:, None, :, None]
        k = k.view(batch, chunks, *k.shape[1:]).transpose(1, 2).flatten(2, 3)
        regions = k.unfold(2, self.REGION, self.STEP)  # [batch, query, regions, 11, 30]
        words = (k.sum(-1) != 0).unfold(2, self.REGION, self.STEP).sum(-1).to(k)
        t = self.saturated(regions.sum(-1), words, q, q_ids)
        t = t * q_mask[:, :, None, None] * (words > 0)[..., None]
        return self.best(self.dense(t.sum(1))[..., 0])

    def saturated(self, sums, words, q, q_ids):
        if self.saturation == "log":
            return (sums * self.kernel_mult[0]).clamp(min=1e-10).log()
        if self.saturation == "embedding":
            salience = self.sat_emb_reduce1(q)
        else:
            salience = self.word_idfs(q_ids).relu()
        x = torch.stack([salience.expand_as(words), words], -1)
        if self.saturation == "embedding":
            x = self.sat_normer(x)
        a, b, c = self.saturation_linear(x), self.saturation_linear2(x), self.saturation_linear3(x)
        if self.saturation == "linear":
            return a * sums.clamp(min=1e-10) + b
        return a * sums.clamp(min=1e-10) ** (1 / b) - c

    def best(self, s):
        s = torch.where(s == 0, s.new_tensor(-9900), s)
        left, peaks = s.clone(), []
        places = torch.arange(s.shape[1])
        for number in range(3):
            peaks.append(left.argmax(1, keepdim=True))
            near = (places - peaks[-1]).abs() < self.REGION // self.STEP
            left = torch.where(near, left.new_tensor(-10001 - number), left)
        peaks = torch.cat(peaks, 1)
        picked = torch.cat([peaks, peaks - 1, peaks + 1, peaks - 2, peaks + 2], 1).clamp(0, s.shape[1] - 1)
        values = s.gather(1, picked)
        return (torch.where(values <= -9900, values.new_tensor(0), values) * self.chunk_scoring).sum(1)


class OfMap(Words):
    def add_layers(self, features):
        self.dense, self.dense2 = nn.Linear(features, 100), nn.Linear(100, 10)
        self.dense3 = nn.Linear(10, 1, bias=False)

    def score(self, features):
        return self.dense3(self.dense2(self.dense(features).relu()).relu())[:, 0]


class MatchPyramid(OfMap):
    def __init__(self, **sizes):
        super().__init__(**sizes)
        parts, channels = {}, 1
        for i, pooled in enumerate([(36, 90), (18, 60), (9, 30), (6, 20), (3, 10)]):
            parts[f"pad {i}"], parts[f"conv {i}"] = nn.ConstantPad2d((0, 2, 0, 2), 0), nn.Conv2d(channels, 16, 3)
            parts[f"relu {i}"], parts[f"pool {i}"] = nn.ReLU(), nn.AdaptiveMaxPool2d(pooled)
            channels = 16
        self.conv_layers = nn.Sequential()
        for name, part in parts.items():
            self.conv_layers.add_module(name, part)
        self.add_layers(480)

    def forward(self, q, d):
        picture = cosines(self.word_embeddings(q), self.word_embeddings(d))[:, None]
        return self.score(self.conv_layers(picture).flatten(1))


class Pacrr(OfMap):
    WORDS, BEST = 200, 5

    def __init__(self, context=False, **sizes):
        super().__init__(idfs=True, **sizes)  # they do not affect scores
        self.context = context
        self.views = [50, 100, 150, 200] if context else [200]
        self.convolutions = nn.ModuleList(
            nn.Sequential(nn.ConstantPad2d((0, n - 1, 0, n - 1), 0), nn.Conv2d(1, 32, n), nn.MaxPool3d((32, 1, 1)))
            for n in (2, 3))
        self.add_layers(MOST_QUERY * 3 * self.BEST * len(self.views) * (2 if context else 1))

    def forward(self, q_ids, d_ids):
        q = self.word_embeddings(F.pad(q_ids, (0, MOST_QUERY - q_ids.shape[1])))
        d = self.word_embeddings(F.pad(d_ids, (0, self.WORDS - d_ids.shape[1])))
        picture = cosines(q, d)[:, None]
        near = None
        if self.context:
            around = F.avg_pool1d(F.pad(d.transpose(1, 2), (0, 5)), 6, stride=1).transpose(1, 2)
            near = cosines(q.mean(1, keepdim=True), around).expand(-1, MOST_QUERY, -1)
        parts = []
        for conv in [nn.Identity(), *self.convolutions]:
            seen = conv(picture)[:, 0]
            # The first of equal values counts, while torch.topk takes any; rounding does not make equal values unequal.
            order = [(seen[..., :view] * 1e9).round().sort(dim=-1, descending=True, stable=True).indices[..., :self.BEST]
                     for view in self.views]
            parts += [seen.gather(2, best) for best in order]
            if self.context:
                parts += [near.gather(2, best) for best in order]
        return self.score(torch.cat(parts, -1).flatten(1))


FAMILIES = {"tkl": Tkl, "tk": Tk, "knrm": Knrm, "conv-knrm": ConvKnrm, "match-pyramid": MatchPyramid, "pacrr": Pacrr,
            "co-pacrr": lambda **sizes: Pacrr(context=True, **sizes)}
TINY = {"vocabulary": 60, "hidden": 20}
TINY_LAYERS = {"heads": 2, "layers": 2, "wide": 12}
TINY_CHUNKS = {**TINY_LAYERS, "positions": 50}
FIXTURES = {
    "tkl": ("tkl", TINY_CHUNKS),
    "tkl-as-published": ("tkl", {**TINY_CHUNKS, "tail": "as-published"}),
    "tkl-idf": ("tkl", {**TINY_CHUNKS, "saturation": "idf"}),
    "tkl-linear": ("tkl", {**TINY_CHUNKS, "saturation": "linear"}),
    "tkl-log": ("tkl", {**TINY_CHUNKS, "saturation": "log", "tail": "as-published"}),
    "tk": ("tk", TINY_LAYERS),
    "knrm": ("knrm", {}), "conv-knrm": ("conv-knrm", {}), "match-pyramid": ("match-pyramid", {}), "pacrr": ("pacrr", {}),
    "co-pacrr": ("co-pacrr", {}),
}


def draw(model, seed):
    """Random values for every tensor, so that errors show; they are representable in float16, to keep files small."""
    generator = torch.Generator().manual_seed(seed)
    normal = lambda tensor: torch.randn(tensor.shape, generator=generator)
    with torch.no_grad():
        for name, tensor in model.named_parameters():
            fan = tensor[0].numel() if tensor.dim() > 1 else tensor.numel()
            if "embeddings" in name:
                tensor.copy_(normal(tensor))
            elif "word_idfs" in name:
                tensor.copy_(3 + 2 * normal(tensor))
            elif name.startswith("saturation"):
                tensor.copy_(0.03 * normal(tensor) + (5 if name.endswith("bias") else 0))
            elif name.startswith(("mixer", "nn_scaler")):
                tensor.copy_(0.4 + 0.1 * normal(tensor))
            elif "norm" in name and name.endswith("weight") or name.startswith(("kernel_mult", "chunk_scoring")):
                tensor.copy_(1 + 0.25 * normal(tensor))
            elif name == "dense.weight" and tensor.shape[0] > 1:  # each feature once
                every = torch.arange(tensor.shape[1])
                tensor.zero_()[every % tensor.shape[0], every] = torch.randn(tensor.shape[1], generator=generator)
            else:
                tensor.copy_(normal(tensor) / math.sqrt(fan))
            tensor.copy_(tensor.half())
        for name in ("word_embeddings", "word_idfs"):
            if hasattr(model, name):
                getattr(model, name).weight[0] = 0


def pairs():
    generator = torch.Generator().manual_seed(1)
    words = lambda count: torch.randint(1, TINY["vocabulary"], (count,), generator=generator).tolist()
    return [{"query": words(query), "document": words(document)} for query, document in SIZES]


def score(model, pair):
    """A text without words counts as one word of padding."""
    batch = [torch.tensor([pair[part] or [0]]) for part in ("query", "document")]
    return model(*batch).item()


def make(root):
    for seed, (name, (family, own)) in enumerate(FIXTURES.items()):
        folder = root / name
        folder.mkdir(parents=True, exist_ok=True)
        model = FAMILIES[family](**TINY, **own).eval()
        draw(model, 31 + seed)
        config = {"model_type": family, "embedding_dim": TINY["hidden"], "max_query_tokens": MOST_QUERY}
        if "heads" in own:
            config |= {"attention_heads": own["heads"], "attention_layers": own["layers"], "feed_forward": own["wide"]}
        if family == "tkl":
            config |= {"saturation": model.saturation, "tail": model.tail}
        (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n")
        listed = ["@@UNKNOWN@@"] + [f"word{number}" for number in range(2, TINY["vocabulary"])]
        (folder / "tokens.txt").write_text("\n".join(listed) + "\n")
        tensors = {key: value.half() if value.numel() > 10_000 else value for key, value in model.state_dict().items()}
        fixture_file.write(folder / "model.safetensors",
                           {key: value.contiguous().numpy() for key, value in tensors.items()}, {})
        some = pairs()
        with torch.no_grad():
            scores = [score(model.double(), pair) for pair in some]
        made_with = {"torch": torch.__version__.partition("+")[0]}
        lines = ",\n".join(f"  {json.dumps(pair)}" for pair in some)
        (folder / "cases.json").write_text(
            f'{{\n "made_with": {json.dumps(made_with)},\n "cls": 0,\n "pairs": [\n{lines}\n ],\n'
            f' "scores": {json.dumps({"full": scores})}\n}}\n')
        print(name, [round(value, 4) for value in scores])


def time_family(family, words):
    batch, query, vocabulary, at_least = 32, 10, 30_000, 2.0
    torch.set_num_threads(2)
    model = FAMILIES[family](vocabulary=vocabulary, hidden=300).eval()
    generator = torch.Generator().manual_seed(1)
    q = torch.randint(1, vocabulary, (1, query), generator=generator).expand(batch, -1)
    d = torch.randint(1, vocabulary, (batch, words), generator=generator)
    times = []
    with torch.inference_mode():
        model(q, d)
        while sum(times) < at_least or len(times) < 3:
            start = time.perf_counter()
            model(q, d)
            times.append(time.perf_counter() - start)
    trained = sum(p.numel() for name, p in model.named_parameters() if not name.startswith("word_"))
    print(f"{family}, {words} words, batches of {batch}, {torch.get_num_threads()} threads, torch {torch.__version__}: "
          f"{statistics.median(times) / batch * 1e3:.4f} ms per document (least {min(times) / batch * 1e3:.4f}; "
          f"{len(times)} batches); {trained} parameters without word vectors")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", nargs="?", type=pathlib.Path,
                        default=pathlib.Path(__file__).parents[3] / "tests" / "golden" / "models")
    parser.add_argument("--time", nargs=2, metavar=("FAMILY", "WORDS"))
    arguments = parser.parse_args()
    if arguments.time:
        time_family(arguments.time[0], int(arguments.time[1]))
    else:
        make(arguments.folder)


if __name__ == "__main__":
    main()
