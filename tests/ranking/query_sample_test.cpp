// SPDX-License-Identifier: Apache-2.0
#include "engine/ranking/query_sample.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attnscope {
namespace {

using testing::ElementsAre;

std::vector<std::string> ranked(const QuerySample& sample, std::size_t query, std::int64_t top_k) {
  std::vector<std::string> documents;
  for (const PairView& pair : sample.ranking(query, top_k)) documents.emplace_back(pair.document);
  return documents;
}

TEST(QuerySample, AQuerysOwnDocumentsComeFirst_ThenThoseThatFollowInTheFile) {
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

TEST(QuerySample, QueriesAreToldApartByTheirIdsWhereTheyHaveSome) {
  QuerySample sample(10);
  EXPECT_TRUE(sample.add({.query = "same", .document = "x", .query_id = "1"}));
  EXPECT_TRUE(sample.add({.query = "same", .document = "y", .query_id = "2"}));
  EXPECT_TRUE(sample.add({.query = "same", .document = "z", .query_id = "1"}));
  EXPECT_EQ(sample.queries(), 2U);
  EXPECT_THAT(ranked(sample, 0, 2), ElementsAre("x", "z"));
}

TEST(QuerySample, IsWholeBehindItsQueriesOnceThereAreDocumentsEnough) {
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
