// SPDX-License-Identifier: Apache-2.0
#include "engine/statistics/bootstrap.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <limits>
#include <numeric>

namespace attnscope::statistics {
namespace {

constexpr std::size_t resamples = 1000;
// 2.5% of the resamples lie below the low end and 2.5% above the high end.
constexpr std::size_t tail = resamples / 40;

/// SplitMix64 (Steele, Lea and Flood 2014): the standard library's distributions differ between
/// implementations, and intervals must not.
class Random {
 public:
  std::size_t below(std::size_t bound) {
    state_ += 0x9E3779B97F4A7C15ULL;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    z ^= z >> 31;
    return static_cast<std::size_t>(((z >> 32) * bound) >> 32);
  }

 private:
  std::uint64_t state_ = 20240324;  // any fixed number: the same samples give the same interval
};

/// One side of a resample: how often each rank was drawn.
class RankedMedian {
 public:
  explicit RankedMedian(const Groups& groups)
      : sorted_(groups.values), rank_(groups.values.size()), drawn_(groups.values.size()) {
    std::vector<std::size_t> order(sorted_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(),
              [&](std::size_t i, std::size_t j) { return groups.values[i] < groups.values[j]; });
    for (std::size_t rank = 0; rank < order.size(); ++rank) rank_[order[rank]] = rank;
    std::sort(sorted_.begin(), sorted_.end());
  }

  void clear() {
    std::fill(drawn_.begin(), drawn_.end(), 0U);
    total_ = 0;
  }
  void draw(std::size_t index) {
    ++drawn_[rank_[index]];
    ++total_;
  }
  [[nodiscard]] double median() const {
    const std::size_t lower = at((total_ - 1) / 2);
    const std::size_t upper = at(total_ / 2);
    return lower == upper ? sorted_[lower] : (sorted_[lower] + sorted_[upper]) / 2;
  }

 private:
  /// Rank of the `position`-th smallest value drawn.
  [[nodiscard]] std::size_t at(std::size_t position) const {
    std::size_t passed = 0, rank = 0;
    while ((passed += drawn_[rank]) <= position) ++rank;
    return rank;
  }

  std::vector<double> sorted_;
  std::vector<std::size_t> rank_;
  std::vector<std::uint32_t> drawn_;
  std::size_t total_ = 0;
};

/// Draws groups with replacement, then values within each; `take` gets their indices.
template <typename Take>
void resample(const Groups& groups, Random& random, Take take) {
  for (std::size_t g = 0; g < groups.count(); ++g) {
    const std::size_t group = random.below(groups.count());
    const std::size_t first = groups.begin[group];
    const std::size_t size = groups.begin[group + 1] - first;
    for (std::size_t i = 0; i < size; ++i) take(first + random.below(size));
  }
}

Interval percentiles(std::array<double, resamples>& statistic) {
  std::sort(statistic.begin(), statistic.end());
  return {statistic[tail - 1], statistic[resamples - tail]};
}

}  // namespace

double median_of(std::vector<double> values) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

Interval bootstrap_median(const Groups& groups) {
  assert(!groups.values.empty());
  Random random;
  RankedMedian side(groups);
  std::array<double, resamples> medians{};
  for (double& median : medians) {
    side.clear();
    resample(groups, random, [&](std::size_t index) { side.draw(index); });
    median = side.median();
  }
  return percentiles(medians);
}

Interval bootstrap_ratio(const Groups& a, const Groups& b, bool paired) {
  assert(!a.values.empty() && !b.values.empty());
  assert(!paired || a.begin == b.begin);
  Random random;
  RankedMedian side_a(a), side_b(b);
  std::array<double, resamples> ratios{};
  for (double& ratio : ratios) {
    side_a.clear();
    side_b.clear();
    resample(a, random, [&](std::size_t index) {
      side_a.draw(index);
      if (paired) side_b.draw(index);
    });
    if (!paired) resample(b, random, [&](std::size_t index) { side_b.draw(index); });
    const double below = side_b.median();
    ratio = below > 0 ? side_a.median() / below : std::numeric_limits<double>::infinity();
  }
  return percentiles(ratios);
}

double student_t95(int degrees) {
  constexpr std::array<double, 3> quantiles{12.7062, 4.3027, 3.1824};
  assert(degrees >= 1 && degrees <= 3);
  return quantiles[static_cast<std::size_t>(degrees - 1)];
}

}  // namespace attnscope::statistics
