// SPDX-License-Identifier: Apache-2.0
#include "engine/ranking/score_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>
#include <utility>

#include "base/sentences.h"

namespace attnscope {
namespace {

using testing::HasSubstr;

TEST(ScoreLines, WithoutIdsALineIsItsScore) {
  ScoreLines lines(ScoreFormat::tsv, "");
  EXPECT_EQ(lines.add({}, 0.1F).value(), "0.1\n");
  EXPECT_EQ(lines.finish(), "");
}

TEST(ScoreLines, IdsGoBeforeTheScore) {
  ScoreLines lines(ScoreFormat::tsv, "");
  EXPECT_EQ(lines.add({"7", "d1"}, -2.5F).value(), "7\td1\t-2.5\n");
}

TEST(ScoreLines, JsonLinesHaveTheIdsThatThereAre) {
  ScoreLines lines(ScoreFormat::jsonl, "");
  EXPECT_EQ(lines.add({"a\"b", "d1"}, 0.1F).value(),
            "{\"qid\":\"a\\\"b\",\"docno\":\"d1\",\"score\":0.1}\n");
  EXPECT_EQ(lines.add({}, 1.5F).value(), "{\"score\":1.5}\n");
}

TEST(ScoreLines, ATrecRunRanksAQuerysDocumentsWhenTheNextQueryComes) {
  ScoreLines lines(ScoreFormat::trec, "mini");
  EXPECT_EQ(lines.add({"1", "a"}, 1.0F).value(), "");
  EXPECT_EQ(lines.add({"1", "b"}, 2.0F).value(), "");
  EXPECT_EQ(lines.add({"2", "c"}, 3.0F).value(), "1 Q0 b 1 2 mini\n1 Q0 a 2 1 mini\n");
  EXPECT_EQ(lines.finish(), "2 Q0 c 1 3 mini\n");
}

TEST(ScoreLines, ATrecRunOfAQueryThatComesBackIsAnError) {
  ScoreLines lines(ScoreFormat::trec, "mini");
  static_cast<void>(lines.add({"1", "a"}, 1.0F));
  static_cast<void>(lines.add({"2", "a"}, 1.0F));
  const auto again = lines.add({"1", "b"}, 1.0F);
  ASSERT_FALSE(again.has_value());
  EXPECT_THAT(again.error().message, HasSubstr("query '1' are not consecutive"));
}

TEST(ScoreLines, ATrecRunNeedsIdsOfOneWord) {
  ScoreLines lines(ScoreFormat::trec, "mini");
  EXPECT_FALSE(lines.add({"1", "two words"}, 1.0F).has_value());
  EXPECT_FALSE(lines.add({}, 1.0F).has_value());
}

TEST(ScoreLines, ARankingIsOfOneQuery) {
  ScoreLines lines(ScoreFormat::trec, "mini");
  EXPECT_TRUE(lines.add({"1", "a", 7}, 1.0F).has_value());
  EXPECT_TRUE(lines.add({"1", "b", 7}, 1.0F).has_value());
  EXPECT_THAT(lines.add({"1", "c", 8}, 1.0F).error().message,
              HasSubstr("query '1' has a different text"));
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
    static_cast<void>(lines.add({"1", "c"}, 1.0F));  // equal: the first that came stays
    // As many as are gathered before the rest goes.
    for (int i = 0; i < 3000; ++i)
      EXPECT_EQ(lines.add({"1", fmt::format("d{}", i)}, -1.0F).value(), "");
    EXPECT_EQ(lines.add({"2", "a"}, 0.0F).value(), wanted);
    EXPECT_THAT(lines.add({"1", "z"}, 3.0F).error().message, HasSubstr("are not consecutive"));
    EXPECT_FALSE(lines.add({}, 1.0F).has_value());
  }
}

TEST(ScoreLines, RawScoresDecideAboutRanksOfSigmoids) {
  ScoreLines lines(ScoreFormat::tsv, "", {.top = 2, .applies_sigmoid = true});
  static_cast<void>(lines.add({"1", "a"}, 40.0F));
  static_cast<void>(lines.add({"1", "b"}, 60.0F));  // both are 1 in float32
  EXPECT_EQ(lines.finish(), "1\tb\t1\n1\ta\t1\n");
  EXPECT_EQ(lines.count(), 2);
}

TEST(ScoreLines, ADocumentStandsOnceUnderAQuery) {
  for (const ScoreFormat format : {ScoreFormat::trec, ScoreFormat::tsv}) {
    ScoreLines lines(format, "mini", {.top = 5});
    static_cast<void>(lines.add({"1", "a"}, 1.0F));
    static_cast<void>(lines.add({"1", "b"}, 1.0F));
    EXPECT_THAT(lines.add({"1", "a"}, 2.0F).error().message,
                HasSubstr("document 'a' occurs twice for query '1'"));
  }
}

TEST(ScoreLines, IdsThatATerminalWouldObeyAreRefusedOrEscaped) {
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

TEST(ScoreLines, AnUnknownFormatIsNamed) {
  EXPECT_THAT(parse_score_format("csv").error().message, HasSubstr("known: tsv, trec, jsonl"));
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

TEST(ScoreTies, PassagesOfADocumentAreOne) {
  ScoreTies ties;
  ties.add("1", "a", 2.5F);
  ties.add("1", "a", 1.0F);
  ties.add("1", "b", 1.0F);
  ties.add("1", "b", 0.5F);
  EXPECT_EQ(ties.in_words(), "");
  ties.add("2", "", 1.0F);
  ties.add("2", "", 1.0F);
  EXPECT_EQ(ties.in_words(), "1 pair of documents shares a score, in 1 of 2 queries");
}

TEST(ScoreTies, OfAQueryThatComesBackAreCounted) {
  ScoreTies ties;
  for (const char* query : {"1", "2", "1", "2", "1"}) ties.add(query, "", 1.0F);
  EXPECT_EQ(ties.in_words(), "4 pairs of documents share a score, in 2 of 2 queries");
}

}  // namespace
}  // namespace attnscope
