# SPDX-License-Identifier: Apache-2.0
"""Compares a call of attnscope.torch.segment_attention with the kernel's call in C++, alternating in one process:
operator_overhead.py BUILD_FOLDER [TOKENS]   (ninja attnscope_torch attnscope_operator_call)
"""
import ctypes
import os
import pathlib
import statistics
import sys
import time

build, tokens = pathlib.Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 174
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
import torch

os.environ.setdefault("ATTNSCOPE_TORCH_LIBRARY", str(build / f"attnscope_torch-{torch.__version__.split('+')[0]}.so"))
from attnscope.torch import layout_text, segment_attention

torch.set_num_threads(1)
kernel = ctypes.CDLL(str(build / "libattnscope_operator_call.so")).attnscope_segment_seconds
kernel.argtypes, kernel.restype = [ctypes.c_int64] * 3, ctypes.c_double
CALLS, ROUNDS, WINDOW = 100, 60, 4
layout = [(1, 11, tokens - 12)]
text = layout_text(layout)
leaves = [torch.randn(tokens, 12, 32, requires_grad=True) for _ in range(3)]
plain = [leaf.detach() for leaf in leaves]


def seconds(call):
    start = time.thread_time()
    for _ in range(CALLS):
        call()
    return (time.thread_time() - start) / CALLS


contenders = {
    "kernel in C++": lambda: kernel(tokens, WINDOW, CALLS),
    "operator, torch.ops": lambda: seconds(
        lambda: torch.ops.attnscope.segment_attention.default(*plain, "sparse", text, "4")),
    "operator, layout as text": lambda: seconds(lambda: segment_attention(*plain, "sparse", text, WINDOW)),
    "operator, layout as a list": lambda: seconds(lambda: segment_attention(*plain, "sparse", layout, WINDOW)),
    "operator, recording a graph": lambda: seconds(lambda: segment_attention(*leaves, "sparse", text, WINDOW)),
}
times = {name: [] for name in contenders}
for round_ in range(ROUNDS + 5):
    for name, measure in contenders.items():
        taken = measure()
        if round_ >= 5:
            times[name].append(taken)
print(f"{tokens} tokens, 12 heads of 32, sparse, w = {WINDOW}, float32, CPU time of one thread; medians of {ROUNDS} rounds of {CALLS} calls")
base = times["kernel in C++"]
for name, taken in times.items():
    ratio = statistics.median(own / kernel_time for own, kernel_time in zip(taken, base))
    more = statistics.median(own - kernel_time for own, kernel_time in zip(taken, base))
    print(f"{name:28} {statistics.median(taken) * 1e6:8.1f} us   ratio {ratio:5.3f}   {more * 1e6:+6.1f} us")
