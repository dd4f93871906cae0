#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Observations in measuring order, split by placement.

#include <span>
#include <vector>

#include "engine/statistics/observation.h"

namespace attnscope::statistics {

/// The values of one placement, by round.
struct Placement {
  int process = 0;
  int number = 0;
  std::vector<double> values;
};

/// Summary of a placement, as logarithms, so that spreads are relative.
struct Unit {
  int process = 0;
  int number = 0;
  double value = 0;
  double squared_error = 0;  // variance left by its rounds
};
/// The median of each placement's rounds, or the lower quartile where they were disturbed, because
/// disturbances only ever increase times.
[[nodiscard]] std::vector<Unit> units_of(const std::vector<Placement>& placements,
                                         const HeatBasis& basis);

/// Finite observations, sorted by placement and round.
[[nodiscard]] std::vector<Observation> ordered(std::span<const Observation> observations);
/// Splits ordered observations.
[[nodiscard]] std::vector<Placement> by_placement(std::span<const Observation> sorted);

/// The observations of both sides with a common placement and round, in the same order.
struct Pairs {
  std::vector<Observation> a, b;
};
[[nodiscard]] Pairs shared_rounds(std::span<const Observation> a, std::span<const Observation> b);

/// Mean of the two middle values for even counts; NaN for none. All values must be finite.
[[nodiscard]] double median_of(std::vector<double> values);
/// The quantile for `share`, 0 to 1, interpolated between neighbouring values. `values` must not be
/// empty.
[[nodiscard]] double quantile_of(std::vector<double> values, double share);

/// Whether times are based on this observation.
[[nodiscard]] bool counts(const Observation& o, const HeatBasis& basis);
/// The counted observations, ordered, with logarithms of their times; empty when a time is not
/// positive.
[[nodiscard]] std::vector<Observation> counted_logarithms(std::span<const Observation> observations,
                                                          const HeatBasis& basis);

/// Squared standard error of the median of these values (from their median absolute deviation); 0
/// for a single value.
[[nodiscard]] double squared_error_of_median(const std::vector<double>& values);

}  // namespace attnscope::statistics
