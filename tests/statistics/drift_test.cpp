// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <tuple>

#include "engine/statistics/summary.h"
#include "tests/statistics/worlds.h"

namespace attnscope::statistics {
namespace {

using namespace test;

int alarms(const World& world, int trials) {
  int count = 0;
  for (int trial = 0; trial < trials; ++trial) {
    if (drift_of(draw(world, 1, 300U + static_cast<std::uint32_t>(trial)).a).is_flagged) ++count;
  }
  return count;
}

std::vector<Observation> noisy_rounds(int placements, int rounds, auto time_of) {
  Dice dice(7);
  return rounds_of(placements, rounds, [&](int placement, int round) {
    return 1e6 * time_of(placement, round) * std::exp(0.003 * dice.normal());
  });
}

TEST(Drift, WithoutDrift_AboutOneCellInAHundredIsFlagged) {
  constexpr int trials = 3000;
  for (const double placement : {0.0, 0.05}) {
    for (const int rounds : {4, 30}) {
      const int flagged =
          alarms({.rounds = rounds, .placement = placement, .common_placement = 0.02}, trials);
      EXPECT_LE(flagged, trials * 16 / 1000) << placement << ", " << rounds << " rounds";
    }
  }
}

TEST(Drift, ATrendOverTheRounds_IsFlaggedWithItsSize) {
  for (const auto& [placements, rounds, change, tolerance] :
       {std::tuple(5, 20, 0.041, 0.005), {5, 20, -0.03, 0.005}, {2, 4000, 0.02, 0.002}}) {
    const Drift drift = drift_of(noisy_rounds(placements, rounds, [&](int, int round) {
      return std::pow(1 + change, round / (rounds - 1.0));
    }));
    EXPECT_TRUE(drift.is_flagged) << change;
    EXPECT_NEAR(drift.change, change, tolerance);
  }
}

TEST(Drift, AStepAmongTheRounds_IsFlagged) {
  const auto cell = noisy_rounds(5, 20, [](int, int round) { return round < 10 ? 1.0 : 1.05; });
  EXPECT_TRUE(drift_of(cell).is_flagged);
  EXPECT_GT(drift_of(cell).change, 0.02);
}

TEST(Drift, AShiftBetweenProcesses_IsFlaggedWithItsSize) {
  auto cell = noisy_rounds(5, 20, [](int placement, int) { return placement < 3 ? 1.0 : 1.06; });
  for (Observation& o : cell) o.process = o.placement < 3 ? 0 : 1;
  EXPECT_TRUE(drift_of(cell).is_flagged);
  EXPECT_NEAR(drift_of(cell).change, 0.06, 0.01);
}

TEST(Drift, PlacementsThatDiffer_AreNoDrift) {
  const auto cell =
      noisy_rounds(5, 20, [](int placement, int) { return 1 + 0.3 * (placement * 3 % 5); });
  EXPECT_FALSE(drift_of(cell).is_flagged);
}

TEST(Drift, CommonDrift_IsNotInTheRatio) {
  const auto trend = [](int, int round) { return std::exp(0.04 * round / 19.0); };
  const auto cell = noisy_rounds(5, 20, trend);
  auto half = cell;
  Dice dice(8);
  for (Observation& o : half) o.time_ns *= 0.5 * std::exp(0.003 * dice.normal());
  EXPECT_TRUE(drift_of(half).is_flagged);
  EXPECT_FALSE(drift_of_ratio(half, cell).is_flagged);
  const auto steady = noisy_rounds(5, 20, [](int, int) { return 1.0; });
  EXPECT_TRUE(drift_of_ratio(half, steady).is_flagged);
}

TEST(Drift, DegenerateTimes_AreNotFlagged) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(drift_of({}).is_flagged);
  EXPECT_FALSE(drift_of(std::vector<Observation>{{0, 0, 1}}).is_flagged);
  EXPECT_FALSE(drift_of(std::vector<Observation>{{0, 0, 0}, {0, 1, -1}, {1, 0, nan}}).is_flagged);
  EXPECT_FALSE(drift_of(std::vector<Observation>(40, {0, 0, 3.0})).is_flagged);
  EXPECT_FALSE(drift_of_ratio({}, {}).is_flagged);
}

}  // namespace
}  // namespace attnscope::statistics
