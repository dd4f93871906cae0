# SPDX-License-Identifier: Apache-2.0
"""Times PyTorch's scaled_dot_product_attention and transformers' LongformerSelfAttention from Python.

    python_layers.py '{"threads": 2, "seconds": 0.3, "settings": [
        {"layer": "longformer", "tokens": 512, "batch": 1, "window": 4, "globals": 12, "heads": 12, "head_dim": 32},
        {"layer": "sdpa", "tokens": 512, "batch": 1, "order": "token-major", "heads": 12, "head_dim": 32}]}'

prints the samples of each setting in ns, as JSON. float32, forward, without gradients.
"""
import json
import sys
import time

import torch
import transformers
from transformers import LongformerConfig
from transformers.models.longformer.modeling_longformer import LongformerSelfAttention

WARM_UP = 3
FEWEST_SAMPLES = 7


class HandOut(torch.nn.Module):
    """Stands for a projection and hands out its result: the projections themselves are not compared."""

    def __init__(self, result):
        super().__init__()
        self.result = result

    def forward(self, hidden):
        return self.result


def longformer(setting):
    """The layer on what projections would leave: [tokens, batch, heads * head_dim], as it makes them itself."""
    tokens, batch, heads = setting["tokens"], setting["batch"], setting["heads"]
    hidden = heads * setting["head_dim"]
    layer = LongformerSelfAttention(
        LongformerConfig(hidden_size=hidden, num_attention_heads=heads, attention_window=[2 * setting["window"]],
                         attention_probs_dropout_prob=0.0), layer_id=0).eval()
    q, k, v = (torch.randn(tokens, batch, hidden) for _ in range(3))
    q_of_globals = q[:setting["globals"]].contiguous()
    layer.query, layer.query_global = HandOut(q), HandOut(q_of_globals)
    layer.key = layer.key_global = HandOut(k)
    layer.value = layer.value_global = HandOut(v)
    # What the model prepares once for all of its layers.
    mask = torch.zeros(batch, tokens)
    mask[:, :setting["globals"]] = 10000.0
    states = torch.randn(batch, tokens, hidden)
    arguments = {"attention_mask": mask, "is_index_masked": mask < 0, "is_index_global_attn": mask > 0,
                 "is_global_attn": True}

    scaled_in_place = [(one, one.clone()) for one in (q, q_of_globals)]

    def restore():
        for one, original in scaled_in_place:
            one.copy_(original)

    return lambda: layer(states, **arguments), restore


def sdpa(setting):
    """In token-major order as a model's projections leave q, k and v, and the result with the same strides."""
    batch, tokens, heads, head_dim = (setting[name] for name in ("batch", "tokens", "heads", "head_dim"))
    if setting["order"] == "token-major":
        q, k, v = (torch.randn(batch, tokens, heads, head_dim).transpose(1, 2) for _ in range(3))
    else:
        q, k, v = (torch.randn(batch, heads, tokens, head_dim) for _ in range(3))
    return lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v), lambda: None


def samples(setting, seconds):
    call, restore = {"longformer": longformer, "sdpa": sdpa}[setting["layer"]](setting)
    times = []
    end = time.perf_counter() + seconds
    while len(times) < WARM_UP + FEWEST_SAMPLES or time.perf_counter() < end:
        restore()
        begin = time.perf_counter_ns()
        call()
        times.append(time.perf_counter_ns() - begin)
    return times[WARM_UP:]


def main(request):
    torch.manual_seed(1)
    torch.set_num_threads(request["threads"])
    with torch.inference_mode():
        measured = [samples(setting, request["seconds"]) for setting in request["settings"]]
    print(json.dumps({"torch": torch.__version__, "transformers": transformers.__version__, "samples": measured}))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(json.loads(sys.argv[1]))
