// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include "engine/statistics/interval.h"
#include "engine/statistics/placements.h"
#include "engine/statistics/summary.h"

namespace attnscope::statistics {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

Ratio undefined(bool paired) {
  return {nan, nan, nan, paired, Verdict::no_difference_shown};
}

Ratio ratio_from(double log_ratio, const Interval& interval, bool paired) {
  Ratio result{std::exp(log_ratio), nan, nan, paired, Verdict::no_difference_shown};
  if (!std::isfinite(interval.low) || !std::isfinite(interval.high)) return result;
  result.low = std::exp(interval.low);
  result.high = std::exp(interval.high);
  if (result.high < 1) result.verdict = Verdict::faster;
  if (result.low > 1) result.verdict = Verdict::slower;
  return result;
}

/// How far the medians of placements that both have are apart; `rounds` are those placements'
/// differences in the rounds that both have, in which what hits both sides cancels.
std::vector<Unit> differences(const std::vector<Placement>& a, const std::vector<Placement>& b,
                              const std::vector<Placement>& rounds) {
  const auto median_in = [](const std::vector<Placement>& side, int number) {
    return median_of(std::ranges::find(side, number, &Placement::number)->values);
  };
  std::vector<Unit> found;
  found.reserve(rounds.size());
  for (const Placement& both : rounds) {
    found.push_back({.process = both.process,
                     .value = median_in(a, both.number) - median_in(b, both.number),
                     .squared_error = squared_error_of_median(both.values)});
  }
  return found;
}

/// The shown time's logarithm.
double mean_of_medians(const std::vector<Placement>& placements) {
  double sum = 0;
  for (const Placement& placement : placements) sum += median_of(placement.values);
  return sum / static_cast<double>(placements.size());
}

Interval around(const Estimate& estimate) {
  return {.low = estimate.mean - estimate.half_width, .high = estimate.mean + estimate.half_width};
}

}  // namespace

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

bool is_known(const Ratio& ratio) {
  return ratio.low > 0 && ratio.high <= widest_known * ratio.low;
}

Ratio paired_ratio(std::span<const Observation> a, std::span<const Observation> b,
                   const HeatBasis& basis) {
  const std::vector<Observation> log_a = counted_logarithms(a, basis),
                                 log_b = counted_logarithms(b, basis);
  Pairs shared = shared_rounds(log_a, log_b);
  if (shared.a.empty()) return unpaired_ratio(a, b, {}, basis, basis);
  Seen seen;
  bool is_one_cell = log_a.size() == shared.a.size() && log_b.size() == shared.a.size();
  for (std::size_t i = 0; i < shared.a.size(); ++i) {
    double& difference = shared.a[i].time_ns;
    difference -= shared.b[i].time_ns;
    seen.add(difference);
    is_one_cell = is_one_cell && difference == 0;
  }
  if (is_one_cell) return {1, 1, 1, true, Verdict::no_difference_shown};
  const std::vector<Placement> of_a = by_placement(log_a), of_b = by_placement(log_b),
                               rounds = by_placement(shared.a);
  const std::vector<Unit> units = differences(of_a, of_b, rounds);
  Estimate found = estimate_with_rounds(units, rounds.front().values, basis.ratios);
  found.mean = mean_of_medians(of_a) - mean_of_medians(of_b);
  const double beyond = units.size() > 1 ? little_beyond : placement_beyond;
  return ratio_from(found.mean, seen.within(found, beyond), true);
}

Ratio unpaired_ratio(std::span<const Observation> a, std::span<const Observation> b,
                     const BetweenRuns& between, const HeatBasis& basis_a,
                     const HeatBasis& basis_b) {
  const std::vector<Placement> of_a = by_placement(counted_logarithms(a, basis_a)),
                               of_b = by_placement(counted_logarithms(b, basis_b));
  if (of_a.empty() || of_b.empty()) return undefined(false);
  const Estimate log_a = estimate_of(of_a, basis_a.times), log_b = estimate_of(of_b, basis_b.times);
  const double own = std::hypot(log_a.half_width, log_b.half_width);
  return ratio_from(
      log_a.mean - log_b.mean,
      around({.mean = log_a.mean - log_b.mean,
              .half_width = std::hypot(own, 1.959964 * between.spread) + between.shift}),
      false);
}

}  // namespace attnscope::statistics
