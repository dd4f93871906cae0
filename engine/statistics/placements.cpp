// SPDX-License-Identifier: Apache-2.0
#include "engine/statistics/placements.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace attnscope::statistics {
namespace {

bool before(const Observation& x, const Observation& y) {
  return x.placement != y.placement ? x.placement < y.placement : x.round < y.round;
}

}  // namespace

bool counts(const Observation& o, const HeatBasis& basis) {
  if (!std::isfinite(o.time_ns)) return false;
  return !basis.without_disturbed ||
         (!o.disturbed && std::ranges::binary_search(basis.placements, o.placement));
}

std::vector<Observation> ordered(std::span<const Observation> observations) {
  std::vector<Observation> finite;
  finite.reserve(observations.size());
  std::copy_if(observations.begin(), observations.end(), std::back_inserter(finite),
               [](const Observation& o) { return std::isfinite(o.time_ns); });
  // They are usually already in measuring order.
  if (!std::is_sorted(finite.begin(), finite.end(), before)) {
    std::stable_sort(finite.begin(), finite.end(), before);
  }
  return finite;
}

std::vector<Placement> by_placement(std::span<const Observation> sorted) {
  std::vector<Placement> placements;
  for (const Observation& o : sorted) {
    if (placements.empty() || placements.back().number != o.placement) {
      placements.push_back({.process = o.process, .number = o.placement, .values = {}});
    }
    placements.back().values.push_back(o.time_ns);
  }
  return placements;
}

Pairs shared_rounds(std::span<const Observation> a, std::span<const Observation> b) {
  const std::vector<Observation> all_a = ordered(a), all_b = ordered(b);
  Pairs shared;
  for (std::size_t i = 0, j = 0; i < all_a.size() && j < all_b.size();) {
    if (before(all_a[i], all_b[j])) {
      ++i;
    } else if (before(all_b[j], all_a[i])) {
      ++j;
    } else {
      shared.a.push_back(all_a[i++]);
      shared.b.push_back(all_b[j++]);
    }
  }
  return shared;
}

double median_of(std::vector<double> values) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*std::max_element(values.begin(), middle) + *middle) / 2;
}

double quantile_of(std::vector<double> values, double share) {
  const double place = share * static_cast<double>(values.size() - 1);
  const auto below = values.begin() + static_cast<std::ptrdiff_t>(place);
  std::nth_element(values.begin(), below, values.end());
  if (below + 1 == values.end()) return *below;
  return std::lerp(*below, *std::min_element(below + 1, values.end()), place - std::floor(place));
}

double squared_error_of_median(const std::vector<double>& values) {
  if (values.size() < 2) return 0;
  const double middle = median_of(values);
  std::vector<double> deviations;
  deviations.reserve(values.size());
  for (const double value : values) deviations.push_back(std::abs(value - middle));
  // The factor 0.6745 scales it to the standard deviation of a normal sample, whose median has
  // 1.2533 times the error of its mean.
  const double error = 1.2533 * median_of(std::move(deviations)) / 0.6745;
  return error * error / static_cast<double>(values.size());
}

std::vector<Unit> units_of(const std::vector<Placement>& placements, const HeatBasis& basis) {
  std::vector<Unit> units;
  units.reserve(placements.size());
  for (const Placement& placement : placements) {
    units.push_back({.process = placement.process,
                     .number = placement.number,
                     .value = basis.is_disturbed ? quantile_of(placement.values, 0.25)
                                                 : median_of(placement.values),
                     .squared_error = squared_error_of_median(placement.values)});
  }
  return units;
}

std::vector<Observation> counted_logarithms(std::span<const Observation> observations,
                                            const HeatBasis& basis) {
  std::vector<Observation> counted;
  for (Observation o : observations) {
    if (!counts(o, basis)) continue;
    if (!(o.time_ns > 0)) return {};
    o.time_ns = std::log(o.time_ns);
    counted.push_back(o);
  }
  return ordered(counted);
}

}  // namespace attnscope::statistics
