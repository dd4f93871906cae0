// SPDX-License-Identifier: Apache-2.0
//
// Crossings of known curves; all seeds are fixed.

#include "engine/statistics/crossover.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "tests/statistics/worlds.h"

namespace attnscope::statistics {
namespace {

RatioAt place(double x, double ratio, double half_width = 0.02) {
  const double low = ratio / (1 + half_width), high = ratio * (1 + half_width);
  Verdict verdict = Verdict::no_difference_shown;
  if (high < 1) verdict = Verdict::faster;
  if (low > 1) verdict = Verdict::slower;
  return {x, {.ratio = ratio, .low = low, .high = high, .paired = true, .verdict = verdict}};
}

std::vector<RatioAt> curve(const std::vector<double>& xs,
                           const std::function<double(double)>& ratio, double half_width = 0.02) {
  std::vector<RatioAt> places;
  for (const double x : xs) places.push_back(place(x, ratio(x), half_width));
  return places;
}

const std::vector<double> doubling{64, 128, 256, 512, 1024, 2048, 4096};

TEST(Crossover, OfAStraightLineIsAtItsTrueX) {
  // A is linear, B quadratic: the ratio is 300 / x, a straight line in logarithms.
  std::vector<RatioAt> places = curve(doubling, [](double x) { return 300 / x; });
  const Crossovers found = find_crossovers(places);
  ASSERT_EQ(found.crossings.size(), 1U);
  const Crossing& crossing = found.crossings.front();
  EXPECT_TRUE(crossing.a_overtakes);
  EXPECT_EQ(crossing.after, 256);
  EXPECT_EQ(crossing.before, 512);
  ASSERT_TRUE(crossing.at);
  EXPECT_NEAR(*crossing.at, 300, 1e-6);
  EXPECT_LT(crossing.low, 300);
  EXPECT_GT(crossing.low, 290);
  EXPECT_GT(crossing.high, 300);
  EXPECT_LT(crossing.high, 310);
  std::ranges::reverse(places);
  const Crossing reversed = find_crossovers(places).crossings.at(0);
  EXPECT_EQ(*reversed.at, *crossing.at);
  EXPECT_EQ(reversed.low, crossing.low);
}

TEST(Crossover, ExchangedContenders_CrossAtTheSameX) {
  const auto ratio = [](double x) { return std::pow(x / 300, 0.7) * (1 + 20 / x); };
  const auto inverse = [&](double x) { return 1 / ratio(x); };
  const Crossing a = find_crossovers(curve(doubling, ratio)).crossings.at(0);
  const Crossing b = find_crossovers(curve(doubling, inverse)).crossings.at(0);
  EXPECT_FALSE(a.a_overtakes);
  EXPECT_TRUE(b.a_overtakes);
  EXPECT_NEAR(*a.at, *b.at, 1e-6);
  EXPECT_NEAR(a.low, b.low, 1e-6);
  EXPECT_NEAR(a.high, b.high, 1e-6);
}

TEST(Crossover, OneVerdictEverywhere_IsOneStretchWithoutACrossing) {
  for (const double ratio : {0.5, 1.0, 2.0}) {
    const Crossovers found = find_crossovers(curve(doubling, [&](double) { return ratio; }));
    ASSERT_EQ(found.stretches.size(), 1U);
    EXPECT_EQ(found.stretches.front().first, 64);
    EXPECT_EQ(found.stretches.front().last, 4096);
    EXPECT_EQ(found.stretches.front().verdict, place(1, ratio).ratio.verdict);
    EXPECT_TRUE(found.crossings.empty());
  }
}

TEST(Crossover, IsNoneIfNoDifferenceIsShownAfterOneVerdict) {
  const Crossovers found = find_crossovers({place(64, 1.2), place(128, 0.995), place(256, 0.99)});
  EXPECT_TRUE(found.crossings.empty());
  ASSERT_EQ(found.stretches.size(), 2U);
  EXPECT_EQ(found.stretches.back().verdict, Verdict::no_difference_shown);
  EXPECT_EQ(found.stretches.back().first, 128);
  RatioAt unknown = place(256, 1.0);
  unknown.ratio.low = 0.1;
  unknown.ratio.high = 90;
  const Crossovers too_few = find_crossovers({place(64, 1.0), place(128, 1.0), unknown});
  ASSERT_EQ(too_few.stretches.size(), 2U);
  EXPECT_FALSE(too_few.stretches.front().too_few);
  EXPECT_TRUE(too_few.stretches.back().too_few);
  EXPECT_EQ(too_few.stretches.back().first, 256);
}

TEST(Crossover, NoDifferenceShownBetween_WidensTheInterval) {
  const Crossovers found =
      find_crossovers({place(64, 1.2), place(128, 1.005), place(256, 0.995), place(512, 0.8)});
  ASSERT_EQ(found.crossings.size(), 1U);
  const Crossing& crossing = found.crossings.front();
  EXPECT_EQ(crossing.after, 64);
  EXPECT_EQ(crossing.before, 512);
  EXPECT_GT(crossing.low, 64);
  EXPECT_LT(crossing.low, 128);
  EXPECT_GT(crossing.high, 256);
  EXPECT_LT(crossing.high, 512);
  EXPECT_NEAR(*crossing.at, std::sqrt(128 * 256), 1);
}

TEST(Crossover, CurvesThatCrossTwice_GiveBothCrossings) {
  const auto bowl = [](double x) { return 0.8 * std::exp(0.2 * std::pow(std::log(x / 512), 2)); };
  const Crossovers found = find_crossovers(curve(doubling, bowl));
  ASSERT_EQ(found.crossings.size(), 2U);
  const double away = std::sqrt(std::log(1 / 0.8) / 0.2);
  for (const auto& [crossing, truth] : {std::pair(found.crossings[0], 512 * std::exp(-away)),
                                        std::pair(found.crossings[1], 512 * std::exp(away))}) {
    // A parabola in logarithms: straight lines deviate from it, within the interval.
    EXPECT_GT(std::abs(*crossing.at - truth) / truth, 0.02);
    EXPECT_LE(crossing.low, truth * (1 + 1e-9));
    EXPECT_GE(crossing.high, truth * (1 - 1e-9));
  }
  EXPECT_TRUE(found.crossings[0].a_overtakes);
  EXPECT_FALSE(found.crossings[1].a_overtakes);
}

TEST(Crossover, PlacesFarApart_GiveOnlyTheRange) {
  const Crossovers found = find_crossovers({place(64, 2), place(1024, 0.5)});
  ASSERT_EQ(found.crossings.size(), 1U);
  EXPECT_FALSE(found.crossings.front().at);
  EXPECT_EQ(found.crossings.front().low, 64);
  EXPECT_EQ(found.crossings.front().high, 1024);
  EXPECT_TRUE(find_crossovers({place(64, 2), place(256, 0.5)}).crossings.at(0).at);
}

TEST(Crossover, WiderIntervalsOfTheRatio_WidenTheCrossingsInterval) {
  double width = 0;
  for (const double half : {0.001, 0.01, 0.05, 0.15}) {
    const Crossing crossing = find_crossovers(curve(
                                                  doubling, [](double x) { return 300 / x; }, half))
                                  .crossings.at(0);
    EXPECT_GT(crossing.high - crossing.low, width);
    EXPECT_LE(crossing.low, *crossing.at);
    EXPECT_GE(crossing.high, *crossing.at);
    width = crossing.high - crossing.low;
  }
}

TEST(Crossover, ReachesToTheKnownPlacesAroundAnUnknownOne) {
  RatioAt unknown = place(128, 1.01);
  unknown.ratio.low = unknown.ratio.high = std::numeric_limits<double>::quiet_NaN();
  unknown.ratio.verdict = Verdict::no_difference_shown;
  const Crossing crossing =
      find_crossovers({place(64, 1.5), unknown, place(256, 0.6)}).crossings.at(0);
  EXPECT_NEAR(crossing.low, 64, 1e-6);
  EXPECT_NEAR(crossing.high, 256, 1e-6);
  RatioAt none = place(128, 1);
  none.ratio.ratio = std::numeric_limits<double>::quiet_NaN();
  const Crossovers found = find_crossovers({place(64, 1.5), none, place(256, 0.6)});
  EXPECT_EQ(found.stretches.size(), 2U);
  EXPECT_EQ(found.crossings.at(0).before, 256);
  EXPECT_TRUE(find_crossovers({none}).stretches.empty());
  EXPECT_TRUE(find_crossovers({}).stretches.empty());
}

// Simulated heats: five placements with a common deviation in all rounds, and paired rounds.

Ratio measured_ratio(double truth, double placement_spread, double noise, test::Dice& dice) {
  std::vector<Observation> a, b;
  for (int placement = 0; placement < 5; ++placement) {
    const double where_a = std::exp(placement_spread * dice.normal());
    const double where_b = std::exp(placement_spread * dice.normal());
    for (int round = 0; round < 10; ++round) {
      const double drift = 1e6 * std::exp(0.05 * dice.normal());
      Observation one;
      one.placement = placement;
      one.round = round;
      one.time_ns = truth * where_a * drift * std::exp(noise * dice.normal());
      a.push_back(one);
      one.time_ns = where_b * drift * std::exp(noise * dice.normal());
      b.push_back(one);
    }
  }
  return paired_ratio(a, b);
}

struct Held {
  int crossings = 0, held = 0;
};

Held simulate(const std::function<double(double)>& ratio, double truth, double placement_spread,
              double noise, int trials) {
  Held count;
  for (int trial = 0; trial < trials; ++trial) {
    test::Dice dice(700U + static_cast<std::uint32_t>(trial));
    std::vector<RatioAt> places;
    for (const double x : doubling) {
      places.push_back({x, measured_ratio(ratio(x), placement_spread, noise, dice)});
    }
    const Crossovers found = find_crossovers(places);
    if (found.crossings.size() != 1) continue;
    ++count.crossings;
    const Crossing& crossing = found.crossings.front();
    if (crossing.low <= truth && truth <= crossing.high) ++count.held;
  }
  return count;
}

TEST(CrossoverCoverage, TheInterval_ContainsTheTruth) {
  constexpr int trials = 120;
  for (const double truth : {257.0, 300.0, 362.0, 500.0}) {
    const auto ratio = [&](double x) { return std::pow(truth / x, 0.8); };
    const Held placements = simulate(ratio, truth, 0.02, 0.02, trials);
    EXPECT_GE(placements.crossings, trials * 95 / 100) << truth;
    EXPECT_GE(placements.held, placements.crossings * 90 / 100) << truth;
    const Held noise = simulate(ratio, truth, 0, 0.03, trials);
    EXPECT_GE(noise.held, noise.crossings * 90 / 100) << truth;
  }
}

TEST(CrossoverCoverage, TheIntervalOfACurve_ContainsTheTruth) {
  // A has a launch's constant cost and grows linearly, B grows quadratically.
  constexpr int trials = 120;
  const auto ratio = [](double x) { return (60 + 0.9 * x) / (0.0025 * x * x + 3); };
  double low = 64, high = 4096;
  while (high / low > 1 + 1e-9)
    (ratio(std::sqrt(low * high)) > 1 ? low : high) = std::sqrt(low * high);
  const Held held = simulate(ratio, low, 0.01, 0.02, trials);
  EXPECT_EQ(held.crossings, trials);
  EXPECT_GE(held.held, trials * 90 / 100);
}

TEST(CrossoverCoverage, TheSameContenderTwice_DoesNotCross) {
  constexpr int trials = 100;
  const Held held = simulate([](double) { return 1; }, 1, 0.01, 0.02, trials);
  EXPECT_LE(held.crossings, trials * 5 / 100);
}

}  // namespace
}  // namespace attnscope::statistics
