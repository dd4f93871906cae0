#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Finds where one contender overtakes another along a length or a window, from their ratios at the
// measured points.
//
//   Crossovers found = find_crossovers({{64, slower}, {128, slower}, {256, faster}});
//   found.crossings.front();   // at 143, 95% 139 to 150, between 128 and 256

#include <optional>
#include <span>
#include <vector>

#include "engine/statistics/summary.h"

namespace attnscope::statistics {

/// The ratio A / B at one point: below 1 is better for A.
struct RatioAt {
  double x = 0;  // above 0: a length, or the number of keys in a window
  Ratio ratio;
};

/// Neighbouring points with the same verdict.
struct Stretch {
  Verdict verdict = Verdict::no_difference_shown;
  double first = 0, last = 0;
  bool too_few = false;  // neither a difference nor its absence is shown (is_known)
};

/// A change from one verdict to the opposite one.
/// `at` is where the logarithm of the ratio, interpolated linearly in log x between neighbouring
/// points, is 0. The interval contains every x at which the ratio's 95% interval, interpolated in
/// the same way (half-widths add in quadrature, since neighbouring points are measured
/// independently), includes 1: the inversion of a test, as in Fieller's (1954) interval of a
/// quotient. The error of linear interpolation is added: parabolas through one more neighbour on
/// either side, where there is one, cross at other points, and the interval is extended to include
/// these.
struct Crossing {
  bool a_overtakes = false;      // A is slower before it and faster after it
  double after = 0, before = 0;  // points of opposite verdicts that enclose the crossing
  /// Absent if the neighbouring points are more than widest_gap apart: linear interpolation over
  /// such a distance would be a guess.
  std::optional<double> at;
  double low = 0, high = 0;  // 95%; equal to `after` and `before` without `at`
};

inline constexpr double widest_gap = 4;

struct Crossovers {
  std::vector<Stretch> stretches;   // ascending; every point belongs to one of them
  std::vector<Crossing> crossings;  // ascending
};

/// Points in any order, with distinct x; points without a ratio (NaN) are left out.
[[nodiscard]] Crossovers find_crossovers(std::vector<RatioAt> places);

}  // namespace attnscope::statistics
