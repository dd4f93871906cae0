#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a cross-encoder's queries, keys and values, with layout and tokens, for AttnScope's Attention page
(docs/attention-dumps.md). Supports BERT, models with its attention modules (RoBERTa, ELECTRA, ...) and Longformer.

  attnscope_dump.py MODEL --query "how tall is it" --document-file page.txt -o dump.safetensors
"""
import argparse
import json
import re

import torch
from safetensors.torch import save_file
from transformers import AutoModelForSequenceClassification, AutoTokenizer

PROJECTION = re.compile(r"\.layer\.(\d+)\.attention\.self\.(query|key|value)(_global)?$")


def layout_of(tokens, sep, sentences):
    """[CLS] query [SEP] document [SEP]; RoBERTa's second </s> belongs to the query as well."""
    end = next((i for i in range(tokens.index(sep), len(tokens)) if tokens[i] != sep), len(tokens))
    item = {"cls": 1, "query": end - 1, "document": len(tokens) - end}
    if sentences:
        item["sentences"] = [i - end for i in range(end, len(tokens) - 1) if i == end or tokens[i - 1] in ".!?"]
    return {"items": [item]}


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("model", metavar="MODEL", help="a name on the Hugging Face hub, or a folder")
parser.add_argument("--query", required=True)
document = parser.add_mutually_exclusive_group(required=True)
document.add_argument("--document")
document.add_argument("--document-file", type=argparse.FileType(encoding="utf-8"))
parser.add_argument("--layers", help="for example 0,5,11 (default: all)")
parser.add_argument("--max-length", type=int, help="number of tokens to which the document is truncated")
parser.add_argument("--sentences", action="store_true", help="note where sentences start, for QDS patterns")
parser.add_argument("--half", action="store_true", help="write float16: half the size")
parser.add_argument("-o", required=True, metavar="FILE", dest="output")
options = parser.parse_args()
tokenizer = AutoTokenizer.from_pretrained(options.model)
model = AutoModelForSequenceClassification.from_pretrained(options.model).float().eval()
document = options.document if options.document is not None else options.document_file.read()
inputs = tokenizer(options.query, document, truncation="only_second" if options.max_length else False,
                   max_length=options.max_length, return_tensors="pt")
tokens = tokenizer.convert_ids_to_tokens(inputs["input_ids"][0].tolist())
layout = layout_of(tokens, tokenizer.sep_token, options.sentences)
metadata = {"attnscope_dump": "1", "model": options.model, "layout": json.dumps(layout), "tokens": json.dumps(tokens)}
global_tokens = 1 + layout["items"][0]["query"]
if model.config.model_type == "longformer":  # its window counts both sides; [CLS] and query become global
    inputs["global_attention_mask"] = (torch.arange(len(tokens)) < global_tokens).long()[None]
    window = model.config.attention_window
    metadata["global_rows"] = json.dumps(list(range(global_tokens)))
heads = model.config.num_attention_heads
wanted = {int(layer) for layer in options.layers.split(",")} if options.layers else None
tensors, layers = {}, set()

def keep(layer, name):
    def hook(module, inputs, output):
        rows = output.detach().reshape(-1, heads, output.shape[-1] // heads)
        full = torch.zeros(len(tokens), *rows.shape[1:])  # query_global projects only the global tokens
        full[: len(rows)] = rows[: len(tokens)]
        tensors[name] = full.to(torch.float16 if options.half else torch.float32).contiguous()
        layers.add(layer)
    return hook

for path, module in model.named_modules():
    found = PROJECTION.search(path)
    if found and (wanted is None or int(found[1]) in wanted):
        module.register_forward_hook(keep(int(found[1]), f"layer.{found[1]}.{found[2][0]}{found[3] or ''}"))
with torch.no_grad():
    model(**inputs)
if not layers or (wanted and wanted != layers):
    raise SystemExit(f"{options.model}: has no attention like BERT's in layers {options.layers or 'at all'}")
if "global_rows" in metadata:
    windows = window if isinstance(window, list) else [window] * (max(layers) + 1)
    metadata["window"] = ",".join(str(windows[layer] // 2) for layer in sorted(layers))
metadata["pattern"] = "longformer" if "window" in metadata else "full"
metadata["scale"] = str(next(iter(tensors.values())).shape[-1] ** -0.5)
save_file(tensors, options.output, metadata)
