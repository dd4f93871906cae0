"""Prints the others' times relative to some implementations: times_table.py PROGRAM RUN IMPLEMENTATION... [--only ...]

Each cell of the named implementations is a row of a Markdown table, with its time, its fraction of the machine's limit,
and the time of each contender of other implementations in the same heat (and with the same window) relative to it, with
the interval of the paired ratio. All numbers are those of `attnscope table`.
"""
import json
import subprocess
import sys

AXES = ["operation", "direction", "device", "threads", "dtype", "memory_order", "cache", "heads", "head_dim",
        "shared_query", "documents", "query_tokens", "batch_max", "sequence_tokens", "seed"]


def read_table(program, run, *options):
    command = [program, "table", run, "--format", "json", *options]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def heat(row):
    return tuple(row[axis] for axis in AXES)


def in_words(axis, value):
    words = {"sequence_tokens": "{} tokens", "batch_max": "batch up to {}", "heads": "{} heads",
             "head_dim": "head dimension {}", "threads": "{} threads", "cache": "{} caches",
             "query_tokens": "query {}", "shared_query": "shared query: {}", "documents": "{} documents an item",
             "seed": "seed {}"}
    return words.get(axis, "{}").format(value)


def time_in_words(ms):
    return f"{ms:.3g} ms" if ms >= 1 else f"{ms * 1000:.3g} µs"


def times(row):
    if row is None:
        return ""
    if row["ratio"] is None:
        return row["status"]
    interval = ""
    if row["ratio_low"] is not None and row["ratio_high"] is not None:
        interval = f" [{row['ratio_low']:.3g}, {row['ratio_high']:.3g}]"
    return f"{row['ratio']:.3g}x{interval}"


def main(program, run, *arguments):
    options = list(arguments[arguments.index("--only"):]) if "--only" in arguments else []
    ours = arguments[:len(arguments) - len(options)]
    rows = read_table(program, run, *options)
    varying = [axis for axis in AXES if len({row[axis] for row in rows}) > 1]
    if "sequence_tokens" not in varying:
        varying.append("sequence_tokens")
    others = []
    for row in rows:
        name = (row["pattern"], row["implementation"])
        if row["implementation"] not in ours and name not in others:
            others.append(name)

    head = ["setting", "contender", "time/doc", "of limit"]
    head += [f"`{pattern}/{implementation}` takes" for pattern, implementation in others]
    print("| " + " | ".join(head) + " |")
    print("| :-- | :-- " + "| --: " * (len(head) - 2) + "|")
    mine = [row for row in rows if row["implementation"] in ours]
    against = {}
    for contender in dict.fromkeys(row["contender"] for row in mine):
        for row in read_table(program, run, "--baseline", contender, *options):
            key = (contender, heat(row), row["pattern"], row["implementation"], row["window"])
            against[key] = row
    for row in mine:
        fields = [", ".join(in_words(axis, row[axis]) for axis in varying), row["name"]]
        if row["status"] == "ok":
            share = row["share_of_limit"]
            fields += [time_in_words(row["ms_per_document"]), "" if share is None else f"{share:.2f}"]
        else:
            fields += [row["status"], ""]
        for pattern, implementation in others:
            key = (row["contender"], heat(row), pattern, implementation)
            fields.append(times(against.get((*key, row["window"]), against.get((*key, None)))))
        print("| " + " | ".join(fields) + " |")


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
