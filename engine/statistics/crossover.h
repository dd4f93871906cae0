#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Where one contender overtakes another along a length or a window, from their ratios at the
// measured places.
//
//   Crossovers found = find_crossovers({{64, slower}, {128, slower}, {256, faster}});
//   found.crossings.front();   // at 143, 95% 139 to 150, between 128 and 256

#include <optional>
#include <span>
#include <vector>

#include "engine/statistics/summary.h"

namespace attnscope::statistics {

/// The ratio A / B at one place: below 1 is better for A.
struct RatioAt {
  double x = 0;  // above 0: a length, or for a window the keys it covers
  Ratio ratio;
};

/// Neighbouring places that have the same verdict.
struct Stretch {
  Verdict verdict = Verdict::no_difference_shown;
  double first = 0, last = 0;
  bool too_few = false;  // no difference is shown, nor is it known that there is none (is_known)
};

/// A change from one verdict to the opposite one.
///
/// `at` is where the ratio's logarithm, taken as straight between neighbouring places of log x,
/// passes 0. The interval holds every x at which the ratio's 95% interval, carried along the same
/// straight lines (half-widths add in quadrature: neighbouring places are measured apart), still
/// has 1 in it: the inversion of a test, as Fieller's (1954) of a quotient. What straight lines
/// themselves may be off is added: the parabolas through one more neighbour on either side, where
/// there is one, cross elsewhere, and the interval is stretched by as much.
struct Crossing {
  bool a_overtakes = false;      // A is slower before it and faster after it
  double after = 0, before = 0;  // places of opposite verdicts: it lies between them for certain
  /// None where the places beside it are more than widest_gap apart: a straight line over such a
  /// stretch would be a guess.
  std::optional<double> at;
  double low = 0, high = 0;  // 95%; `after` and `before` where there is no `at`
};

inline constexpr double widest_gap = 4;

struct Crossovers {
  std::vector<Stretch> stretches;   // ascending; all places belong to one
  std::vector<Crossing> crossings;  // ascending
};

/// Places in any order, each x once; those without a ratio (NaN) are left out.
[[nodiscard]] Crossovers find_crossovers(std::vector<RatioAt> places);

}  // namespace attnscope::statistics
