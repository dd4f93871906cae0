// SPDX-License-Identifier: Apache-2.0
#include "engine/ranking/latency.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace attnscope {
namespace {

using testing::ElementsAre;

/// Calls of 0.9 to 1.1 times so many seconds.
TopKLatency around(std::int64_t top_k, double seconds, int calls = 100) {
  TopKLatency latency{.top_k = top_k};
  for (int i = 0; i < calls; ++i)
    latency.seconds.push_back(seconds * (0.9 + 0.2 * i / (calls - 1)));
  return latency;
}

/// A machine that takes so many seconds a document, and what it was asked.
struct Machine {
  double seconds_each = 0;
  std::vector<std::int64_t> requested{};

  Result<LargestTopK> largest(const LatencyLimit& limit, std::span<const TopKLatency> known = {}) {
    return largest_within(limit, known, [this](std::int64_t top_k) -> Result<TopKLatency> {
      requested.push_back(top_k);
      return around(top_k, seconds_each * static_cast<double>(top_k));
    });
  }
};

TEST(LargestTopK, IsFoundByDoublingAndThenByHalves) {
  // At p50 43 documents take 199 ms.
  Machine machine{.seconds_each = 0.199 / 43};
  const auto largest = machine.largest({.seconds = 0.2, .percent = 50, .most = 1000});
  ASSERT_TRUE(largest);
  EXPECT_THAT(machine.requested, ElementsAre(1, 2, 4, 8, 16, 32, 64, 48, 40, 44, 42));
  EXPECT_EQ(largest->within->top_k, 42);
  EXPECT_EQ(largest->beyond->top_k, 44) << "5 % apart";
}

TEST(LargestTopK, BeginsWithWhatIsMeasuredAlready) {
  const std::vector<TopKLatency> known{around(10, 0.1), around(20, 0.2), around(50, 0.5)};
  Machine machine{.seconds_each = 0.01};
  const auto largest = machine.largest({.seconds = 0.255, .percent = 50, .most = 1000}, known);
  ASSERT_TRUE(largest);
  EXPECT_THAT(machine.requested, ElementsAre(35, 27, 23, 25, 26));
  EXPECT_EQ(largest->within->top_k, 25);
  EXPECT_EQ(largest->beyond->top_k, 26);
}

TEST(LargestTopK, WhereOneDocumentIsTooMuch_NoneIsWithin) {
  const std::vector<TopKLatency> known{around(10, 20)};
  Machine machine{.seconds_each = 2};
  const auto largest = machine.largest({.seconds = 0.2, .percent = 95, .most = 1000}, known);
  ASSERT_TRUE(largest);
  EXPECT_THAT(machine.requested, ElementsAre(1));
  EXPECT_FALSE(largest->within);
  EXPECT_EQ(largest->beyond->top_k, 1);
}

TEST(LargestTopK, IsNoMoreThanThereAre) {
  Machine machine{.seconds_each = 1e-6};
  const auto largest = machine.largest({.seconds = 0.2, .percent = 95, .most = 60});
  ASSERT_TRUE(largest);
  EXPECT_EQ(machine.requested.back(), 60);
  EXPECT_EQ(largest->within->top_k, 60);
  EXPECT_FALSE(largest->beyond);
}

TEST(LargestTopK, WhatIsBeyondTheLimitCountsWhereNoiseHasMoreWithin) {
  const std::vector<TopKLatency> known{around(10, 0.1), around(11, 0.5), around(50, 0.15)};
  const auto largest = Machine{}.largest({.seconds = 0.2, .percent = 95, .most = 1000}, known);
  ASSERT_TRUE(largest);
  EXPECT_EQ(largest->within->top_k, 10);
  EXPECT_EQ(largest->beyond->top_k, 11);
}

TEST(LargestTopK, EndsWithTheMeasurementsError) {
  const auto largest = largest_within(
      {.most = 10}, {}, [](std::int64_t) -> Result<TopKLatency> { return fail("interrupted"); });
  ASSERT_FALSE(largest);
  EXPECT_EQ(largest.error().message, "interrupted");
}

TEST(LatencyAt, LiesBetweenTheCallsBesideIt_OrIsTheLongestOfTooFew) {
  const TopKLatency many = around(1, 1, 101), few = around(1, 1, 60);
  EXPECT_DOUBLE_EQ(latency_at(many, 50), 1.0);
  EXPECT_DOUBLE_EQ(latency_at(many, 95), 1.09);
  EXPECT_DOUBLE_EQ(latency_at(many, 99), 1.098);
  EXPECT_LT(latency_at(few, 95), 1.1);
  EXPECT_DOUBLE_EQ(latency_at(few, 99), 1.1);
}

}  // namespace
}  // namespace attnscope
