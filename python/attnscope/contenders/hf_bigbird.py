# SPDX-License-Identifier: Apache-2.0
"""BigBird's block-sparse attention in Hugging Face's transformers, without its projections, on the plan's blocks.

The library draws the random blocks of a row itself, and only in training; here it uses those of the plan.
"""
import numpy
import torch
from transformers import BigBirdConfig
from transformers.models.big_bird.modeling_big_bird import BigBirdBlockSparseAttention, BigBirdModel

from attnscope import implementation, serve


def why_not(plan):
    blocks = plan.pattern.get("blocks")
    if blocks is None:
        return "hf-bigbird supports patterns of blocks"
    length, random = blocks["length"], blocks["random"]
    if plan.memory_order != "head-major" or not plan.is_uniform:
        return "hf-bigbird supports memory_order head-major and items of one length"
    if random < 1 or plan.item_tokens % length != 0 or plan.item_tokens <= (5 + 2 * random) * length:
        return (f"hf-bigbird supports lengths above {(5 + 2 * random) * length} that a block's {length} tokens divide, and "
                "random blocks")
    return None


def random_blocks(plan):
    """[heads, blocks - 2, random]: the blocks of each block row except the first and the last, beyond the fixed
    ones."""
    length, random = plan.pattern["blocks"]["length"], plan.pattern["blocks"]["random"]
    blocks = plan.item_tokens // length
    table = numpy.zeros((plan.heads, blocks - 2, random), dtype=numpy.int64)
    for head in range(plan.heads):
        rows = plan.rows(0, head)
        for block in range(1, blocks - 1):
            keys = rows[block * length]
            seen = {key for begin, end in zip(keys[::2], keys[1::2]) for key in range(begin // length, end // length)}
            table[head, block - 1] = sorted(seen - {0, block - 1, block, block + 1, blocks - 1})
    return table


def prepare(plan):
    length, random = plan.pattern["blocks"]["length"], plan.pattern["blocks"]["random"]
    layer = BigBirdBlockSparseAttention(BigBirdConfig(
        hidden_size=plan.heads * plan.head_dim, num_attention_heads=plan.heads, block_size=length,
        num_random_blocks=random, max_position_embeddings=plan.item_tokens)).eval()
    table = random_blocks(plan)
    rows = iter(())

    def of_all_heads(**_):
        return list(table)

    def of_one_head(*_, **__):  # requested for each head, in order
        nonlocal rows
        row = next(rows, None)
        if row is None:
            rows = iter(table)
            row = next(rows)
        return row

    layer._bigbird_block_rand_mask_with_head = of_all_heads
    layer._bigbird_block_rand_mask = of_one_head
    mask = torch.ones(plan.items, plan.item_tokens)
    blocked, band, from_mask, to_mask = BigBirdModel.create_masks_for_block_sparse_attn(mask, length)
    return layer, (band, from_mask, to_mask, blocked, blocked), random


@implementation("hf-bigbird", patterns=["*"], dtypes=["float32"], prepare=prepare, supports=why_not,
                summary="BigBirdBlockSparseAttention of Hugging Face's transformers, without its projections")
def hf_bigbird(q, k, v, plan):
    layer, masks, random = plan.prepared
    length, tokens = plan.pattern["blocks"]["length"], plan.item_tokens
    made, _ = layer.bigbird_block_sparse_attention(q, k, v, *masks, plan.heads, random, plan.head_dim, length, length,
                                                   plan.items, tokens, tokens, seed=None, plan_from_length=1,
                                                   plan_num_rand_blocks=1)
    return made.reshape(plan.items, tokens, plan.heads, plan.head_dim).transpose(1, 2)


if __name__ == "__main__":
    serve()
