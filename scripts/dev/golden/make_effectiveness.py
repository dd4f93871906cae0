#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes tests/effectiveness/golden/runs.tsv.gz and tests/statistics/golden/paired.tsv: make_effectiveness.py

runs.tsv.gz: 1,000 random rankings and their values by trec_eval (from pytrec-eval-terrier, ir-measures). The first line
names the measures, one per column. Each further line is a query: its documents as "ID:SCORE:RELEVANCE", with an empty
field for a document that is not in the run or not judged, and a value for each measure. Queries without a retrieved
document are "missing" and have no values. The last two lines are means over the queries in the run, and over all (-c).
clicks.tsv has 200 more rankings, with relevances as large as clicks.

paired.tsv: pairs of values and their tests by scipy: reference values, system values, margin, p of TOST, p of the
paired t-test, the ends of the 90% interval of the mean difference.

Run it by hand in an environment of scripts/dev/golden/requirements.txt; the same versions write the same bytes.
"""
import gzip
import pathlib
import random

import ir_measures
import numpy
import pytrec_eval
from ir_measures import ERR, Judged, nDCG
from scipy import stats

TESTS = pathlib.Path(__file__).resolve().parents[3] / "tests"
# Ties, ties only in float32, negative scores, zeros of both signs, limits of the range.
SCORES = ["1", "2", "2.0", "3", "-1", "-2.5", "-2.50", "0", "-0.0", "1e-3", "0.1", "0.10000000149", "0.1000000001",
          "16777216", "16777217", "-16777217", "1.00000001", "3.4e38", "-3.4e38", "1e-40", "7.25", "7.250000001"]
IDS = ["d", "D", "doc", "clueweb-", "msmarco_doc_", "é", "#", "d-", "9", "a:b/"]
EXPONENTIAL = {level: 2**level - 1 for level in range(0, 5)}


LEVELS = [[0, 1], [0, 0, 1, 2, 3], [0, 0, 0, 4], [-1, 0, 1, 2], [0]]
CLICKS = [[0, 12, 340, 1287], [5, 127, 128, 32768], [-340, -1, 0, 128, 700], [0, 1, 70000]]


def draw(rng, all_levels):
    """A query's run {id: score as text} and judgements {id: relevance}."""
    pool = sorted({rng.choice(IDS).replace(":", "") + str(rng.randrange(40)) for _ in range(rng.randint(1, 26))})
    rng.shuffle(pool)
    few = rng.random() < 0.5  # many ties, or few
    run = {name: rng.choice(SCORES) if few else f"{rng.gauss(0, 5):.4g}" for name in pool if rng.random() < 0.8}
    levels = rng.choice(all_levels)
    qrels = {name: rng.choice(levels) for name in pool if rng.random() < 0.6}
    if not any(level >= 0 for level in qrels.values()):
        qrels[pool[0]] = 1  # if all are negative, trec_eval uses levels of the previous query
    return run, qrels


def order(run):
    """trec_eval's order: by score as float32, then by the bytes of the id, both descending."""
    return sorted(run, key=lambda name: (numpy.float32(run[name]), name.encode()), reverse=True)


def trec_eval(run, qrels, measure, level=1, judged=False):
    measures = {measure}
    found = pytrec_eval.RelevanceEvaluator({"q": qrels}, measures, level, judged).evaluate(
        {"q": {name: float(score) for name, score in run.items()}})
    (value,) = found["q"].values()
    return value


def first(run, count):
    return {name: run[name] for name in order(run)[:count]}


def ranked(run):
    """Scores that give the same ranks in a library with another rule for ties."""
    return {name: float(-rank) for rank, name in enumerate(order(run))}


def by_library(measure, run, qrels):
    return measure.calc_aggregate({"q": qrels}, {"q": ranked(run)})


def err(run, qrels, cutoff=None):
    """The steps of gdeval, which itself prints five digits and needs numeric topics."""
    total, comes_so_far = 0.0, 1.0
    names = order(run)[:cutoff]
    for rank, name in enumerate(names, 1):
        stops = (2 ** max(qrels.get(name, 0), 0) - 1) / 2**4
        total += stops * comes_so_far / rank
        comes_so_far *= 1 - stops
    if any(level > 0 for level in qrels.values()):
        (found,) = (ERR @ (cutoff or 1000)).iter_calc({"1": qrels}, {"1": ranked(run)})
        assert abs(found.value - total) <= 5.1e-6, (found, total)
    return total


MEASURES = {
    "nDCG": lambda run, qrels: trec_eval(run, qrels, "ndcg"),
    "nDCG@3": lambda run, qrels: trec_eval(run, qrels, "ndcg_cut.3"),
    "nDCG@10": lambda run, qrels: trec_eval(run, qrels, "ndcg_cut.10"),
    "nDCG(judged_only=True)@5": lambda run, qrels: trec_eval(run, qrels, "ndcg_cut.5", judged=True),
    # No library has this measure unrounded under this name; one computes it from its gains.
    "nDCG(dcg='exp-log2')@10": lambda run, qrels: by_library(nDCG(gains=EXPONENTIAL) @ 10, run, qrels),
    "RR": lambda run, qrels: trec_eval(run, qrels, "recip_rank"),
    "RR@3": lambda run, qrels: trec_eval(first(run, 3), qrels, "recip_rank"),
    "RR(rel=2)": lambda run, qrels: trec_eval(run, qrels, "recip_rank", 2),
    "AP": lambda run, qrels: trec_eval(run, qrels, "map"),
    "AP@5": lambda run, qrels: trec_eval(run, qrels, "map_cut.5"),
    "AP(rel=2)": lambda run, qrels: trec_eval(run, qrels, "map", 2),
    "AP(judged_only=True)": lambda run, qrels: trec_eval(run, qrels, "map", judged=True),
    "P@5": lambda run, qrels: trec_eval(run, qrels, "P.5"),
    "P(rel=2)@3": lambda run, qrels: trec_eval(run, qrels, "P.3", 2),
    "R@5": lambda run, qrels: trec_eval(run, qrels, "recall.5"),
    "Judged@5": lambda run, qrels: by_library(Judged @ 5, run, qrels),
    "Rprec": lambda run, qrels: trec_eval(run, qrels, "Rprec"),
    "Rprec(rel=2)": lambda run, qrels: trec_eval(run, qrels, "Rprec", 2),
    "Success@1": lambda run, qrels: trec_eval(run, qrels, "success.1"),
    "Success(rel=2)@5": lambda run, qrels: trec_eval(run, qrels, "success.5", 2),
    "ERR@5": lambda run, qrels: err(run, qrels, 5),
    "ERR": err,
    "Bpref": lambda run, qrels: trec_eval(run, qrels, "bpref"),
    "Bpref(rel=2)": lambda run, qrels: trec_eval(run, qrels, "bpref", 2),
    "SetP": lambda run, qrels: trec_eval(run, qrels, "set_P"),
    "SetP(judged_only=True)": lambda run, qrels: trec_eval(run, qrels, "set_P", judged=True),
    "SetR": lambda run, qrels: trec_eval(run, qrels, "set_recall"),
    "SetF": lambda run, qrels: trec_eval(run, qrels, "set_F"),
    "SetAP": lambda run, qrels: trec_eval(run, qrels, "set_map"),
}
# ERR and the gain 2^relevance - 1 are not defined for relevances as large as clicks.
OF_CLICKS = {name: of for name, of in MEASURES.items() if "ERR" not in name and "exp" not in name}
OF_CLICKS["AP(rel=128)"] = lambda run, qrels: trec_eval(run, qrels, "map", 128)
OF_CLICKS["Bpref(rel=128)"] = lambda run, qrels: trec_eval(run, qrels, "bpref", 128)


def written(values):
    return "\t".join(repr(float(value)) for value in values)


def make_runs(file, count, levels, measures):
    rng = random.Random(22)
    lines, table = ["\t".join(["documents", *measures])], []
    missing = 0
    for _ in range(count):
        run, qrels = draw(rng, levels)
        names = list(dict.fromkeys([*run, *qrels]))
        documents = " ".join(f"{name}:{run.get(name, '')}:{qrels.get(name, '')}" for name in names)
        if not run:
            missing += 1
            lines.append(f"{documents}\tmissing")
            continue
        values = [float(of(run, qrels)) for of in measures.values()]
        table.append(values)
        lines.append(f"{documents}\t{written(values)}")
    sums = [sum_of(column) for column in zip(*table)]
    lines.append("mean\t" + written(value / len(table) for value in sums))
    lines.append("complete\t" + written(value / (len(table) + missing) for value in sums))
    text = ("\n".join(lines) + "\n").encode()
    (TESTS / "effectiveness/golden" / file).write_bytes(gzip.compress(text, mtime=0) if file.endswith(".gz") else text)


def sum_of(values):
    """Adds like trec_eval; Python's sum compensates for rounding."""
    total = 0.0
    for value in values:
        total += value
    return total


def make_paired():
    rng = random.Random(17)
    lines = []
    for case in range(60):
        n = rng.choice([2, 3, 5, 20, 43, 97])
        spread, shift = rng.choice([1e-4, 0.01, 0.05, 0.3]), rng.choice([0, 0, 0.01, -0.019, 0.02, 0.2])
        reference = [round(rng.random(), 4) for _ in range(n)]
        system = [round(value + rng.gauss(shift, spread), 4) for value in reference]
        margin = rng.choice([0.02, 0.02, 0.05, 0.001])
        d = numpy.array(system) - numpy.array(reference)
        if len(set(d)) == 1:
            continue
        above = stats.ttest_1samp(d, -margin, alternative="greater").pvalue
        below = stats.ttest_1samp(d, margin, alternative="less").pvalue
        t = stats.ttest_rel(system, reference)
        interval = t.confidence_interval(0.9)
        lines.append("\t".join([" ".join(map(repr, reference)), " ".join(map(repr, system)),
                                written([margin, max(above, below), t.pvalue, interval.low, interval.high])]))
    (TESTS / "statistics/golden/paired.tsv").write_text("\n".join(lines) + "\n")


def main():
    for folder in ["effectiveness/golden", "statistics/golden"]:
        (TESTS / folder).mkdir(parents=True, exist_ok=True)
    make_runs("runs.tsv.gz", 1000, LEVELS, MEASURES)
    make_runs("clicks.tsv", 200, CLICKS, OF_CLICKS)
    make_paired()
    print(f"with ir-measures {ir_measures.__version__} in {TESTS}")


if __name__ == "__main__":
    main()
