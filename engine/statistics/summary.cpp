// SPDX-License-Identifier: Apache-2.0
#include "engine/statistics/summary.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <set>

#include "engine/statistics/interval.h"

namespace attnscope::statistics {
namespace {

constexpr double beyond_rounds = 0.05;

}  // namespace

Summary summarise(std::span<const Observation> observations, const HeatBasis& basis) {
  const std::vector<Placement> placements = by_placement(counted_logarithms(observations, basis));
  if (placements.empty()) return {};
  Summary summary{.placements = static_cast<int>(placements.size())};
  ObservedRange observed;
  for (const Placement& placement : placements) {
    summary.samples += static_cast<int>(placement.values.size());
    for (const double value : placement.values) observed.add(value);
  }
  const Estimate time = time_of(placements, basis);
  summary.median_ns = summary.low_ns = summary.high_ns = std::exp(time.mean);
  const Interval interval = observed.within(time, beyond_rounds);
  if (std::isfinite(interval.low)) {
    summary.low_ns = std::exp(interval.low);
    summary.high_ns = std::exp(interval.high);
  }
  return summary;
}

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
  ObservedRange observed;
  bool is_one_cell = log_a.size() == shared.a.size() && log_b.size() == shared.a.size();
  for (std::size_t i = 0; i < shared.a.size(); ++i) {
    double& difference = shared.a[i].time_ns;
    difference -= shared.b[i].time_ns;
    observed.add(difference);
    is_one_cell = is_one_cell && difference == 0;
  }
  if (is_one_cell) return {1, 1, 1, true, Verdict::no_difference_shown};
  const std::vector<Placement> rounds = by_placement(shared.a);
  const std::vector<Unit> of_a = units_of(by_placement(log_a), basis),
                          of_b = units_of(by_placement(log_b), basis),
                          apart = differences(of_a, of_b, units_of(rounds, basis));
  Estimate found = estimate_with_rounds(apart, rounds.front().values, basis.ratios);
  found.mean = mean_of_values(of_a) - mean_of_values(of_b);
  return ratio_from(found.mean, observed.within(found, beyond_rounds_of(apart.size())), true);
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

std::vector<bool> outliers(std::span<const Observation> observations) {
  const std::vector<Placement> placements = by_placement(ordered(observations));
  std::vector<double> centre;      // median of each placement
  std::vector<double> deviations;  // placements with more than one sample
  for (const Placement& placement : placements) {
    centre.push_back(median_of(placement.values));
    if (placement.values.size() < 2) continue;
    for (const double value : placement.values) {
      deviations.push_back(std::abs(value - centre.back()));
    }
  }
  // The factors 0.6745 and 1.2533 scale either estimate to the standard deviation of a normal
  // sample; the mean deviation is used when more than half of the values are equal.
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
    const auto own = std::ranges::lower_bound(placements, o.placement, {}, &Placement::number);
    const double middle = centre[static_cast<std::size_t>(own - placements.begin())];
    flags.push_back(scale > 0 && std::abs(o.time_ns - middle) / scale > 3.5);
  }
  return flags;
}

namespace {

// Others' placements count as at most this many, independent of the number of contenders, and as at
// most twice the contender's own placements after its first.
constexpr int most_units = 4;
constexpr double least_inflation = 1;  // a spread below the presumed one is attributed to chance

bool enough(int undisturbed, int rounds) {
  return undisturbed >= std::min(rounds, std::max(2, (rounds + 3) / 4));
}

/// Placements in which every contender has enough undisturbed rounds, and all placements.
struct Usable {
  std::vector<int> enough;
  std::size_t all = 0;
  bool some_disturbed = false;
};

Usable usable_placements(std::span<const std::vector<Observation>> contenders) {
  std::set<int> all, too_few;
  Usable usable;
  for (const std::vector<Observation>& contender : contenders) {
    struct Rounds {
      int all = 0, undisturbed = 0;
    };
    std::map<int, Rounds> rounds;
    for (const Observation& o : contender) {
      Rounds& of = rounds[o.placement];
      ++of.all;
      of.undisturbed += o.disturbed ? 0 : 1;
      usable.some_disturbed = usable.some_disturbed || o.disturbed;
    }
    for (const auto& [placement, count] : rounds) {
      all.insert(placement);
      if (!enough(count.undisturbed, count.all)) too_few.insert(placement);
    }
  }
  usable.all = all.size();
  std::ranges::set_difference(all, too_few, std::back_inserter(usable.enough));
  return usable;
}

/// Median of a chi-squared variable divided by its degrees of freedom.
double median_share(std::size_t degrees) {
  constexpr std::array<double, 4> few{0.455, 0.693, 0.789, 0.839};
  if (degrees <= few.size()) return few.at(degrees - 1);
  const auto d = static_cast<double>(degrees);
  return std::pow(1 - 2 / (9 * d), 3);  // Wilson and Hilferty 1931
}

/// A contender's placements, or their differences from another's.
struct Spread {
  std::vector<double> values;
  double squared_error = 0;  // mean squared error of a placement's median
};

/// Disturbances of one contender's placements are no estimate for another's: short calls fit into
/// gaps that long ones do not. In disturbed heats, others' placements therefore only replace
/// missing own ones.
PooledSpread pooled(const std::vector<Spread>& spreads, bool is_disturbed) {
  PooledSpread pooled;
  if (is_disturbed) pooled.presumed = presumed_disturbed_spread;
  std::vector<double> shares;
  std::size_t most_placements = 0;
  for (const Spread& spread : spreads) {
    if (spread.values.size() < 2) continue;
    most_placements = std::max(most_placements, spread.values.size());
    const std::size_t degrees = spread.values.size() - 1;
    const double presumed = pooled.presumed * pooled.presumed + spread.squared_error;
    shares.push_back(squares_around(spread.values, mean_of(spread.values)) /
                     static_cast<double>(degrees) / presumed / median_share(degrees));
  }
  // A single contender has no others to pool with.
  if (shares.size() < 2) return pooled;
  const int degrees = static_cast<int>(most_placements) - 1;
  const int most = is_disturbed ? std::max(most_units - degrees, 0) : most_units;
  pooled.units = std::min({most, static_cast<int>(shares.size()) - 1, 2 * degrees});
  pooled.inflation = std::max(median_of(std::move(shares)), least_inflation);
  return pooled;
}

Spread spread_of(const std::vector<Unit>& units) {
  Spread spread;
  for (const Unit& unit : units) {
    spread.values.push_back(unit.value);
    spread.squared_error += unit.squared_error / static_cast<double>(units.size());
  }
  return spread;
}

/// The residuals of the contenders' placements after removing the common part of most contenders
/// there, scaled to the spread of the difference of two contenders.
std::vector<Spread> spreads_apart(const std::vector<std::vector<Unit>>& contenders) {
  std::vector<Spread> spreads;
  if (contenders.size() < 3) return spreads;  // with two, each one's residual depends on the other
  std::map<int, std::vector<double>> together;
  for (const std::vector<Unit>& contender : contenders) {
    for (const Unit& unit : contender) together[unit.number].push_back(unit.value);
  }
  for (const std::vector<Unit>& contender : contenders) {
    Spread& spread = spreads.emplace_back(spread_of(contender));
    for (std::size_t i = 0; i < contender.size(); ++i) {
      const double common = median_of(together[contender[i].number]);
      spread.values[i] = std::sqrt(2.0) * (spread.values[i] - common);
    }
    spread.squared_error *= 2;
  }
  return spreads;
}

}  // namespace

HeatBasis basis_of(std::span<const std::vector<Observation>> contenders) {
  HeatBasis basis;
  Usable usable = usable_placements(contenders);
  const std::size_t needed = std::min(usable.all, std::max<std::size_t>(2, (usable.all + 1) / 2));
  if (usable.some_disturbed) {
    basis.without_disturbed = usable.enough.size() >= needed;
    basis.is_disturbed = !basis.without_disturbed;
    if (basis.without_disturbed) basis.placements = std::move(usable.enough);
  }
  std::vector<std::vector<Unit>> counted;
  for (const std::vector<Observation>& contender : contenders) {
    counted.push_back(units_of(by_placement(counted_logarithms(contender, basis)), basis));
    if (counted.back().empty()) counted.pop_back();
  }
  std::vector<Spread> times;
  times.reserve(counted.size());
  for (const std::vector<Unit>& contender : counted) times.push_back(spread_of(contender));
  basis.times = pooled(times, basis.is_disturbed);
  basis.ratios = pooled(spreads_apart(counted), basis.is_disturbed);
  return basis;
}

BetweenRuns between_runs(std::span<const Ratio> ratios, double machine_moved) {
  std::vector<double> logarithms, own;
  for (const Ratio& ratio : ratios) {
    if (!(ratio.ratio > 0) || !std::isfinite(ratio.ratio)) continue;
    logarithms.push_back(std::log(ratio.ratio));
    const double half_width = std::log(ratio.high / ratio.ratio);
    if (std::isfinite(half_width)) own.push_back(half_width / 1.959964);
  }
  if (logarithms.empty()) return {.shift = 0, .spread = least_cell_shift};
  const double centre = median_of(logarithms);
  for (double& value : logarithms) value = std::abs(value - centre);
  // The factor 0.6745 scales the median absolute deviation to the standard deviation of a normal
  // sample.
  const double around = median_of(std::move(logarithms)) / 0.6745;
  const double explained = own.empty() ? 0 : median_of(std::move(own));
  const double beyond = std::sqrt(std::max(0.0, around * around - explained * explained));
  const double allowed = std::clamp(machine_moved, least_machine_shift, most_machine_shift);
  return {.shift = std::min(std::abs(centre), allowed),
          .spread = std::max(beyond, least_cell_shift)};
}

namespace {

// Two-sided 0.5% quantiles: of the normal distribution, and of Student's t by degrees of freedom.
constexpr double surely_normal = 2.807;
constexpr std::array<double, 8> surely_student{127.32, 14.089, 7.453, 5.598,
                                               4.773,  4.317,  4.029, 3.833};
// The number of pairs is quadratic in the rounds: longer placements are divided into this many
// blocks.
constexpr std::size_t most_blocks = 24;

/// A shift in logarithms and its significance: it is flagged above 1.
struct Shift {
  double size = 0;
  double sureness = 0;
};

std::vector<double> medians_of_blocks(const std::vector<double>& values) {
  if (values.size() <= most_blocks) return values;
  std::vector<double> medians;
  for (std::size_t block = 0; block < most_blocks; ++block) {
    const auto begin = static_cast<std::ptrdiff_t>(block * values.size() / most_blocks);
    const auto end = static_cast<std::ptrdiff_t>((block + 1) * values.size() / most_blocks);
    medians.push_back(median_of({values.begin() + begin, values.begin() + end}));
  }
  return medians;
}

/// Var(S) of Mann and Kendall without drift, corrected for ties (Kendall 1975).
double variance_of_trend(std::vector<double> values) {
  const auto term = [](double n) { return n * (n - 1) * (2 * n + 5) / 18; };
  double variance = term(static_cast<double>(values.size()));
  std::ranges::sort(values);
  for (auto run = values.begin(); run != values.end();) {
    const auto end = std::upper_bound(run, values.end(), *run);
    variance -= term(static_cast<double>(end - run));
    run = end;
  }
  return variance;
}

Shift trend_within(const std::vector<Placement>& placements) {
  double sum = 0, variance = 0;
  std::vector<double> changes;  // over a whole placement, one for every pair of rounds
  for (const Placement& placement : placements) {
    const std::vector<double> values = medians_of_blocks(placement.values);
    if (values.size() < 2) continue;
    variance += variance_of_trend(values);
    const auto last = static_cast<double>(values.size() - 1);
    for (std::size_t i = 0; i < values.size(); ++i) {
      for (std::size_t j = i + 1; j < values.size(); ++j) {
        const double difference = values[j] - values[i];
        sum += difference > 0 ? 1 : difference < 0 ? -1 : 0;
        changes.push_back(difference / static_cast<double>(j - i) * last);
      }
    }
  }
  if (changes.empty() || !(variance > 0)) return {};
  const double continuous = std::max(std::abs(sum) - 1, 0.0);
  return {.size = median_of(std::move(changes)),
          .sureness = continuous / std::sqrt(variance) / surely_normal};
}

Shift between_processes(const std::vector<Placement>& placements) {
  std::map<int, std::vector<double>> medians;
  for (const Placement& placement : placements) {
    medians[placement.process].push_back(median_of(placement.values));
  }
  const auto mean = [](const std::vector<double>& values) {
    double sum = 0;
    for (const double value : values) sum += value;
    return sum / static_cast<double>(values.size());
  };
  double squares = 0;
  for (const auto& [process, values] : medians) {
    for (const double value : values) squares += std::pow(value - mean(values), 2);
  }
  const std::size_t degrees = placements.size() - medians.size();
  if (medians.size() < 2 || degrees < 1) return {};
  const std::vector<double>&first = medians.begin()->second, &last = medians.rbegin()->second;
  const double error =
      std::sqrt(squares / static_cast<double>(degrees) *
                (1 / static_cast<double>(first.size()) + 1 / static_cast<double>(last.size())));
  const double shift = mean(last) - mean(first);
  if (!(error > 0)) return {};
  return {.size = shift,
          .sureness = std::abs(shift) / error /
                      surely_student[std::min(degrees, surely_student.size()) - 1]};
}

Drift judged(const std::vector<Observation>& logarithms) {
  const std::vector<Placement> placements = by_placement(logarithms);
  const Shift within = trend_within(placements), between = between_processes(placements);
  const Shift& surer = between.sureness > std::max(within.sureness, 1.0) ? between : within;
  return {.change = std::expm1(surer.size), .is_flagged = surer.sureness > 1};
}

}  // namespace

Drift drift_of(std::span<const Observation> observations) {
  std::vector<Observation> logarithms = ordered(observations);
  for (Observation& o : logarithms) {
    if (!(o.time_ns > 0)) return {};
    o.time_ns = std::log(o.time_ns);
  }
  return logarithms.empty() ? Drift{} : judged(logarithms);
}

Drift drift_of_ratio(std::span<const Observation> a, std::span<const Observation> b) {
  Pairs shared = shared_rounds(a, b);
  for (std::size_t i = 0; i < shared.a.size(); ++i) {
    if (!(shared.a[i].time_ns > 0) || !(shared.b[i].time_ns > 0)) return {};
    shared.a[i].time_ns = std::log(shared.a[i].time_ns / shared.b[i].time_ns);
  }
  return shared.a.empty() ? Drift{} : judged(shared.a);
}

}  // namespace attnscope::statistics
