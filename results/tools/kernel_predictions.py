# SPDX-License-Identifier: Apache-2.0
"""Writes predicted times of the CUDA kernels on an H200 before they are measured, and fills in what was measured.

    results/tools/kernel_predictions.py predict FILE        a row for each cell, from tests/cuda/hot_path.json
    results/tools/kernel_predictions.py fill FILE BENCH     adds the times of a kernels_bench CSV; predictions stay

A launch takes max(B, L) + L * min(1, max(0, waves - 1)) milliseconds. B is the time to issue its instructions or to move
its bytes, whichever is longer. L is the latency of its longest walk. waves are its warps over those that fit on the GPU.
The constants come from the first run (results/kernels-h200/README.md): w = 4 with 16 warps on a multiprocessor took
0.032 ms plus the bytes at 3.9 TB/s, and the shares of issue slots are in scripts/dev/hot_path.py.
"""
import csv
import json
import pathlib
import sys

HOME = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(HOME / "scripts/dev"))
import hot_path  # noqa: E402

COLUMNS = ("kernel", "tokens", "window", "dtype", "direction", "mode", "basis", "predicted_ms", "low_ms", "high_ms",
           "measured_ms", "error")
TOKENS, WINDOWS = (4096, 174), (4, 64)
DTYPES, DIRECTIONS, MODES = ("bfloat16", "float16", "float32"), ("forward", "backward"), ("graph", "launch")

BYTES_A_MS = 3.9e9
# The latency of a walk: that of 16 strips of the first run's kernel, which had 394 instructions a strip.
WALK_MS, WALK_INSTRUCTIONS = 0.032, 16 * 394
WARPS_OF_A_BLOCK = 2
# Assumed: between two launches of a graph, and of a stream.
GAP_MS = {"graph": 0.001, "launch": 0.002}
# The lists of 100 documents (tests/kernels/cuda_work): walks of a document by rows and by keys, strips of the longest one,
# launches that merge parts.
WALKS = {4096: {"rows": 17, "keys": 18}, 174: {"rows": 2, "keys": 3}}
LONGEST = {4096: 16, 174: 11}
MERGES = {4096: {"forward": 1, "backward": 2}, 174: {"forward": 0, "backward": 1}}
# The range around a prediction: low and high factor.
COUNTED_RANGE = {"forward": (0.9, 1.3), "backward": (0.8, 1.4)}
ESTIMATED_RANGE = (0.5, 2.0)

# float32 has plain kernels, whose machine code is not counted: instructions for 32 tokens that a row attends to, for each
# of them, and for a row, read from kernels/cuda/segment/plain.cu; and the share of issue slots.
PLAIN = {"forward": ((110, 12, 120),), "backward": ((170, 12, 150), (170, 20, 150))}
PLAIN_ISSUED = 0.30
QUERY_AND_CLS = 12

# Full attention by LibTorch's flash kernel, forward, bfloat16: measured by the first run (kernels-cuda.csv, paper_claims).
FLASH_MS = {4096: 11.6, 174: 0.090}
COPY_BYTES = 2 << 30  # kernels_bench copies 1 GiB


def moved_bytes(tokens, direction, standing):
    """Bytes of q, k, v, o, gradients, log-sum-exps and D that a launch reads and writes."""
    rows = hot_path.DOCUMENTS * tokens * hot_path.HEADS
    if direction == "forward":
        return rows * (4 * hot_path.ROW_BYTES + 4)
    return rows * (6 * hot_path.ROW_BYTES + (12 if standing == "rows" else 8))


def launch_ms(tokens, window, direction, standing, counted):
    """Milliseconds of one launch; `counted`: its numbers in hot_path.json."""
    strips = hot_path.DOCUMENTS * hot_path.HEADS * (-(-(tokens - QUERY_AND_CLS) // 16) + 1)
    a_strip = counted["instructions a strip"]
    busy = max(hot_path.issue_ms(strips * a_strip, window, direction),
               moved_bytes(tokens, direction, standing) / BYTES_A_MS)
    latency = WALK_MS * LONGEST[tokens] * a_strip / WALK_INSTRUCTIONS
    warps = WALKS[tokens][standing] * hot_path.DOCUMENTS * hot_path.HEADS
    waves = warps / (hot_path.PROCESSORS * WARPS_OF_A_BLOCK * counted["blocks an SM"])
    return max(busy, latency) + latency * min(1.0, max(0.0, waves - 1.0))


def walks_ms(recorded, tokens, window, direction, mode):
    kernels = list(recorded[f"{hot_path.DOCUMENTS} x {tokens}, w = {window}"].values())
    launches = [("rows", kernels[0])] if direction == "forward" else [("rows", kernels[1]), ("keys", kernels[2])]
    gaps = GAP_MS[mode] * (len(launches) + MERGES[tokens][direction])
    return gaps + sum(launch_ms(tokens, window, direction, standing, counted) for standing, counted in launches)


def plain_ms(tokens, window, direction, mode):
    rows = hot_path.DOCUMENTS * hot_path.HEADS * tokens
    band = min(2 * window + 1, tokens - QUERY_AND_CLS)
    groups = -(-QUERY_AND_CLS // 32) + -(-band // 32)
    seen = QUERY_AND_CLS + band
    instructions = sum(rows * (groups * of_32 + seen * of_one + of_row) for of_32, of_one, of_row in PLAIN[direction])
    slots_a_ms = hot_path.PROCESSORS * hot_path.SCHEDULERS * hot_path.HERTZ * PLAIN_ISSUED / 1e3
    return instructions / slots_a_ms + GAP_MS[mode] * len(PLAIN[direction])


def row(kernel, tokens, window, dtype, direction, mode, basis, predicted, factors):
    low, high = (f"{predicted * factor:.4f}" for factor in factors)
    return dict(zip(COLUMNS, (kernel, tokens, window, dtype, direction, mode, basis, f"{predicted:.4f}", low, high, "", "")))


def predict(recorded):
    rows = [row("copy", "", "", "", "", "", "measured before", 1e3 * COPY_BYTES / hot_path.COPY_BYTES, (0.95, 1.05))]
    for tokens in TOKENS:
        rows.append(row("flash", tokens, "", "bfloat16", "forward", "launch", "measured before", FLASH_MS[tokens], (0.9, 1.1)))
        for window in WINDOWS:
            for dtype in DTYPES:
                for direction in DIRECTIONS:
                    for mode in MODES:
                        cell = ("segment", tokens, window, dtype, direction, mode)
                        if dtype == "float32":
                            rows.append(row(*cell, "estimated", plain_ms(tokens, window, direction, mode), ESTIMATED_RANGE))
                        else:
                            rows.append(row(*cell, "counted", walks_ms(recorded, tokens, window, direction, mode),
                                            COUNTED_RANGE[direction]))
    return rows


def fill(rows, bench):
    """Adds measured times, and the errors of the predictions: measured over predicted, minus 1."""
    measured = {}
    for line in bench:
        if line["variant"] == "default":
            mode = "launch" if line["mode"] == "warm" else line["mode"]
            measured["segment", line["tokens"], line["window"], line["dtype"], line["direction"], mode] = float(line["median_ms"])
        measured["copy", "", "", "", "", ""] = COPY_BYTES / float(line["copy_gb_s"]) / 1e6
    for each in rows:
        found = measured.get(tuple(str(each[column]) for column in COLUMNS[:6]))
        if found is not None:
            each["measured_ms"] = f"{found:.4f}"
            each["error"] = f"{found / float(each['predicted_ms']) - 1:+.3f}"
    return rows


def read(path):
    with pathlib.Path(path).open(newline="") as file:
        return list(csv.DictReader(file))


def write(path, rows):
    with pathlib.Path(path).open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def main(*arguments):
    if len(arguments) == 2 and arguments[0] == "predict":
        if pathlib.Path(arguments[1]).exists() and any(each["measured_ms"] for each in read(arguments[1])):
            sys.exit(f"kernel_predictions: {arguments[1]} has measured times, which predictions must not follow; name "
                     "another file")
        write(arguments[1], predict(json.loads((HOME / "tests/cuda/hot_path.json").read_text())))
    elif len(arguments) == 3 and arguments[0] == "fill":
        write(arguments[1], fill(read(arguments[1]), read(arguments[2])))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(*sys.argv[1:])
