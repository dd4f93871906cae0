# SPDX-License-Identifier: Apache-2.0
"""Contenders for the tests: some are correct, the others are wrong in one way each."""
import json
import math
import os
import pathlib
import random
import signal
import sys
import threading

import numpy

from attnscope import implementation, model, serve


def attention(q, k, v, plan, allowed):
    scores = numpy.where(allowed, (q @ k.swapaxes(-1, -2)) * numpy.float32(plan.scale), -numpy.inf)
    weights = numpy.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ v


def masked(q, k, v, plan):
    """Masked attention, item by item, in either memory order."""
    head_major = plan.memory_order == "head-major"
    o = numpy.empty(q.shape, q.dtype)
    for item in range(plan.items):
        at = item if head_major else slice(item * plan.item_tokens, (item + 1) * plan.item_tokens)
        of = [array[at] if head_major else array[at].swapaxes(0, 1) for array in (q, k, v)]
        allowed = numpy.stack([plan.mask(item, head) for head in range(plan.heads)])
        made = attention(*of, plan, allowed)
        o[at] = made if head_major else made.swapaxes(0, 1)
    return o


@implementation("by-hand", patterns=["*"], dtypes=["float32"], summary="a masked softmax in NumPy")
def by_hand(q, k, v, plan):
    print("a contender may print")
    return masked(q, k, v, plan)


@implementation("in-place", patterns=["full"], dtypes=["float32"], prepare=lambda plan: plan.mask())
def in_place(q, k, v, plan, out):
    out[...] = attention(q, k, v, plan, plan.prepared)


def returns(id, result):
    implementation(id, patterns=["full"])(lambda q, k, v, plan: result(v))


returns("copies", lambda v: v.copy())
returns("shape", lambda v: v[..., :1])
returns("dtype", lambda v: v.astype("float64"))
returns("nothing", lambda v: None)


@implementation("raises", patterns=["full"])
def raises(q, k, v, plan):
    raise ValueError("not my\nday")


@implementation("writes", patterns=["full"])
def writes(q, k, v, plan):
    q[...] = 1
    return v.copy()


@implementation("leaves", patterns=["full"])
def leaves(q, k, v, plan):
    print("I had enough", file=sys.stderr, flush=True)
    os._exit(3)


@implementation("forks", patterns=["full"])
def forks(q, k, v, plan):
    os.fork()
    return masked(q, k, v, plan)


REMEMBERED = {}


@implementation("remembers", patterns=["full"])
def remembers(q, k, v, plan):
    """Remembers results by the address of the inputs, as if they never changed."""
    if q.ctypes.data not in REMEMBERED:
        REMEMBERED[q.ctypes.data] = masked(q, k, v, plan)
    return REMEMBERED[q.ctypes.data]


class Later:
    """Computes when NumPy reads it."""
    shape = property(lambda self: self.arrays[0].shape)
    dtype = property(lambda self: self.arrays[0].dtype)

    def __init__(self, *arrays):
        self.arrays = arrays

    def __array__(self, dtype=None, copy=None):
        return masked(*self.arrays)


class Derived(numpy.ndarray):
    """A derived type, which may compute when it is read."""


def remembering(id, key):
    """Returns NaN for a key that it has seen before: if the cell is ok, no key came twice."""
    known = set()

    @implementation(id, patterns=["full"])
    def by_key(q, k, v, plan):
        seen, calls = key(q, k, v), len(known)
        o = masked(q, k, v, plan)
        if seen in known and calls > 1:  # the check uses the data with which it was prepared
            o[...] = numpy.nan
        known.add(seen)
        return o


remembering("knows-bytes", lambda *arrays: tuple(array.tobytes() for array in arrays))
remembering("knows-queries", lambda q, k, v: q.tobytes())
remembering("knows-keys", lambda q, k, v: k.tobytes())
remembering("knows-values", lambda q, k, v: v.tobytes())
remembering("knows-a-row", lambda q, k, v: (q[0, 0, 0].tobytes(), v[0, 0, 0].tobytes()))
remembering("knows-sums", lambda q, k, v: (float(q.sum()), float(v.sum())))
remembering("knows-sizes", lambda q, k, v: numpy.abs(v).tobytes())


def now_and_then(id, spoil):
    """Right in its first calls, then wrong in most."""
    calls, draws = [], random.Random(7)

    @implementation(id, patterns=["full"])
    def sometimes(q, k, v, plan):
        calls.append(1)
        o = masked(q, k, v, plan)
        if len(calls) > 8 and draws.random() < 6 / 7:
            spoil(o)
        return o


now_and_then("nan-now-and-then", lambda o: o.__setitem__((-1, -1, -1, -1), numpy.nan))
now_and_then("row-now-and-then", lambda o: o.__setitem__((0, 1, 7), o[0, 1, 7] * numpy.float32(1.01)))
CALLS, WRITTEN = [], []


@implementation("later", patterns=["full"])
def later(q, k, v, plan):
    """Returns at once, while a thread computes."""
    CALLS.append(1)
    if len(CALLS) < 8:
        return masked(q, k, v, plan)
    o = numpy.empty(q.shape, q.dtype)
    threading.Timer(0.05, lambda: o.__setitem__(..., masked(q, k, v, plan))).start()
    return o


@implementation("writes-once", patterns=["full"])
def writes_once(q, k, v, plan, out):
    if len(WRITTEN) < 3:
        out[...] = masked(q, k, v, plan)
    WRITTEN.append(1)


def die(plan):
    os.kill(os.getpid(), signal.SIGKILL)


for where in ("supports", "prepare", "peak_bytes"):
    implementation(f"dies-in-{where.replace('_', '-')}", patterns=["full"], **{where: die})(masked)
for id, compute in {"dies": lambda *arguments: os.kill(os.getpid(), signal.SIGSEGV), "lazy": Later,
                    "derived": lambda *arguments: masked(*arguments).view(Derived),
                    "rounds": lambda *arrays: masked(*(array.astype("float16").astype("float32")
                                                       for array in arrays[:3]), arrays[3])}.items():
    implementation(id, patterns=["full"])(compute)


@implementation("spoils-later", patterns=["full"])
def spoils_later(q, k, v, plan):
    CALLS.append(1)
    o = masked(q, k, v, plan)
    if len(CALLS) > 4:
        q *= numpy.float32(0.5)
    return o


@implementation("hangs", patterns=["full"])
def hangs(q, k, v, plan):
    print(os.getpid(), file=sys.stderr, flush=True)
    while True:
        signal.pause()


def tensors_of(folder):
    """The tensors of a safetensors file by name."""
    data = pathlib.Path(folder, "model.safetensors").read_bytes()
    begin = 8 + int.from_bytes(data[:8], "little")
    return {name: numpy.frombuffer(data, "float32", math.prod(entry["shape"]), begin + entry["data_offsets"][0])
            .reshape(entry["shape"]) for name, entry in json.loads(data[8:begin]).items() if name != "__metadata__"}


class Bert:
    """BERT's sequence classifier, from a checkpoint of transformers."""

    def __init__(self, folder, plan):
        self.config = json.loads(pathlib.Path(folder, "config.json").read_text())
        self.tensors = tensors_of(folder)
        assert self.config["model_type"] == "bert" and len(self.config["id2label"]) == 1
        assert (self.config["hidden_size"], self.config["num_attention_heads"]) == (plan.hidden, plan.heads)

    def linear(self, x, name):
        return x @ self.tensors[name + ".weight"].T + self.tensors[name + ".bias"]

    def norm(self, x, name):
        x = x - x.mean(-1, keepdims=True)
        x = x / numpy.sqrt((x * x).mean(-1, keepdims=True) + numpy.float32(self.config["layer_norm_eps"]))
        return x * self.tensors[name + ".weight"] + self.tensors[name + ".bias"]

    def attend(self, x, mask, name):
        heads = self.config["num_attention_heads"]
        q, k, v = (self.linear(x, f"{name}.{part}").reshape(*x.shape[:2], heads, -1).swapaxes(1, 2)
                   for part in ("query", "key", "value"))
        scores = q @ k.swapaxes(-1, -2) / numpy.float32(math.sqrt(q.shape[-1]))
        weights = numpy.exp(numpy.where(mask[:, None, None] == 1, scores, -numpy.inf))
        o = weights / weights.sum(-1, keepdims=True) @ v
        return o.swapaxes(1, 2).reshape(x.shape)

    def __call__(self, ids, mask, types):
        table = [self.tensors[f"bert.embeddings.{part}_embeddings.weight"] for part in ("word", "position", "token_type")]
        x = table[0][ids] + table[1][:ids.shape[1]] + table[2][types]
        x = self.norm(x, "bert.embeddings.LayerNorm")
        erf = numpy.vectorize(math.erf, otypes=["float32"])
        for layer in range(self.config["num_hidden_layers"]):
            name = f"bert.encoder.layer.{layer}."
            o = self.linear(self.attend(x, mask, name + "attention.self"), name + "attention.output.dense")
            x = self.norm(x + o, name + "attention.output.LayerNorm")
            wide = self.linear(x, name + "intermediate.dense")
            wide = wide * (1 + erf(wide / numpy.float32(math.sqrt(2)))) / 2
            x = self.norm(x + self.linear(wide, name + "output.dense"), name + "output.LayerNorm")
        return self.linear(numpy.tanh(self.linear(x[:, 0], "bert.pooler.dense")), "classifier")[:, 0]


model("bert", summary="BERT in NumPy", peak_bytes=lambda plan, pairs, tokens: pairs * tokens * 4000)(Bert)


def bert_returns(id, result, **more):
    """BERT with other scores."""
    @model(id, **more)
    def load(folder, plan):
        bert = Bert(folder, plan)
        return lambda *inputs: result(bert(*inputs))


def only_the_ends(scores):
    scores[1:-1] = 0
    return scores


bert_returns("bert-off", lambda scores: scores + 1e-3)
bert_returns("bert-off-int8", lambda scores: scores + 1e-3, precision="int8")
bert_returns("bert-of-one-for-all-int8", lambda scores: scores[:1].repeat(len(scores)), precision="int8")
bert_returns("bert-derived", lambda scores: scores.view(Derived))
bert_returns("bert-of-the-ends", only_the_ends)
bert_returns("bert-complex", lambda scores: scores.astype("complex64"))
bert_returns("bert-shape", lambda scores: scores[:, None])


def bert_remembers(folder, plan):
    """Remembers scores only by the shape of the inputs."""
    bert, known = Bert(folder, plan), {}

    def score(ids, mask, types):
        if ids.shape not in known:
            known[ids.shape] = bert(ids, mask, types)
        return known[ids.shape]
    return score


model("bert-remembers")(bert_remembers)
model("bert-remembers-int8", precision="int8")(bert_remembers)


@model("bert-knows-pairs")
def bert_knows_pairs(folder, plan):
    """Returns NaN for a pair that it has seen before, like a service with a cache would return a stored score."""
    bert, known = Bert(folder, plan), set()

    def score(ids, mask, types):
        scores = bert(ids, mask, types)
        calls = len(known) // len(ids)
        for place, pair in enumerate(map(bytes, ids)):
            if pair in known and calls > 1:
                scores[place] = numpy.nan
            known.add(pair)
        return scores
    return score


@model("bert-nan-now-and-then")
def bert_nan(folder, plan):
    bert, calls, draws = Bert(folder, plan), [], random.Random(7)

    def score(*inputs):
        scores = bert(*inputs)
        calls.append(1)
        if len(calls) > 8 and draws.random() < 6 / 7:
            scores[-1] = numpy.nan
        return scores
    return score


@model("bert-stale-now-and-then")
def bert_stale(folder, plan):
    """Every second call returns the scores of the previous one."""
    bert, scores = Bert(folder, plan), []

    def score(*inputs):
        scores.append(scores[-1] if len(scores) > 3 and len(scores) % 2 else bert(*inputs))
        return scores[-1]
    return score


model("bert-dies-in-peak", peak_bytes=lambda plan, pairs, tokens: die(plan))(Bert)


@model("bert-of-one-text")
def of_one_text(folder, plan):
    bert = Bert(folder, plan)
    return lambda ids, mask, types: bert(ids, mask, types * 0)


@model("bert-spoils-weights")
def spoils_weights(folder, plan):
    bert = Bert(folder, plan)
    os.remove(os.path.join(folder, "model.safetensors"))
    return bert


@model("bert-raises")
def raises_later(folder, plan):
    def score(ids, mask, types):
        raise ValueError("not these ids")
    return score


@model("bert-no-weights")
def raises_at_once(folder, plan):
    raise OSError("no such weights")


model("bert-dies-loading")(lambda folder, plan: die(plan))
model("bert-nothing")(lambda folder, plan: None)
model("bert-dies")(lambda folder, plan: lambda *inputs: os.kill(os.getpid(), signal.SIGSEGV))
model("bert-short", supports=lambda plan: "bert-short takes one layer" if plan.layers > 1 else None)(Bert)


@model("own", patterns=["*"], own_weights=True)
def own(folder, plan):
    assert folder is None
    return lambda ids, mask, types: (ids * mask * (1 + types)).sum(1) / 1e6


@model("own-remembers", own_weights=True)
def remembers(folder, plan):
    known = []

    def score(ids, mask, types):
        known.append(own(folder, plan)(ids, mask, types))
        return known[0]
    return score


@model("own-drifts", own_weights=True)
def drifts(folder, plan):
    calls = []

    def score(ids, mask, types):
        calls.append(1)
        return ids[:, 1] * 0.0 + len(calls)
    return score


@model("bert-hangs")
def hangs_while_it_loads(folder, plan):
    hangs(None, None, None, plan)


serve()
