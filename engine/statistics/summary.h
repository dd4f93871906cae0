#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Medians, their intervals, ratios and verdicts; plain numbers in and out. A time is nested in a
// round of a placement (buffers allocated anew) of a worker process.
//
//   Summary s = summarise({{0, 0, 1.2e6}, {0, 1, 1.3e6}, {1, 0, 1.1e6}});
//   Ratio r = paired_ratio(ours, theirs);   if (r.verdict == Verdict::faster) ...

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace attnscope::statistics {

/// One measured time with the levels it is nested in.
struct Observation {
  int placement = 0;
  int round = 0;
  double time_ns = 0;
  int process = 0;  // the worker process that made the placement
};

/// Median over all samples and its 95% interval: the wider of the hierarchical bootstrap's
/// percentile interval (1000 resamples with a fixed seed, of processes, then their placements, then
/// their rounds) and Student's t of the placements' medians, since a percentile interval of five
/// units is too narrow. `samples` counts the finite times: others take no part. With a single
/// sample the interval is the sample itself.
struct Summary {
  double median_ns = 0, low_ns = 0, high_ns = 0;
  int samples = 0, placements = 0;
};
[[nodiscard]] Summary summarise(std::span<const Observation> observations);

enum class Verdict : std::uint8_t { faster, slower, no_difference_shown };
[[nodiscard]] std::string_view name_of(
    Verdict verdict);  // "faster", "slower", "no difference shown"

/// ratio of A's time to B's, below 1 is better for A. A verdict only when the interval excludes 1.
///
/// Paired, the ratio is taken within every round, so that whatever hits a round hits both sides:
/// its logarithm's median over the rounds of a placement, averaged over placements. Unpaired, the
/// medians of the logarithms of each side's placements are averaged and set against each other.
/// Either may differ from the quotient of two printed medians, which mixes all placements, by less
/// than its own interval.
///
/// The interval is that of interval.h, made of the placements' estimates and the processes they
/// lie in. In tests/statistics/coverage_test.cpp, with the default stop rule (5 placements over 2
/// processes) and 30 rounds a placement, the same contender twice gets a verdict in at most 5% of
/// cells in all worlds with processes that differ by up to 1% for each contender on its own
/// (placements 0 to 5%, rounds 0.5 to 5% with heavy tails, drift of 5% within a heat, bursts of
/// foreign load); independent placements would give 8 to 33%. Where processes differ by 2% and
/// more than their placements do, which no run under results/ shows, it is up to 15%. A planted 3%
/// is found in at least 95% of cells with rounds of 1 to 2% noise and placements of 0.3%; where
/// placements differ by 1% in three of four. One process of two placements finds 20%, a single
/// placement nothing below 18%: that is what placements may differ by. Of a single sample nothing
/// is known: low and high are NaN. All three are NaN when a side has no samples or a time that is
/// not positive. Times that are equal in every round are those of one cell: the interval is 1.
struct Ratio {
  double ratio = 0, low = 0, high = 0;
  bool paired = false;
  Verdict verdict = Verdict::no_difference_shown;
};
/// Over the (placement, round) pairs that both sides have; unpaired when they share none.
[[nodiscard]] Ratio paired_ratio(std::span<const Observation> a, std::span<const Observation> b);

/// What may have moved between two measurings without their own placements showing it, as
/// logarithms: a shift of everything alike, which widens the interval by itself, and a spread from
/// cell to cell.
struct BetweenRuns {
  double shift = 0;
  double spread = 0;
};
[[nodiscard]] Ratio unpaired_ratio(std::span<const Observation> a, std::span<const Observation> b,
                                   const BetweenRuns& between = {});

/// Modified z-score on the median absolute deviation above 3.5 (Iglewicz and Hoaglin 1993):
/// flagged, never dropped. Deviations are taken from the median of the sample's own placement,
/// because placements differ in earnest. A time that is not finite is an outlier.
[[nodiscard]] std::vector<bool> outliers(std::span<const Observation> observations);

}  // namespace attnscope::statistics
