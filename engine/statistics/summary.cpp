// SPDX-License-Identifier: Apache-2.0
#include "engine/statistics/summary.h"

#include <cmath>

#include "engine/statistics/interval.h"
#include "engine/statistics/placements.h"

namespace attnscope::statistics {
namespace {

constexpr double beyond_rounds = 0.05;

}  // namespace

Summary summarise(std::span<const Observation> observations, const HeatBasis& basis) {
  const std::vector<Placement> placements = by_placement(counted_logarithms(observations, basis));
  if (placements.empty()) return {};
  Summary summary{.placements = static_cast<int>(placements.size())};
  Seen seen;
  for (const Placement& placement : placements) {
    summary.samples += static_cast<int>(placement.values.size());
    for (const double value : placement.values) seen.add(value);
  }
  const Estimate time = time_of(placements, basis);
  summary.median_ns = summary.low_ns = summary.high_ns = std::exp(time.mean);
  const Interval interval = seen.within(time, beyond_rounds);
  if (std::isfinite(interval.low)) {
    summary.low_ns = std::exp(interval.low);
    summary.high_ns = std::exp(interval.high);
  }
  return summary;
}

}  // namespace attnscope::statistics
