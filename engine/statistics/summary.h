#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Times, their intervals, ratios and verdicts; plain numbers in and out. A time is nested in a
// round of a placement (buffers allocated anew) of a worker process.
//
//   Summary s = summarise({{0, 0, 1.2e6}, {0, 1, 1.3e6}, {1, 0, 1.1e6}});
//   Ratio r = paired_ratio(ours, theirs);   if (r.verdict == Verdict::faster) ...

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "engine/statistics/heat_basis.h"

namespace attnscope::statistics {

/// What one call takes: the geometric mean over placements of the median over a placement's rounds
/// that count (their lower quartile where they count although others held them up), and its 95%
/// interval (interval.h), cut where no sample that counts lies, and 5% beyond. `samples` and
/// `placements` are those that count: finite times, and of a heat with enough of them those that
/// nothing held up (heat_basis.h). With a single sample the interval is the sample itself; with a
/// time that is not positive nothing is known, and `samples` is 0.
struct Summary {
  double median_ns = 0, low_ns = 0, high_ns = 0;
  int samples = 0, placements = 0;
};
[[nodiscard]] Summary summarise(std::span<const Observation> observations,
                                const HeatBasis& basis = {});

enum class Verdict : std::uint8_t { faster, slower, no_difference_shown };
[[nodiscard]] std::string_view name_of(
    Verdict verdict);  // "faster", "slower", "no difference shown"

/// A's time over B's, the quotient of the two summaries' times: below 1 is better for A. A verdict
/// only when the interval excludes 1.
///
/// Paired, the interval is that of interval.h around it, made of how the placements of both differ,
/// and cut where no round that both have lies, and 5% beyond (8% of two placements, 18% of one): so
/// a difference that every round shows is a verdict. Unpaired, each side's own interval counts.
///
/// In tests/statistics/coverage_test.cpp the same contender twice gets a verdict in at most 5% of
/// cells, with 2, 3 and 5 placements, on a quiet machine (processes that differ by up to 1%,
/// placements 0 to 5%, rounds 0.5 to 5% with heavy tails, drift of 5% or a processor that gets 40%
/// slower within a heat) and beside bursts that hold up rounds by up to e^4. What is found of
/// planted differences stands there too. A single placement finds nothing below 18%: that is what
/// placements may differ by. Of a single sample nothing is known: low and high are NaN. All three
/// are NaN when a side has no samples or a time that is not positive. Times that are equal in every
/// round are those of one cell: the interval is 1.
struct Ratio {
  double ratio = 0, low = 0, high = 0;
  bool paired = false;
  Verdict verdict = Verdict::no_difference_shown;
};
/// An interval whose ends are further apart than this factor tells only which side is faster, if
/// that: too few samples, or too disturbed.
inline constexpr double widest_known = 10;
[[nodiscard]] bool is_known(const Ratio& ratio);
/// Of two contenders of one heat, whose basis this is; unpaired when they share no placement.
[[nodiscard]] Ratio paired_ratio(std::span<const Observation> a, std::span<const Observation> b,
                                 const HeatBasis& basis = {});

/// What may have moved between two measurings without their own placements showing it, as
/// logarithms: a shift of everything alike, which widens the interval by itself, and a spread from
/// cell to cell.
struct BetweenRuns {
  double shift = 0;
  double spread = 0;
};
[[nodiscard]] Ratio unpaired_ratio(std::span<const Observation> a, std::span<const Observation> b,
                                   const BetweenRuns& between = {}, const HeatBasis& basis_a = {},
                                   const HeatBasis& basis_b = {});

/// Modified z-score on the median absolute deviation above 3.5 (Iglewicz and Hoaglin 1993):
/// flagged, never dropped. Deviations are taken from the median of the sample's own placement,
/// because placements differ in earnest. A time that is not finite is an outlier.
[[nodiscard]] std::vector<bool> outliers(std::span<const Observation> observations);

}  // namespace attnscope::statistics
