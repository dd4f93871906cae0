# SPDX-License-Identifier: Apache-2.0
"""How re-rankers are called: pairs sorted by length, some at a time, each batch as wide as its longest."""


def in_batches(score, pairs):
    """`score(ids, mask, types)` of any number of pairs as one of `pairs` at a time; torch or NumPy alike."""
    def of_all(ids, mask, types):
        lengths = mask.sum(1)
        order = (-lengths).argsort()
        scores = lengths * 0.0
        for first in range(0, len(order), pairs):
            places = order[first:first + pairs]
            width = int(lengths[places[0]])
            scores[places] = score(ids[places, :width], mask[places, :width], types[places, :width])
        return scores
    return of_all


def peak_bytes_of(most_pairs):
    """Of one batch of so many, and layers that keep dense scores: generous, for a sweep's batch is chosen by it."""
    def peak_bytes(plan, pairs, tokens):
        pairs = min(pairs, most_pairs)
        rows = pairs * tokens
        return 4 * (3 * pairs * plan.heads * tokens**2 + rows * (8 * plan.hidden + 2 * plan.feed_forward))
    return peak_bytes
