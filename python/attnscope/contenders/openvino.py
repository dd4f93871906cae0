# SPDX-License-Identifier: Apache-2.0
"""OpenVINO: transformers' model, converted from torch, with products in float32 or int8; int8 by NNCF's compression of
weights and dynamic quantization of activations."""
import pathlib

import openvino as ov

from attnscope import model, serve
from attnscope.contenders._batches import in_batches, peak_bytes_of

PAIRS = 8  # of 8, 16 and 32 the fastest in float32, at 174 tokens on two cores
INPUTS = ("input_ids", "attention_mask", "token_type_ids")


def converted(folder):
    """The path of the file, which is created if it does not exist."""
    file = pathlib.Path(folder, "openvino.xml")
    if not file.exists():
        import torch
        from transformers import AutoModelForSequenceClassification
        net = AutoModelForSequenceClassification.from_pretrained(folder, attn_implementation="sdpa",
                                                                 dtype=torch.float32).eval()
        example = {name: torch.ones(2, 9, dtype=torch.int64) for name in INPUTS}
        ov.save_model(ov.convert_model(net, example_input=example), file, compress_to_fp16=False)
    return file


def compressed(folder):
    file = pathlib.Path(folder, "openvino-int8.xml")
    if not file.exists():
        import nncf
        weights = nncf.compress_weights(ov.Core().read_model(converted(folder)), mode=nncf.CompressWeightsMode.INT8_SYM)
        ov.save_model(weights, file, compress_to_fp16=False)
    return file


def compiled(file, plan):
    # The default is bfloat16 on processors that support it.
    network = ov.Core().compile_model(str(file), "CPU", {
        "PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": plan.threads, "INFERENCE_PRECISION_HINT": "f32"})
    request = network.create_infer_request()
    return in_batches(lambda *inputs: request.infer(dict(zip(INPUTS, inputs)))[0][:, 0], PAIRS)


@model("openvino", library="numpy", peak_bytes=peak_bytes_of(PAIRS),
       summary=f"OpenVINO in float32, {PAIRS} pairs at a time")
def of_floats(folder, plan):
    return compiled(converted(folder), plan)


@model("openvino-int8", library="numpy", precision="int8", peak_bytes=peak_bytes_of(PAIRS),
       summary=f"OpenVINO with NNCF's int8 weights, {PAIRS} pairs at a time")
def of_int8(folder, plan):
    return compiled(compressed(folder), plan)


if __name__ == "__main__":
    serve()
