// SPDX-License-Identifier: Apache-2.0
#include "tests/statistics/worlds.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace attnscope::statistics::test {

// By Box and Muller: std::normal_distribution differs between standard libraries.
double Dice::normal() {
  const double u = (static_cast<double>(random_()) + 1) / 4294967297.0;
  const double v = static_cast<double>(random_()) / 4294967296.0;
  return std::sqrt(-2 * std::log(u)) * std::cos(6.283185307179586 * v);
}

Pair draw(const World& world, double ratio, std::uint32_t seed) {
  Dice dice(seed);
  const int all = std::accumulate(world.placements.begin(), world.placements.end(), 0);
  const int burst_placement = dice.below(all);
  const int burst_begin = dice.below(std::max(world.rounds * 2 / 3, 1));
  const auto noise = [&] {
    const double one = world.noise * dice.normal();
    return dice.below(20) == 0 ? 5 * std::abs(one) : one;
  };
  Pair pair;
  int placement = 0;
  for (std::size_t process = 0; process < world.placements.size(); ++process) {
    const double shared_process = world.common_process * dice.normal();
    const double process_a = world.process * dice.normal();
    const double process_b = world.process * dice.normal();
    for (int i = 0; i < world.placements[process]; ++i, ++placement) {
      const double shared = shared_process + world.common_placement * dice.normal();
      const double a = process_a + world.placement * dice.normal();
      const double b = process_b + world.placement * dice.normal();
      for (int round = 0; round < world.rounds; ++round) {
        const double along = (placement + static_cast<double>(round) / world.rounds) / all;
        const bool in_burst = world.has_burst && placement == burst_placement &&
                              round >= burst_begin && round < burst_begin + world.rounds / 3;
        const auto time = [&](double own) {
          const double burst = in_burst ? 0.33 + 0.1 * dice.normal() : 0;
          return 1e6 * std::exp(shared + own + world.trend * along + burst + noise());
        };
        const int number = static_cast<int>(process);
        pair.a.push_back({placement, round, ratio * time(a), number});
        pair.b.push_back({placement, round, time(b), number});
      }
    }
  }
  return pair;
}

namespace {

/// How many of so many pairs get each verdict.
std::array<int, 3> count_verdicts(const World& world, double ratio, int trials) {
  std::array<int, 3> counts{};
  for (int trial = 0; trial < trials; ++trial) {
    const Pair pair = draw(world, ratio, 1000U + static_cast<std::uint32_t>(trial));
    ++counts[static_cast<std::size_t>(paired_ratio(pair.a, pair.b).verdict)];
  }
  return counts;
}

}  // namespace

int verdicts(const World& world, double ratio, Verdict verdict, int trials) {
  return count_verdicts(world, ratio, trials)[static_cast<std::size_t>(verdict)];
}

int false_verdicts(const World& world, int trials) {
  const std::array<int, 3> counts = count_verdicts(world, 1, trials);
  return trials - counts[static_cast<std::size_t>(Verdict::no_difference_shown)];
}

}  // namespace attnscope::statistics::test
