// SPDX-License-Identifier: Apache-2.0
#include "engine/ranking/latency.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
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

/// A machine with this time per document; notes the requests.
struct Machine {
  double seconds_each = 0;
  std::vector<std::int64_t> requested{};

  LargestTopK largest(const LatencyLimit& limit, std::span<const TopKLatency> known = {}) {
    return largest_within(limit, known,
                          [this](std::int64_t top_k) -> Result<TopKLatency> {
                            requested.push_back(top_k);
                            return around(top_k, seconds_each * static_cast<double>(top_k));
                          })
        .value();
  }
};

TEST(LargestTopK, IsFoundByDoublingAndBisection) {
  // At p50 43 documents take 199 ms.
  Machine machine{.seconds_each = 0.199 / 43};
  const LargestTopK largest = machine.largest({.seconds = 0.2, .percent = 50, .most = 1000});
  EXPECT_THAT(machine.requested, ElementsAre(1, 2, 4, 8, 16, 32, 64, 48, 40, 44, 42));
  EXPECT_EQ(largest.within->top_k, 42);
  EXPECT_EQ(largest.beyond->top_k, 44) << "5 % apart";
}

TEST(LargestTopK, StartsWithKnownMeasurements) {
  const std::vector<TopKLatency> known{around(10, 0.1), around(20, 0.2), around(50, 0.5)};
  Machine machine{.seconds_each = 0.01};
  const LargestTopK largest =
      machine.largest({.seconds = 0.255, .percent = 50, .most = 1000}, known);
  EXPECT_THAT(machine.requested, ElementsAre(35, 27, 23, 25, 26));
  EXPECT_EQ(largest.within->top_k, 25);
  EXPECT_EQ(largest.beyond->top_k, 26);
}

TEST(LargestTopK, IsAbsentIfOneDocumentExceedsTheLimit) {
  const std::vector<TopKLatency> known{around(10, 20)};
  Machine machine{.seconds_each = 2};
  const LargestTopK largest = machine.largest({.seconds = 0.2, .percent = 95, .most = 1000}, known);
  EXPECT_THAT(machine.requested, ElementsAre(1));
  EXPECT_FALSE(largest.within);
  EXPECT_EQ(largest.beyond->top_k, 1);
}

TEST(LargestTopK, IsAtMostTheNumberOfDocuments) {
  Machine machine{.seconds_each = 1e-6};
  const LargestTopK largest = machine.largest({.seconds = 0.2, .percent = 95, .most = 60});
  EXPECT_EQ(machine.requested.back(), 60);
  EXPECT_EQ(largest.within->top_k, 60);
  EXPECT_FALSE(largest.beyond);
}

TEST(LargestTopK, IsBelowTheFirstMeasurementBeyondTheLimitDespiteNoise) {
  const std::vector<TopKLatency> known{around(10, 0.1), around(11, 0.5), around(50, 0.15)};
  const LargestTopK largest =
      Machine{}.largest({.seconds = 0.2, .percent = 95, .most = 1000}, known);
  EXPECT_EQ(largest.within->top_k, 10);
  EXPECT_EQ(largest.beyond->top_k, 11);
}

TEST(LargestTopK, ReturnsTheErrorOfAMeasurement) {
  const auto largest = largest_within(
      {.most = 10}, {}, [](std::int64_t) -> Result<TopKLatency> { return fail("interrupted"); });
  ASSERT_FALSE(largest);
  EXPECT_EQ(largest.error().message, "interrupted");
}

TEST(LatencyAt, IsInterpolated_OrTheLongestOfTooFewCalls) {
  const TopKLatency many = around(1, 1, 101), few = around(1, 1, 60);
  EXPECT_DOUBLE_EQ(latency_at(many, 50), 1.0);
  EXPECT_DOUBLE_EQ(latency_at(many, 95), 1.09);
  EXPECT_DOUBLE_EQ(latency_at(many, 99), 1.098);
  EXPECT_LT(latency_at(few, 95), 1.1);
  EXPECT_DOUBLE_EQ(latency_at(few, 99), 1.1);
}

std::vector<std::string> ranked(const QuerySample& sample, std::size_t query, std::int64_t top_k) {
  std::vector<std::string> documents;
  for (const PairView& pair : sample.ranking(query, top_k)) documents.emplace_back(pair.document);
  return documents;
}

TEST(QuerySample, RanksOwnDocumentsFirst_ThenThoseThatFollowInTheFile) {
  QuerySample sample(10);
  std::int64_t line = 0;
  for (const auto& [query, document] : std::vector<std::pair<std::string, std::string>>{
           {"a", "1"}, {"b", "2"}, {"a", "3"}, {"b", "4"}, {"c", "2"}, {"a", "1"}}) {
    EXPECT_TRUE(sample.add({.query = query, .document = document, .line = ++line}));
  }
  EXPECT_EQ(sample.queries(), 3U);
  EXPECT_EQ(sample.documents(), 4) << "different texts";
  EXPECT_THAT(ranked(sample, 0, 1), ElementsAre("1"));
  EXPECT_THAT(ranked(sample, 0, 4), ElementsAre("1", "3", "2", "4"));
  EXPECT_THAT(ranked(sample, 1, 4), ElementsAre("2", "4", "3", "1"));
  EXPECT_EQ(sample.ranking(1, 1).front().query, "b");
  EXPECT_EQ(sample.ranking(1, 1).front().line, 2);
  EXPECT_EQ(sample.borrowed(1).queries, 0);
  EXPECT_EQ(sample.borrowed(2).queries, 1);
  EXPECT_EQ(sample.borrowed(4).queries, 3);
  EXPECT_EQ(sample.borrowed(4).documents, 2 + 2 + 3);
}

TEST(QuerySample, DistinguishesQueriesByTheirIds) {
  QuerySample sample(10);
  EXPECT_TRUE(sample.add({.query = "same", .document = "x", .query_id = "1"}));
  EXPECT_TRUE(sample.add({.query = "same", .document = "y", .query_id = "2"}));
  EXPECT_TRUE(sample.add({.query = "same", .document = "z", .query_id = "1"}));
  EXPECT_EQ(sample.queries(), 2U);
  EXPECT_THAT(ranked(sample, 0, 2), ElementsAre("x", "z"));
}

TEST(QuerySample, EndsWhenItHasEnoughDocuments) {
  QuerySample sample(1);
  EXPECT_TRUE(sample.add({.query = "a", .document = "own"}));
  std::int64_t others = 0;
  while (sample.add({.query = "b", .document = fmt::format("{}", others)})) ++others;
  EXPECT_EQ(sample.queries(), 1U);
  EXPECT_EQ(sample.documents(), QuerySample::most_documents);
  EXPECT_EQ(others + 2, QuerySample::most_documents);
  EXPECT_EQ(sample.ranking(0, QuerySample::most_documents).size(),
            static_cast<std::size_t>(QuerySample::most_documents));
}

}  // namespace
}  // namespace attnscope
