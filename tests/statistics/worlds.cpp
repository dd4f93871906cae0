// SPDX-License-Identifier: Apache-2.0
#include "tests/statistics/worlds.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace attnscope::statistics::test {

// By Box and Muller: std::normal_distribution differs between standard libraries.
double Dice::normal() {
  const double u = uniform(), v = uniform();
  return std::sqrt(-2 * std::log(u)) * std::cos(6.283185307179586 * v);
}

namespace {

/// The samples of a contender at one placement that others disturb, and their factors.
std::vector<double> held_up(const World& world, Dice& dice) {
  std::vector<double> delays(static_cast<std::size_t>(world.rounds));
  if (!(world.held_up > 0)) return delays;
  bool busy = dice.uniform() < world.held_up;
  // Stretches of both kinds, long enough for the share.
  const double ends = 1.0 / world.held_up_rounds;
  const double begins = std::min(1.0, ends * world.held_up / std::max(1 - world.held_up, 1e-9));
  for (double& delay : delays) {
    if (busy) delay = -world.held_up_by * std::log(dice.uniform());
    if (dice.uniform() < (busy ? ends : begins)) busy = !busy;
  }
  return delays;
}

}  // namespace

std::vector<std::vector<Observation>> draw_heat(const World& world,
                                                const std::vector<double>& ratios,
                                                std::uint32_t seed) {
  Dice dice(seed);
  const int all = std::accumulate(world.placements.begin(), world.placements.end(), 0);
  const int burst_placement = dice.below(all);
  const int burst_begin = dice.below(std::max(world.rounds * 2 / 3, 1));
  const double throttled_from = world.throttled_by > 0 ? dice.uniform() : 1;
  const auto noise = [&] {
    const double one = world.noise * dice.normal();
    return dice.below(20) == 0 ? 5 * std::abs(one) : one;
  };
  std::vector<std::vector<Observation>> heat(ratios.size());
  int placement = 0;
  for (std::size_t process = 0; process < world.placements.size(); ++process) {
    const double shared_process = world.common_process * dice.normal();
    std::vector<double> own_process;
    for (std::size_t i = 0; i < ratios.size(); ++i)
      own_process.push_back(world.process * dice.normal());
    for (int i = 0; i < world.placements[process]; ++i, ++placement) {
      const double shared = shared_process + world.common_placement * dice.normal();
      for (std::size_t contender = 0; contender < ratios.size(); ++contender) {
        const double own = own_process[contender] + world.placement * dice.normal();
        const std::vector<double> delays = held_up(world, dice);
        for (int round = 0; round < world.rounds; ++round) {
          const double along = (placement + static_cast<double>(round) / world.rounds) / all;
          const bool in_burst = world.has_burst && placement == burst_placement &&
                                round >= burst_begin && round < burst_begin + world.rounds / 3;
          const double burst = in_burst ? 0.33 + 0.1 * dice.normal() : 0;
          const double throttled = along > throttled_from ? world.throttled_by : 0;
          const double delay = delays[static_cast<std::size_t>(round)];
          const double time =
              1e6 * ratios[contender] *
              std::exp(shared + own + world.trend * along + burst + throttled + delay + noise());
          heat[contender].push_back({.placement = placement,
                                     .round = round,
                                     .time_ns = time,
                                     .process = static_cast<int>(process),
                                     .disturbed = world.is_known && delay > 0.03});
        }
      }
    }
  }
  return heat;
}

Pair draw(const World& world, double ratio, std::uint32_t seed) {
  std::vector<std::vector<Observation>> heat = draw_heat(world, {ratio, 1}, seed);
  return {.a = std::move(heat[0]), .b = std::move(heat[1])};
}

namespace {

/// The number of pairs with each verdict.
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
