// SPDX-License-Identifier: Apache-2.0
#include "engine/statistics/summary.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include "engine/statistics/bootstrap.h"

namespace attnscope::statistics {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t enough_units = 5;

bool before(const Observation& x, const Observation& y) {
  return x.placement != y.placement ? x.placement < y.placement : x.round < y.round;
}

/// Finite observations by placement and round.
std::vector<Observation> ordered(std::span<const Observation> observations) {
  std::vector<Observation> finite;
  finite.reserve(observations.size());
  std::copy_if(observations.begin(), observations.end(), std::back_inserter(finite),
               [](const Observation& o) { return std::isfinite(o.time_ns); });
  std::stable_sort(finite.begin(), finite.end(), before);
  return finite;
}

Groups by_placement(std::span<const Observation> sorted) {
  Groups groups;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (i > 0 && sorted[i].placement != sorted[i - 1].placement) groups.begin.push_back(i);
    groups.values.push_back(sorted[i].time_ns);
  }
  if (!sorted.empty()) groups.begin.push_back(sorted.size());
  return groups;
}

/// What can be taken as independent: the placements' medians, or the values of one placement.
std::vector<double> units(const Groups& groups) {
  if (groups.count() < 2) return groups.values;
  std::vector<double> medians;
  for (std::size_t g = 0; g < groups.count(); ++g) {
    medians.push_back(
        median_of({groups.values.begin() + static_cast<std::ptrdiff_t>(groups.begin[g]),
                   groups.values.begin() + static_cast<std::ptrdiff_t>(groups.begin[g + 1])}));
  }
  return medians;
}

std::vector<double> logarithms(std::vector<double> values) {
  for (double& value : values) value = std::log(value);
  return values;
}

/// Squared standard error of the mean.
double squared_error(const std::vector<double>& values) {
  const auto n = static_cast<double>(values.size());
  double mean = 0, squares = 0;
  for (const double value : values) mean += value / n;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return squares / (n - 1) / n;
}

Ratio undefined(bool paired) {
  return {nan, nan, nan, paired, Verdict::no_difference_shown};
}

/// Factor by which few units may be off, from Student's t on their logarithms; NaN when unknown.
double few_units_factor(const std::vector<double>& a, const std::vector<double>& b, bool paired) {
  const std::size_t count = std::min(a.size(), b.size());
  if (count < 2) return nan;
  const std::vector<double> log_a = logarithms(a), log_b = logarithms(b);
  double squared = 0;
  if (paired) {
    std::vector<double> difference(count);
    for (std::size_t i = 0; i < count; ++i) difference[i] = log_a[i] - log_b[i];
    squared = squared_error(difference);
  } else {
    squared = squared_error(log_a) + squared_error(log_b);
  }
  return std::exp(student_t95(static_cast<int>(count) - 1) * std::sqrt(squared));
}

Ratio ratio_of(const Groups& a, const Groups& b, bool paired) {
  if (a.values.empty() || b.values.empty()) return undefined(paired);
  const double median_a = median_of(a.values), median_b = median_of(b.values);
  if (!(median_a > 0) || !(median_b > 0)) return undefined(paired);

  Ratio result{median_a / median_b, nan, nan, paired, Verdict::no_difference_shown};
  const std::vector<double> units_a = units(a), units_b = units(b);
  Interval interval = bootstrap_ratio(a, b, paired);
  if (std::min(units_a.size(), units_b.size()) < enough_units) {
    const double factor = few_units_factor(units_a, units_b, paired);
    if (!std::isfinite(factor)) return result;
    interval.low = std::min(interval.low, result.ratio / factor);
    interval.high = std::max(interval.high, result.ratio * factor);
  }
  // The percentile interval of a median can miss its own estimate by a rank.
  result.low = std::min(interval.low, result.ratio);
  result.high = std::max(interval.high, result.ratio);
  if (result.high < 1) result.verdict = Verdict::faster;
  if (result.low > 1) result.verdict = Verdict::slower;
  return result;
}

}  // namespace

Summary summarise(std::span<const Observation> observations) {
  const Groups groups = by_placement(ordered(observations));
  if (groups.values.empty()) return {};
  const double median = median_of(groups.values);
  const Interval interval = bootstrap_median(groups);
  return {median, std::min(interval.low, median), std::max(interval.high, median),
          static_cast<int>(groups.values.size()), static_cast<int>(groups.count())};
}

std::string_view name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::faster:
      return "faster";
    case Verdict::slower:
      return "slower";
    case Verdict::no_difference_shown:
      return "no difference shown";
  }
  assert(false);
  return "no difference shown";
}

Ratio paired_ratio(std::span<const Observation> a, std::span<const Observation> b) {
  const std::vector<Observation> all_a = ordered(a), all_b = ordered(b);
  std::vector<Observation> shared_a, shared_b;
  for (std::size_t i = 0, j = 0; i < all_a.size() && j < all_b.size();) {
    if (before(all_a[i], all_b[j])) {
      ++i;
    } else if (before(all_b[j], all_a[i])) {
      ++j;
    } else {
      shared_a.push_back(all_a[i++]);
      shared_b.push_back(all_b[j++]);
    }
  }
  if (shared_a.empty()) return unpaired_ratio(a, b);
  return ratio_of(by_placement(shared_a), by_placement(shared_b), true);
}

Ratio unpaired_ratio(std::span<const Observation> a, std::span<const Observation> b) {
  return ratio_of(by_placement(ordered(a)), by_placement(ordered(b)), false);
}

std::vector<bool> outliers(std::span<const Observation> observations) {
  const std::vector<Observation> sorted = ordered(observations);
  const Groups groups = by_placement(sorted);
  std::vector<std::pair<int, double>> centre;  // placement, its median; ascending
  std::vector<double> deviations;              // of placements that have more than one sample
  for (std::size_t g = 0; g < groups.count(); ++g) {
    const std::size_t first = groups.begin[g], last = groups.begin[g + 1];
    const double median = median_of({groups.values.begin() + static_cast<std::ptrdiff_t>(first),
                                     groups.values.begin() + static_cast<std::ptrdiff_t>(last)});
    centre.emplace_back(sorted[first].placement, median);
    for (std::size_t i = first; i < last && last - first > 1; ++i) {
      deviations.push_back(std::abs(groups.values[i] - median));
    }
  }
  // 0.6745 and 1.2533 make either scale estimate the standard deviation of a normal sample; the
  // mean deviation steps in when more than half of the values are equal.
  double scale = deviations.empty() ? 0 : median_of(deviations) / 0.6745;
  if (!(scale > 0)) {
    scale = 0;
    for (const double d : deviations) scale += 1.2533 * d / static_cast<double>(deviations.size());
  }
  std::vector<bool> flags;
  flags.reserve(observations.size());
  for (const Observation& o : observations) {
    if (!std::isfinite(o.time_ns)) {
      flags.push_back(true);
      continue;
    }
    const auto own = std::lower_bound(centre.begin(), centre.end(), o.placement,
                                      [](const auto& c, int p) { return c.first < p; });
    flags.push_back(scale > 0 && std::abs(o.time_ns - own->second) / scale > 3.5);
  }
  return flags;
}

}  // namespace attnscope::statistics
