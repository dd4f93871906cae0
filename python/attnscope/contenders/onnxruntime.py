# SPDX-License-Identifier: Apache-2.0
"""ONNX Runtime: transformers' model, exported by torch, with the graph fused for BERT by the runtime's optimizer; int8
by its dynamic quantization, per channel."""
import pathlib

import onnxruntime

from attnscope import model, serve
from attnscope.contenders._batches import in_batches, peak_bytes_of

PAIRS = 8  # of 8, 16 and 32 the fastest in float32, at 174 tokens on two cores
INPUTS = ("input_ids", "attention_mask", "token_type_ids")


def fused_graph(folder):
    """The path of the file, which is created if it does not exist."""
    file = pathlib.Path(folder, "fused.onnx")
    if file.exists():
        return file
    import torch
    from onnxruntime.transformers import optimizer
    from transformers import AutoModelForSequenceClassification
    # The optimizer fuses attention only in the graph of this exporter with this attention.
    eager = AutoModelForSequenceClassification.from_pretrained(folder, attn_implementation="eager",
                                                               dtype=torch.float32).eval()
    exported = file.with_name("exported.onnx")
    torch.onnx.export(eager, (), exported, kwargs={name: torch.ones(2, 9, dtype=torch.int64) for name in INPUTS},
                      input_names=list(INPUTS), output_names=["logits"], opset_version=18, dynamo=False,
                      dynamic_axes={name: {0: "pairs", 1: "tokens"} for name in INPUTS})
    fused = optimizer.optimize_model(str(exported), model_type="bert", opt_level=1,
                                     num_heads=eager.config.num_attention_heads, hidden_size=eager.config.hidden_size)
    if fused.get_fused_operator_statistics()["Attention"] != eager.config.num_hidden_layers:
        raise RuntimeError("ONNX Runtime's optimizer did not fuse every layer's attention")
    fused.save_model_to_file(str(file))
    exported.unlink()
    return file


def int8_graph(folder):
    file = pathlib.Path(folder, "int8.onnx")
    if not file.exists():
        import onnx
        from onnxruntime import quantization
        quantization.quantize_dynamic(fused_graph(folder), file, per_channel=True,
                                      weight_type=quantization.QuantType.QInt8,
                                      extra_options={"DefaultTensorType": onnx.TensorProto.FLOAT})
    return file


def session_of(file, plan):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = plan.threads
    # Threads spin during a call, which is the default and the fastest, but stop after it, when other contenders are timed.
    options.add_session_config_entry("session.force_spinning_stop", "1")
    session = onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
    return in_batches(lambda *inputs: session.run(None, dict(zip(INPUTS, inputs)))[0][:, 0], PAIRS)


@model("onnxruntime", library="numpy", peak_bytes=peak_bytes_of(PAIRS),
       summary=f"ONNX Runtime, the graph fused for BERT, {PAIRS} pairs at a time")
def of_floats(folder, plan):
    return session_of(fused_graph(folder), plan)


@model("onnxruntime-int8", library="numpy", precision="int8", peak_bytes=peak_bytes_of(PAIRS),
       summary=f"onnxruntime by dynamic quantization to int8, per channel, {PAIRS} pairs at a time")
def of_int8(folder, plan):
    return session_of(int8_graph(folder), plan)


if __name__ == "__main__":
    serve()
