#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// When a contender has been sampled enough at one placement.

#include <span>

#include "engine/sweep/heat.h"

namespace attnscope::measure {

/// A cell's stop rule, shared out over its placements.
struct PlacementRule {
  double relative_interval = 0;
  double seconds = 0;       // a contender's own time at this placement
  int settled_samples = 3;  // before the interval may end it
  int least_samples = 1;    // before the time may end it: 3 over the whole cell
};
[[nodiscard]] PlacementRule placement_rule(const StopRule& rule);

/// Half-width of the median's 95% interval over the median, from order statistics (the binomial
/// interval; below 6 samples it is their whole range). +inf without samples.
[[nodiscard]] double relative_half_width(std::span<const double> times);

}  // namespace attnscope::measure
