// SPDX-License-Identifier: Apache-2.0
#include "engine/statistics/between_runs.h"

#include <algorithm>
#include <cmath>

#include "engine/statistics/placements.h"

namespace attnscope::statistics {

BetweenRuns between_runs(std::span<const Ratio> ratios, double machine_moved) {
  std::vector<double> logarithms, own;
  for (const Ratio& ratio : ratios) {
    if (!(ratio.ratio > 0) || !std::isfinite(ratio.ratio)) continue;
    logarithms.push_back(std::log(ratio.ratio));
    const double half_width = std::log(ratio.high / ratio.ratio);
    if (std::isfinite(half_width)) own.push_back(half_width / 1.959964);
  }
  if (logarithms.empty()) return {.shift = 0, .spread = least_cell_shift};
  const double centre = median_of(logarithms);
  for (double& value : logarithms) value = std::abs(value - centre);
  // The factor 0.6745 scales the median absolute deviation to the standard deviation of a normal
  // sample.
  const double around = median_of(std::move(logarithms)) / 0.6745;
  const double explained = own.empty() ? 0 : median_of(std::move(own));
  const double beyond = std::sqrt(std::max(0.0, around * around - explained * explained));
  const double allowed = std::clamp(machine_moved, least_machine_shift, most_machine_shift);
  return {.shift = std::min(std::abs(centre), allowed),
          .spread = std::max(beyond, least_cell_shift)};
}

}  // namespace attnscope::statistics
