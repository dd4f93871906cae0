#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times the sparse pattern in PyTorch's compiled FlexAttention, and full attention in its flash kernel for comparison.

    flex_attention.py [--tokens 4096 174] [--windows 4 64] [--batch 100] > flex_attention.csv

bfloat16, forward, 12 heads of 32, a query of 10 tokens, as in the sweep kernels-cuda. FlexAttention is compiled with
`dynamic=False` for every shape; its block mask is created in advance, like a plan. For each length and window the two
contenders run in alternating rounds. A time is the median over rounds, measured between two events, with the 95 %
interval from order statistics. Caches are warm: calls follow one another on the same buffers. The output is compared
with scaled_dot_product_attention in float32 with a mask; a wrong result is reported and not timed. Lines are written as
they are measured. Exit status 1: a result was wrong; 2: there is no CUDA device.
"""
import argparse
import csv
import math
import statistics
import sys

try:
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention
except ImportError:
    torch = None

HEADS, HEAD_DIM, QUERY_TOKENS = 12, 32, 10
MOST_ERROR = 0.02  # of the largest value
DOCUMENT_BEGINS = 1 + QUERY_TOKENS + 1  # after [CLS], the query and its [SEP]


def mask_rule(window):
    """Fig. 1d of Schlatt et al. (ECIR 2024), on indices that may be tensors."""
    def rule(batch, head, row, column):
        of_cls = row == 0
        of_query = (row > 0) & (row < DOCUMENT_BEGINS) & (column > 0) & (column < DOCUMENT_BEGINS)
        of_document = (row >= DOCUMENT_BEGINS) & ((column < DOCUMENT_BEGINS) | ((row - column).abs() <= window))
        return of_cls | of_query | of_document
    return rule


def worst_error(output, q, k, v, window):
    """Largest difference from float32 with a mask in the first item, relative to the largest value."""
    rows = torch.arange(q.shape[2], device=q.device)
    mask = mask_rule(window)(0, 0, rows[:, None], rows[None, :])
    q, k, v = (tensor[:1].float() for tensor in (q, k, v))
    expected = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    return ((output[:1].float() - expected).abs().max() / expected.abs().max()).item()


def time_ms(call):
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    call()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end)


def alternate(calls, rounds):
    """Times every call once per round; returns sorted times by name."""
    times = {name: [] for name in calls}
    for round_number in range(rounds + 3):
        for name, call in calls.items():
            milliseconds = time_ms(call)
            if round_number >= 3:
                times[name].append(milliseconds)
    return {name: sorted(values) for name, values in times.items()}


def interval(values):
    half = 0.98 * math.sqrt(len(values))  # 1.96 standard deviations of the binomial
    low = max(0, math.floor(len(values) / 2 - half))
    high = min(len(values) - 1, math.ceil(len(values) / 2 + half))
    return values[low], values[high]


def measure(arguments, tokens, window, write):
    """Measures both contenders at one length and window; returns whether FlexAttention was right."""
    q, k, v = (torch.randn(arguments.batch, HEADS, tokens, HEAD_DIM, device="cuda", dtype=torch.bfloat16)
               for _ in range(3))
    mask = create_block_mask(mask_rule(window), None, None, tokens, tokens, device="cuda")
    compiled = torch.compile(flex_attention, dynamic=False)

    def flash():
        with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
            return torch.nn.functional.scaled_dot_product_attention(q, k, v)

    def flex():
        return compiled(q, k, v, block_mask=mask)

    error = worst_error(flex(), q, k, v, window)
    if not error < MOST_ERROR:
        write(tokens, window, "FlexAttention", "wrong", "", "", "", f"{error:.1e}")
        return False
    for name, values in alternate({"FlexAttention": flex, "flash, full": flash}, arguments.rounds).items():
        times = (f"{value:.5f}" for value in (statistics.median(values), *interval(values)))
        write(tokens, window, name, "ok", *times, f"{error:.1e}" if name == "FlexAttention" else "")
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=int, nargs="+", default=[4096, 174], help="in this order")
    parser.add_argument("--windows", type=int, nargs="+", default=[4, 64])
    parser.add_argument("--batch", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=51)
    arguments = parser.parse_args()
    if torch is None:
        print("flex_attention.py: this Python has no PyTorch; use one that has", file=sys.stderr)
        return 2
    if not torch.cuda.is_available():
        print("flex_attention.py: there is no CUDA device here", file=sys.stderr)
        return 2
    torch.manual_seed(1)
    line = csv.writer(sys.stdout, lineterminator="\n")

    def write(*values):
        line.writerow(values)
        sys.stdout.flush()

    write("tokens", "window", "contender", "status", "median_ms", "low_ms", "high_ms", "largest_error", "batch",
          "gpu", "torch")
    where = (arguments.batch, torch.cuda.get_device_name(), torch.__version__)
    right = [measure(arguments, tokens, window, lambda *values: write(*values, *where))
             for tokens in arguments.tokens for window in arguments.windows]
    return 0 if all(right) else 1


if __name__ == "__main__":
    sys.exit(main())
