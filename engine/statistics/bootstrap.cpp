// SPDX-License-Identifier: Apache-2.0
#include "engine/statistics/bootstrap.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstdint>
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

/// A run of values or of placements.
struct Part {
  std::size_t begin = 0, size = 0;
};

/// All values in nested order, with their ranks.
class NestedRanks {
 public:
  explicit NestedRanks(std::span<const Placement> placements) {
    for (std::size_t i = 0; i < placements.size(); ++i) {
      if (i == 0 || placements[i].process != placements[i - 1].process) {
        processes_.push_back({i, 0});
      }
      ++processes_.back().size;
      const std::vector<double>& values = placements[i].values;
      placements_.push_back({sorted_.size(), values.size()});
      sorted_.insert(sorted_.end(), values.begin(), values.end());
    }
    std::vector<std::size_t> order(sorted_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, {}, [&](std::size_t i) { return sorted_[i]; });
    rank_.resize(order.size());
    for (std::size_t rank = 0; rank < order.size(); ++rank) rank_[order[rank]] = rank;
    std::ranges::sort(sorted_);
    drawn_.resize(sorted_.size());
  }

  double resampled_median(Random& random) {
    std::ranges::fill(drawn_, 0U);
    total_ = 0;
    for (std::size_t p = 0; p < processes_.size(); ++p) {
      const Part process = processes_[random.below(processes_.size())];
      for (std::size_t i = 0; i < process.size; ++i) {
        const Part placement = placements_[process.begin + random.below(process.size)];
        for (std::size_t j = 0; j < placement.size; ++j) {
          ++drawn_[rank_[placement.begin + random.below(placement.size)]];
        }
        total_ += placement.size;
      }
    }
    return middle();
  }

 private:
  [[nodiscard]] double middle() const {
    const std::size_t lower = at((total_ - 1) / 2), upper = at(total_ / 2);
    return lower == upper ? sorted_[lower] : (sorted_[lower] + sorted_[upper]) / 2;
  }

  /// Rank of the `position`-th smallest value drawn.
  [[nodiscard]] std::size_t at(std::size_t position) const {
    std::size_t passed = 0, rank = 0;
    while ((passed += drawn_[rank]) <= position) ++rank;
    return rank;
  }

  std::vector<Part> processes_;   // of placements_
  std::vector<Part> placements_;  // of rank_
  std::vector<double> sorted_;
  std::vector<std::size_t> rank_;  // of every value in nested order
  std::vector<std::uint32_t> drawn_;
  std::size_t total_ = 0;
};

}  // namespace

Interval bootstrap_median(std::span<const Placement> placements) {
  assert(!placements.empty());
  Random random;
  NestedRanks ranks(placements);
  std::array<double, resamples> medians{};
  for (double& median : medians) median = ranks.resampled_median(random);
  std::ranges::sort(medians);
  return {medians[tail - 1], medians[resamples - tail]};
}

}  // namespace attnscope::statistics
