// SPDX-License-Identifier: Apache-2.0
#include "engine/measure/stop_rule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace attnscope::measure {
namespace {

TEST(PlacementRule, SharesTimeAndSamplesOverThePlacements) {
  const PlacementRule rule = placement_rule({.relative_interval = 0.02,
                                             .max_seconds = 3,
                                             .min_samples = 22,
                                             .placements = 5,
                                             .processes = 2});
  EXPECT_DOUBLE_EQ(rule.seconds, 0.6);
  EXPECT_EQ(rule.settled_samples, 5);
  EXPECT_EQ(rule.least_samples, 1);
}

TEST(PlacementRule, OnePlacement_NeedsThreeSamplesByItself) {
  const PlacementRule rule = placement_rule({.min_samples = 1, .placements = 1, .processes = 1});
  EXPECT_EQ(rule.settled_samples, 3);
  EXPECT_EQ(rule.least_samples, 3);
}

TEST(HalfWidth, NoSamples_SayNothing) {
  EXPECT_TRUE(std::isinf(relative_half_width({})));
}

TEST(HalfWidth, EqualTimes_HaveNone) {
  EXPECT_EQ(relative_half_width(std::vector<double>(9, 4.0)), 0);
}

TEST(HalfWidth, FewSamples_TakeTheirWholeRange) {
  EXPECT_DOUBLE_EQ(relative_half_width(std::vector<double>{90, 100, 120}), 0.15);
}

TEST(HalfWidth, ManySamples_LeaveTheTailsOut) {
  std::vector<double> times;
  for (int i = 0; i < 100; ++i) times.push_back(1000 + i);
  times.back() = 1e9;
  // Ranks 40 and 61 of 100, rounded outwards by the interval's 50 -+ 9.8.
  EXPECT_NEAR(relative_half_width(times), 10.5 / 1049.5, 1e-3);
}

TEST(HalfWidth, ShrinksWithMoreSamplesOfTheSameSpread) {
  const auto width = [](int count) {
    std::vector<double> times;
    for (int i = 0; i < count; ++i) times.push_back(100 + i % 10);
    return relative_half_width(times);
  };
  EXPECT_LT(width(1000), width(20));
}

}  // namespace
}  // namespace attnscope::measure
