#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The 95% interval of a mean over few placements of few worker processes.
//
// Five placements over two processes leave one degree of freedom between processes: Student's t of
// two process means is 12.7 standard errors wide and finds nothing, while the placements alone,
// taken as independent, miss what a process has in common; and two or three placements of which one
// was disturbed say the spread of nothing. What closes the gap is knowledge from elsewhere. Over
// 1660 pairs of contenders in the eight runs under results/ (a shared virtual machine of two
// cores), the spread of placements within a process had a median of 1.6%, and that of processes was
// 0.4 of it beside. So placements have one unit more than were measured and processes two, of a
// presumed spread (a scaled inverse chi-squared prior; a fit to those runs gives placements 1.35%
// and 1.4 units), and a process shares a quarter of its placements' variance whatever is seen. And
// up to four units more have the spread that the heat's other contenders show beside it; where
// others held up most rounds, so many that there are five with the measured ones.

#include <limits>
#include <span>
#include <vector>

#include "engine/statistics/placements.h"

namespace attnscope::statistics {

/// Relative standard deviation.
inline constexpr double presumed_process_spread = 0.010;
/// Variance that placements of one process share over their own.
inline constexpr double presumed_process_share = 0.25;

/// Of logarithms.
struct Interval {
  double low = 0, high = 0;
};

struct Estimate {
  double mean = 0;
  double half_width = 0;  // of the 95% interval, both as logarithms
};
/// Of at least one unit; those of a process lie together. The wider of two intervals: of the
/// placements with their presumed and their pooled units, and of the process means with theirs; and
/// where nothing is pooled, plain Student's t of the placements. Of a single unit only the presumed
/// spread is known.
[[nodiscard]] Estimate estimate(std::span<const Unit> units, const PooledSpread& pooled = {});

/// The same where a single placement's rounds add their own error; of a single round nothing is
/// known, and the half-width is NaN.
[[nodiscard]] Estimate estimate_with_rounds(std::span<const Unit> units,
                                            std::span<const double> rounds,
                                            const PooledSpread& pooled);
/// The same of a contender's placements.
[[nodiscard]] Estimate time_of(const std::vector<Placement>& placements, const HeatBasis& basis);

/// Beyond the rounds of so many placements, as a logarithm: placements that differ by 5% each lie
/// that far to one side, all of them, in one of twenty pairs at most.
[[nodiscard]] double beyond_rounds_of(std::size_t placements);

/// Where values were seen: a mean does not lie much further out, whatever a few of them say.
class Seen {
 public:
  void add(double value);
  /// The part of the estimate's interval that lies where values were seen, or that far beyond.
  [[nodiscard]] Interval within(const Estimate& estimate, double beyond) const;

 private:
  Interval seen_{.low = std::numeric_limits<double>::infinity(),
                 .high = -std::numeric_limits<double>::infinity()};
};

[[nodiscard]] double mean_of(std::span<const double> values);
[[nodiscard]] double squares_around(std::span<const double> values, double centre);

/// Half-width of Student's t interval of the mean; infinite for a single value.
[[nodiscard]] double student_half_width(std::span<const double> values);

/// Two-sided 95% quantile of Student's t.
[[nodiscard]] double student_t95(int degrees);

}  // namespace attnscope::statistics
