# SPDX-License-Identifier: Apache-2.0
"""Longformer's layer in Hugging Face's transformers without its projections: q, k and v are their outputs.

The layer scales the queries in place, so it gets a copy of them, like the output of its projection.
"""
import math

import torch
from transformers import LongformerConfig
from transformers.models.longformer.modeling_longformer import LongformerSelfAttention

from attnscope import implementation, serve


class FixedOutput(torch.nn.Module):
    """Replaces a projection and returns its output."""

    result = None

    def forward(self, hidden):
        return self.result


def why_not(plan):
    if plan.memory_order != "token-major":
        return "hf-longformer supports memory_order token-major, the order of its projections"
    if not plan.is_uniform:
        return "hf-longformer supports items of one length, each with its own query"
    if plan.window in (None, math.inf) or plan.window < 1:
        return "hf-longformer supports finite windows of 1 and more"
    if plan.item_tokens % (2 * plan.window) != 0:
        return f"hf-longformer supports lengths that 2w = {2 * plan.window} divides: its model pads to them"
    return None


def prepare(plan):
    """The layer, and what a model computes once for all of its layers."""
    hidden = plan.heads * plan.head_dim
    item = plan.layout["items"][0]
    layer = LongformerSelfAttention(
        LongformerConfig(hidden_size=hidden, num_attention_heads=plan.heads, attention_window=[2 * plan.window],
                         attention_probs_dropout_prob=0.0), layer_id=0).eval()
    for name in ("query", "key", "value", "query_global", "key_global", "value_global"):
        setattr(layer, name, FixedOutput())
    of_globals = item["cls"] + item["query"]
    mask = torch.zeros(plan.items, plan.item_tokens)
    mask[:, :of_globals] = 10000.0
    states = torch.empty(plan.items, plan.item_tokens, hidden)
    return layer, states, {"attention_mask": mask, "is_index_masked": mask < 0, "is_index_global_attn": mask > 0,
                           "is_global_attn": True}, of_globals


@implementation("hf-longformer", patterns=["longformer"], dtypes=["float32"], prepare=prepare, supports=why_not,
                peak_bytes=lambda plan: plan.tokens * plan.heads * (8 * plan.window + plan.head_dim * 8 + 64) * 4,
                summary="LongformerSelfAttention of Hugging Face's transformers, without its projections")
def hf_longformer(q, k, v, plan):
    layer, states, arguments, of_globals = plan.prepared
    # [tokens, heads, dim] of the batch, viewed as a projection of [tokens of an item, batch, hidden].
    q, k, v = (tensor.reshape(plan.items, plan.item_tokens, -1).transpose(0, 1) for tensor in (q, k, v))
    layer.query.result, layer.query_global.result = q.clone(), q[:of_globals].clone()
    layer.key.result = layer.key_global.result = k
    layer.value.result = layer.value_global.result = v
    return layer(states, **arguments)[0].reshape(plan.tokens, plan.heads, plan.head_dim)


if __name__ == "__main__":
    serve()
