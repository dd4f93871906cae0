// SPDX-License-Identifier: Apache-2.0
//
// Intervals and verdicts on synthetic data with known ratios; all seeds are fixed.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/statistics/worlds.h"

namespace attnscope::statistics {
namespace {

using namespace test;

constexpr int trials = 600;
constexpr int allowed = trials * 5 / 100;

TEST(Coverage, TheSameContenderTwice_GetsAVerdictInAtMostFivePercent) {
  for (const double process : {0.0, 0.005, 0.01}) {
    for (const double placement : {0.0, 0.01, 0.05}) {
      for (const double noise : {0.005, 0.05}) {
        const World world{.process = process, .placement = placement, .noise = noise};
        constexpr int many = 2000;
        EXPECT_LE(false_verdicts(world, many), many * 5 / 100)
            << "processes " << process << ", placements " << placement << ", rounds " << noise;
      }
    }
  }
}

TEST(Coverage, CommonDisturbances_GiveNoFalseVerdicts) {
  const World calm{.placement = 0.01};
  World shared = calm, drifting = calm, disturbed = calm, throttled = calm;
  shared.common_process = 0.02, shared.common_placement = 0.05;
  drifting.trend = 0.05;
  disturbed.has_burst = true;
  throttled.throttled_by = 0.4;
  for (const World& world : {shared, drifting, disturbed, throttled}) {
    EXPECT_LE(false_verdicts(world, trials), allowed);
  }
}

TEST(Coverage, FewerPlacementsOrRounds_DoNotGiveMoreFalseVerdicts) {
  using Placements = std::vector<int>;
  for (const Placements& placements : {Placements{1}, {2}, {1, 1}, {3}, {2, 2}, {1, 1, 1, 1, 1}}) {
    for (const int rounds : {2, 10}) {
      for (const double placement : {0.01, 0.05}) {
        const World world{.placements = placements, .rounds = rounds, .placement = placement};
        EXPECT_LE(false_verdicts(world, trials), trials * 65 / 1000)
            << placements.size() << " processes of " << placements.front() << " placements, "
            << rounds << " rounds, placements " << placement;
      }
    }
  }
}

TEST(Coverage, DifferingProcesses_AreSeldomMisjudged) {
  // With two processes, differences of 2% each are within chance; treating placements as
  // independent would give wrong verdicts in 39%.
  EXPECT_LE(false_verdicts({.process = 0.02, .noise = 0.01}, trials), trials * 18 / 100);
  EXPECT_LE(false_verdicts({.process = 0.02, .placement = 0.02}, trials), trials * 12 / 100);
}

TEST(Coverage, APlantedThreePercent_IsFoundWithTheDefaultStopRule) {
  for (const double noise : {0.01, 0.015, 0.02}) {
    const World world{.process = 0.002, .placement = 0.003, .noise = noise};
    EXPECT_GE(verdicts(world, 0.97, Verdict::faster, trials), trials * 95 / 100) << noise;
    EXPECT_GE(verdicts(world, 1.03, Verdict::slower, trials), trials * 95 / 100) << noise;
    EXPECT_EQ(verdicts(world, 0.97, Verdict::slower, trials), 0) << noise;
  }
}

TEST(Coverage, APlantedThreePercent_IsFoundWhileTheMachineDriftsByFive) {
  const World world{.placement = 0.002, .common_placement = 0.05, .trend = 0.05};
  EXPECT_GE(verdicts(world, 0.97, Verdict::faster, trials), trials * 95 / 100);
}

TEST(Coverage, APlantedTwentyPercent_IsFoundByTwoPlacementsOfOneProcess) {
  const World quick{.placements = {2}, .rounds = 10, .placement = 0.005};
  EXPECT_GE(verdicts(quick, 0.8, Verdict::faster, trials), trials * 95 / 100);
}

/// Verdicts and widest interval of the first two of eight contenders, in many heats.
struct Found {
  int faster = 0, slower = 0;
  double widest = 1;
};

Found in_heats(const World& world, double ratio) {
  Found found;
  for (int trial = 0; trial < trials; ++trial) {
    std::vector<double> ratios(8, 1.0);
    ratios.front() = ratio;
    const auto heat = draw_heat(world, ratios, 7000U + static_cast<std::uint32_t>(trial));
    const Ratio r = paired_ratio(heat[0], heat[1], basis_of(heat));
    found.faster += r.verdict == Verdict::faster ? 1 : 0;
    found.slower += r.verdict == Verdict::slower ? 1 : 0;
    found.widest = std::max(found.widest, r.high / r.low);
  }
  return found;
}

/// One other busy program, two on two cores, and a rare one that stops everything; with and without
/// samples that report the disturbance.
std::vector<World> busy_worlds() {
  std::vector<World> worlds;
  World world{.rounds = 20, .placement = 0.01};
  for (const bool is_known : {true, false}) {
    world.is_known = is_known;
    world.held_up = 0.5, world.held_up_by = 0.7, world.held_up_rounds = 5;
    worlds.push_back(world);
    world.held_up = 0.9, world.held_up_by = 1, world.held_up_rounds = 20;
    worlds.push_back(world);
    world.held_up = 0.1, world.held_up_by = 4, world.held_up_rounds = 10;
    worlds.push_back(world);
  }
  return worlds;
}

TEST(Coverage, WithBusyPrograms_TheSameContenderTwiceGetsAVerdictInAtMostFivePercent) {
  for (World world : busy_worlds()) {
    for (const auto& placements : {std::vector<int>{2}, {2, 1}, {3, 2}}) {
      world.placements = placements;
      const Found found = in_heats(world, 1);
      EXPECT_LE(found.faster + found.slower, allowed)
          << placements.size() << " processes, held up " << world.held_up << ", known "
          << world.is_known;
    }
  }
}

TEST(Coverage, WithBusyPrograms_HalfTheTimeIsFoundAndIntervalsStayFinite) {
  const std::vector<World> worlds = busy_worlds();
  const Found one = in_heats(worlds[0], 0.5), two = in_heats(worlds[1], 0.5);
  EXPECT_GE(one.faster, trials * 99 / 100);
  EXPECT_LE(one.widest, widest_known);
  EXPECT_GE(two.faster, trials * 95 / 100);
  EXPECT_LE(two.widest, widest_known);
}

TEST(Coverage, WithKnownDisturbances_LittlePowerIsLost) {
  World quiet{.process = 0.002, .placement = 0.003}, busy = quiet;
  busy.held_up = 0.3, busy.held_up_by = 0.5, busy.held_up_rounds = 2;
  for (const World& world : {quiet, busy}) {
    EXPECT_GE(in_heats(world, 0.97).faster, trials * 95 / 100) << world.held_up;
  }
}

TEST(Coverage, TheMediansInterval_ContainsTheTruth) {
  int held = 0;
  for (int trial = 0; trial < trials; ++trial) {
    const Pair pair =
        draw({.placement = 0.03, .noise = 0.02}, 1, 5000U + static_cast<std::uint32_t>(trial));
    const Summary s = summarise(pair.b);
    if (s.low_ns <= 1e6 && 1e6 <= s.high_ns) ++held;
  }
  EXPECT_GE(held, trials * 94 / 100);
}

TEST(Coverage, UnpairedRatios_SeldomGiveAFalseVerdictAndFindTenPercent) {
  int wrong = 0, found = 0;
  const World world{.process = 0.005, .placement = 0.01, .noise = 0.02};
  for (int trial = 0; trial < trials; ++trial) {
    const auto seed = 9000U + static_cast<std::uint32_t>(trial);
    const Pair same = draw(world, 1, seed), faster = draw(world, 0.9, seed);
    if (unpaired_ratio(same.a, same.b).verdict != Verdict::no_difference_shown) ++wrong;
    if (unpaired_ratio(faster.a, faster.b).verdict == Verdict::faster) ++found;
  }
  EXPECT_LE(wrong, allowed);
  EXPECT_GE(found, trials * 99 / 100);
}

}  // namespace
}  // namespace attnscope::statistics
