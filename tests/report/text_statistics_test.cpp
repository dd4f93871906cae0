// SPDX-License-Identifier: Apache-2.0
#include "engine/report/text_statistics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/store/sample_runs.h"

namespace attnscope::report {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(DocumentLengths, ReadOneNumberPerLine) {
  const auto lengths = parse_document_lengths("300\n\n 100 \r\n# a comment\n300 # as above\n");
  ASSERT_TRUE(lengths.has_value());
  EXPECT_EQ(lengths->counted(), (std::vector<DocumentLengths::Counted>{{100, 1}, {300, 2}}));
  EXPECT_EQ(lengths->count(), 3);
  EXPECT_FALSE(lengths->is_one());
  EXPECT_TRUE(DocumentLengths(512).is_one());
  EXPECT_TRUE(parse_document_lengths("7\n7\n7")->is_one());
  EXPECT_EQ(parse_document_lengths("7\n7\n7")->count(), 3);
}

TEST(DocumentLengths, HaveMeanAndNearestRankPercentiles) {
  std::vector<std::int64_t> lengths;
  for (std::int64_t i = 100; i >= 1; --i) lengths.push_back(i);
  const DocumentLengths all(std::move(lengths));
  EXPECT_DOUBLE_EQ(all.mean(), 50.5);
  EXPECT_EQ(all.percentile(0), 1);
  EXPECT_EQ(all.percentile(50), 50);
  EXPECT_EQ(all.percentile(95), 95);
  EXPECT_EQ(all.percentile(100), 100);
  EXPECT_EQ(DocumentLengths(512).percentile(50), 512);
}

TEST(DocumentLengths, ErrorsNameTheLineAndTheFile) {
  using namespace std::string_view_literals;
  for (const auto& [text, message] :
       {std::pair("12\nlong\n"sv, "line 2 is 'long'"),
        {"12.5"sv, "line 1 is '12.5'"},
        {"1\n0"sv, "line 2 is '0'"},
        {"-4"sv, "line 1"},
        {"99999999999999999999999"sv, "line 1"},
        {"\0\xff"sv, "line 1"},
        {""sv, "it contains no length"},
        {"# nothing\n\n"sv, "it contains no length"},
        {R"({"documents": {"counted": [[1]]}})"sv, "'documents.counted[0]'"},
        {R"({"documents": {"counted": []}})"sv, "it must have at least one length"}})
    EXPECT_THAT(parse_document_lengths(text).error().message, HasSubstr(message));
  const test::TemporaryFolder folder;
  const auto file = folder / "lengths.txt";
  EXPECT_THAT(read_document_lengths(file).error().message, HasSubstr("lengths.txt"));
  std::ofstream(file) << "12\nlong\n";
  EXPECT_THAT(read_document_lengths(file).error().message, HasSubstr("lengths.txt': line 2"));
  std::ofstream(file) << "12\n13\n";
  EXPECT_EQ(read_document_lengths(file)->count(), 2);
}

/// 64 pairs, alternately of 13 + 90 and 13 + 590 tokens in total.
PairLengths by_turns() {
  PairLengths lengths("tiny", "pairs.tsv", 512);
  for (int i = 0; i < 64; ++i) {
    const int document = i % 2 == 0 ? 90 : 590;
    lengths.add(10, document, document + 13);
  }
  return lengths;
}

TEST(PairLengths, LimitsCutPairsAndTokens) {
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

TEST(PairLengths, PaddingIsTheRestOfABatch) {
  const Padding padding = padding_of(by_turns());
  EXPECT_DOUBLE_EQ(padding.in_file_order, 1 - (512.0 + 103) / (2 * 512));
  EXPECT_EQ(padding.sorted, 0);  // 32 short ones, then 32 long ones
}

TEST(PairLengths, TableHasCutsAndPadding) {
  const std::string text = write_lengths(by_turns(), TableFormat::text);
  EXPECT_THAT(text,
              AllOf(HasSubstr("64 pairs of pairs.tsv in tokens of tiny"),
                    HasSubstr("512 tokens (the checkpoint's own) truncates 50.0 % of the pairs"),
                    HasSubstr("none packed")));
  EXPECT_THAT(write_lengths(by_turns(), TableFormat::csv),
              HasSubstr("documents,340,90,90,590,590,590,590,590"));
}

TEST(PairLengths, JsonIsReadBackAsLengths) {
  const std::string json = write_lengths(by_turns(), TableFormat::json);
  const DocumentLengths documents = parse_document_lengths(json).value();
  EXPECT_EQ(documents.count(), 64);
  EXPECT_EQ(documents.shortest(), 90);
  EXPECT_EQ(documents.percentile(95), 590);
  EXPECT_EQ(parse_document_lengths(json, /*of_sequences=*/true)->longest(), 603);
  const auto whole = nlohmann::json::parse(json);
  EXPECT_EQ(whole.at("padding").at("packed"), 0);
  EXPECT_EQ(whole.at("queries").at("p50"), 10);
  PairLengths empty("tiny", "pairs.tsv", 0);  // an empty document counts as one token
  empty.add(3, 0, 5);
  empty.add(3, 1, 6);
  EXPECT_EQ(parse_document_lengths(write_lengths(empty, TableFormat::json))->counted(),
            (std::vector<DocumentLengths::Counted>{{1, 2}}));
}

TEST(PairLengths, HistogramsCountOutliersInTheLastBin) {
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

TEST(RegionPositions, BinsHaveEqualWidthAndNoneIsOmitted) {
  RegionPositions positions;
  positions.add(std::array<std::int64_t, 3>{0, 640, 1990});
  positions.add(std::array<std::int64_t, 2>{49, 500});
  const auto figure = positions.figure("tkl");
  ASSERT_TRUE(figure) << figure.error().message;
  EXPECT_EQ(figure->x_label, "First word of the region, in bins of 50 words");
  EXPECT_THAT(figure->title, HasSubstr("of tkl begin in 2 documents"));
  ASSERT_EQ(figure->series.size(), 3U);
  const Series& best = figure->series[0];
  ASSERT_EQ(best.points.size(), 40U);
  EXPECT_EQ(best.points[0].x, 25);
  EXPECT_EQ(best.points[0].y, 100) << "of both documents, in words 1 to 50";
  EXPECT_EQ(best.points[1].y, 0) << "an empty bin is a point";
  const Series& second = figure->series[1];
  EXPECT_EQ(second.points[10].y, 50);
  EXPECT_EQ(second.points[12].y, 50);
  EXPECT_EQ(figure->series[2].points[39].y, 100) << "of the one document that has a third";
  EXPECT_EQ(second.style_key, "region 2") << "coloured as regions are";
}

TEST(RegionPositions, StatesSharesAfterThePapersWord) {
  RegionPositions positions;
  positions.add({});
  EXPECT_FALSE(positions.figure("tkl")) << "there are no regions";
  positions = {};
  positions.add(std::array<std::int64_t, 3>{0, 640, 1990});
  positions.add(std::array<std::int64_t, 2>{499, 500});
  EXPECT_EQ(positions.in_words(),
            "0.0 % of the best regions of 2 documents, 100.0 % of the second and 100.0 % of the "
            "third begin after word 500");
}

}  // namespace
}  // namespace attnscope::report
