// SPDX-License-Identifier: Apache-2.0
#include "engine/measure/stop_rule.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace attnscope::measure {
namespace {

int share(int count, int placements) {
  return (count + placements - 1) / placements;
}

}  // namespace

PlacementRule placement_rule(const StopRule& rule) {
  const int placements = std::max(rule.placements, 1);
  return {.relative_interval = rule.relative_interval,
          .seconds = rule.max_seconds / placements,
          .settled_samples = std::max(3, share(rule.min_samples, placements)),
          .least_samples = share(3, placements)};
}

double relative_half_width(std::span<const double> times) {
  if (times.empty()) return std::numeric_limits<double>::infinity();
  std::vector<double> sorted(times.begin(), times.end());
  std::sort(sorted.begin(), sorted.end());
  const auto n = static_cast<double>(sorted.size());
  const double reach = 1.96 * std::sqrt(n);
  const double last = n - 1;
  // Ranks (n -+ 1.96 sqrt(n)) / 2, counted from 1, rounded outwards.
  const double low = std::clamp(std::floor((n - reach) / 2) - 1, 0.0, last);
  const double high = std::clamp(std::ceil((n + reach) / 2), 0.0, last);
  const double middle = (sorted[sorted.size() / 2] + sorted[(sorted.size() - 1) / 2]) / 2;
  if (middle <= 0) return std::numeric_limits<double>::infinity();
  return (sorted[static_cast<std::size_t>(high)] - sorted[static_cast<std::size_t>(low)]) / 2 /
         middle;
}

}  // namespace attnscope::measure
