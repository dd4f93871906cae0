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

double relative_half_width(const std::vector<double>& times) {
  OrderedValues values;
  for (const double time : times) values.add(time);
  return values.relative_half_width();
}

TEST(PlacementRule, TheRatio_IsAskedForTwiceAsNarrow) {
  EXPECT_DOUBLE_EQ(placement_rule({.relative_interval = 0.02}).ratio_interval, 0.01);
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

TEST(HalfWidth, IsTheSameInWhateverOrderTimesCome) {
  EXPECT_EQ(relative_half_width({3, 1, 2, 9, 4, 7, 5, 8, 6}),
            relative_half_width({9, 8, 7, 6, 5, 4, 3, 2, 1}));
}

TEST(HalfWidth, OfTimesThatAreNotPositive_IsUnknown) {
  EXPECT_TRUE(std::isinf(relative_half_width({0, 0, 0})));
}

constexpr PlacementRule two_percent{
    .relative_interval = 0.02, .ratio_interval = 0.01, .settled_samples = 4};

TEST(SampledSoFar, DriftThatBothShare_LeavesTheRatioKnownAndTheMedianNot) {
  SampledSoFar known;
  for (int round = 0; round < 20; ++round) {
    const double time = 100 + 10 * round;
    known.add(time);
    known.add_pair(time, 2 * time);
  }
  EXPECT_FALSE(known.knows_median(two_percent));
  EXPECT_TRUE(known.knows_ratio(two_percent));
}

TEST(SampledSoFar, ANoisyReference_LeavesTheMedianKnownAndTheRatioNot) {
  SampledSoFar known;
  for (int round = 0; round < 20; ++round) {
    known.add(100);
    known.add_pair(100, round % 2 == 0 ? 100 : 110);
  }
  EXPECT_TRUE(known.knows_median(two_percent));
  EXPECT_FALSE(known.knows_ratio(two_percent));
}

TEST(SampledSoFar, FewerSamplesThanTheRuleAsksFor_AreNeverEnough) {
  SampledSoFar known;
  for (int round = 0; round < 3; ++round) {
    known.add(100);
    known.add_pair(100, 100);
  }
  EXPECT_FALSE(known.knows_median(two_percent));
  EXPECT_FALSE(known.knows_ratio(two_percent));
}

}  // namespace
}  // namespace attnscope::measure
