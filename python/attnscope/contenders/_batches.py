# SPDX-License-Identifier: Apache-2.0
"""Calls re-rankers with pairs sorted by length, in batches that are padded to their longest pair."""


def in_batches(score, pairs):
    """A function that calls `score(ids, mask, types)` with `pairs` pairs at a time; for torch and NumPy."""
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
    """An upper estimate for a batch of `pairs` and layers with dense scores, from which a sweep's batch is chosen."""
    def peak_bytes(plan, pairs, tokens):
        pairs = min(pairs, most_pairs)
        rows = pairs * tokens
        return 4 * (3 * pairs * plan.heads * tokens**2 + rows * (8 * plan.hidden + 2 * plan.feed_forward))
    return peak_bytes
