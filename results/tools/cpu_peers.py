#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares `attnscope score` with other programs that score pairs on a CPU: time, ranks, time to the first score.

    python3.11 -m venv peers && peers/bin/pip install -r results/tools/cpu_peers_requirements.txt
    peers/bin/python results/tools/cpu_peers.py --checkpoint MINILM --pairs PAIRS.tsv --json FILE > table.md

MINILM is a folder with a BertForSequenceClassification in Hugging Face's layout. Lines of PAIRS.tsv are QUERY, DOCUMENT
or QID, DOCID, QUERY, DOCUMENT. The other programs are sentence-transformers' CrossEncoder, transformers, ONNX Runtime
(the graph fused for BERT; int8 by dynamic quantization per channel) and OpenVINO. OpenVINO's int8 is measured with
NNCF's post-training quantization of weights and activations, calibrated on 64 of the pairs, which favours it, and with
int8 weights and dynamic quantization of activations. A second part compares ModernBERT-base with random weights with
transformers (sdpa), on pairs of different lengths up to 512 tokens and on pairs of 4096. A third part measures the time
from the start of a process to its first score.

Each program is a process that loads its model, scores the pairs once to warm up, and then scores them once per round on
request, in shuffled order, while the others sleep. `attnscope score` reads standard input with a --read-ahead of all
pairs, so the time of a round is from the first line sent to the last score read. Times include tokenization but not
loading. All programs use the same number of threads. The others get pairs sorted by length, with the batch size, the
use of threads and the allocation (freed memory kept on huge pages, by glibc's settings) that were fastest for them
before the rounds; attnscope runs with its defaults. In float32 scores must be within 1e-3 of attnscope's, otherwise the
time does not count. Times are medians over rounds, ratios are attnscope / other of the same precision with a bootstrap
over rounds. RBO (p = 0.9) compares the ranks with those of the same program in float32, as a mean over queries with at
least 5 documents.
"""
import argparse
import importlib.metadata
import json
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import time

HOME = pathlib.Path(__file__).resolve().parents[2]
OURS = "attnscope"
MOST_APART = 1e-3
MEMORY_KEPT = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(2**40),
               "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
PERSISTENCE = 0.9
CALIBRATION = 64
LONG_RUN = 20  # seconds, compared with which a warm-up is negligible
INPUTS = ("input_ids", "attention_mask", "token_type_ids")
# Name, precision, engine, the engine's settings, ways to use the threads.
BERT_PEERS = [
    ("sentence-transformers", "float32", "cross_encoder", {}, ("as it comes", "memory kept")),
    ("sentence-transformers", "bfloat16", "cross_encoder", {}, ("as it comes", "memory kept")),
    ("transformers", "float32", "transformers", {}, ("as it comes", "memory kept")),
    ("ONNX Runtime", "float32", "onnx", {"file": "float32.onnx"}, ("latency", "throughput")),
    ("ONNX Runtime", "int8", "onnx", {"file": "int8.onnx"}, ("latency", "throughput")),
    ("OpenVINO", "float32", "openvino", {"file": "float32.xml", "hint": "f32"}, ("latency", "throughput")),
    ("OpenVINO", "bfloat16", "openvino", {"file": "float32.xml", "hint": "bf16"}, ("latency", "throughput")),
    ("OpenVINO, NNCF, rest float32", "int8", "openvino", {"file": "static.xml", "hint": "f32"},
     ("latency", "throughput")),
    ("OpenVINO, NNCF, rest bfloat16", "int8", "openvino", {"file": "static.xml", "hint": "bf16"},
     ("latency", "throughput")),
    ("OpenVINO, dynamic, rest float32", "int8", "openvino", {"file": "weights.xml", "hint": "f32"},
     ("latency", "throughput")),
    ("OpenVINO, dynamic, rest bfloat16", "int8", "openvino", {"file": "weights.xml", "hint": "bf16"},
     ("latency", "throughput")),
]
MODERN_PEERS = [
    ("transformers", "float32", "transformers", {}, ("as it comes", "memory kept")),
    ("transformers", "bfloat16", "transformers", {}, ("as it comes", "memory kept")),
]


# In a peer's process: each engine takes a request and returns a function (pairs, batch) -> scores.

def cross_encoder(request):
    import torch
    from sentence_transformers import CrossEncoder
    torch.set_num_threads(request["threads"])
    model = CrossEncoder(request["model"], max_length=request["most_tokens"], device="cpu", num_labels=1,
                         activation_fn=torch.nn.Identity(),
                         model_kwargs={"dtype": getattr(torch, request["precision"])})
    return lambda pairs, batch: model.predict(pairs, batch_size=batch, show_progress_bar=False,
                                              convert_to_numpy=False, convert_to_tensor=True).float().tolist()


def sorted_batches(request):
    """Pairs -> batches of (places, inputs), longest first, so that the pairs of a batch have similar lengths."""
    import numpy
    from tokenizers import Tokenizer
    tokenizer = Tokenizer.from_file(str(pathlib.Path(request["model"]) / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(request["most_tokens"], strategy="only_second")
    padding = request["padding"]

    def batches(pairs, batch):
        encoded = tokenizer.encode_batch_fast(pairs)
        order = sorted(range(len(encoded)), key=lambda place: -len(encoded[place]))
        for first in range(0, len(order), batch):
            places = order[first:first + batch]
            ids = numpy.full((len(places), len(encoded[places[0]])), padding, dtype=numpy.int64)
            mask, types = numpy.zeros_like(ids), numpy.zeros_like(ids)
            for row, place in enumerate(places):
                pair = encoded[place]
                ids[row, :len(pair)], mask[row, :len(pair)], types[row, :len(pair)] = pair.ids, 1, pair.type_ids
            yield places, dict(zip(INPUTS, (ids, mask, types)))
    return batches


def transformers(request):
    import torch
    from transformers import AutoModelForSequenceClassification
    torch.set_num_threads(request["threads"])
    model = AutoModelForSequenceClassification.from_pretrained(
        request["model"], attn_implementation="sdpa", dtype=getattr(torch, request["precision"])).eval()
    taken = INPUTS if model.config.model_type == "bert" else INPUTS[:2]
    batches = sorted_batches(request)

    @torch.inference_mode()
    def run(pairs, batch):
        scores = [0.0] * len(pairs)
        for places, inputs in batches(pairs, batch):
            logits = model(**{name: torch.from_numpy(inputs[name]) for name in taken}).logits
            for place, score in zip(places, logits[:, 0].tolist()):
                scores[place] = score
        return scores
    return run


def onnx(request):
    import concurrent.futures
    import onnxruntime
    options = onnxruntime.SessionOptions()
    at_once = 1 if request["way"] == "latency" else request["threads"]
    options.intra_op_num_threads = request["threads"] // at_once
    # Threads spin during a call, which is the default and the fastest, but not after it, when others are timed.
    options.add_session_config_entry("session.force_spinning_stop", "1")
    session = onnxruntime.InferenceSession(str(pathlib.Path(request["work"]) / request["file"]), options,
                                           providers=["CPUExecutionProvider"])
    batches = sorted_batches(request)

    def run(pairs, batch):
        scores = [0.0] * len(pairs)

        def score_batch(work):
            places, inputs = work
            logits = session.run(None, inputs)[0]
            for place, score in zip(places, logits[:, 0].tolist()):
                scores[place] = score
        if at_once == 1:
            for work in batches(pairs, batch):
                score_batch(work)
        else:
            with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
                list(pool.map(score_batch, batches(pairs, batch)))
        return scores
    return run


def openvino(request):
    import openvino as ov
    compiled = ov.Core().compile_model(
        str(pathlib.Path(request["work"]) / request["file"]), "CPU",
        {"PERFORMANCE_HINT": request["way"].upper(), "INFERENCE_NUM_THREADS": request["threads"],
         "NUM_STREAMS": 1 if request["way"] == "latency" else request["threads"],
         "INFERENCE_PRECISION_HINT": request["hint"]})
    queue = ov.AsyncInferQueue(compiled)
    batches = sorted_batches(request)

    def run(pairs, batch):
        scores = [0.0] * len(pairs)

        def done(answer, places):
            for place, score in zip(places, answer.get_output_tensor().data[:, 0].tolist()):
                scores[place] = score
        queue.set_callback(done)
        for places, inputs in batches(pairs, batch):
            queue.start_async(inputs, places)
        queue.wait_all()
        return scores
    return run


def serve(request):
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # the output of libraries is not part of the answers
    pairs = [tuple(pair) for pair in request["pairs"]]
    run = {"cross_encoder": cross_encoder, "transformers": transformers, "onnx": onnx,
           "openvino": openvino}[request["engine"]](request)
    if request["once"]:
        print(json.dumps(run(pairs, 1)), file=answers, flush=True)
        return
    for line in sys.stdin:
        start = time.perf_counter()
        scores = run(pairs, int(line))
        print(json.dumps([time.perf_counter() - start, scores]), file=answers, flush=True)


def prepare(request):
    """Writes the files that ONNX Runtime and OpenVINO read, in the way that each documents."""
    import nncf
    import numpy
    import onnx
    import onnxruntime.quantization as quantization
    import openvino as ov
    import torch
    from onnxruntime.transformers import optimizer
    from transformers import AutoModelForSequenceClassification
    work = pathlib.Path(request["work"])

    def model(attention):
        return AutoModelForSequenceClassification.from_pretrained(
            request["model"], attn_implementation=attention, dtype=torch.float32).eval()

    example = {name: torch.ones(2, 9, dtype=torch.int64) for name in INPUTS}
    # The optimizer fuses attention only in the graph of this exporter with this attention.
    eager = model("eager")
    torch.onnx.export(eager, (), work / "exported.onnx", kwargs=example, input_names=list(INPUTS),
                      output_names=["logits"], dynamic_axes={name: {0: "pairs", 1: "tokens"} for name in INPUTS},
                      opset_version=18, dynamo=False)
    fused = optimizer.optimize_model(str(work / "exported.onnx"), model_type="bert", opt_level=1,
                                     num_heads=eager.config.num_attention_heads,
                                     hidden_size=eager.config.hidden_size)
    if fused.get_fused_operator_statistics()["Attention"] != eager.config.num_hidden_layers:
        sys.exit("cpu_peers: ONNX Runtime's optimizer did not fuse every layer's attention")
    fused.save_model_to_file(str(work / "float32.onnx"))
    quantization.quantize_dynamic(work / "float32.onnx", work / "int8.onnx", per_channel=True,
                                  weight_type=quantization.QuantType.QInt8,
                                  extra_options={"DefaultTensorType": onnx.TensorProto.FLOAT})

    converted = ov.convert_model(model("sdpa"), example_input=example)
    ov.save_model(converted, work / "float32.xml", compress_to_fp16=False)
    weights = nncf.compress_weights(ov.Core().read_model(work / "float32.xml"),
                                    mode=nncf.CompressWeightsMode.INT8_SYM)
    ov.save_model(weights, work / "weights.xml", compress_to_fp16=False)
    pairs = [tuple(pair) for pair in request["pairs"]]
    batches = sorted_batches(request)(pairs, 1)
    chosen = numpy.linspace(0, len(pairs) - 1, min(CALIBRATION, len(pairs))).astype(int).tolist()
    samples = [inputs for at, (_, inputs) in enumerate(batches) if at in set(chosen)]
    static = nncf.quantize(converted, nncf.Dataset(samples), model_type=nncf.ModelType.TRANSFORMER,
                           subset_size=len(samples))
    ov.save_model(static, work / "static.xml", compress_to_fp16=False)


def write_modern(folder, tokenizer):
    """ModernBERT-base's shape with random weights, scaled so that scores of pairs differ."""
    import torch
    from transformers import ModernBertConfig, ModernBertForSequenceClassification
    torch.manual_seed(1)
    added = json.loads(pathlib.Path(tokenizer).read_text())["added_tokens"]
    ids = {token["content"]: token["id"] for token in added}
    config = ModernBertConfig(num_labels=1, cls_token_id=ids["[CLS]"], bos_token_id=ids["[CLS]"],
                              sep_token_id=ids["[SEP]"], eos_token_id=ids["[SEP]"], pad_token_id=ids["[PAD]"])
    model = ModernBertForSequenceClassification(config)
    with torch.no_grad():
        model.classifier.weight.normal_(0, 1)
    model.save_pretrained(folder)
    shutil.copyfile(tokenizer, pathlib.Path(folder) / "tokenizer.json")


def drawn_pairs(pairs, tokenizer, count, fewest, most):
    """Pairs of `fewest` to `most` tokens, with unchanged queries and with documents that are joined and truncated."""
    from tokenizers import Tokenizer
    tokenizer = Tokenizer.from_file(str(tokenizer))
    tokenizer.no_padding()
    draw = random.Random(1)
    queries = list(dict.fromkeys(query for query, _ in pairs))
    made = []
    for place in range(count):
        query, wanted = queries[place % len(queries)], draw.randint(fewest, most)
        words = []
        while len(words) < wanted:  # a token has at most one word
            words += draw.choice(pairs)[1].split()
        low, high = 1, len(words)
        while low < high:
            middle = (low + high + 1) // 2
            fits = len(tokenizer.encode(query, " ".join(words[:middle]))) <= wanted
            low, high = (middle, high) if fits else (low, middle - 1)
        made.append((query, " ".join(words[:low])))
    return made


# In the process that measures.

def environment(threads, **more):
    return {**os.environ, "OMP_NUM_THREADS": str(threads), **more}


def interval(ours, theirs, chance):
    """The 95 % interval of the ratio of medians over rounds, resampled in pairs."""
    rounds = range(len(ours))
    ratios = []
    for _ in range(2000):
        drawn = chance.choices(rounds, k=len(ours))
        ratios.append(statistics.median(ours[i] for i in drawn) / statistics.median(theirs[i] for i in drawn))
    ratios.sort()
    return ratios[49], ratios[1949]


def peer_command(request):
    return [sys.executable, __file__, "--serve", json.dumps({**request, "pairs": None})]


class Program:
    """A process that scores the same pairs on request."""

    def __init__(self, command, pairs, more):
        self.process = subprocess.Popen(command, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        env=more, stderr=None if VERBOSE else subprocess.DEVNULL)
        self.pairs = pairs

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


class Peer(Program):
    def __init__(self, request, way):
        more = environment(request["threads"], RAYON_NUM_THREADS=str(request["threads"]),
                           TOKENIZERS_PARALLELISM="true", **(MEMORY_KEPT if way == "memory kept" else {}))
        super().__init__(peer_command({**request, "way": way}), request["pairs"], more)
        self.process.stdin.write(json.dumps(request["pairs"]) + "\n")

    def run(self, batch):
        try:
            self.process.stdin.write(f"{batch}\n")
            self.process.stdin.flush()
            return json.loads(self.process.stdout.readline())
        except (OSError, ValueError):
            raise RuntimeError(f"ended with {self.process.wait()}") from None


class Ours(Program):
    def __init__(self, arguments, model, pairs, most_tokens, precision):
        command = [arguments.attnscope, "score", "--checkpoint", model, "--device", "cpu", "--threads",
                   str(arguments.threads), "--max-tokens", str(most_tokens), "--read-ahead", str(len(pairs)),
                   "--pairs", "-", "--pairs-format", "tsv"]
        if precision != "float32":
            command += ["--precision", precision, "--precision-sample", "0"]
        super().__init__(command, pairs, environment(arguments.threads))
        self.lines = "".join(f"{query}\t{document}\n" for query, document in pairs)

    def run(self, _):
        start = time.perf_counter()
        try:
            self.process.stdin.write(self.lines)
            self.process.stdin.flush()
            scores = [float(self.process.stdout.readline().split("\t")[-1]) for _ in self.pairs]
        except (OSError, ValueError):
            raise RuntimeError(f"ended with {self.process.wait()}") from None
        return time.perf_counter() - start, scores


def tuned(request, ways, batches):
    """The fastest way and batch size as [seconds, way, batch], and all that were tried."""
    if len(ways) == len(batches) == 1:
        return [None, ways[0], batches[0]], []
    tried = []
    for way in ways:
        peer = Peer(request, way)
        try:
            for batch in batches:
                seconds = peer.run(batch)[0]
                if seconds < LONG_RUN:  # new shapes are compiled first
                    seconds = peer.run(batch)[0]
                tried.append([seconds, way, batch])
                if tried[-1][0] > 1.15 * min(seconds for seconds, of, _ in tried if of == way):
                    break
        except RuntimeError as error:
            say(f"{request['name']} {request['precision']}, {way}, batch {batch}: {error}")
        finally:
            peer.close()
    if not tried:
        raise RuntimeError("no setting ran")
    return min(tried), tried


def overlap(a, b):
    """Rank-biased overlap of two rankings of the same documents, as in engine/effectiveness/measures.h."""
    total, weight, seen_a, seen_b, share = 0.0, 1.0, set(), set(), 1.0
    for depth, (first, other) in enumerate(zip(a, b), 1):
        seen_a.add(first)
        seen_b.add(other)
        share = len(seen_a & seen_b) / depth
        weight *= PERSISTENCE
        total += share * weight
    return (1 - PERSISTENCE) / PERSISTENCE * total + share * weight


def agreement(pairs, scores, reference):
    places = {}
    for place, (query, _) in enumerate(pairs):
        places.setdefault(query, []).append(place)
    values = [overlap(*(sorted(some, key=lambda place: -each[place]) for each in (scores, reference)))
              for some in places.values() if len(some) >= 5]
    return statistics.mean(values) if values else None


def section(title, arguments, model, pairs, most_tokens, peers, batches, chance):
    say(title)
    config = json.loads((pathlib.Path(model) / "config.json").read_text())
    common = {"model": str(model), "work": str(arguments.work), "most_tokens": most_tokens, "pairs": pairs,
              "padding": config["pad_token_id"], "threads": arguments.threads, "once": False}
    rows, running = [], []
    for name, precision, engine, settings, ways in peers:
        if precision not in arguments.precisions or settings.get("hint") not in arguments.hints:
            continue
        request = {**common, **settings, "name": name, "precision": precision, "engine": engine}
        row = {"name": name, "precision": precision, "seconds": [], "failed": None}
        rows.append(row)
        try:
            (_, row["way"], row["batch"]), row["tried"] = tuned(request, ways[:1] if arguments.quick else ways, batches)
        except RuntimeError as error:
            row["failed"] = str(error)
            continue
        say(f"{name} {precision}: {row['way']}, batch {row['batch']}")
        running.append((row, Peer(request, row["way"])))
    for precision in arguments.precisions:
        row = {"name": OURS, "precision": precision, "way": "defaults", "batch": None, "tried": [], "seconds": [],
               "failed": None}
        rows.append(row)
        running.append((row, Ours(arguments, str(model), pairs, most_tokens, precision)))
    for number in range(arguments.rounds + 1):  # the first one warms up
        for row, program in chance.sample(running, len(running)):
            if row["failed"]:
                continue
            try:
                seconds, row["scores"] = program.run(row["batch"])
            except RuntimeError as error:
                row["failed"] = str(error)
                continue
            if number > 0:
                row["seconds"].append(seconds)
            time.sleep(0.2)  # threads that spin after their work go to sleep
    for _, program in running:
        program.close()
    ours = {row["precision"]: row for row in rows if row["name"] == OURS}
    if "float32" in ours and ours["float32"]["failed"]:
        sys.exit(f"cpu_peers: {OURS} {ours['float32']['failed']}")
    judge(rows, ours, pairs)
    return {"title": title, "pairs": len(pairs), "rows": rows}


def judge(rows, ours, pairs):
    own = {row["name"]: row["scores"] for row in rows if row["precision"] == "float32" and not row["failed"]}
    for row in rows:
        if row["failed"]:
            continue
        reference = own.get(row["name"].split(",")[0], ours["float32"]["scores"])
        if row["precision"] == "float32":
            reference = ours["float32"]["scores"]
        else:
            row["rbo"] = agreement(pairs, row["scores"], reference)
        row["apart"] = max(abs(a - b) for a, b in zip(row["scores"], reference))
        if row["precision"] == "float32" and not row["apart"] <= MOST_APART:
            row["failed"] = f"scores differ from {OURS}'s by {row['apart']:.2g}"
    for row in rows:
        mine = ours.get(row["precision"])
        if not row["failed"] and mine and not mine["failed"] and row is not mine:
            low, high = interval(mine["seconds"], row["seconds"], random.Random(1))
            ratio = statistics.median(mine["seconds"]) / statistics.median(row["seconds"])
            row["ratio"] = [ratio, low, high]


def print_section(result):
    scores = next(row["scores"] for row in result["rows"] if row["name"] == OURS)
    print(f"\n## {result['title']}\n\n{result['pairs']} pairs; their scores are from {min(scores):.3g} to "
          f"{max(scores):.3g}.\n")
    print("| program | precision | threads used for | pairs per batch | pairs per second | attnscope / program "
          "| largest score difference | RBO |")
    print("| :-- | :-- | :-- " + "| --: " * 5 + "|")
    for row in sorted(result["rows"], key=lambda row: (row["precision"], row["name"])):
        cells = [row["name"], row["precision"]]
        if row["failed"]:
            cells += ["-", "-", f"does not count: {row['failed']}", "-", "-", "-"]
        else:
            ratio = row.get("ratio")
            rbo = row.get("rbo")
            cells += [row["way"], row["batch"] or "-",
                      f"{result['pairs'] / statistics.median(row['seconds']):.1f}",
                      f"{ratio[0]:.2f} [{ratio[1]:.2f}, {ratio[2]:.2f}]" if ratio else "-",
                      f"{row['apart']:.2g}", f"{rbo:.3f}" if rbo is not None else "-"]
        print("| " + " | ".join(str(cell) for cell in cells) + " |")


def cold_start(arguments, pairs, most_tokens, padding, chance):
    """Seconds from the start of a process to the first score of one pair, with files in the system's cache."""
    say("First score")
    pair = arguments.work / "one.tsv"
    pair.write_text("\t".join(pairs[0]) + "\n")
    commands = {OURS: [arguments.attnscope, "score", "--checkpoint", arguments.checkpoint, "--device", "cpu",
                       "--threads", str(arguments.threads), "--pairs", str(pair)]}
    for name, _, engine, settings, ways in BERT_PEERS:
        if name not in commands and "," not in name:
            commands[name] = peer_command({
                **settings, "model": arguments.checkpoint, "work": str(arguments.work), "most_tokens": most_tokens,
                "padding": padding, "precision": "float32", "engine": engine, "way": ways[0],
                "threads": arguments.threads, "once": True})
    seconds = {name: [] for name in commands}
    for number in range(arguments.rounds + 1):
        for name in chance.sample(list(commands), len(commands)):
            start = time.perf_counter()
            process = subprocess.Popen(commands[name], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                       stderr=subprocess.DEVNULL, env=environment(arguments.threads))
            if name != OURS:
                process.stdin.write(json.dumps(pairs[:1]) + "\n")
                process.stdin.flush()
            line = process.stdout.readline()
            taken = time.perf_counter() - start
            process.communicate()
            if not line:
                sys.exit(f"cpu_peers: {name} gave no first score")
            if number > 0:
                seconds[name].append(taken)
    return seconds


def print_cold(seconds):
    print("\n## First score\n\nFrom the start of the process to the score of one pair, with the checkpoint in the "
          "system's cache.\n\n| program | seconds | attnscope / program |\n| :-- | --: | --: |")
    for name, each in sorted(seconds.items()):
        ratio = "-"
        if name != OURS:
            low, high = interval(seconds[OURS], each, random.Random(1))
            ratio = f"{statistics.median(seconds[OURS]) / statistics.median(each):.3f} [{low:.3f}, {high:.3f}]"
        print(f"| {name} | {statistics.median(each):.2f} | {ratio} |")


def prepare_once(arguments, pairs, request, versions):
    """Calls prepare(), unless the files of this checkpoint, these pairs and these versions exist."""
    weights = max(pathlib.Path(arguments.checkpoint).glob("*.safetensors"), default=None)
    made_of = json.dumps([os.path.realpath(arguments.checkpoint), weights and weights.stat().st_mtime, pairs,
                          {name: version for name, version in versions.items() if name != OURS}])
    stamp = arguments.work / "made-of.json"
    if stamp.exists() and stamp.read_text() == made_of:
        return
    say("files of ONNX Runtime and OpenVINO")
    stamp.unlink(missing_ok=True)
    subprocess.run([sys.executable, __file__, "--prepare", json.dumps(request)], check=True, text=True,
                   input=json.dumps(pairs) + "\n", stdout=sys.stderr,
                   stderr=None if VERBOSE else subprocess.DEVNULL, env=environment(arguments.threads))
    stamp.write_text(made_of)


def say(text):
    print(f"cpu_peers: {text}", file=sys.stderr, flush=True)


def processor():
    text = pathlib.Path("/proc/cpuinfo").read_text()
    fields = dict(line.split("\t:", 1) if "\t:" in line else (line, "") for line in text.splitlines())
    fields = {name.strip(): value.strip() for name, value in fields.items()}
    wanted = ("avx2", "avx512f", "avx512_vnni", "avx512_bf16", "amx_bf16", "amx_int8")
    flags = fields.get("flags", "").split()
    return fields.get("model name", "processor of an unknown name"), [flag for flag in wanted if flag in flags]


def main(arguments):
    arguments.work.mkdir(parents=True, exist_ok=True)
    lines = [line.split("\t") for line in pathlib.Path(arguments.pairs).read_text().splitlines()]
    pairs = [tuple(line[-2:]) for line in lines][:arguments.most_pairs]
    help_of_score = subprocess.run([arguments.attnscope, "score", "--help"], check=True, text=True,
                                   stdout=subprocess.PIPE).stdout
    if "--precision " not in help_of_score:
        arguments.precisions = ["float32"]
    arguments.hints = [None, "f32"] + (["bf16"] if "bfloat16" in arguments.precisions else [])
    config = json.loads((pathlib.Path(arguments.checkpoint) / "config.json").read_text())
    most_tokens, padding = config["max_position_embeddings"], config["pad_token_id"]
    name, features = processor()
    versions = {"attnscope": subprocess.run([arguments.attnscope, "--version"], check=True, text=True,
                                            stdout=subprocess.PIPE).stdout.strip().removeprefix("attnscope ")}
    versions.update((package, importlib.metadata.version(package)) for package in (
        "torch", "transformers", "sentence-transformers", "tokenizers", "onnxruntime", "openvino", "nncf"))
    chance = random.Random(1)
    load_before = os.getloadavg()[0]
    result = {"processor": name, "features": features, "threads": arguments.threads, "rounds": arguments.rounds,
              "versions": versions, "batches": arguments.batches, "load_before": load_before, "sections": []}
    if "minilm" in arguments.sections or "cold" in arguments.sections:
        prepare_once(arguments, pairs, {"model": arguments.checkpoint, "work": str(arguments.work),
                                        "most_tokens": most_tokens, "padding": padding}, versions)
    if "minilm" in arguments.sections:
        result["sections"].append(section(
            f"{config['num_hidden_layers']} layers x {config['hidden_size']} (MiniLM)", arguments,
            arguments.checkpoint, pairs, most_tokens, BERT_PEERS, arguments.batches, chance))
    if "modern" in arguments.sections:
        modern = arguments.work / "modern"
        if not (modern / "tokenizer.json").exists():
            write_modern(modern, arguments.modern_tokenizer)
        shapes = [("ModernBERT-base, 64 to 512 tokens", 32, 64, 512, [1, 2, 4, 8, 16]),
                  ("ModernBERT-base, 4096 tokens", 2, 4096, 4096, [1, 2])]
        if arguments.quick:
            shapes = [("ModernBERT-base, 64 to 96 tokens", 2, 64, 96, [2])]
        for title, count, fewest, most, batches in shapes:
            result["sections"].append(section(
                title, arguments, modern, drawn_pairs(pairs, arguments.modern_tokenizer, count, fewest, most), most,
                MODERN_PEERS, batches, chance))
    if "cold" in arguments.sections:
        result["first_score"] = cold_start(arguments, pairs, most_tokens, padding, chance)
    result["load_after"] = os.getloadavg()[0]
    print(f"{name} ({', '.join(features)}), {arguments.threads} threads, load average {load_before:.1f} before and "
          f"{result['load_after']:.1f} after; {arguments.rounds} rounds; "
          + ", ".join(f"{package} {version}" for package, version in versions.items()) + ".")
    for section in result["sections"]:
        print_section(section)
    if "first_score" in result:
        print_cold(result["first_score"])
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(result, indent=1) + "\n")


VERBOSE = bool(os.environ.get("CPU_PEERS_VERBOSE"))

if __name__ == "__main__":
    if sys.argv[1:2] in (["--serve"], ["--prepare"]):
        request = {**json.loads(sys.argv[2]), "pairs": json.loads(sys.stdin.readline())}
        sys.exit({"--serve": serve, "--prepare": prepare}[sys.argv[1]](request))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkpoint", required=True, help="folder with a BertForSequenceClassification")
    parser.add_argument("--pairs", required=True, help="[QID, DOCID,] QUERY, DOCUMENT")
    parser.add_argument("--attnscope", default=str(HOME / "build/release/attnscope"))
    parser.add_argument("--work", type=pathlib.Path, default=HOME / "build/cpu-peers",
                        help="folder for the models of the other programs")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--batches", type=int, nargs="+", default=[8, 16, 32, 64, 128], help="batch sizes that are tried for the other programs")
    parser.add_argument("--precisions", nargs="+", choices=("float32", "bfloat16", "int8"),
                        default=["float32", "bfloat16", "int8"],
                        help="omit bfloat16 if the processor has no instructions for it")
    parser.add_argument("--most-pairs", type=int, help="use only the first pairs of the file")
    parser.add_argument("--modern-tokenizer", default=str(HOME / "tests/text/golden/tokenizers/modern.json"))
    parser.add_argument("--sections", nargs="+", choices=("minilm", "modern", "cold"),
                        default=["minilm", "modern", "cold"])
    parser.add_argument("--quick", action="store_true", help="only test that it works: 20 pairs, two rounds, one setting")
    parser.add_argument("--json", help="also write all data to this file")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.rounds, arguments.batches, arguments.most_pairs = 2, [8], 20
    main(arguments)
