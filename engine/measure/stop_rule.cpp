// SPDX-License-Identifier: Apache-2.0
#include "engine/measure/stop_rule.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace attnscope::measure {
namespace {

int share(int count, int placements) {
  return (count + placements - 1) / placements;
}

}  // namespace

PlacementRule placement_rule(const StopRule& rule) {
  const int placements = std::max(rule.placements, 1);
  return {.relative_interval = rule.relative_interval,
          .ratio_interval = rule.relative_interval / 2,
          .seconds = rule.max_seconds / placements,
          .settled_samples = std::max(3, share(rule.min_samples, placements)),
          .least_samples = share(3, placements)};
}

void OrderedValues::add(double value) {
  values_.insert(std::upper_bound(values_.begin(), values_.end(), value), value);
}

double OrderedValues::half_width() const {
  if (values_.empty()) return std::numeric_limits<double>::infinity();
  const auto n = static_cast<double>(values_.size());
  const double reach = 1.96 * std::sqrt(n);
  const double last = n - 1;
  // Ranks (n -+ 1.96 sqrt(n)) / 2, counted from 1, rounded outwards.
  const double low = std::clamp(std::floor((n - reach) / 2) - 1, 0.0, last);
  const double high = std::clamp(std::ceil((n + reach) / 2), 0.0, last);
  return (values_[static_cast<std::size_t>(high)] - values_[static_cast<std::size_t>(low)]) / 2;
}

double OrderedValues::relative_half_width() const {
  if (values_.empty()) return std::numeric_limits<double>::infinity();
  const double middle = (values_[values_.size() / 2] + values_[(values_.size() - 1) / 2]) / 2;
  return middle > 0 ? half_width() / middle : std::numeric_limits<double>::infinity();
}

void SampledSoFar::add_pair(double time_ns, double reference_ns) {
  if (time_ns > 0 && reference_ns > 0) log_ratios_.add(std::log(time_ns / reference_ns));
}

bool SampledSoFar::knows_median(const PlacementRule& rule) const {
  return times_.count() >= rule.settled_samples &&
         times_.relative_half_width() <= rule.relative_interval;
}

bool SampledSoFar::knows_ratio(const PlacementRule& rule) const {
  return log_ratios_.count() >= rule.settled_samples &&
         log_ratios_.half_width() <= rule.ratio_interval;
}

}  // namespace attnscope::measure
