# SPDX-License-Identifier: Apache-2.0
"""The papers' own attention layers, applied to q, k and v instead of projections.

Each function takes tensors [batch, tokens, heads, head_dim] of a padded batch and returns the layer's
output of that shape, differentiable with respect to all three. Padded rows are undefined.
"""
import math
from types import MethodType

import numpy
import torch
from transformers import BigBirdConfig, LongformerConfig
from transformers.models.big_bird.modeling_big_bird import BigBirdBlockSparseAttention, BigBirdModel
from transformers.models.longformer.modeling_longformer import LongformerSelfAttention


class LookUp(torch.nn.Module):
    """Replaces a projection: the hidden states are batch index and position, and it returns the stored vector.

    The projections of global tokens, which the layer gathers first, thereby get the same vectors as the others, and
    the gradients of both are added in the one stored tensor.
    """

    def __init__(self, stored):
        super().__init__()
        self.stored = stored

    def forward(self, hidden):
        return self.stored[hidden[..., 0].long(), hidden[..., 1].long()].flatten(-2)


def positions(batch, tokens, width):
    hidden = torch.zeros(batch, tokens, width)
    hidden[..., 0] = torch.arange(batch)[:, None]
    hidden[..., 1] = torch.arange(tokens)[None, :]
    return hidden


def longformer(q, k, v, window, real, is_global):
    """LongformerSelfAttention in evaluation; `real` and `is_global` are [batch, tokens].

    tokens must be a multiple of 2 * window, as the layer requires.
    """
    batch, tokens, heads, head_dim = q.shape
    config = LongformerConfig(hidden_size=heads * head_dim, num_attention_heads=heads,
                              attention_window=[2 * window], attention_probs_dropout_prob=0.0)
    layer = LongformerSelfAttention(config, layer_id=0).eval()
    layer.query = layer.query_global = LookUp(q)
    layer.key = layer.key_global = LookUp(k)
    layer.value = layer.value_global = LookUp(v)
    mask = torch.zeros(batch, tokens).masked_fill(is_global, 10000.0).masked_fill(~real, -10000.0)
    output, = layer(positions(batch, tokens, heads * head_dim), attention_mask=mask, is_index_masked=mask < 0,
                    is_index_global_attn=mask > 0, is_global_attn=bool(is_global.any()))
    return output.view(batch, tokens, heads, head_dim)


def bigbird(q, k, v, block, random_blocks, seed, real):
    """BigBirdBlockSparseAttention and the random blocks it used: [heads, blocks - 2, random_blocks].

    It runs in training mode without dropout, because in evaluation every random block is block 0, which then counts
    several times in the softmax. tokens must be a multiple of the block's length, as the layer requires.
    """
    batch, tokens, heads, head_dim = q.shape
    config = BigBirdConfig(hidden_size=heads * head_dim, num_attention_heads=heads, block_size=block,
                           num_random_blocks=random_blocks, attention_probs_dropout_prob=0.0,
                           max_position_embeddings=tokens)
    layer = BigBirdBlockSparseAttention(config, seed=seed).train()
    layer.query, layer.key, layer.value = LookUp(q), LookUp(k), LookUp(v)
    drawn = []
    draw = layer._bigbird_block_rand_mask_with_head

    def remember(_, *arguments, **named):
        drawn.append(numpy.stack(draw(*arguments, **named)).astype(numpy.int64))
        return drawn[-1]

    layer._bigbird_block_rand_mask_with_head = MethodType(remember, layer)
    blocked, band, rows, keys = BigBirdModel.create_masks_for_block_sparse_attn(real.float(), block)
    output = layer(positions(batch, tokens, heads * head_dim), band_mask=band, from_mask=rows, to_mask=keys,
                   from_blocked_mask=blocked, to_blocked_mask=blocked)[0]
    lists, = drawn
    check_block_lists(lists)
    return output.view(batch, tokens, heads, head_dim), lists


def check_block_lists(lists):
    """A block that a row attends to twice counts twice in the original's softmax, which no set of keys describes."""
    blocks = lists.shape[1] + 2
    for head in lists:
        for row, drawn in enumerate(head, start=1):
            seen = {0, row - 1, row, row + 1, blocks - 1, *drawn.tolist()}
            fixed = len({0, row - 1, row, row + 1, blocks - 1})
            assert len(seen) == fixed + len(drawn), f"block {row} sees a block twice: {drawn}"


def plain(q, k, v, allowed):
    """Softmax attention in float64 over the pairs of `allowed` [tokens, tokens]; one item [tokens, heads, head_dim]."""
    scores = torch.einsum("qhd,khd->hqk", q.double(), k.double()) / math.sqrt(q.shape[-1])
    weights = scores.masked_fill(~allowed, -math.inf).softmax(dim=-1)
    return torch.einsum("hqk,khd->qhd", weights, v.double())
