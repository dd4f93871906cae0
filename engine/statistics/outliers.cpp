// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "engine/statistics/placements.h"
#include "engine/statistics/summary.h"

namespace attnscope::statistics {

std::vector<bool> outliers(std::span<const Observation> observations) {
  const std::vector<Placement> placements = by_placement(ordered(observations));
  std::vector<double> centre;      // median of each placement
  std::vector<double> deviations;  // placements with more than one sample
  for (const Placement& placement : placements) {
    centre.push_back(median_of(placement.values));
    if (placement.values.size() < 2) continue;
    for (const double value : placement.values) {
      deviations.push_back(std::abs(value - centre.back()));
    }
  }
  // The factors 0.6745 and 1.2533 scale either estimate to the standard deviation of a normal
  // sample; the mean deviation is used when more than half of the values are equal.
  double scale = deviations.empty() ? 0 : median_of(deviations) / 0.6745;
  if (!(scale > 0)) {
    scale = 0;
    for (const double d : deviations) scale += 1.2533 * d / static_cast<double>(deviations.size());
  }
  std::vector<bool> flags;
  flags.reserve(observations.size());
  for (const Observation& o : observations) {
    if (!std::isfinite(o.time_ns)) {
      flags.push_back(true);
      continue;
    }
    const auto own = std::ranges::lower_bound(placements, o.placement, {}, &Placement::number);
    const double middle = centre[static_cast<std::size_t>(own - placements.begin())];
    flags.push_back(scale > 0 && std::abs(o.time_ns - middle) / scale > 3.5);
  }
  return flags;
}

}  // namespace attnscope::statistics
