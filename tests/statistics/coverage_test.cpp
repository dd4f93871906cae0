// SPDX-License-Identifier: Apache-2.0
//
// Intervals and verdicts on synthetic data whose truth is known; all seeds are fixed.

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>

#include "engine/statistics/summary.h"

namespace attnscope::statistics {
namespace {

struct World {
  int placements = 5, rounds = 30;
  double placement_spread = 0.05;  // relative; drawn for every contender anew
  double shared_drift = 0.05;      // relative; hits all contenders of a round alike
  double noise = 0.02;
};

struct Pair {
  std::vector<Observation> a, b;
};

/// Standard normal by Box and Muller: std::normal_distribution differs between standard libraries.
double normal(std::mt19937& random) {
  const double u = (static_cast<double>(random()) + 1) / 4294967297.0;
  const double v = static_cast<double>(random()) / 4294967296.0;
  return std::sqrt(-2 * std::log(u)) * std::cos(6.283185307179586 * v);
}

Pair draw(const World& world, double true_ratio, std::uint32_t seed) {
  std::mt19937 random(seed);
  Pair pair;
  for (int placement = 0; placement < world.placements; ++placement) {
    const double where_a = std::exp(world.placement_spread * normal(random));
    const double where_b = std::exp(world.placement_spread * normal(random));
    for (int round = 0; round < world.rounds; ++round) {
      const double drift = 1e6 * std::exp(world.shared_drift * normal(random));
      const double noise_a = std::exp(world.noise * normal(random));
      const double noise_b = std::exp(world.noise * normal(random));
      pair.a.push_back({placement, round, true_ratio * where_a * drift * noise_a});
      pair.b.push_back({placement, round, where_b * drift * noise_b});
    }
  }
  return pair;
}

int verdicts(const World& world, double true_ratio, Verdict verdict, int trials) {
  int count = 0;
  for (int trial = 0; trial < trials; ++trial) {
    const Pair pair = draw(world, true_ratio, 1000U + static_cast<std::uint32_t>(trial));
    if (paired_ratio(pair.a, pair.b).verdict == verdict) ++count;
  }
  return count;
}

int false_verdicts(const World& world, int trials) {
  return verdicts(world, 1, Verdict::faster, trials) + verdicts(world, 1, Verdict::slower, trials);
}

TEST(Coverage, TheSameContenderTwice_SeldomGetsAVerdict) {
  // Nominal are 5%; five placements whose spread dominates are the hardest case that is promised.
  constexpr int trials = 400;
  EXPECT_LE(false_verdicts({5, 30, 0, 0.05, 0.02}, trials), trials * 8 / 100);
  EXPECT_LE(false_verdicts({5, 30, 0.05, 0.05, 0.02}, trials), trials * 12 / 100);
  EXPECT_LE(false_verdicts({1, 30, 0, 0.05, 0.02}, trials), trials * 8 / 100);
}

TEST(Coverage, FewPlacementsOrRounds_DoNotBringMoreFalseVerdicts) {
  constexpr int trials = 400;
  for (const int placements : {2, 3, 4}) {
    EXPECT_LE(false_verdicts({placements, 10, 0.05, 0.05, 0.02}, trials), trials * 8 / 100)
        << placements << " placements";
  }
  for (const int rounds : {2, 3, 4, 5}) {
    EXPECT_LE(false_verdicts({1, rounds, 0, 0.05, 0.02}, trials), trials * 8 / 100)
        << rounds << " rounds";
  }
}

TEST(Coverage, APlantedTenPercent_IsFound) {
  constexpr int trials = 200;
  const World calm{5, 30, 0.01, 0.05, 0.02};
  EXPECT_GE(verdicts(calm, 0.9, Verdict::faster, trials), trials * 99 / 100);
  EXPECT_GE(verdicts(calm, 1.1, Verdict::slower, trials), trials * 99 / 100);
  EXPECT_EQ(verdicts(calm, 0.9, Verdict::slower, trials), 0);
}

TEST(Coverage, TheMediansInterval_HoldsTheTruth) {
  constexpr int trials = 400;
  int held = 0;
  for (int trial = 0; trial < trials; ++trial) {
    const Pair pair = draw({5, 30, 0.03, 0, 0.02}, 1, 5000U + static_cast<std::uint32_t>(trial));
    const Summary s = summarise(pair.b);
    if (s.low_ns <= 1e6 && 1e6 <= s.high_ns) ++held;
  }
  // Five placements let a percentile bootstrap reach about nine in ten.
  EXPECT_GE(held, trials * 85 / 100);
}

TEST(Coverage, UnpairedRatios_SeldomGiveAFalseVerdictAndFindTenPercent) {
  constexpr int trials = 200;
  int wrong = 0, found = 0;
  for (int trial = 0; trial < trials; ++trial) {
    const auto seed = 9000U + static_cast<std::uint32_t>(trial);
    const Pair same = draw({5, 30, 0.01, 0, 0.02}, 1, seed);
    const Pair faster = draw({5, 30, 0.01, 0, 0.02}, 0.9, seed);
    if (unpaired_ratio(same.a, same.b).verdict != Verdict::no_difference_shown) ++wrong;
    if (unpaired_ratio(faster.a, faster.b).verdict == Verdict::faster) ++found;
  }
  EXPECT_LE(wrong, trials * 12 / 100);
  EXPECT_GE(found, trials * 99 / 100);
}

}  // namespace
}  // namespace attnscope::statistics
