#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Measured times, and the basis on which a heat's times are compared.

#include <vector>

namespace attnscope::statistics {

/// One measured time with its nesting levels.
struct Observation {
  int placement = 0;
  int round = 0;
  double time_ns = 0;
  int process = 0;         // the worker process that made the placement
  bool disturbed = false;  // disturbed by something else
};

// Relative standard deviation of placements: on a quiet machine, and where most rounds were
// disturbed (over 450 pairs under five kinds of load, results/trust).
inline constexpr double presumed_placement_spread = 0.013;
inline constexpr double presumed_disturbed_spread = 0.1;

/// Spread of placements of the heat's other contenders: a variance, including the error of the
/// placements' own medians (interval.h) in the presumed one, and the number of placements it counts
/// as in addition to those of the contender itself.
struct PooledSpread {
  double inflation = 1;
  int units = 0;
  double presumed = presumed_placement_spread;
};

/// By default, all rounds count and nothing is pooled.
struct HeatBasis {
  /// Disturbed rounds are left out, and so are placements with too few undisturbed rounds.
  /// Condition: for every contender, at least half of the placements and at least two have at least
  /// a quarter of their rounds and at least two rounds undisturbed.
  bool without_disturbed = false;
  std::vector<int> placements = {};  // the placements that then count, ascending
  /// Too few rounds were undisturbed: times are based on disturbed rounds, of which the faster ones
  /// are used.
  bool is_disturbed = false;
  PooledSpread times = {}, ratios = {};
};

}  // namespace attnscope::statistics
