#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes example.safetensors, the dump that page Attention opens by default: make_example.py (needs numpy).

It is constructed and comes from no trained model. Each head's queries and keys are written down so that
its scores are what its name below says: from the identity of words, from positions (sines and cosines,
whose products depend on the distance alone), and from the kind of token. The heads are of kinds that
papers report for BERT re-rankers: neighbours, separators as sinks, equal words, query terms in the
document.
"""
import json
import pathlib
import struct

import numpy as np

QUERY = "how do lighthouses warn ships in fog"
DOCUMENT = ("a lighthouse warns ships of rocks and shallow water . at night its lamp turns , so that every "
            "lighthouse has a rhythm of its own . in fog the light is lost after a short way . then the keeper "
            "starts the horn : ships hear fog signals at a distance of some miles . today most lighthouses work "
            "without a keeper , and ships in fog ask satellites and radar first . the horn is still kept for "
            "small boats .")
SAME = {"lighthouses": "lighthouse", "warns": "warn", "ship": "ships"}  # words that count as one
HEAD_DIM = 32
SCALE = HEAD_DIM**-0.5
random = np.random.default_rng(4)

query, document = QUERY.split(), DOCUMENT.split()
tokens = ["[CLS]", *query, "[SEP]", *document, "[SEP]"]
n = len(tokens)
group = np.array([0] + [1] * (len(query) + 1) + [2] * (len(document) + 1))
separator = np.array([token == "[SEP]" for token in tokens])
punctuation = np.array([token in ".,:" for token in tokens])
stems = [SAME.get(token, token) for token in tokens]
vectors = {stem: random.standard_normal(16) / 4 for stem in sorted(set(stems))}
words = np.stack([vectors[stem] / np.linalg.norm(vectors[stem]) for stem in stems])
common = np.array([stem in {"a", "the", "of", "in", "and", "its", "is", "at", "do", "how", "so", "that"}
                   for stem in stems]) | punctuation | separator
places = np.arange(n)


def near(offset, sharpness):
    """Positions, 16 values: largest where key - query = offset."""
    rates = 2 * np.pi / np.geomspace(4, 3 * n, 8)
    q = np.concatenate([np.cos((places[:, None] + offset) * rates), np.sin((places[:, None] + offset) * rates)], 1)
    k = np.concatenate([np.cos(places[:, None] * rates), np.sin(places[:, None] * rates)], 1)
    return q * sharpness, k


def same_word(strength):
    return words * strength * ~common[:, None], words * ~common[:, None]


def to(marks, strength, rows=None):
    """Every row (of those marked) puts `strength` on the marked keys; 1 value."""
    rows = np.ones(n) if rows is None else rows
    return rows[:, None] * strength, marks[:, None].astype(float)


def head(*parts):
    """Parts side by side: their scores add up. The rest is faint noise."""
    q = np.concatenate([part[0] for part in parts], 1)
    k = np.concatenate([part[1] for part in parts], 1)
    rest = HEAD_DIM - q.shape[1]
    q = np.concatenate([q, random.standard_normal((n, rest))], 1)
    k = np.concatenate([k, random.standard_normal((n, rest)) * 0.3], 1)
    return q / SCALE, k


LAYERS = [
    [head(near(0, 1.2)), head(near(-1, 4)), head(near(1, 4)), head(to(punctuation, 3), to(separator, 2))],
    [head(same_word(7)), head(near(0, 0.6), to(group == 2, 1)), head(to(separator, 4.5)),
     head(to(group == 0, 3), to(punctuation, 1.5))],
    [head(same_word(9), to(group == 2, 3, group == 1)), head(to(group == 1, 3.5, group == 2), same_word(3)),
     head(to(group == 0, 2.5, group != 0), near(0, 0.5)),
     head(to(~common & (group == 2), 2.5, group == 0), same_word(4), to(separator, 2, group == 2))],
]
tensors = {}
for number, heads in enumerate(LAYERS):
    tensors[f"layer.{number}.q"] = np.stack([q for q, _ in heads], 1)
    tensors[f"layer.{number}.k"] = np.stack([k for _, k in heads], 1)
    tensors[f"layer.{number}.v"] = np.stack([random.standard_normal((n, HEAD_DIM)) for _ in heads], 1)
metadata = {
    "attnscope_dump": "1", "model": "constructed example",
    "note": "Constructed by hand to show kinds of heads; not a trained model (resources/dumps/make_example.py).",
    "layout": json.dumps({"items": [{"cls": 1, "query": len(query) + 1, "document": len(document) + 1}]}),
    "tokens": json.dumps(tokens), "pattern": "full", "scale": repr(SCALE)}
header, data = {"__metadata__": metadata}, b""
for name, values in tensors.items():
    values = values.astype("<f2").tobytes()
    header[name] = {"dtype": "F16", "shape": list(tensors[name].shape),
                    "data_offsets": [len(data), len(data) + len(values)]}
    data += values
text = json.dumps(header).encode()
text += b" " * (-len(text) % 8)
path = pathlib.Path(__file__).with_name("example.safetensors")
path.write_bytes(struct.pack("<Q", len(text)) + text + data)
print(f"{path}: {n} tokens, {path.stat().st_size} bytes")
