// SPDX-License-Identifier: Apache-2.0
#include "engine/statistics/interval.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <limits>
#include <numeric>

namespace attnscope::statistics {
namespace {

double mean_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double squares_around(std::span<const double> values, double centre) {
  double squares = 0;
  for (const double value : values) squares += (value - centre) * (value - centre);
  return squares;
}

/// Half-width from values and some more of a presumed spread; `share` is the variance of the mean
/// over that of a value.
double with_presumed(std::span<const double> values, int more, double presumed, double share) {
  const int degrees = static_cast<int>(values.size()) - 1 + more;
  const double squares = squares_around(values, mean_of(values)) + more * presumed * presumed;
  return student_t95(degrees) * std::sqrt(squares / degrees * share);
}

}  // namespace

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

double student_half_width(std::span<const double> values) {
  if (values.size() < 2) return std::numeric_limits<double>::infinity();
  const auto n = static_cast<double>(values.size());
  const double variance = squares_around(values, mean_of(values)) / (n - 1);
  return student_t95(static_cast<int>(values.size()) - 1) * std::sqrt(variance / n);
}

Estimate estimate(std::span<const Unit> units) {
  assert(!units.empty());
  std::vector<double> values, process_means;
  double shared = 0;  // sum over processes of (placements of it / all placements)^2
  const auto n = static_cast<double>(units.size());
  for (std::size_t begin = 0; begin < units.size();) {
    std::size_t end = begin;
    double sum = 0;
    for (; end < units.size() && units[end].process == units[begin].process; ++end) {
      values.push_back(units[end].value);
      sum += units[end].value;
    }
    const auto size = static_cast<double>(end - begin);
    process_means.push_back(sum / size);
    shared += size / n * (size / n);
    begin = end;
  }
  double half_width =
      with_presumed(values, 1, presumed_placement_spread, 1 / n + presumed_process_share * shared);
  if (values.size() > 1) half_width = std::max(half_width, student_half_width(values));
  if (process_means.size() > 1) {
    const auto processes = static_cast<double>(process_means.size());
    half_width = std::max(half_width,
                          with_presumed(process_means, 2, presumed_process_spread, 1 / processes));
  }
  return {.mean = mean_of(values), .half_width = half_width};
}

}  // namespace attnscope::statistics
