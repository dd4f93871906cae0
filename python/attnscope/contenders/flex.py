# SPDX-License-Identifier: Apache-2.0
"""PyTorch's FlexAttention, compiled for each shape; its block mask is created in advance, like a plan.

Full attention and the patterns of [CLS], query and a windowed document are index rules, as users of FlexAttention write them.
Every other pattern is looked up in a table of pairs, with one for each head if heads differ.
"""
import math

import torch
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

from attnscope import implementation, serve

# Compiles each shape and mask; beyond the limit torch would silently compute without compilation.
torch._dynamo.config.recompile_limit = torch._dynamo.config.accumulated_recompile_limit = 1 << 20
torch._dynamo.config.fail_on_recompile_limit_hit = True
compiled = torch.compile(flex_attention, dynamic=False)


def rule_of(plan):
    """A mask_mod, or None if everything is allowed."""
    item = plan.layout["items"][0]
    begins = item["cls"] + item["query"]  # the beginning of the document
    window = plan.item_tokens if plan.window in (None, math.inf) else plan.window
    if plan.pattern_name == "full":
        return None
    if plan.pattern_name == "sparse":
        cls = item["cls"]

        def sparse(batch, head, row, column):
            of_query = (row >= cls) & (row < begins) & (column >= cls) & (column < begins)
            of_document = (row >= begins) & ((column < begins) | ((row - column).abs() <= window))
            return (row < cls) | of_query | of_document
        return sparse
    if plan.pattern_name == "longformer":
        return lambda batch, head, row, column: (row < begins) | (column < begins) | ((row - column).abs() <= window)
    tables = torch.from_numpy(plan.masks())
    if len(tables) == 1:
        return lambda batch, head, row, column: tables[0, row, column]
    return lambda batch, head, row, column: tables[head, row, column]


def prepare(plan):
    rule = rule_of(plan)
    if rule is None:
        return None
    tokens = plan.item_tokens
    heads = plan.mask_heads if plan.mask_heads > 1 else None
    return create_block_mask(rule, None, heads, tokens, tokens, device="cpu")


def why_not(plan):
    if plan.memory_order != "head-major":
        return "flex supports memory_order head-major"
    if not plan.is_uniform:
        return "flex supports items of one length"
    return None


@implementation("flex", patterns=["*"], prepare=prepare, supports=why_not,
                peak_bytes=lambda plan: 2 * plan.tokens * plan.heads * plan.head_dim * 4,
                summary="PyTorch's FlexAttention, compiled for the shape, with its block mask created in advance")
def flex(q, k, v, plan):
    return compiled(q, k, v, block_mask=plan.prepared, scale=plan.scale)


if __name__ == "__main__":
    serve()
