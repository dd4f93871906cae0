#!/usr/bin/env python3
"""Compares the ECIR 2024 paper's claims on its Figure 2a with what was measured: yes or no, with the numbers.

    attnscope table RUN --format csv --baseline sparse/windowed/4  > products-4.csv     # paper-fig2a
    attnscope table RUN --format csv --baseline sparse/windowed/64 > products-64.csv
    attnscope table RUN --format csv --baseline sparse/segment/4   > attention-4.csv    # paper-fig2a-attention
    attnscope table RUN --format csv --baseline sparse/segment/64  > attention-64.csv
    results/tools/paper_claims.py products-*.csv attention-*.csv > docs/paper-claims.md

The script recognizes a table by its operation and its baseline, the row with the ratio 1 and no interval. Each window
needs a table, because the intervals of ratios are those of pairs from the same rounds. All answers follow from the
numbers: A takes longer than B only if the whole 95 % interval of their ratio is above 1. Exit status 2: a table cannot
be used.
"""
import csv
import sys
from collections import namedtuple

# Earlier kernels in the paper's order, each with its name there.
EARLIER = {"longformer-chunks": "PyTorch block-sparse (Longformer)", "bigbird": "PyTorch block-sparse (BigBird)",
           "longformer-banded": "TVM"}
BLOCK_SPARSE, BANDED = ("longformer-chunks", "bigbird"), "longformer-banded"
OURS = {"windowed-matmul": "windowed", "attention": "segment"}
SETTING = ["device", "threads", "dtype", "memory_order", "cache", "direction", "heads", "head_dim", "batch_max"]
SIMILAR = 1.5  # the largest ratio, in either direction, that counts as "similar time efficiency"

Ratio = namedtuple("Ratio", "value low high")
# verdict: yes, no, or None if nothing that decides it was measured
Claim = namedtuple("Claim", "sentence verdict because table")


class Unusable(Exception):
    pass


def number(text):
    return float(text) if text else None


class Row:
    def __init__(self, fields):
        self.fields = fields
        self.implementation, self.pattern = fields["implementation"], fields["pattern"]
        self.window = fields["window"]
        self.tokens = int(fields["sequence_tokens"])
        self.status = fields["status"]
        self.name = fields["name"].removesuffix(f", w = {self.window}")
        self.bytes = number(fields["peak_bytes_per_document"])
        self.time = None
        if number(fields["ms_per_document"]):
            scale = number(fields["ms_per_document"]) / number(fields["median_ms"])
            self.time = Ratio(*(number(fields[key]) * scale for key in ("median_ms", "low_ms", "high_ms")))
        self.ratio = None
        if number(fields["ratio"]) and number(fields["ratio_low"]) and number(fields["ratio_high"]):
            self.ratio = Ratio(*(number(fields[key]) for key in ("ratio", "ratio_low", "ratio_high")))


class Products:
    """The tables of one setting and operation: rows by window of the baseline, implementation, length."""

    def __init__(self, operation):
        self.operation, self.windows, self.provenance, self.full = operation, {}, {}, []

    def add(self, window, rows):
        known = self.windows.setdefault(window, {})
        for row in rows:
            if row.window and row.window != window:
                continue  # of another window, which has its own table
            if row.pattern not in ("full", "sparse", row.implementation):
                continue  # no claim is about other patterns of these implementations
            key = "full/" + row.implementation if row.pattern == "full" else row.implementation
            if row.pattern == "full" and key not in self.full:
                self.full.append(key)
            known[key, row.tokens] = row
            self.provenance[row.fields["provenance"]] = None

    def lengths(self, window):
        return sorted({tokens for _, tokens in self.windows[window]})

    def row(self, window, implementation, tokens):
        return self.windows[window].get((implementation, tokens))

    def rows(self):
        return [item for rows in self.windows.values() for item in rows.items()]

    def name(self, implementation):
        return next((row.name for (key, _), row in self.rows() if key == implementation), implementation)


def read_table(path):
    with open(path, newline="", encoding="utf-8") as file:
        records = list(csv.DictReader(file))
    needed = ["implementation", "ratio_low", "peak_bytes_per_document", "provenance"]
    missing = [key for key in needed if not records or key not in records[0]]
    if missing:
        raise Unusable(f"{path} has no {missing[0]}; write it with attnscope table RUN --format csv --baseline CONTENDER")
    return [Row(fields) for fields in records]


def read_all(paths):
    """The tables of every setting: {setting: {operation: Products}}."""
    found = {}
    for path in paths:
        rows = read_table(path)
        bases = {(row.implementation, row.window) for row in rows if row.ratio and row.ratio == Ratio(1, 1, 1)}
        for row in rows:
            setting = tuple(row.fields[key] for key in SETTING)
            operation = row.fields["operation"]
            if operation not in OURS:
                raise Unusable(f"{path}: no claim is about operation {operation}; choose with --only operation={next(iter(OURS))}")
            ours = OURS[operation]
            windows = {window for implementation, window in bases if implementation == ours}
            if len(windows) != 1:
                raise Unusable(f"{path} is not against one window of {ours}; name it with --baseline sparse/{ours}/WINDOW")
            products = found.setdefault(setting, {}).setdefault(operation, Products(operation))
            products.add(windows.copy().pop(), [row])
    return found


def in_times(ratio):
    if ratio is None:
        return "–"
    interval = "" if ratio.low == ratio.high else f" [{ratio.low:.3g}, {ratio.high:.3g}]"
    return f"{ratio.value:.3g}x{interval}"


def megabytes(value):
    return "–" if value is None else f"{value / 1e6:.3g} MB"


def markdown(head, rows):
    lines = ["| " + " | ".join(head) + " |", "| --: " * len(head) + "|"]
    return "\n".join(lines + ["| " + " | ".join(fields) + " |" for fields in rows])


def places(cells):
    return "; ".join(cells) if cells else "nowhere"


def all_of(sentence, checks, table, otherwise):
    """A claim about many cells: `checks` are (where, whether it holds or None, what was measured)."""
    known = [check for check in checks if check[1] is not None]
    against = [f"{where} ({measured})" for where, holds, measured in checks if holds is False]
    unknown = [where for where, holds, _ in checks if holds is None]
    if not known:
        return Claim(sentence, None, "none of the cells that decide it was measured", table)
    because = f"in {len(known) - len(against)} of {len(known)} cells"
    if against and otherwise:
        because += f"; {otherwise}: {places(against)}"
    if unknown:
        because += f"; not measured: {places(unknown)}"
    return Claim(sentence, not against, because, table)


def where(products, window, tokens, implementation=None):
    place = f"w = {window}, {tokens} tokens"
    return f"{products.name(implementation)}, {place}" if implementation else place


def ratio_table(products, others):
    """A table of the others' times relative to ours."""
    rows = []
    for window in products.windows:
        for tokens in products.lengths(window):
            cells = [products.row(window, other, tokens) for other in others]
            rows.append([window, str(tokens)] + [in_times(cell.ratio) if cell and cell.ratio else
                                                 cell.status if cell else "–" for cell in cells])
    ours = products.name(OURS[products.operation])
    return markdown(["w", "tokens"] + [f"{products.name(other)} / {ours}" for other in others], rows)


def memory_table(products, all_names):
    rows = []
    for window in products.windows:
        for tokens in products.lengths(window):
            cells = [products.row(window, name, tokens) for name in all_names]
            rows.append([window, str(tokens)] + [megabytes(cell.bytes) if cell else "–" for cell in cells])
    return markdown(["w", "tokens"] + [products.name(name) for name in all_names], rows)


def space_optimal(products):
    checks = []
    for window in products.windows:
        for tokens in products.lengths(window):
            ours = products.row(window, "windowed", tokens)
            for other in EARLIER:
                theirs = products.row(window, other, tokens)
                both = ours and theirs and ours.bytes is not None and theirs.bytes is not None
                checks.append((where(products, window, tokens, other), ours.bytes <= theirs.bytes if both else None,
                               f"{megabytes(theirs.bytes)} against {megabytes(ours.bytes)}" if both else ""))
    return all_of("Ours is space-optimal: no windowed implementation needs less memory, at any length and window.",
                  checks, memory_table(products, ["windowed", *EARLIER, *products.full]), "less memory")


def faster_than_earlier(products):
    checks = []
    for window in products.windows:
        for tokens in products.lengths(window):
            for other in EARLIER:
                row = products.row(window, other, tokens)
                ratio = row.ratio if row else None
                checks.append((where(products, window, tokens, other), ratio.low > 1 if ratio else None, in_times(ratio)))
    return all_of("Ours is faster than every earlier windowed kernel, at both windows.", checks,
                  ratio_table(products, EARLIER), "not shown to be slower than ours")


def shown_faster(products):
    ratios = [row.ratio for (name, _), row in products.rows() if name in products.full and row.ratio]
    return f"shown to be faster in {sum(ratio.low > 1 for ratio in ratios)} of {len(ratios)}"


def slower_than_full_only_at_the_edge(products):
    checks, slower = [], []
    for window in products.windows:
        for tokens in products.lengths(window):
            for full in products.full:
                row = products.row(window, full, tokens)
                ratio = row.ratio if row else None
                exceeds = 2 * int(window) + 1 > tokens
                ours_slower = ratio is not None and ratio.high < 1
                if ours_slower and exceeds:
                    slower.append(where(products, window, tokens))
                checks.append((where(products, window, tokens), None if ratio is None else not ours_slower or exceeds,
                               in_times(ratio)))
    claim = all_of("Ours is slower than full attention only where the window's 2w + 1 tokens exceed the sequence.",
                   checks, ratio_table(products, products.full), "slower although the window fits")
    return claim._replace(because=f"{claim.because}; {shown_faster(products)}; slower where the window exceeds the "
                          f"sequence: {places(slower)}")


def quotient(a, b):
    """The ratio of two times from both intervals; it is never narrower than that of a pair."""
    if not a or not b or not a.time or not b.time:
        return None
    return Ratio(a.time.value / b.time.value, a.time.low / b.time.high, a.time.high / b.time.low)


def block_sparse_against_banded(products, window):
    """At the wide window the block-sparse implementations take less time and more memory than the banded one."""
    checks = []
    for tokens in products.lengths(window):
        banded = products.row(window, BANDED, tokens)
        for other in BLOCK_SPARSE:
            row = products.row(window, other, tokens)
            ratio = quotient(row, banded)
            place = where(products, window, tokens, other)
            checks.append((f"time: {place}", ratio.high < 1 if ratio else None, in_times(ratio)))
            both = row and banded and row.bytes is not None and banded.bytes is not None
            checks.append((f"memory: {place}", row.bytes > banded.bytes if both else None,
                           f"{megabytes(row.bytes)} against {megabytes(banded.bytes)}" if both else ""))
    return all_of(f"At w = {window} both block-sparse implementations take less time than the banded one "
                  "(the paper's TVM) and more memory.", checks, None, "otherwise")


def banded_at_narrow_window(products, window):
    lengths = products.lengths(window)
    checks = []
    for other in BLOCK_SPARSE:
        for tokens, longest in ((lengths[0], False), (lengths[-1], True)):
            row, banded = (products.row(window, name, tokens) for name in (other, BANDED))
            ratio = quotient(banded, row)
            if longest:
                holds = ratio.high < 1 if ratio else None
            else:
                holds = 1 / SIMILAR <= ratio.value <= SIMILAR if ratio else None
            checks.append((f"time over {where(products, window, tokens, other)}", holds, in_times(ratio)))
        for tokens in lengths:
            row, banded = (products.row(window, name, tokens) for name in (other, BANDED))
            both = row and banded and row.bytes is not None and banded.bytes is not None
            checks.append((f"memory: {where(products, window, tokens, other)}", banded.bytes <= row.bytes if both else None,
                           f"{megabytes(banded.bytes)} against {megabytes(row.bytes)}" if both else ""))
    return all_of(f"At w = {window} the banded implementation takes similar time (within {SIMILAR:g}x) as the block-sparse "
                  "ones at the shortest length, less at the longest, and no more memory.", checks, None, "otherwise")


def earlier_slower_than_full_when_short(products):
    checks = []
    for window in products.windows:
        tokens = products.lengths(window)[0]
        for full in products.full:
            for other in EARLIER:
                ratio = quotient(products.row(window, other, tokens), products.row(window, full, tokens))
                checks.append((where(products, window, tokens, other), ratio.low > 1 if ratio else None, in_times(ratio)))
    measured = "; ".join(f"{place}: {text}" for place, _, text in checks if text != "–")
    claim = all_of("The earlier kernels are slower than full attention at the shortest length.", checks, None, None)
    return claim._replace(because=f"{claim.because}. Times of full attention: {measured or 'none'}")


def fused_never_slower_than_full(products):
    checks = []
    for window in products.windows:
        for tokens in products.lengths(window):
            for full in products.full:
                row = products.row(window, full, tokens)
                if row and row.status == "unsupported":
                    continue  # not supported on this machine
                ratio = row.ratio if row else None
                checks.append((where(products, window, tokens, full), ratio.high >= 1 if ratio else None, in_times(ratio)))
    claim = all_of("`segment`, one kernel with the softmax, is never slower than full attention, not even where the "
                   "window exceeds the sequence.", checks, ratio_table(products, products.full), "slower")
    return claim._replace(because=f"{claim.because}; {shown_faster(products)}")


def claims_of(operations):
    claims = []
    products = operations.get("windowed-matmul")
    if products:
        narrow, *wider = sorted(products.windows, key=int)
        claims += [space_optimal(products), faster_than_earlier(products), slower_than_full_only_at_the_edge(products)]
        claims += [block_sparse_against_banded(products, window) for window in wider]
        claims += [banded_at_narrow_window(products, narrow), earlier_slower_than_full_when_short(products)]
    if "attention" in operations:
        claims.append(fused_never_slower_than_full(operations["attention"]))
    return claims


def page(found):
    text = ["# The paper's claims on Figure 2a, and what was measured", "",
            "Schlatt, Fröbe, Hagen: *Investigating the Effects of Sparse Attention on Cross-Encoders*, ECIR 2024,",
            "Section 4.2, in our words. Written by `results/tools/paper_claims.py` from tables of runs. A ratio is the time of",
            "the named contender over the time of ours (above 1: ours is faster), with the 95 % interval of the paired ratio.",
            "For ratios between two others, which these tables do not pair, the interval combines those of both times.", ""]
    for setting, operations in found.items():
        values = dict(zip(SETTING, setting))
        head = f"{values['device']}, {values['dtype']}, {values['direction']}, {values['heads']} heads x {values['head_dim']}"
        head += f", batch up to {values['batch_max']}"
        text += [f"## {head}", ""]
        claims = claims_of(operations)
        text += ["| claim | holds here | |", "| :-- | :-- | :-- |"]
        text += [f"| {claim.sentence} | {'–' if claim.verdict is None else 'yes' if claim.verdict else 'no'} | {claim.because} |"
                 for claim in claims]
        for claim in claims:
            if claim.table:
                text += ["", claim.sentence, "", claim.table]
        sources = {line: None for products in operations.values() for line in products.provenance}
        text += ["", *sources, ""]
    return "\n".join(text)


def main(paths):
    try:
        print(page(read_all(paths)), end="")
    except (Unusable, OSError) as error:
        print(f"paper_claims: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1:]))
