#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Observations in their order of measuring, cut where the placement changes.

#include <span>
#include <vector>

#include "engine/statistics/heat_basis.h"

namespace attnscope::statistics {

/// The values of one placement, by round.
struct Placement {
  int process = 0;
  int number = 0;
  std::vector<double> values;
};

/// What a placement says: logarithms, so that spreads are relative.
struct Unit {
  int process = 0;
  int number = 0;
  double value = 0;
  double squared_error = 0;  // what its rounds leave open
};
/// By the median of each one's rounds; by their lower quartile where others held them up, since
/// that only ever takes longer.
[[nodiscard]] std::vector<Unit> units_of(const std::vector<Placement>& placements,
                                         const HeatBasis& basis);

/// Finite observations by placement and round.
[[nodiscard]] std::vector<Observation> ordered(std::span<const Observation> observations);
/// Of ordered observations.
[[nodiscard]] std::vector<Placement> by_placement(std::span<const Observation> sorted);

/// The observations of both sides that share placement and round, in one order.
struct Pairs {
  std::vector<Observation> a, b;
};
[[nodiscard]] Pairs shared_rounds(std::span<const Observation> a, std::span<const Observation> b);

/// Mean of the two middle values for even counts; NaN for none. All values must be finite.
[[nodiscard]] double median_of(std::vector<double> values);
/// The value that a share of them, 0 to 1, lies below: between those beside it where it falls
/// between two. Precondition: a value.
[[nodiscard]] double quantile_of(std::vector<double> values, double share);

/// Whether times rest on it.
[[nodiscard]] bool counts(const Observation& o, const HeatBasis& basis);
/// Those that count, ordered, with logarithms of their times; empty when one is not positive.
[[nodiscard]] std::vector<Observation> counted_logarithms(std::span<const Observation> observations,
                                                          const HeatBasis& basis);

/// Squared standard error of a median of these values (from their median absolute deviation); 0 of
/// a single one.
[[nodiscard]] double squared_error_of_median(const std::vector<double>& values);

}  // namespace attnscope::statistics
