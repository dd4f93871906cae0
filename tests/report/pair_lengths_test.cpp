// SPDX-License-Identifier: Apache-2.0
#include "engine/report/pair_lengths.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "engine/report/question.h"

namespace attnscope::report {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// 64 pairs, by turns short and long: 13 + 90 and 13 + 590 tokens in all.
PairLengths by_turns() {
  PairLengths lengths("tiny", "pairs.tsv", 512);
  for (int i = 0; i < 64; ++i) {
    const int document = i % 2 == 0 ? 90 : 590;
    lengths.add(10, document, document + 13);
  }
  return lengths;
}

TEST(PairLengths, LimitsCutPairsAndTokens_TheCheckpointsOwnIsToldOnce) {
  const std::vector<CutAt> cuts = cuts_of(by_turns());
  ASSERT_EQ(cuts.size(), 6U);
  EXPECT_EQ(cuts[2].limit, 512);
  EXPECT_EQ(cuts[2].pairs, 32);
  EXPECT_EQ(cuts[2].share, 0.5);
  EXPECT_DOUBLE_EQ(cuts[2].share_of_tokens, (603.0 - 512) / (603 + 103));
  EXPECT_EQ(cuts[3].pairs, 0);
  PairLengths other("tiny", "pairs.tsv", 300);
  other.add(1, 1, 4);
  EXPECT_EQ(cuts_of(other)[2].limit, 300);
}

TEST(PairLengths, PaddingIsWhatABatchHasBeyondItsTexts) {
  const Padding padding = padding_of(by_turns());
  EXPECT_DOUBLE_EQ(padding.in_file_order, 1 - (512.0 + 103) / (2 * 512));
  EXPECT_EQ(padding.sorted, 0);  // 32 short ones, then 32 long ones
}

TEST(PairLengths, TablesTellThemInEveryForm) {
  const std::string text = write_lengths(by_turns(), TableFormat::text);
  EXPECT_THAT(text, AllOf(HasSubstr("64 pairs of pairs.tsv in tokens of tiny"),
                          HasSubstr("512 tokens (the checkpoint's own) cuts 50.0 % of the pairs"),
                          HasSubstr("none packed")));
  EXPECT_THAT(write_lengths(by_turns(), TableFormat::csv),
              HasSubstr("documents,340,90,90,590,590,590,590,590"));
}

TEST(PairLengths, WhatIsWrittenAsJsonIsReadAsLengths) {
  const std::string json = write_lengths(by_turns(), TableFormat::json);
  const DocumentLengths documents = parse_document_lengths(json).value();
  EXPECT_EQ(documents.count(), 64);
  EXPECT_EQ(documents.shortest(), 90);
  EXPECT_EQ(documents.percentile(95), 590);
  EXPECT_EQ(parse_document_lengths(json, /*of_sequences=*/true)->longest(), 603);
  const auto whole = nlohmann::json::parse(json);
  EXPECT_EQ(whole.at("padding").at("packed"), 0);
  EXPECT_EQ(whole.at("queries").at("p50"), 10);
  EXPECT_THAT(parse_document_lengths("{\"documents\": {\"counted\": [[1]]}}").error().message,
              HasSubstr("'documents.counted[0]'"));
  EXPECT_THAT(parse_document_lengths("{\"documents\": {\"counted\": []}}").error().message,
              HasSubstr("it must have at least one length"));
}

TEST(PairLengths, EmptyDocumentsCountAsOneToken) {
  PairLengths lengths("tiny", "pairs.tsv", 0);
  lengths.add(3, 0, 5);
  lengths.add(3, 1, 6);
  const auto documents = parse_document_lengths(write_lengths(lengths, TableFormat::json));
  EXPECT_EQ(documents->shortest(), 1);
  EXPECT_TRUE(documents->is_one());
  EXPECT_EQ(documents->count(), 2);
}

TEST(PairLengths, HistogramsCountEveryText_TheFewLongestInTheLastBin) {
  PairLengths lengths("tiny", "pairs.tsv", 512);
  for (int i = 0; i < 300; ++i) lengths.add(5, i == 0 ? 100'000 : 10 + i % 30, 20);
  const Facets facets = histograms_of(lengths);
  ASSERT_EQ(facets.panels.size(), 3U);
  EXPECT_EQ(facets.panels[1].title, "Documents");
  const Figure& documents = facets.panels[1];
  EXPECT_LE(documents.x_names.size(), 22U);
  EXPECT_THAT(documents.x_names.back(), HasSubstr("≥"));
  double sum = 0;
  for (const Point& point : documents.series.front().points) sum += point.y;
  EXPECT_EQ(sum, 300);
  EXPECT_EQ(documents.series.front().points.back().y, 1);
}

}  // namespace
}  // namespace attnscope::report
