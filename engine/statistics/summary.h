#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Times, their intervals, ratios and verdicts, computed from plain numbers. A time is nested in a
// round of a placement (newly allocated buffers) of a worker process.
//
//   HeatBasis basis = basis_of(contenders);   // the observations of each contender of a heat
//   Summary s = summarise(contenders[0], basis);
//   Ratio r = paired_ratio(contenders[0], contenders[1], basis);
//   if (r.verdict == Verdict::faster) ...

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "engine/statistics/interval.h"

namespace attnscope::statistics {

/// The basis of each contender's time, determined from all contenders of a heat: the rounds that
/// count, and the spread of placements. Takes each contender's observations; contenders without any
/// are ignored.
[[nodiscard]] HeatBasis basis_of(std::span<const std::vector<Observation>> contenders);

/// Time of one call: the geometric mean over placements of the median over a placement's counted
/// rounds (the lower quartile where disturbed rounds count), and its 95% interval (interval.h),
/// limited to the range of counted samples extended by 5%. `samples` and `placements` are the
/// counted ones: finite times, and in a heat with enough of them only undisturbed ones
/// (basis_of). With a single sample the interval is the sample itself; with a time that is not
/// positive nothing is known, and `samples` is 0.
struct Summary {
  double median_ns = 0, low_ns = 0, high_ns = 0;
  int samples = 0, placements = 0;
};
[[nodiscard]] Summary summarise(std::span<const Observation> observations,
                                const HeatBasis& basis = {});

enum class Verdict : std::uint8_t { faster, slower, no_difference_shown };
[[nodiscard]] std::string_view name_of(
    Verdict verdict);  // "faster", "slower", "no difference shown"

/// The time of A divided by that of B, the quotient of the two summaries' times: below 1 is better
/// for A. There is a verdict only when the interval excludes 1.
/// Paired, the interval is that of interval.h around the ratio, from the differences of both sides'
/// placements, limited to the range of the shared rounds extended by 5% (8% for two placements, 18%
/// for one), so that a difference in every round gives a verdict. Unpaired, each side's own
/// interval counts.
/// In tests/statistics/coverage_test.cpp, two instances of the same contender get a verdict in at
/// most 5% of cells, with 2, 3 and 5 placements, on a quiet machine (processes that differ by up to
/// 1%, placements by 0 to 5%, rounds by 0.5 to 5% with heavy tails, drift of 5% or a processor that
/// gets 40% slower within a heat) and under bursts that slow rounds down by up to e^4. The test
/// also states the detection rates of simulated differences. A single placement detects nothing
/// below 18%, since placements may differ by that much. For a single sample nothing is known: low
/// and high are NaN. All three are NaN when a side has no samples or a time that is not positive.
/// Times that are equal in every round belong to one cell: the interval is 1.
struct Ratio {
  double ratio = 0, low = 0, high = 0;
  bool paired = false;
  Verdict verdict = Verdict::no_difference_shown;
};
/// An interval whose ends differ by more than this factor shows at most which side is faster: there
/// were too few samples, or too many disturbances.
inline constexpr double widest_known = 10;
[[nodiscard]] bool is_known(const Ratio& ratio);
/// The ratio of two contenders of one heat with this basis; unpaired when they share no placement.
[[nodiscard]] Ratio paired_ratio(std::span<const Observation> a, std::span<const Observation> b,
                                 const HeatBasis& basis = {});

/// Possible changes between two measurements that their own placements do not show, as logarithms:
/// a common shift, which widens the interval by itself, and a spread between cells.
struct BetweenRuns {
  double shift = 0;
  double spread = 0;
};
[[nodiscard]] Ratio unpaired_ratio(std::span<const Observation> a, std::span<const Observation> b,
                                   const BetweenRuns& between = {}, const HeatBasis& basis_a = {},
                                   const HeatBasis& basis_b = {});

/// Modified z-score from the median absolute deviation above 3.5 (Iglewicz and Hoaglin 1993):
/// flagged, never dropped. Deviations are relative to the median of the sample's own placement,
/// because placements really differ. A time that is not finite is an outlier.
[[nodiscard]] std::vector<bool> outliers(std::span<const Observation> observations);

// Changes of a machine between two of its runs (clock, other tenants, updates), estimated from the
// cells that both runs have. Placements within a run do not show them, so intervals of ratios
// between runs must be widened by them.
//
//   BetweenRuns between = between_runs(ratios, machine_moved);
//   Ratio r = unpaired_ratio(now, before, between);

// These shifts are logarithms.
inline constexpr double least_machine_shift = 0.05;
inline constexpr double most_machine_shift = 0.15;
inline constexpr double least_cell_shift = 0.01;

/// `ratios` are those of all shared cells with nothing added; `machine_moved` is the difference of
/// the machine's own rates in and between the runs, as a logarithm.
/// shift: the cells' median ratio. A change common to all cells cannot be distinguished from a
/// change of the machine, up to the known or presumed change of the machine (machine_moved, at
/// least 5% and at most 15%). spread: the spread of cells around that median (from the median
/// absolute deviation, so that a few changed cells do not count), beyond what their own intervals
/// explain; at least 1%.
[[nodiscard]] BetweenRuns between_runs(std::span<const Ratio> ratios, double machine_moved);

// Detects drift of a contender's times while its heat is measured: a machine that warms up, a
// falling clock, a new load on the machine. Drifting cells are flagged, never dropped.
//
//   Drift d = drift_of(observations);   if (d.is_flagged) ... d.change
//
// Two tests, each with a false-alarm rate of 0.5% where nothing drifts: Mann and Kendall's trend
// over the rounds of every placement, summed (ranks, so that no outlier makes or hides a trend, and
// a step counts as much as a slope), and Student's t between the first and the last worker process,
// relative to the spread of placements within a process. Differences between placements of one
// process count as placement effects, not as drift.

struct Drift {
  /// 0.03: 3% slower at the end than at the start. From the rounds of a placement (Theil-Sen
  /// slope), or from the first process to the last if that estimate is the more certain one.
  double change = 0;
  bool is_flagged = false;
};
[[nodiscard]] Drift drift_of(std::span<const Observation> observations);

/// Drift of the ratio a / b in their shared rounds: common drift cancels.
[[nodiscard]] Drift drift_of_ratio(std::span<const Observation> a, std::span<const Observation> b);

}  // namespace attnscope::statistics
