// SPDX-License-Identifier: Apache-2.0
#include "engine/ranking/score_batches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attnscope {
namespace {

using testing::ElementsAre;

TokenPair pair(std::int32_t query, std::size_t document_tokens) {
  return {.query = {query, 3}, .document = std::vector<std::int32_t>(document_tokens, 7)};
}

TEST(ScoreBatches, GroupsDocumentsByQuery_ShortestFirst) {
  const std::vector<TokenPair> pairs{pair(1, 9), pair(2, 5), pair(1, 3), pair(2, 4),
                                     pair(1, 6), pair(2, 8), pair(1, 1), pair(2, 2)};
  const auto batches = score_batches(pairs, {});
  ASSERT_EQ(batches.size(), 2U);
  EXPECT_THAT(batches[0].pairs, ElementsAre(6, 2, 4, 0));
  EXPECT_THAT(batches[1].pairs, ElementsAre(7, 3, 1, 5));
  EXPECT_TRUE(batches[0].one_query && batches[1].one_query);
}

TEST(ScoreBatches, CombinesQueriesWithFewDocuments) {
  const std::vector<TokenPair> pairs{pair(1, 9), pair(2, 5), pair(3, 1)};
  const auto batches = score_batches(pairs, {});
  ASSERT_EQ(batches.size(), 1U);
  EXPECT_THAT(batches[0].pairs, ElementsAre(2, 1, 0));
  EXPECT_FALSE(batches[0].one_query);
}

TEST(ScoreBatches, LimitsTokensAndPairsOfABatch) {
  const std::vector<TokenPair> pairs(10, pair(1, 7));  // 10 tokens each
  EXPECT_EQ(score_batches(pairs, {.tokens = 30, .pairs = 100}).size(), 4U);
  EXPECT_EQ(score_batches(pairs, {.tokens = 1000, .pairs = 5}).size(), 2U);
}

TEST(ScoreBatches, PairBeyondTheLimit_IsASeparateBatch) {
  const std::vector<TokenPair> pairs{pair(1, 100), pair(1, 1)};
  const auto batches = score_batches(pairs, {.tokens = 10, .pairs = 10});
  ASSERT_EQ(batches.size(), 2U);
  EXPECT_THAT(batches[1].pairs, ElementsAre(0));
}

TEST(ScoreBatches, WholeQuery_IsOneBatchOfAnySize) {
  std::vector<TokenPair> pairs(40, {.query = {1}, .document = std::vector<std::int32_t>(9)});
  pairs.push_back({.query = {2}, .document = {3}});
  const auto batches = score_batches(pairs, {.tokens = 10, .pairs = 2, .whole_queries = true});
  ASSERT_EQ(batches.size(), 2U);
  EXPECT_EQ(batches[0].pairs.size(), 40U);
  EXPECT_TRUE(batches[0].one_query);
  EXPECT_TRUE(batches[1].one_query);
}

TEST(ScoreBatches, NoPairs_ResultInNoBatches) {
  EXPECT_TRUE(score_batches(std::vector<TokenPair>(), {}).empty());
}

}  // namespace
}  // namespace attnscope
