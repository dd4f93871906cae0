# SPDX-License-Identifier: Apache-2.0
"""PyTorch's scaled_dot_product_attention, called from Python: full attention without a mask, every other pattern with a
boolean mask that is created in advance."""
import torch
from torch.nn.functional import scaled_dot_product_attention

from attnscope import implementation, serve


def why_not(plan):
    return None if plan.is_uniform else "torch-sdpa supports items of one length, each with its own query"


def prepare(plan):
    return None if plan.pattern_name == "full" else torch.from_numpy(plan.masks())


def peak_bytes(plan):
    """The mask as floats, into which the CPU's kernel converts it to add it to the scores of each item and head."""
    tensors = 2 * plan.tokens * plan.heads * plan.head_dim * 4
    return tensors if plan.pattern_name == "full" else tensors + 5 * plan.mask_heads * plan.item_tokens**2


@implementation("torch-sdpa", patterns=["*"], prepare=prepare, supports=why_not, peak_bytes=peak_bytes,
                summary="PyTorch's scaled_dot_product_attention called from Python, with a mask unless it is full")
def torch_sdpa(q, k, v, plan):
    if plan.memory_order == "head-major":
        return scaled_dot_product_attention(q, k, v, plan.prepared, scale=plan.scale)
    # The layout of a model's projections: [tokens, heads, dim] of the batch, viewed item by item.
    shape = (plan.items, plan.item_tokens, plan.heads, plan.head_dim)
    q, k, v = (tensor.reshape(shape).transpose(1, 2) for tensor in (q, k, v))
    o = scaled_dot_product_attention(q, k, v, plan.prepared, scale=plan.scale)
    return o.transpose(1, 2).reshape(plan.tokens, plan.heads, plan.head_dim)


if __name__ == "__main__":
    serve()
