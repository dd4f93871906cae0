# SPDX-License-Identifier: Apache-2.0
"""Implementations that behave, and such that do not, each in its own way."""
import os
import signal
import sys

import numpy

from attnscope import implementation, serve


def attention(q, k, v, plan, allowed):
    scores = numpy.where(allowed, (q @ k.swapaxes(-1, -2)) * numpy.float32(plan.scale), -numpy.inf)
    weights = numpy.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ v


def masked(q, k, v, plan):
    """Of one item after the other, in either memory order."""
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


@implementation("copies", patterns=["full"])
def copies(q, k, v, plan):
    return v.copy()


@implementation("shape", patterns=["full"])
def shape(q, k, v, plan):
    return v[..., :1]


@implementation("dtype", patterns=["full"])
def dtype(q, k, v, plan):
    return v.astype("float64")


@implementation("nothing", patterns=["full"])
def nothing(q, k, v, plan):
    return None


@implementation("raises", patterns=["full"])
def raises(q, k, v, plan):
    raise ValueError("not my\nday")


@implementation("writes", patterns=["full"])
def writes(q, k, v, plan):
    q[...] = 1
    return v.copy()


@implementation("dies", patterns=["full"])
def dies(q, k, v, plan):
    os.kill(os.getpid(), signal.SIGSEGV)


@implementation("leaves", patterns=["full"])
def leaves(q, k, v, plan):
    print("I had enough", file=sys.stderr, flush=True)
    os._exit(3)


@implementation("forks", patterns=["full"])
def forks(q, k, v, plan):
    os.fork()
    return masked(q, k, v, plan)


@implementation("hangs", patterns=["full"])
def hangs(q, k, v, plan):
    print(os.getpid(), file=sys.stderr, flush=True)
    while True:
        signal.pause()


serve()
