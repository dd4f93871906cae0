#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Decides when a contender has enough samples at one placement: when the intervals of its median
// and of its within-round ratio to the heat's reference are narrow enough, or its time has run out.
// The reference is the first contender of the heat that is measured. There is no resampling: the
// intervals are order statistics of sorted values, so that a round costs one search and a short
// move per contender.

#include <span>
#include <vector>

#include "engine/heat/heat.h"

namespace attnscope::measure {

/// A cell's stop rule, divided among its placements.
struct PlacementRule {
  double relative_interval = 0;  // target half-width of the median
  // Width for the ratio; half of the median's, since a difference is detected only when it exceeds
  // the spread of ratios across placements, which is finer than what a reader of medians needs.
  double ratio_interval = 0;
  double seconds = 0;       // sampling time of a contender at this placement
  int settled_samples = 3;  // minimum before the interval may end it
  int least_samples = 1;    // minimum before the time may end it: 3 over the whole cell
};
[[nodiscard]] PlacementRule placement_rule(const StopRule& rule);

/// Values in ascending order.
class OrderedValues {
 public:
  void add(double value);
  [[nodiscard]] int count() const { return static_cast<int>(values_.size()); }
  /// Half-width of the median's 95% interval from order statistics (the binomial interval; for
  /// fewer than 6 values, their full range). +inf without values.
  [[nodiscard]] double half_width() const;
  /// The half-width divided by the median; +inf unless the median is positive.
  [[nodiscard]] double relative_half_width() const;

 private:
  std::vector<double> values_;
};

/// Samples of one contender at one placement so far.
class SampledSoFar {
 public:
  void add(double time_ns) { times_.add(time_ns); }
  /// Adds a sample from a round that also has a sample of the reference.
  void add_pair(double time_ns, double reference_ns);

  [[nodiscard]] int samples() const { return times_.count(); }
  [[nodiscard]] bool knows_median(const PlacementRule& rule) const;
  [[nodiscard]] bool knows_ratio(const PlacementRule& rule) const;

 private:
  OrderedValues times_;
  OrderedValues log_ratios_;
};

}  // namespace attnscope::measure
