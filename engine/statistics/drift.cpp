// SPDX-License-Identifier: Apache-2.0
#include "engine/statistics/drift.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "engine/statistics/interval.h"

namespace attnscope::statistics {
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
