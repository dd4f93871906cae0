#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// When a contender has been sampled enough at one placement: when its own median and its ratio to
// the heat's reference, taken within rounds, are known well enough, or its time is up. The
// reference is the heat's first contender that is measured. Nothing here resamples: the intervals
// are order statistics of values that are kept in order, so that a round costs a search and a short
// move for each contender.

#include <span>
#include <vector>

#include "engine/heat/heat.h"

namespace attnscope::measure {

/// A cell's stop rule, shared out over its placements.
struct PlacementRule {
  double relative_interval = 0;  // of the median
  // Of the ratio; half as wide, since a difference shows only when it exceeds what ratios of
  // several placements differ by, not what a reader of medians can bear.
  double ratio_interval = 0;
  double seconds = 0;       // a contender's own time at this placement
  int settled_samples = 3;  // before the interval may end it
  int least_samples = 1;    // before the time may end it: 3 over the whole cell
};
[[nodiscard]] PlacementRule placement_rule(const StopRule& rule);

/// Values in ascending order.
class OrderedValues {
 public:
  void add(double value);
  [[nodiscard]] int count() const { return static_cast<int>(values_.size()); }
  /// Half-width of the median's 95% interval from order statistics (the binomial interval; below 6
  /// values it is their whole range). +inf without values.
  [[nodiscard]] double half_width() const;
  /// The same over the median, +inf unless that is positive.
  [[nodiscard]] double relative_half_width() const;

 private:
  std::vector<double> values_;
};

/// What is known of one contender at one placement so far.
class SampledSoFar {
 public:
  void add(double time_ns) { times_.add(time_ns); }
  /// Of a round that the reference was in too.
  void add_pair(double time_ns, double reference_ns);

  [[nodiscard]] int samples() const { return times_.count(); }
  [[nodiscard]] bool knows_median(const PlacementRule& rule) const;
  [[nodiscard]] bool knows_ratio(const PlacementRule& rule) const;

 private:
  OrderedValues times_;
  OrderedValues log_ratios_;
};

}  // namespace attnscope::measure
