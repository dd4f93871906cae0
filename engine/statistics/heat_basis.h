#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What the contenders of a heat say together about what each one's time rests on: which rounds, and
// how far placements may be apart.
//
//   HeatBasis basis = basis_of(contenders);   // the observations of each
//   Summary s = summarise(contenders[0], basis);
//   Ratio r = paired_ratio(contenders[0], contenders[1], basis);

#include <span>
#include <vector>

namespace attnscope::statistics {

/// One measured time with the levels it is nested in.
struct Observation {
  int placement = 0;
  int round = 0;
  double time_ns = 0;
  int process = 0;         // the worker process that made the placement
  bool disturbed = false;  // something else held it up
};

// Relative standard deviations of placements: of a quiet machine, and where others held up most
// rounds (over 450 pairs beside five kinds of load, results/trust).
inline constexpr double presumed_placement_spread = 0.013;
inline constexpr double presumed_disturbed_spread = 0.1;

/// Spread of placements that other contenders of the heat show: a variance, in that which is
/// presumed with the error of the placements' own medians (interval.h), and for how many placements
/// it counts beside those of the contender itself.
struct PooledSpread {
  double inflation = 1;
  int units = 0;
  double presumed = presumed_placement_spread;
};

/// Without any, all rounds count, and nothing is pooled.
struct HeatBasis {
  /// Rounds that something held up are left out, and placements that have too few others: of every
  /// contender at least half of the placements, and two, have at least a quarter of their rounds,
  /// and two, undisturbed.
  bool without_disturbed = false;
  std::vector<int> placements = {};  // those that count then, ascending
  /// There were not enough others: times rest on rounds that something held up, and on the faster
  /// of them.
  bool is_disturbed = false;
  PooledSpread times = {}, ratios = {};
};

/// Each contender's observations; those without any take no part.
[[nodiscard]] HeatBasis basis_of(std::span<const std::vector<Observation>> contenders);

}  // namespace attnscope::statistics
