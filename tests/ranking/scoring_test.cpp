// SPDX-License-Identifier: Apache-2.0
//
// What a scoring run reads and writes: passages of documents, batches of pairs, and lines.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>
#include <utility>
#include <vector>

#include "base/sentences.h"
#include "engine/ranking/passages.h"
#include "engine/ranking/score_lines.h"
#include "engine/ranking/text_scorer.h"

namespace attnscope {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(ScoreLines, ATrecRunRanksAQueryWhenTheNextOneStarts) {
  ScoreLines lines(ScoreFormat::trec, "mini");
  EXPECT_EQ(lines.add({"1", "a"}, 1.0F).value(), "");
  EXPECT_EQ(lines.add({"1", "b"}, 2.0F).value(), "");
  EXPECT_EQ(lines.add({"2", "c"}, 3.0F).value(), "1 Q0 b 1 2 mini\n1 Q0 a 2 1 mini\n");
  EXPECT_EQ(lines.finish(), "2 Q0 c 1 3 mini\n");
}

TEST(ScoreLines, HaveTheIdsBeforeTheScore) {
  const auto line_of = [](ScoreFormat format, const PairIds& ids, float score) {
    return ScoreLines(format, "").add(ids, score).value();
  };
  EXPECT_EQ(line_of(ScoreFormat::tsv, {}, 0.1F), "0.1\n");
  EXPECT_EQ(line_of(ScoreFormat::tsv, {"7", "d1"}, -2.5F), "7\td1\t-2.5\n");
  EXPECT_EQ(line_of(ScoreFormat::jsonl, {}, 1.5F), "{\"score\":1.5}\n");
  EXPECT_EQ(line_of(ScoreFormat::jsonl, {"a\"b", "d1"}, 0.1F),
            "{\"qid\":\"a\\\"b\",\"docno\":\"d1\",\"score\":0.1}\n");
  EXPECT_EQ(ScoreLines(ScoreFormat::tsv, "").finish(), "");
  EXPECT_THAT(parse_score_format("csv").error().message, HasSubstr("known: tsv, trec, jsonl"));
}

TEST(ScoreLines, ATrecRunRefusesOtherTextsSplitQueriesAndIdsWithBlanks) {
  ScoreLines lines(ScoreFormat::trec, "mini");
  EXPECT_FALSE(lines.add({"1", "two words"}, 1.0F).has_value());
  EXPECT_FALSE(lines.add({}, 1.0F).has_value());
  EXPECT_TRUE(lines.add({"1", "a", 7}, 1.0F).has_value());
  EXPECT_TRUE(lines.add({"1", "b", 7}, 1.0F).has_value());
  EXPECT_THAT(lines.add({"1", "c", 8}, 1.0F).error().message,
              HasSubstr("query '1' has a different text"));
  EXPECT_TRUE(lines.add({"2", "a"}, 1.0F).has_value());
  EXPECT_THAT(lines.add({"1", "c", 7}, 1.0F).error().message,
              HasSubstr("query '1' are not consecutive"));
}

TEST(ScoreLines, TheBestDocumentsOfAQueryAreWrittenInOrder) {
  for (const auto& [format, wanted] :
       {std::pair(ScoreFormat::tsv, "1\tb\t2\n1\ta\t1\n"),
        std::pair(ScoreFormat::trec, "1 Q0 b 1 2 mini\n1 Q0 a 2 1 mini\n"),
        std::pair(ScoreFormat::jsonl,
                  "{\"qid\":\"1\",\"docno\":\"b\",\"score\":2}\n"
                  "{\"qid\":\"1\",\"docno\":\"a\",\"score\":1}\n")}) {
    ScoreLines lines(format, "mini", {.top = 2});
    static_cast<void>(lines.add({"1", "a"}, 1.0F));
    static_cast<void>(lines.add({"1", "b"}, 2.0F));
    static_cast<void>(lines.add({"1", "c"}, 1.0F));  // equal to the first, which is kept
    for (int i = 0; i < 3000; ++i)
      EXPECT_EQ(lines.add({"1", fmt::format("d{}", i)}, -1.0F).value(), "");
    EXPECT_EQ(lines.add({"2", "a"}, 0.0F).value(), wanted);
    EXPECT_THAT(lines.add({"1", "z"}, 3.0F).error().message, HasSubstr("are not consecutive"));
    EXPECT_FALSE(lines.add({}, 1.0F).has_value());
  }
}

TEST(ScoreLines, ADocumentHasTheScoreOfItsBestPassage) {
  ScoreLines lines(ScoreFormat::trec, "mini", {.best_of_passages = true});
  for (const auto& [document, score] :
       {std::pair("a", 1.0F), std::pair("a", 3.0F), std::pair("a", 2.0F), std::pair("b", 2.5F)})
    EXPECT_EQ(lines.add({"1", document}, score).value(), "");
  EXPECT_EQ(lines.finish(), "1 Q0 a 1 3 mini\n1 Q0 b 2 2.5 mini\n");
}

TEST(ScoreLines, RanksOfSigmoidsAreBasedOnRawScores) {
  ScoreLines lines(ScoreFormat::tsv, "", {.top = 2, .applies_sigmoid = true});
  static_cast<void>(lines.add({"1", "a"}, 40.0F));
  static_cast<void>(lines.add({"1", "b"}, 60.0F));  // both are 1 in float32
  EXPECT_EQ(lines.finish(), "1\tb\t1\n1\ta\t1\n");
  EXPECT_EQ(lines.count(), 2);
}

TEST(ScoreLines, ADocumentMayOccurOncePerQuery) {
  for (const ScoreFormat format : {ScoreFormat::trec, ScoreFormat::tsv}) {
    ScoreLines lines(format, "mini", {.top = 5});
    static_cast<void>(lines.add({"1", "a"}, 1.0F));
    static_cast<void>(lines.add({"1", "b"}, 1.0F));
    EXPECT_THAT(lines.add({"1", "a"}, 2.0F).error().message,
                HasSubstr("document 'a' occurs twice for query '1'"));
  }
}

TEST(ScoreLines, IdsWithControlCharactersAreRefusedOrEscaped) {
  for (const char* id : {"a\x1b[31m", "\xe2\x80\xae", "\xff"}) {
    for (const ScoreFormat format : {ScoreFormat::tsv, ScoreFormat::trec}) {
      const auto line = ScoreLines(format, "mini").add({"1", id}, 1.0F);
      ASSERT_FALSE(line.has_value());
      EXPECT_THAT(line.error().message, HasSubstr("--format jsonl"));
    }
    const std::string line = ScoreLines(ScoreFormat::jsonl, "mini").add({"1", id}, 1.0F).value();
    EXPECT_EQ(visible(line), line);
  }
  EXPECT_EQ(ScoreLines(ScoreFormat::jsonl, "mini").add({"1", "é"}, 1.0F).value(),
            "{\"qid\":\"1\",\"docno\":\"é\",\"score\":1}\n");
}

TEST(ScoreTies, ArePairsOfDocumentsOfOneQuery) {
  ScoreTies ties;
  for (const auto& [query, document, score] :
       {std::tuple("1", "a", 2.5F), std::tuple("1", "b", 2.5F), std::tuple("1", "c", 1.0F),
        std::tuple("1", "d", 2.5F), std::tuple("1", "e", 1.0F), std::tuple("2", "a", 2.5F),
        std::tuple("3", "a", 0.0F), std::tuple("3", "b", -0.0F)})
    ties.add(query, document, score);
  EXPECT_EQ(ties.in_words(), "5 pairs of documents share a score, in 2 of 3 queries");
}

TEST(ScoreTies, PassagesOfADocumentAreOne_AndDocumentsWithoutIdsAreDistinct) {
  ScoreTies ties;
  for (const auto& [document, score] :
       {std::pair("a", 2.5F), std::pair("a", 1.0F), std::pair("b", 1.0F), std::pair("b", 0.5F)})
    ties.add("1", document, score);
  EXPECT_EQ(ties.in_words(), "");
  ties.add("2", "", 1.0F);
  ties.add("2", "", 1.0F);
  EXPECT_EQ(ties.in_words(), "1 pair of documents shares a score, in 1 of 2 queries");
}

TEST(ScoreTies, OfASplitQueryAreCounted) {
  ScoreTies ties;
  for (const char* query : {"1", "2", "1", "2", "1"}) ties.add(query, "", 1.0F);
  EXPECT_EQ(ties.in_words(), "4 pairs of documents share a score, in 2 of 2 queries");
}

TEST(Passages, TheFirstFillsTheRoom) {
  EXPECT_THAT(passages_of(3000, {.room = 500}, LongDocuments::first_p),
              ElementsAre(Passage{0, 500}));
  EXPECT_THAT(passages_of(20, {.room = 500}, LongDocuments::first_p), ElementsAre(Passage{0, 20}));
  EXPECT_THAT(passages_of(3000, {.room = 500}, LongDocuments::whole),
              ElementsAre(Passage{0, 3000}));
}

TEST(Passages, OverlapByHalfAndEndWithTheDocument) {
  const auto max_p = [](std::int64_t tokens, std::int64_t room) {
    return passages_of(tokens, {.room = room}, LongDocuments::max_p);
  };
  EXPECT_THAT(max_p(10, 10), ElementsAre(Passage{0, 10}));
  EXPECT_THAT(max_p(11, 10), ElementsAre(Passage{0, 10}, Passage{1, 11}));
  EXPECT_THAT(max_p(20, 10), ElementsAre(Passage{0, 10}, Passage{5, 15}, Passage{10, 20}));
  EXPECT_THAT(max_p(22, 10),
              ElementsAre(Passage{0, 10}, Passage{5, 15}, Passage{10, 20}, Passage{12, 22}));
  EXPECT_THAT(max_p(0, 10), ElementsAre(Passage{0, 0}));
  EXPECT_THAT(max_p(3, 1), ElementsAre(Passage{0, 1}, Passage{1, 2}, Passage{2, 3}));
}

TEST(Passages, ContainEveryToken_OfAnyLength) {
  for (std::int64_t room = 1; room < 12; ++room) {
    for (std::int64_t tokens = 0; tokens < 60; ++tokens) {
      std::int64_t seen = 0;
      for (const Passage& passage : passages_of(tokens, {.room = room}, LongDocuments::max_p)) {
        EXPECT_LE(passage.begin, seen);
        EXPECT_LE(passage.end - passage.begin, room);
        EXPECT_GE(passage.end, seen);
        seen = passage.end;
      }
      EXPECT_EQ(seen, tokens);
    }
  }
}

TEST(Passages, AsPublished_OmitTheEndOfTheLongestCandidate) {
  // 64 positions, a query of 13 with its [SEP]: 50 for a document with its [SEP], so 49 tokens.
  const auto published = [](std::int64_t tokens, std::int64_t longest) {
    return passages_of(tokens, {.room = 49, .positions = 64, .longest = longest},
                       LongDocuments::max_p_as_published);
  };
  // range(0, 121 - 50, 25): 0, 25, 50; tokens from 99 on are dropped.
  EXPECT_THAT(published(120, 120), ElementsAre(Passage{0, 49}, Passage{25, 74}, Passage{50, 99}));
  // A shorter candidate has the passages that begin within it; the last ones are shorter.
  EXPECT_THAT(published(40, 120), ElementsAre(Passage{0, 40}, Passage{25, 40}));
  EXPECT_THAT(published(50, 120), ElementsAre(Passage{0, 49}, Passage{25, 50}, Passage{50, 50}));
  // If all candidates fit the positions, each has one passage.
  EXPECT_THAT(published(63, 63), ElementsAre(Passage{0, 49}));
  EXPECT_THAT(published(64, 64), ElementsAre(Passage{0, 49}));
  EXPECT_THAT(published(80, 80), ElementsAre(Passage{0, 49}, Passage{25, 74}));
}

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
  EXPECT_TRUE(score_batches(std::vector<TokenPair>(), {}).empty());
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

}  // namespace
}  // namespace attnscope
