# SPDX-License-Identifier: Apache-2.0
"""AttnScope's fused sparse attention as an operator of PyTorch.

    from attnscope.torch import segment_attention, sparsify

    # Two items, packed without padding: [CLS], query, document.
    layout = [(1, 11, 162), (1, 11, 90)]
    o = segment_attention(q, k, v, "sparse", layout, window=4)     # q, k, v: [276, heads, head_dim]

    sparsify(model, window=4)                                      # a Hugging Face BERT

The operator itself, torch.ops.attnscope.segment_attention, is compiled (docs/torch-operator.md), including gradients,
meta shapes and autocast, so that no call goes through Python.
"""
import json
import operator
import os
import pathlib

import torch

__all__ = ["layout_text", "segment_attention", "sparsify"]

_FOLDER = pathlib.Path(__file__).resolve().parent
_CHECKOUT = _FOLDER.parents[2]
_BUILD = "run 'python -m attnscope.torch' in a checkout of AttnScope, which builds it"


def _libraries():
    """The paths of compiled operators, in order of preference: the one in the environment, that of the wheel, those
    built in the checkout, the newest first."""
    named = os.environ.get("ATTNSCOPE_TORCH_LIBRARY")
    if named:
        return [pathlib.Path(named)]
    built = []
    if (_CHECKOUT / "CMakePresets.json").exists():
        built = sorted(_CHECKOUT.glob("build/*/attnscope_torch-*.so"), key=lambda file: -file.stat().st_mtime)
    return sorted(_FOLDER.glob("attnscope_torch-*.so")) + built


def _fitting(version, found):
    """The library that has this torch's version in its name; otherwise an ImportError."""
    for file in found:
        if file.name == f"attnscope_torch-{version}.so":
            return file
    if found:
        raise ImportError(f"attnscope.torch: {found[0]} is not for torch {version}, which this Python has; {_BUILD}")
    raise ImportError(f"attnscope.torch: the operator is not compiled for torch {version}; {_BUILD}")


def _load():
    if hasattr(torch.ops.attnscope, "segment_attention"):
        return
    library = _fitting(torch.__version__.split("+")[0], _libraries())
    try:
        torch.ops.load_library(str(library))
    except OSError as error:
        raise ImportError(f"attnscope.torch: {library} cannot be loaded ({error}); {_BUILD}") from None


try:
    _load()
    _operator = torch.ops.attnscope.segment_attention.default
    _missing = None
except ImportError as error:  # raised by the first call, since the command that builds the library is in this package
    _missing = str(error)


def _file_text(path):
    return pathlib.Path(path).read_text(encoding="utf-8")


def _is_file(value):
    if isinstance(value, str):
        return "{" not in value and value.endswith(".json")
    return isinstance(value, os.PathLike)


def _pattern_text(pattern):
    """The name of a built-in pattern, or the JSON of a pattern."""
    if isinstance(pattern, dict):
        return json.dumps(pattern)
    if _is_file(pattern):
        return _file_text(pattern)
    if isinstance(pattern, str):  # a name or JSON
        return pattern
    raise TypeError(f"segment_attention: pattern is a {type(pattern).__name__}; give a built-in's name, the path of a "
                    "JSON file or a dict of it")


def _item_text(item):
    if isinstance(item, dict):
        return json.dumps(item)
    if not isinstance(item, (list, tuple)) or len(item) < 2:
        raise TypeError(f"segment_attention: an item of the layout is {item!r}; give (cls, query, document, ...), the "
                        "tokens of each, or a dict of a layout file's item")
    cls, query, *documents = [str(operator.index(size)) for size in item]
    return f'{{"cls":{cls},"query":{query},"documents":[{",".join(documents)}]}}'


def layout_text(layout):
    """The JSON of a layout, which segment_attention otherwise creates in every call: keep it if one layout of many
    items serves many calls. The argument is JSON, the path of a JSON file, a dict of it, or a list of items. An item is
    the numbers of tokens of its [CLS], query and documents, (1, 11, 162), or a dict {"cls": 1, "query": 11, "document":
    162, "sentences": [0, 30]}.
    """
    if isinstance(layout, (list, tuple)):
        return f'{{"items":[{",".join([_item_text(item) for item in layout])}]}}'
    if isinstance(layout, dict):
        return json.dumps(layout)
    if _is_file(layout):
        return _file_text(layout)
    if isinstance(layout, str):
        return layout
    raise TypeError(f"segment_attention: layout is a {type(layout).__name__}; give a list of items, a dict, JSON or the "
                    "path of a JSON file")


def _check(name, tensor):
    if not isinstance(tensor, torch.Tensor):
        raise TypeError(f"segment_attention: {name} is a {type(tensor).__name__}, and a torch.Tensor is needed")
    if not (tensor.is_cpu or tensor.is_cuda or tensor.is_meta):
        raise ValueError(f"segment_attention runs on the CPU and on CUDA, and {name} is on {tensor.device}")
    if tensor.layout != torch.strided:
        raise ValueError(f"segment_attention: {name} is {tensor.layout}; give {name}.to_dense()")


def segment_attention(q, k, v, pattern, layout, window=None, *, scale=None, return_lse=False):
    """Computes softmax(scale q k^T over the pairs that the pattern allows) v in one kernel, with O(tokens) memory.

    q, k, v: [tokens, heads, head_dim], the items of the batch packed without padding; all float32, float16 or bfloat16,
        on the CPU or one CUDA device. Strides are arbitrary except for the last, which is 1; inputs are not copied.
        float64 is supported on the CPU, slowly, for gradcheck.
    pattern: "sparse", "full", "longformer", ... (`attnscope list patterns`), the path of a JSON file, or a dict of it.
    layout: see layout_text.
    window: tokens on each side, "inf", or None for patterns without a window.
    scale: default 1/sqrt(head_dim).

    Returns o, contiguous; with return_lse also the log-sum-exps [tokens, heads] in float32, -inf for a row that attends
    to nothing. They have no gradient. Invalid arguments raise a ValueError or TypeError with one sentence.
    """
    if _missing is not None:
        raise ImportError(_missing)
    _check("q", q)
    _check("k", k)
    _check("v", v)
    o, lse = _operator(q, k, v, _pattern_text(pattern), layout_text(layout),
                       "" if window is None else str(window), scale)
    return (o, lse) if return_lse else o


def sparsify(model, window=4, pattern="sparse"):
    """Replaces the self-attention of a Hugging Face BERT by segment_attention; see attnscope.torch.bert."""
    from attnscope.torch import bert

    return bert.sparsify(model, window, pattern)
