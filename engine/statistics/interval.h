#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The 95% interval of a mean over few placements of few worker processes.
//
// Five placements over two processes leave one degree of freedom between processes: Student's t of
// two process means is 12.7 standard errors wide and finds nothing, while the placements alone,
// taken as independent, miss what a process has in common. What closes the gap is knowledge from
// elsewhere: over 1660 pairs of contenders in the eight runs under results/ (a shared virtual
// machine of two cores), the spread of placements within a process had a median of 1.6%, and that
// of processes was 0.4 of it beside. So placements have one unit more than were measured and
// processes two, of a presumed spread (a scaled inverse chi-squared prior; a fit to those runs
// gives placements 1.35% and 1.4 units), and a process shares a quarter of its placements' variance
// whatever is seen.

#include <span>
#include <vector>

namespace attnscope::statistics {

struct Interval {
  double low = 0, high = 0;
};

/// One placement's estimate: a logarithm, so that spreads are relative.
struct Unit {
  int process = 0;
  double value = 0;
};

// Relative standard deviations.
inline constexpr double presumed_placement_spread = 0.013;
inline constexpr double presumed_process_spread = 0.010;
/// Variance that placements of one process share over their own.
inline constexpr double presumed_process_share = 0.25;

struct Estimate {
  double mean = 0;
  double half_width = 0;  // of the 95% interval, both as logarithms
};
/// Of at least one unit; those of a process lie together. The widest of three intervals: of the
/// placements with their presumed unit, of the process means with theirs, and plain Student's t of
/// the placements, which is the widest for two or three placements that differ a lot. Of a single
/// unit only the presumed spread is known.
[[nodiscard]] Estimate estimate(std::span<const Unit> units);

/// Half-width of Student's t interval of the mean; infinite for a single value.
[[nodiscard]] double student_half_width(std::span<const double> values);

/// Two-sided 95% quantile of Student's t.
[[nodiscard]] double student_t95(int degrees);

}  // namespace attnscope::statistics
