#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Pairs of cells as a machine might have measured them, with a truth that is known. Spreads are
// relative standard deviations; all draws come from a seed.

#include <cstdint>
#include <random>
#include <vector>

#include "engine/statistics/summary.h"

namespace attnscope::statistics::test {

struct World {
  std::vector<int> placements = {3, 2};  // of each process: the default stop rule's
  int rounds = 30;
  double process = 0;         // of each contender on its own
  double common_process = 0;  // of both alike
  double placement = 0;
  double common_placement = 0;
  double noise = 0.015;  // of a round; one round in twenty is five times as noisy, upwards
  double trend = 0;      // from the heat's first round to its last, of both alike
  // From some point of the heat on the processor is slower by this, for both alike: one that is
  // hot.
  double throttled_by = 0;
  bool has_burst = false;  // a neighbour slows a third of one placement's rounds by a third
  // Other programs hold up this share of all samples, in stretches of some rounds, each by a factor
  // of e^x with x exponential of this mean; and the samples know it or do not.
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

/// A's times are `ratio` of B's.
[[nodiscard]] Pair draw(const World& world, double ratio, std::uint32_t seed);

/// How many of so many pairs get that verdict, A against B in their rounds.
[[nodiscard]] int verdicts(const World& world, double ratio, Verdict verdict, int trials);
[[nodiscard]] int false_verdicts(const World& world, int trials);

}  // namespace attnscope::statistics::test
