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

/// Differences of the placements that both sides have; `rounds` are their differences in shared
/// rounds, in which common disturbances cancel.
std::vector<Unit> differences(const std::vector<Unit>& a, const std::vector<Unit>& b,
                              std::vector<Unit> rounds) {
  for (Unit& both : rounds) {
    both.value = std::ranges::find(a, both.number, &Unit::number)->value -
                 std::ranges::find(b, both.number, &Unit::number)->value;
  }
  return rounds;
}

/// Logarithm of the reported time.
double mean_of_values(const std::vector<Unit>& units) {
  double sum = 0;
  for (const Unit& unit : units) sum += unit.value;
  return sum / static_cast<double>(units.size());
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
  const std::vector<Placement> rounds = by_placement(shared.a);
  const std::vector<Unit> of_a = units_of(by_placement(log_a), basis),
                          of_b = units_of(by_placement(log_b), basis),
                          apart = differences(of_a, of_b, units_of(rounds, basis));
  Estimate found = estimate_with_rounds(apart, rounds.front().values, basis.ratios);
  found.mean = mean_of_values(of_a) - mean_of_values(of_b);
  return ratio_from(found.mean, seen.within(found, beyond_rounds_of(apart.size())), true);
}

Ratio unpaired_ratio(std::span<const Observation> a, std::span<const Observation> b,
                     const BetweenRuns& between, const HeatBasis& basis_a,
                     const HeatBasis& basis_b) {
  const std::vector<Placement> of_a = by_placement(counted_logarithms(a, basis_a)),
                               of_b = by_placement(counted_logarithms(b, basis_b));
  if (of_a.empty() || of_b.empty()) return undefined(false);
  const Estimate log_a = time_of(of_a, basis_a), log_b = time_of(of_b, basis_b);
  const double own = std::hypot(log_a.half_width, log_b.half_width);
  return ratio_from(
      log_a.mean - log_b.mean,
      around({.mean = log_a.mean - log_b.mean,
              .half_width = std::hypot(own, 1.959964 * between.spread) + between.shift}),
      false);
}

}  // namespace attnscope::statistics
