#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times the sparse pattern in other GPU programs, and in AttnScope's operator, in one run on the same tensors.

    cuda_rivals.py [--tokens 4096 174] [--windows 4 64] [--batch 100] [--folder DIR ...] > cuda_rivals.csv

bfloat16, forward, 12 heads of 32, a query of 10 tokens, as in the sweep kernels-cuda. For each length and window the
contenders run in shuffled rounds. A time is the median over rounds, measured between two events, with the 95 % interval
from order statistics; `ratio` is that of the paired rounds to flash attention over all tokens. Caches are warm: calls
follow one another on the same buffers. Outputs are compared with scaled_dot_product_attention in float32 with a mask; a
wrong result is reported and not timed. A program that is not installed is `absent`, one that does not support the shape
is `declined`, both with the reason. Lines are written as they are measured.

  segment         AttnScope's operator (docs/torch-operator.md), from ATTNSCOPE_TORCH_LIBRARY or the checkout's build
  Triton          the kernel in this file: the same idea, a tile of rows over the query's and the window's columns
  FlexAttention   compiled with dynamic=False for every shape; its block mask is created in advance, like a plan
  window_matmul   the extension of the pattern's authors (webis-de/pytorch-window-matmul), float16, with PyTorch's
                  softmax and products for the columns of [CLS] and query
  full attention  PyTorch's flash kernel; FlashAttention 3, xFormers and FlashInfer, which cannot combine a window with
                  columns that every row sees

--folder adds a folder to Python's path: a build of window_matmul or FlashAttention 3.
Exit status 1: a result was wrong; 2: there is no CUDA device.
"""
import argparse
import csv
import math
import pathlib
import random
import statistics
import sys

try:
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.nn.functional import scaled_dot_product_attention
except ImportError:
    torch = None
try:
    import triton
    import triton.language as tl
except ImportError:
    triton = None

HEADS, HEAD_DIM, QUERY_TOKENS = 12, 32, 10
DOCUMENT_BEGINS = 1 + QUERY_TOKENS + 1  # after [CLS], the query and its [SEP]
MOST_ERROR = 0.02  # of the largest value
WARM_UP_ROUNDS = 3
BASELINE = "flash, full"


class Declined(Exception):
    """A contender cannot compute the shape, for the reason in the text."""


def mask_rule(window):
    """Fig. 1d of Schlatt et al. (ECIR 2024), on indices that may be tensors."""
    def rule(batch, head, row, column):
        of_cls = row == 0
        of_query = (row > 0) & (row < DOCUMENT_BEGINS) & (column > 0) & (column < DOCUMENT_BEGINS)
        of_document = (row >= DOCUMENT_BEGINS) & ((column < DOCUMENT_BEGINS) | ((row - column).abs() <= window))
        return of_cls | of_query | of_document
    return rule


if triton is not None:
    @triton.jit
    def _tile_kernel(q_data, k_data, v_data, o_data, tokens, window, scale_log2,
                     DOCUMENT: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr, DIM: tl.constexpr):
        """A tile of rows of one head; tensors are contiguous [batch * heads, tokens, DIM]. The first tile has the rows of
        [CLS] and query, and walks over all columns; the others over those of [CLS], query and their window."""
        first_row = tl.program_id(0) * ROWS
        base = tl.program_id(1).to(tl.int64) * tokens * DIM
        rows = first_row + tl.arange(0, ROWS)
        dims = tl.arange(0, DIM)
        at_rows = base + rows[:, None] * DIM + dims[None, :]
        q = tl.load(q_data + at_rows, mask=rows[:, None] < tokens, other=0.0)
        largest = tl.full([ROWS], float("-inf"), tl.float32)
        total = tl.zeros([ROWS], tl.float32)
        sums = tl.zeros([ROWS, DIM], tl.float32)
        is_first = first_row == 0
        for stage in tl.static_range(2):
            if stage == 0:
                begin = 0
                end = tl.where(is_first, tokens, DOCUMENT)
            else:
                begin = tl.maximum(DOCUMENT, first_row - window)
                end = tl.where(is_first, 0, tl.minimum(tokens, first_row + ROWS + window))
            for start in range(begin, end, COLUMNS):
                columns = start + tl.arange(0, COLUMNS)
                at_columns = base + columns[:, None] * DIM + dims[None, :]
                k = tl.load(k_data + at_columns, mask=columns[:, None] < end, other=0.0)
                v = tl.load(v_data + at_columns, mask=columns[:, None] < end, other=0.0)
                scores = tl.dot(q, tl.trans(k)) * scale_log2
                row, column = rows[:, None], columns[None, :]
                distance = tl.where(row > column, row - column, column - row)
                allowed = (row == 0) | ((row < DOCUMENT) & (column > 0) & (column < DOCUMENT)) | (
                    (row >= DOCUMENT) & ((column < DOCUMENT) | (distance <= window)))
                scores = tl.where(allowed & (column < end), scores, float("-inf"))
                larger = tl.maximum(largest, tl.max(scores, 1))
                shift = tl.where(larger == float("-inf"), 0.0, larger)
                weights = tl.exp2(scores - shift[:, None])
                rescale = tl.exp2(largest - shift)
                total = total * rescale + tl.sum(weights, 1)
                sums = sums * rescale[:, None] + tl.dot(weights.to(v.dtype), v)
                largest = larger
        tl.store(o_data + at_rows, (sums / total[:, None]).to(q.dtype), mask=rows[:, None] < tokens)


def triton_tiles(q, k, v, window, rows=64, columns=32, warps=4):
    """The sparse pattern by the kernel above; q, k, v: contiguous [batch, heads, tokens, dim]."""
    batch, heads, tokens, dim = q.shape
    if rows < DOCUMENT_BEGINS:
        raise Declined("the first tile must hold [CLS] and the query")
    o = torch.empty_like(q)
    _tile_kernel[(triton.cdiv(tokens, rows), batch * heads)](
        q, k, v, o, tokens, window, math.log2(math.e) / math.sqrt(dim), DOCUMENT=DOCUMENT_BEGINS, ROWS=rows,
        COLUMNS=columns, DIM=dim, num_warps=warps)
    return o


# -- contenders: a function of (q, k, v, window) that returns the call


def segment(q, k, v, window):
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
    from attnscope.torch import layout_text, segment_attention
    batch, heads, tokens, dim = q.shape
    layout = layout_text([(1, QUERY_TOKENS + 1, tokens - DOCUMENT_BEGINS)] * batch)
    packed = [tensor.transpose(1, 2).reshape(batch * tokens, heads, dim) for tensor in (q, k, v)]

    def call():
        return segment_attention(*packed, "sparse", layout, window=window)
    return call, lambda o: o.view(batch, tokens, heads, dim).transpose(1, 2)


def triton_kernel(q, k, v, window):
    if triton is None:
        raise ImportError("there is no module triton")
    best = None
    for rows, columns, warps in ((64, 32, 4), (32, 32, 2), (64, 64, 4), (128, 32, 4), (32, 16, 2)):
        def call(rows=rows, columns=columns, warps=warps):
            return triton_tiles(q, k, v, window, rows, columns, warps)
        for _ in range(WARM_UP_ROUNDS):
            call()
        took = statistics.median(time_ms(call) for _ in range(5))
        if best is None or took < best[0]:
            best = took, call
    return best[1], None


def flex(q, k, v, window):
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention
    tokens = q.shape[2]
    mask = create_block_mask(mask_rule(window), None, None, tokens, tokens, device=q.device)
    compiled = torch.compile(flex_attention, dynamic=False)
    return lambda: compiled(q, k, v, block_mask=mask), None


def window_matmul(q, k, v, window):
    from window_matmul import unwindow_matmul, window_matmul as products
    q, k, v = (tensor.half() for tensor in (q, k, v))
    scale = 1 / math.sqrt(q.shape[-1])
    first, own = slice(0, DOCUMENT_BEGINS), slice(DOCUMENT_BEGINS, None)
    keys, values = (tensor[:, :, own].contiguous() for tensor in (k, v))
    places = torch.arange(keys.shape[2], device=q.device)[:, None] + torch.arange(-window, window + 1, device=q.device)
    outside = (places < 0) | (places >= keys.shape[2])

    def call():
        rows = q[:, :, own].contiguous()
        near = products(rows, keys.transpose(-1, -2), window).masked_fill(outside, -math.inf)
        weights = torch.softmax(torch.cat([rows @ k[:, :, first].transpose(-1, -2), near], -1) * scale, -1)
        o = torch.empty_like(q)
        o[:, :, own] = weights[..., :DOCUMENT_BEGINS] @ v[:, :, first] + unwindow_matmul(
            weights[..., DOCUMENT_BEGINS:].contiguous(), values, window)
        o[:, :, :1] = scaled_dot_product_attention(q[:, :, :1], k, v)
        query = slice(1, DOCUMENT_BEGINS)
        o[:, :, query] = scaled_dot_product_attention(q[:, :, query], k[:, :, query], v[:, :, query])
        return o
    return call, None


def flash(q, k, v, window):
    def call():
        with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
            return scaled_dot_product_attention(q, k, v)
    return call, None


def token_major(q, k, v):
    return (tensor.transpose(1, 2).contiguous() for tensor in (q, k, v))


def flash_3(q, k, v, window):
    from flash_attn_interface import flash_attn_func
    tensors = list(token_major(q, k, v))

    def call():
        o = flash_attn_func(*tensors)
        return o[0] if isinstance(o, tuple) else o
    return call, lambda o: o.transpose(1, 2)


def xformers(q, k, v, window):
    from xformers.ops import memory_efficient_attention
    tensors = list(token_major(q, k, v))
    return lambda: memory_efficient_attention(*tensors), lambda o: o.transpose(1, 2)


def flashinfer(q, k, v, window):
    from flashinfer import BatchPrefillWithRaggedKVCacheWrapper
    batch, heads, tokens, dim = q.shape
    begins = torch.arange(batch + 1, dtype=torch.int32, device=q.device) * tokens
    room = torch.empty(256 << 20, dtype=torch.uint8, device=q.device)
    wrapper = BatchPrefillWithRaggedKVCacheWrapper(room, "NHD")
    wrapper.plan(begins, begins, heads, heads, dim, causal=False, q_data_type=q.dtype)
    tensors = [tensor.reshape(batch * tokens, heads, dim) for tensor in token_major(q, k, v)]
    return lambda: wrapper.run(*tensors), lambda o: o.view(batch, tokens, heads, dim).transpose(1, 2)


# Name, function, and whether it computes the pattern or full attention.
CONTENDERS = ((BASELINE, flash, False), ("segment", segment, True), ("Triton", triton_kernel, True),
              ("FlexAttention", flex, True), ("window_matmul", window_matmul, True),
              ("FlashAttention 3, full", flash_3, False), ("xFormers, full", xformers, False),
              ("FlashInfer, full", flashinfer, False))


def worst_error(output, q, k, v, window):
    """Largest difference from float32 in the first item, relative to the largest value; `window` None: full attention."""
    mask = None
    if window is not None:
        rows = torch.arange(q.shape[2], device=q.device)
        mask = mask_rule(window)(0, 0, rows[:, None], rows[None, :])
    q, k, v = (tensor[:1].float() for tensor in (q, k, v))
    expected = scaled_dot_product_attention(q, k, v, attn_mask=mask)
    return ((output[:1].float() - expected).abs().max() / expected.abs().max()).item()


def time_ms(call):
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    call()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end)


def shuffled_rounds(calls, rounds, seed=1):
    """Times every call once per round, in a new order each time; returns the times by name, in the order of rounds."""
    order, times = list(calls), {name: [] for name in calls}
    shuffle = random.Random(seed).shuffle
    for round_number in range(rounds + WARM_UP_ROUNDS):
        shuffle(order)
        for name in order:
            milliseconds = time_ms(calls[name])
            if round_number >= WARM_UP_ROUNDS:
                times[name].append(milliseconds)
    return times


def interval(values):
    """The 95 % interval of the median from order statistics."""
    ordered = sorted(values)
    half = 0.98 * math.sqrt(len(ordered))  # 1.96 standard deviations of the binomial
    low = max(0, math.floor(len(ordered) / 2 - half))
    high = min(len(ordered) - 1, math.ceil(len(ordered) / 2 + half))
    return ordered[low], ordered[high]


def prepared(make, of_pattern, tensors, window):
    """The call of a contender that is installed, can compute the shape and is right; and its error."""
    call, as_heads = make(*tensors, window)
    output = call()
    return call, worst_error(as_heads(output) if as_heads else output, *tensors, window if of_pattern else None)


def measure(arguments, tokens, window, write):
    """Measures all contenders at one length and window; returns whether all results were right."""
    tensors = [torch.randn(arguments.batch, HEADS, tokens, HEAD_DIM, device="cuda", dtype=torch.bfloat16)
               for _ in range(3)]
    calls, errors, right = {}, {}, True
    for name, make, of_pattern in CONTENDERS:
        status, reason = "ok", ""
        try:
            call, error = prepared(make, of_pattern, tensors, window)
        except ImportError as problem:
            status, reason = "absent", str(problem)
        except Exception as problem:  # each library has its own errors for shapes that it does not support
            status, reason = "declined", f"{type(problem).__name__}: {problem}".splitlines()[0]
        else:
            errors[name] = f"{error:.1e}"
            if error < MOST_ERROR:
                calls[name] = call
            else:
                status, right = "wrong", False
        if status != "ok":
            write(tokens, window, name, status, reason, "", "", "", "", "", "", errors.get(name, ""))
    times = shuffled_rounds(calls, arguments.rounds)
    for name, values in times.items():
        ratios = [own / full for own, full in zip(values, times.get(BASELINE, values))]
        numbers = (statistics.median(values), *interval(values), statistics.median(ratios), *interval(ratios))
        write(tokens, window, name, "ok", "", *(f"{number:.5f}" for number in numbers), errors[name])
    return right


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=int, nargs="+", default=[4096, 174], help="in this order")
    parser.add_argument("--windows", type=int, nargs="+", default=[4, 64])
    parser.add_argument("--batch", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=51)
    parser.add_argument("--folder", action="append", default=[], help="added to Python's path")
    arguments = parser.parse_args()
    sys.path[:0] = arguments.folder
    if torch is None:
        print("cuda_rivals.py: this Python has no PyTorch; use one that has", file=sys.stderr)
        return 2
    if not torch.cuda.is_available():
        print("cuda_rivals.py: there is no CUDA device here", file=sys.stderr)
        return 2
    torch.manual_seed(1)
    line = csv.writer(sys.stdout, lineterminator="\n")

    def write(*values):
        line.writerow(values)
        sys.stdout.flush()

    write("tokens", "window", "contender", "status", "reason", "median_ms", "low_ms", "high_ms", "ratio", "ratio_low",
          "ratio_high", "largest_error", "batch", "gpu", "torch")
    where = (arguments.batch, torch.cuda.get_device_name(), torch.__version__)
    right = [measure(arguments, tokens, window, lambda *values: write(*values, *where))
             for tokens in arguments.tokens for window in arguments.windows]
    return 0 if all(right) else 1


if __name__ == "__main__":
    sys.exit(main())
