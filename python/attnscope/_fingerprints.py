# SPDX-License-Identifier: Apache-2.0
"""The fingerprints of stored rows, computed like in engine/store/fingerprint.h and fields.cpp.

They are 64-bit FNV-1a over a row's values: integers as 8 bytes, least significant first; reals as their IEEE 754 bits,
the same for every NaN; texts as their length and bytes. A missing value is the byte 0; one that may be missing but is
not has the byte 1 before it.
"""
import json
import math
import struct
from typing import NamedTuple, Optional, Union


class Axis(NamedTuple):
    """A column of heats. One with a `neutral` value may be missing in an older file, and is not part of a fingerprint
    at that value, except for whole models, which have always had it."""
    key: str
    neutral: Optional[Union[int, str]] = None
    always_of_models: bool = False


AXES = (  # in the order of engine/heat/axes.h
    Axis("operation"), Axis("direction"), Axis("sequence_tokens"), Axis("document_lengths", "alike"),
    Axis("query_tokens"), Axis("shared_query"), Axis("documents", 1), Axis("batch_max"), Axis("batch_memory_mb"),
    Axis("batch_per_contender", 0, True), Axis("heads"), Axis("head_dim"), Axis("layers", 0, True),
    Axis("feed_forward", 0, True), Axis("stage", "whole"), Axis("candidates", 0), Axis("dtype"),
    Axis("memory_order"), Axis("cache", "warm"), Axis("device"), Axis("page_size", "huge"), Axis("threads"),
    Axis("seed"))


def fnv(data):
    state = 0xCBF29CE484222325
    for byte in data:
        state = ((state ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return state - (1 << 64) if state >> 63 else state  # as stored by SQLite


def real(value):
    """The value from the database, where a REAL that is NaN is the text 'nan'."""
    return math.nan if value == "nan" else float(value)


def _integer(value):
    return struct.pack("<q", value)


def _real(value):
    value = real(value)
    if math.isnan(value):
        return _integer(0x7FF8000000000000)
    return struct.pack("<d", value if value else 0.0)  # -0 as 0


def _text(value):
    data = value.encode()
    return _integer(len(data)) + data


def _perhaps(serialise, value):
    return b"\0" if value is None else b"\1" + serialise(value)


def _unless_missing(serialise, value):
    return b"" if value is None else _perhaps(serialise, value)


def _value(value):
    return _text(value) if isinstance(value, str) else _integer(value)


def of_run(run):
    """The fingerprint of the values with which a run started."""
    return fnv(b"".join(_value(run[key]) for key in (
        "uuid", "sweep_name", "sweep_text", "command_line", "provenance", "device", "heats_planned", "process_id",
        "process_start_ticks")))


def of_state(run):
    """The fingerprints of the values that change during a run: the current one and an older one without ceilings."""
    data = b"".join(_value(run[key]) for key in (
        "uuid", "status", "tag", "note", "started_unix_ms", "finished_unix_ms", "name", "trashed_unix_ms", "restarts"))
    return fnv(data + _integer(run["ceilings"])), fnv(data)


def of_samples(samples):
    data = [_integer(len(samples))]
    for sample in samples:
        data += [_integer(sample["process"]), _integer(sample["placement"]), _integer(sample["round"]),
                 _real(sample["time_ns"]), _integer(sample["iterations"]), _integer(sample["involuntary_switches"]),
                 _real(sample["foreign_load"])]
        if sample["clock_mhz"] is not None or sample["temperature_c"] is not None or sample["throttled"]:
            data += [_perhaps(_real, sample["clock_mhz"]), _perhaps(_real, sample["temperature_c"]),
                     _integer(1 if sample["throttled"] else 0)]
        if sample["cpu_ns"] is not None or sample["waited_ns"] is not None:
            data += [_perhaps(_real, sample["cpu_ns"]), _perhaps(_real, sample["waited_ns"])]
        data.append(_integer(1 if sample["outlier"] else 0))
    return fnv(b"".join(data))


def of_cell(uuid, point, cell):
    """The fingerprint of a cell; `point` has the columns of the axes."""
    is_model = point["operation"] == "model"
    data = [_text(uuid)]
    data += [_value(point[axis.key]) for axis in AXES
             if axis.neutral is None or point[axis.key] != axis.neutral or (axis.always_of_models and is_model)]
    data += [_integer(cell["ordinal"]), _text(cell["pattern"]), _text(cell["implementation"]),
             _perhaps(_text, cell["attention_window"]), _text(cell["name"]), _text(cell["pattern_json"])]
    data.append(_text(cell["model"]) if cell["model"] else b"")
    data += [_text(cell["status"]), _text(cell["reason"])]
    data += [_integer(cell[key]) for key in ("batch", "query_tokens", "document_tokens")]
    data += [_perhaps(_real, cell[key]) for key in ("relative_error", "error_bound")]
    data += [_integer(cell[key]) for key in ("requested_bytes", "reserved_bytes", "workspace_bytes")]
    data += [_unless_missing(_integer, cell[key]) for key in ("process_peak_bytes", "cache_bytes")]
    data += [_real(cell[key]) for key in (
        "useful_flop", "least_bytes", "exponentials", "executed_flop", "executed_bytes")]
    data.append(_integer(1 if cell["settled"] else 0))
    for name, time_ns, useful_flop in json.loads(cell["parts"] or "[]"):
        data += [_text(name), _real(time_ns), _real(useful_flop)]
    if cell["disturbed_by"]:
        data.append(_text(cell["disturbed_by"]))
    data += [_real(cell[key]) for key in ("median_ns", "low_ns", "high_ns")]
    data += [_integer(cell[key]) for key in ("sample_count", "placement_count", "samples_fingerprint")]
    return fnv(b"".join(data))
