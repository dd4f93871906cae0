# SPDX-License-Identifier: Apache-2.0
"""A safetensors file whose bytes depend only on its content.

The reference implementation stores metadata in a hash map, so that two files with the same content differ.
"""
import json
import struct

DTYPES = {"float16": "F16", "float32": "F32", "int64": "I64"}


def write(path, tensors, metadata):
    """`tensors`: name -> C-contiguous numpy array of float16, float32 or int64; `metadata`: text -> text."""
    header, offset = {"__metadata__": dict(sorted(metadata.items()))}, 0
    # Widest first, so that every tensor starts at a multiple of its element's size.
    ordered = sorted(tensors.items(), key=lambda entry: (-entry[1].itemsize, entry[0]))
    for name, values in ordered:
        header[name] = {"dtype": DTYPES[values.dtype.name], "shape": list(values.shape),
                        "data_offsets": [offset, offset + values.nbytes]}
        offset += values.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _, values in ordered:
            file.write(values.tobytes())
