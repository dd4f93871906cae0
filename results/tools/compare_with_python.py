#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether a baseline is handicapped: LibTorch's attention here against the same called from Python.

    compare_with_python.py --python golden/bin/python [--rounds 7] [--only longformer|sdpa] > table.md

`longformer-chunks` against transformers' LongformerSelfAttention (projections left out on both sides, the
same tokens global) and `sdpa` against torch's scaled_dot_product_attention: float32, forward, the same
shapes, threads and OpenMP settings. `--python` is an interpreter with scripts/golden/requirements.txt.

Every round runs three fresh processes in shuffled order: attnscope-worker, and Python twice. Python's
tensors come from malloc, which by default gives large blocks back to the system and pays for page faults in
every call; the worker keeps freed blocks on huge pages. So Python runs as it comes and, by glibc's own
settings, with memory kept on huge pages, and the ratio is against the faster of the two. Times are medians
over rounds of each process's median; the interval is a bootstrap over rounds. Beside it the ratio of the
fastest samples, which other load on the machine moves least.
"""
import argparse
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys

HOME = pathlib.Path(__file__).resolve().parents[2]
HEADS, HEAD_DIM, QUERY_TOKENS = 12, 32, 10
GLOBALS = 1 + QUERY_TOKENS + 1  # [CLS], the query and its [SEP]
MOST = {"longformer": 1.2, "sdpa": 1.05}
MEMORY_KEPT = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(2**40),
               "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}


def settings_of(only):
    shapes = [(512, 1), (512, 16), (4096, 1)]
    # Longformer's layer has the order of its projections; sdpa is called with both.
    windowed = [{"layer": "longformer", "tokens": n, "batch": b, "window": w, "order": "token-major"}
                for n, b in shapes for w in (4, 64)]
    full = [{"layer": "sdpa", "tokens": n, "batch": b, "window": None, "order": order}
            for order in ("token-major", "head-major") for n, b in shapes]
    common = {"heads": HEADS, "head_dim": HEAD_DIM, "globals": GLOBALS}
    return [{**one, **common} for one in windowed + full if only in (None, one["layer"])]


def environment(threads, **more):
    return {**os.environ, "OMP_NUM_THREADS": str(threads), **more}


def time_python(arguments, settings, **more):
    request = {"threads": arguments.threads, "seconds": arguments.seconds, "settings": settings}
    script = pathlib.Path(__file__).with_name("python_layers.py")
    answer = subprocess.run([arguments.python, str(script), json.dumps(request)], check=True, text=True,
                            stdout=subprocess.PIPE, env=environment(arguments.threads, **more))
    return json.loads(answer.stdout)


class Worker:
    """The measuring process, asked by its protocol (docs/protocol.md)."""

    def __init__(self, arguments):
        self.process = subprocess.Popen([arguments.worker], text=True, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, env=environment(arguments.threads))
        version = subprocess.run([pathlib.Path(arguments.worker).with_name("attnscope"), "--version"], check=True,
                                 text=True, stdout=subprocess.PIPE).stdout.split()[1]
        self.hello = self.ask({"request": "hello", "protocol": 4, "version": version}, "hello")

    def ask(self, request, answer):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        for line in self.process.stdout:
            event = json.loads(line)
            if event["event"] == answer:
                return event
            if event["event"] == "error":
                sys.exit(f"compare_with_python: the worker answers: {event['message']}")
        sys.exit("compare_with_python: the worker ended without an answer")

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def heat_of(setting, arguments):
    pattern, implementation = {"longformer": ("longformer", "longformer-chunks"),
                               "sdpa": ("full", "sdpa")}[setting["layer"]]
    window = setting["window"]
    return {"index": 0,
            "point": {"operation": "attention", "direction": "forward", "sequence_tokens": setting["tokens"],
                      "query_tokens": QUERY_TOKENS, "documents": 1, "shared_query": False,
                      "batch_max": setting["batch"], "batch_memory_mb": 4096, "heads": HEADS, "head_dim": HEAD_DIM,
                      "dtype": "float32", "memory_order": setting["order"], "cache": "warm",
                      "device": "cpu", "threads": arguments.threads, "seed": 1},
            "contenders": [{"pattern": pattern, "implementation": implementation, "name": implementation,
                            "window": None if window is None else str(window),
                            "pattern_json": (HOME / f"resources/patterns/{pattern}.json").read_text()}],
            "stop": {"relative_interval": 0.001, "max_seconds": arguments.seconds, "min_samples": 7,
                     "placements": 1, "processes": 1}}


def time_ours(arguments, settings):
    worker = Worker(arguments)
    samples = []
    for setting in settings:
        request = {"request": "heat", "process": 0, "placements": [0], "heat": heat_of(setting, arguments)}
        cell, = worker.ask(request, "heat")["result"]["cells"]
        if cell["status"] != "ok" or cell["batch"] != setting["batch"]:
            sys.exit(f"compare_with_python: {setting}: {cell['status']}, batch {cell['batch']}: {cell['reason']}")
        samples.append([sample[3] for sample in cell["samples"]])
    worker.close()
    return {"hello": worker.hello, "samples": samples}


def run_round(arguments, settings, chance):
    """Samples in ns: contestant -> by setting."""
    order = list(range(len(settings)))
    chance.shuffle(order)
    shuffled = [settings[i] for i in order]
    contestants = {"python": lambda: time_python(arguments, shuffled),
                   "kept": lambda: time_python(arguments, shuffled, **MEMORY_KEPT),
                   "ours": lambda: time_ours(arguments, shuffled)}
    answers = {}
    for name in chance.sample(list(contestants), len(contestants)):
        answers[name] = contestants[name]()
    times = {name: [samples for _, samples in sorted(zip(order, answer["samples"]), key=lambda pair: pair[0])]
             for name, answer in answers.items()}
    return times, answers


def interval(ours, theirs, chance):
    """95%, of the ratio of medians over rounds, resampled in pairs."""
    rounds = range(len(ours))
    ratios = []
    for _ in range(2000):
        drawn = chance.choices(rounds, k=len(ours))
        ratios.append(statistics.median(ours[i] for i in drawn) / statistics.median(theirs[i] for i in drawn))
    ratios.sort()
    return ratios[49], ratios[1949]


def row(setting, rounds, chance):
    medians = {name: [statistics.median(samples) for samples in each] for name, each in rounds.items()}
    fastest = {name: min(min(samples) for samples in each) for name, each in rounds.items()}
    time = {name: statistics.median(each) for name, each in medians.items()}
    better = min(("python", "kept"), key=time.get)
    low, high = interval(medians["ours"], medians[better], chance)
    shape = [setting["layer"], setting["order"], setting["tokens"], setting["batch"], setting["window"] or "-"]
    cells = [f"{time[name] / 1e6:.3g}" for name in ("python", "kept", "ours")]
    return shape + cells + [f"{time['ours'] / time[better]:.2f} [{low:.2f}, {high:.2f}]",
                            f"{fastest['ours'] / min(fastest['python'], fastest['kept']):.2f}",
                            f"{MOST[setting['layer']]:.2f}"]


def main(arguments):
    settings = settings_of(arguments.only)
    chance = random.Random(1)
    load_before = os.getloadavg()[0]
    rounds = []
    for number in range(arguments.rounds):
        print(f"round {number + 1} of {arguments.rounds}", file=sys.stderr)
        times, answers = run_round(arguments, settings, chance)
        rounds.append(times)
    hello, python = answers["ours"]["hello"], answers["python"]
    print(f"{hello['device']['name']}, {arguments.threads} threads, load average {load_before:.1f} before and "
          f"{os.getloadavg()[0]:.1f} after; {arguments.rounds} rounds; torch {python['torch']}, transformers "
          f"{python['transformers']}; LibTorch {hello['build']['libtorch']}, commit {hello['build']['commit']}; "
          f"{HEADS} heads x {HEAD_DIM}, float32, forward, {GLOBALS} global tokens.\n")
    print("| layer | memory order | tokens | batch | w | Python, ms | Python, memory kept, ms | ours, ms | ours / the better | "
          "fastest samples | asked at most |")
    print("| :-- | :-- " + "| --: " * 9 + "|")
    for place, setting in enumerate(settings):
        of_setting = {name: [times[name][place] for times in rounds] for name in ("python", "kept", "ours")}
        print("| " + " | ".join(str(cell) for cell in row(setting, of_setting, chance)) + " |")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", required=True, help="an interpreter with torch and transformers")
    parser.add_argument("--worker", default=str(HOME / "build/release/attnscope-worker"))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.3, help="of each setting in each process")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--only", choices=sorted(MOST))
    main(parser.parse_args())
