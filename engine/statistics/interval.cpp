// SPDX-License-Identifier: Apache-2.0
#include "engine/statistics/interval.h"

#include <algorithm>
#include <array>
#include <boost/math/distributions/students_t.hpp>
#include <cassert>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <vector>

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

namespace {

/// Squared standard error of the median of these values (from their median absolute deviation); 0
/// for a single value.
double squared_error_of_median(const std::vector<double>& values) {
  if (values.size() < 2) return 0;
  const double middle = median_of(values);
  std::vector<double> deviations;
  deviations.reserve(values.size());
  for (const double value : values) deviations.push_back(std::abs(value - middle));
  // Division by 0.6745 scales the median deviation to the standard deviation of a normal sample,
  // whose median has 1.2533 times the error of its mean.
  const double error = 1.2533 * median_of(std::move(deviations)) / 0.6745;
  return error * error / static_cast<double>(values.size());
}

}  // namespace

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

double mean_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double squares_around(std::span<const double> values, double centre) {
  double squares = 0;
  for (const double value : values) squares += (value - centre) * (value - centre);
  return squares;
}

namespace {

/// Two-sided 95% quantile of Student's t.
double student_t95(int degrees) {
  assert(degrees >= 1);
  constexpr std::array<double, 4> few{12.7062, 4.30265, 3.18245, 2.77645};
  if (degrees <= 4) return few[static_cast<std::size_t>(degrees - 1)];
  // Cornish-Fisher expansion around the normal quantile; within 0.001 from five degrees on.
  constexpr double z = 1.959964, z3 = z * z * z, z5 = z3 * z * z;
  const double v = degrees;
  return z + (z3 + z) / (4 * v) + (5 * z5 + 16 * z3 + 3 * z) / (96 * v * v) +
         (3 * z5 * z * z + 19 * z5 + 17 * z3 - 15 * z) / (384 * v * v * v);
}

/// Prior knowledge, counted as this many additional values with this sum of squared deviations.
struct PriorValues {
  int count = 0;
  double squares = 0;
};

/// `share` is the variance of the mean divided by that of a value.
double half_width_with_prior(std::span<const double> values, const PriorValues& more,
                             double share) {
  const int degrees = static_cast<int>(values.size()) - 1 + more.count;
  const double squares = squares_around(values, mean_of(values)) + more.squares;
  return student_t95(degrees) * std::sqrt(squares / degrees * share);
}

}  // namespace

double student_half_width(std::span<const double> values) {
  if (values.size() < 2) return std::numeric_limits<double>::infinity();
  const auto n = static_cast<double>(values.size());
  const double variance = squares_around(values, mean_of(values)) / (n - 1);
  return student_t95(static_cast<int>(values.size()) - 1) * std::sqrt(variance / n);
}

Estimate estimate(std::span<const Unit> units, const PooledSpread& pooled) {
  assert(!units.empty());
  std::vector<double> values, process_means;
  double shared = 0;  // sum over processes of (its placements / all placements)^2
  double squared_error = 0;
  const auto n = static_cast<double>(units.size());
  for (std::size_t begin = 0; begin < units.size();) {
    std::size_t end = begin;
    double sum = 0;
    for (; end < units.size() && units[end].process == units[begin].process; ++end) {
      values.push_back(units[end].value);
      sum += units[end].value;
      squared_error += units[end].squared_error / n;
    }
    const auto size = static_cast<double>(end - begin);
    process_means.push_back(sum / size);
    shared += size / n * (size / n);
    begin = end;
  }
  const double presumed = pooled.presumed * pooled.presumed + squared_error;
  double half_width = half_width_with_prior(
      values, {1 + pooled.units, presumed * (1 + pooled.units * pooled.inflation)},
      1 / n + presumed_process_share * shared);
  if (pooled.units == 0 && values.size() > 1)
    half_width = std::max(half_width, student_half_width(values));
  if (process_means.size() > 1) {
    const auto processes = static_cast<double>(process_means.size());
    half_width = std::max(
        half_width, half_width_with_prior(
                        process_means, {2, 2 * presumed_process_spread * presumed_process_spread},
                        1 / processes));
  }
  return {.mean = mean_of(values), .half_width = half_width};
}

Estimate estimate_with_rounds(std::span<const Unit> units, std::span<const double> rounds,
                              const PooledSpread& pooled) {
  if (units.size() > 1) return estimate(units, pooled);
  const Unit unit{.process = units.front().process, .value = units.front().value};
  Estimate result = estimate(std::span(&unit, 1), pooled);
  const double own = student_half_width(rounds);
  result.half_width = std::isfinite(own) ? std::hypot(result.half_width, own)
                                         : std::numeric_limits<double>::quiet_NaN();
  return result;
}

Estimate time_of(const std::vector<Placement>& placements, const HeatBasis& basis) {
  return estimate_with_rounds(units_of(placements, basis), placements.front().values, basis.times);
}

double beyond_rounds_of(std::size_t placements) {
  return placements == 1 ? 0.185 : placements == 2 ? 0.08 : 0.05;
}

void ObservedRange::add(double value) {
  observed_.low = std::min(observed_.low, value);
  observed_.high = std::max(observed_.high, value);
}

Interval ObservedRange::within(const Estimate& estimate, double beyond) const {
  if (!std::isfinite(estimate.half_width))
    return {.low = estimate.half_width, .high = estimate.half_width};
  const Interval bounds{.low = std::min(observed_.low, estimate.mean) - beyond,
                        .high = std::max(observed_.high, estimate.mean) + beyond};
  return {.low = std::max(bounds.low, estimate.mean - estimate.half_width),
          .high = std::min(bounds.high, estimate.mean + estimate.half_width)};
}

PairedTests test_paired(std::span<const double> reference, std::span<const double> system,
                        const PairedQuestion& question) {
  assert(reference.size() == system.size());
  std::vector<double> differences(system.size());
  std::ranges::transform(system, reference, differences.begin(), std::minus());
  const auto n = static_cast<double>(differences.size());
  PairedTests tests{.n = static_cast<std::int64_t>(differences.size())};
  if (differences.empty()) return tests;
  for (const double difference : differences) tests.difference += difference;
  tests.difference /= n;
  if (differences.size() < 2) return tests;
  tests.without_test = std::ranges::count(differences, differences.front()) == tests.n;
  if (tests.without_test) {
    tests.difference = differences.front();
    tests.equivalent = std::fabs(tests.difference) < question.margin;
    return tests;
  }
  double squares = 0;
  for (const double difference : differences)
    squares += (difference - tests.difference) * (difference - tests.difference);
  const double error = std::sqrt(squares / (n - 1) / n);  // standard error of the mean
  const boost::math::students_t student(n - 1);
  const double above = (tests.difference + question.margin) / error;
  const double below = (tests.difference - question.margin) / error;
  tests.p_equivalence = std::max(cdf(complement(student, above)), cdf(student, below));
  tests.p_difference = 2 * cdf(complement(student, std::fabs(tests.difference / error)));
  tests.equivalent = *tests.p_equivalence < question.alpha;
  const auto interval = [&](double alpha) {
    const double half = quantile(complement(student, alpha)) * error;
    return PairedTests::Interval{tests.difference - half, tests.difference + half};
  };
  constexpr double of_90_percent = 0.05;
  tests.interval90 = interval(of_90_percent);
  tests.interval_alpha = interval(question.alpha);
  return tests;
}

}  // namespace attnscope::statistics
