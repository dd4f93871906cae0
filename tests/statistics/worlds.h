#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Simulated measurements of pairs of cells with known ratios. Spreads are relative standard
// deviations; all draws come from a seed.

#include <cstdint>
#include <random>
#include <vector>

#include "engine/statistics/summary.h"

namespace attnscope::statistics::test {

struct World {
  std::vector<int> placements = {3, 2};  // of each process: the default stop rule's
  int rounds = 30;
  double process = 0;         // of each contender on its own
  double common_process = 0;  // common to both contenders
  double placement = 0;
  double common_placement = 0;
  double noise = 0.015;  // of a round; one round in twenty is five times as noisy, upwards
  double trend = 0;      // from the heat's first round to its last, common to both
  // From some point of the heat, the (hot) processor is slower by this factor for both.
  double throttled_by = 0;
  bool has_burst = false;  // a neighbour slows a third of one placement's rounds by a third
  // Other programs slow down this share of all samples, in stretches of some rounds, each by a
  // factor of e^x with x exponential of this mean; samples may or may not report it.
  double held_up = 0, held_up_by = 0;
  int held_up_rounds = 1;
  bool is_known = true;
};

/// Contenders of one heat, by the ratio of each to the last.
[[nodiscard]] std::vector<std::vector<Observation>> draw_heat(const World& world,
                                                              const std::vector<double>& ratios,
                                                              std::uint32_t seed);

struct Pair {
  std::vector<Observation> a, b;
};

class Dice {
 public:
  explicit Dice(std::uint32_t seed) : random_(seed) {}
  double normal();
  double uniform() { return (static_cast<double>(random_()) + 1) / 4294967297.0; }
  int below(int bound) { return static_cast<int>(random_() % static_cast<unsigned>(bound)); }

 private:
  std::mt19937 random_;
};

/// time(placement, round) of every round; placements from `second` on are of a second process.
template <typename Time>
std::vector<Observation> rounds_of(int placements, int rounds, Time time, int second = 99) {
  std::vector<Observation> result;
  for (int placement = 0; placement < placements; ++placement) {
    for (int round = 0; round < rounds; ++round) {
      const double time_ns = time(placement, round);
      result.push_back({placement, round, time_ns, placement < second ? 0 : 1});
    }
  }
  return result;
}

/// A's times are `ratio` times B's.
[[nodiscard]] Pair draw(const World& world, double ratio, std::uint32_t seed);

/// The number of trials with this verdict, A against B, paired by round.
[[nodiscard]] int verdicts(const World& world, double ratio, Verdict verdict, int trials);
[[nodiscard]] int false_verdicts(const World& world, int trials);

}  // namespace attnscope::statistics::test
