// SPDX-License-Identifier: Apache-2.0
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

/// Of values that are logarithms: the estimate from the placements' medians. A single placement's
/// rounds add their own error; of a single round nothing is known, and the half-width is NaN.
Estimate estimate_of(const std::vector<Placement>& placements) {
  std::vector<Unit> units;
  units.reserve(placements.size());
  for (const Placement& placement : placements) {
    units.push_back({placement.process, median_of(placement.values)});
  }
  Estimate result = estimate(units);
  if (placements.size() == 1) {
    const double rounds = student_half_width(placements.front().values);
    result.half_width = std::isfinite(rounds) ? std::hypot(result.half_width, rounds) : nan;
  }
  return result;
}

Ratio ratio_from(double log_ratio, double half_width, bool paired) {
  Ratio result{std::exp(log_ratio), nan, nan, paired, Verdict::no_difference_shown};
  if (!std::isfinite(half_width)) return result;
  result.low = std::exp(log_ratio - half_width);
  result.high = std::exp(log_ratio + half_width);
  if (result.high < 1) result.verdict = Verdict::faster;
  if (result.low > 1) result.verdict = Verdict::slower;
  return result;
}

/// Times become their logarithms; false when one has none.
bool take_logarithms(std::vector<Observation>& observations) {
  for (Observation& o : observations) {
    if (!(o.time_ns > 0)) return false;
    o.time_ns = std::log(o.time_ns);
  }
  return !observations.empty();
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

Ratio paired_ratio(std::span<const Observation> a, std::span<const Observation> b) {
  Pairs shared = shared_rounds(a, b);
  if (shared.a.empty()) return unpaired_ratio(a, b);
  if (!take_logarithms(shared.a) || !take_logarithms(shared.b)) return undefined(true);
  bool is_one_cell = true;
  for (std::size_t i = 0; i < shared.a.size(); ++i) {
    shared.a[i].time_ns -= shared.b[i].time_ns;
    is_one_cell = is_one_cell && shared.a[i].time_ns == 0;
  }
  if (is_one_cell) return {1, 1, 1, true, Verdict::no_difference_shown};
  const Estimate found = estimate_of(by_placement(shared.a));
  return ratio_from(found.mean, found.half_width, true);
}

Ratio unpaired_ratio(std::span<const Observation> a, std::span<const Observation> b,
                     const BetweenRuns& between) {
  std::vector<Observation> log_a = ordered(a), log_b = ordered(b);
  if (!take_logarithms(log_a) || !take_logarithms(log_b)) return undefined(false);
  const Estimate of_a = estimate_of(by_placement(log_a)), of_b = estimate_of(by_placement(log_b));
  const double own = std::hypot(of_a.half_width, of_b.half_width);
  return ratio_from(of_a.mean - of_b.mean,
                    std::hypot(own, 1.959964 * between.spread) + between.shift, false);
}

}  // namespace attnscope::statistics
