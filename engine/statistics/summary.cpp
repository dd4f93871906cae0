// SPDX-License-Identifier: Apache-2.0
#include "engine/statistics/summary.h"

#include <algorithm>
#include <cmath>

#include "engine/statistics/bootstrap.h"
#include "engine/statistics/placements.h"

namespace attnscope::statistics {

Summary summarise(std::span<const Observation> observations) {
  const std::vector<Placement> placements = by_placement(ordered(observations));
  if (placements.empty()) return {};
  std::vector<double> all, medians;
  for (const Placement& placement : placements) {
    all.insert(all.end(), placement.values.begin(), placement.values.end());
    medians.push_back(median_of(placement.values));
  }
  const int samples = static_cast<int>(all.size());
  const double median = median_of(std::move(all));
  Interval interval = bootstrap_median(placements);
  // The percentile interval of a median can miss its own estimate by a rank.
  interval.low = std::min(interval.low, median);
  interval.high = std::max(interval.high, median);
  const bool have_logarithms = std::ranges::all_of(medians, [](double m) { return m > 0; });
  if (medians.size() > 1 && have_logarithms) {
    for (double& value : medians) value = std::log(value);
    const double factor = std::exp(student_half_width(medians));
    interval.low = std::min(interval.low, median / factor);
    interval.high = std::max(interval.high, median * factor);
  }
  return {median, interval.low, interval.high, samples, static_cast<int>(placements.size())};
}

}  // namespace attnscope::statistics
