// SPDX-License-Identifier: Apache-2.0
//
// Documents per millisecond, and documents with drawn lengths, as in the TKL paper.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <nlohmann/json.hpp>

#include "engine/report/advice.h"
#include "engine/report/answer.h"
#include "engine/report/published.h"
#include "engine/report/run_figures.h"
#include "engine/report/slice.h"
#include "tests/report/measured_run.h"

namespace attnscope::report {
namespace {

using namespace test;
using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::string_view of_models = "operation=model";

Cell model_cell(const std::string& model, const std::string& name, double ms) {
  Cell cell = timed_cell("chunks", "segment", std::nullopt, name, ms);
  cell.contender.model = model;
  return cell;
}

/// Documents of drawn lengths up to `most` words: TKL takes 2 ms for four, TK 1 ms, BERT 40 ms.
HeatResult drawn_heat(std::int64_t most, Stage stage = Stage::whole) {
  HeatResult heat;
  heat.point = point_at(0);
  heat.point.operation = Operation::model;
  heat.point.sequence_tokens = tokens_with_words(heat.point, most);
  heat.point.document_lengths = {.median = 804, .p90 = 3267, .most = most};
  heat.point.layers = 2;
  heat.point.heads = 10;
  heat.point.head_dim = 30;
  heat.point.feed_forward = 100;
  heat.point.stage = stage;
  heat.cells = {model_cell("tkl", "TKL", 2), model_cell("tk", "TK", 1),
                model_cell("cross-bert", "BERT", 40)};
  return heat;
}

/// BERT is larger than the others: BERT-base, as in the paper.
HeatResult large_heat(std::int64_t most) {
  HeatResult heat = drawn_heat(most);
  heat.point.layers = 12;
  heat.point.heads = 12;
  heat.point.head_dim = 64;
  heat.point.feed_forward = 3072;
  heat.cells.erase(heat.cells.begin(), heat.cells.begin() + 2);
  return heat;
}

MeasuredRun& with_lengths(MeasuredRun& run) {
  for (const std::int64_t most : {200, 2000, 4000}) run.add(drawn_heat(most));
  return run;
}

TEST(DocumentsPerMs, AreAColumnWithTheIntervalOfTheTime) {
  const json row = json_rows(MeasuredRun().table()).at(5);  // 4 documents in 4 ms
  for (const auto& [rate, time] : {std::pair("documents_per_ms", "median_ms"),
                                   {"documents_per_ms_low", "high_ms"},
                                   {"documents_per_ms_high", "low_ms"}})
    EXPECT_NEAR(row.at(rate).get<double>(), 4 / row.at(time).get<double>(), 1e-9);
  EXPECT_NEAR(row.at("documents_per_ms").get<double>(), 1, 1e-9);
  EXPECT_LT(row.at("documents_per_ms_low"), row.at("documents_per_ms_high"));
}

TEST(DrawnLengths, AreAColumnAndTimePerTokenIsNone) {
  MeasuredRun run;
  run.add(drawn_heat(2000));
  const json rows = json_rows(run.table());
  EXPECT_EQ(rows.front().at("document_lengths"), json());  // not of attention
  EXPECT_EQ(rows.back().at("document_lengths"), "lognormal 804/3267 up to 2000");
  EXPECT_EQ(rows.back().at("ms_per_1000_tokens"), json());
  EXPECT_TRUE(rows.front().at("ms_per_1000_tokens").is_number());
  Table table = run.table({}, std::string(of_models));
  add_growth(table);
  for (const Row& row : table.rows) EXPECT_FALSE(row.growth);
}

TEST(DrawnLengths, HaveNoAdviceForOneLength) {
  MeasuredRun run;
  with_lengths(run);
  const Question question{.query_tokens = 10, .documents = DocumentLengths(1000)};
  EXPECT_THAT(make_advice(run.table({}, std::string(of_models)), question), IsEmpty());
  EXPECT_EQ(make_advice(run.table(), question).size(), 1U);
}

TEST(DrawnLengths, OneDistributionPerLength_IsOneLine) {
  MeasuredRun run;
  const Table table = with_lengths(run).table({}, std::string(of_models));
  const auto figure = make_figure(table, XAxis::length, YAxis::per_ms);
  ASSERT_TRUE(figure) << figure.error().message;
  ASSERT_EQ(figure->series.size(), 3U);
  EXPECT_EQ(figure->series[0].points.size(), 3U);
  EXPECT_EQ(figure->series[0].points[1].x, 2013);
  EXPECT_NEAR(figure->series[0].points[1].y, 2, 1e-9);
  EXPECT_LT(figure->series[0].points[1].low, 2);
  EXPECT_GT(figure->series[0].points[1].high, 2);
  EXPECT_THAT(figure->title, testing::EndsWith(", documents of lognormal 804/3267 words"));
  const std::array<std::string_view, 1> along_length{"sequence_tokens"};
  EXPECT_THAT(find_slice(table, along_length, {}).axes, IsEmpty());
  EXPECT_THAT(make_figure(table, XAxis::length, YAxis::per_token)->series[0].rail.at(0).reason,
              HasSubstr("drawn"));
}

TEST(DrawnLengths, AreNotJoinedWithEqualLengthsOrOtherDistributions) {
  HeatResult alike = drawn_heat(2000);
  alike.point.document_lengths = {};
  MeasuredRun run;
  const Table mixed = with_lengths(run.add(alike)).table({}, std::string(of_models));
  const std::array<std::string_view, 1> along_length{"sequence_tokens"};
  const Slice slice = find_slice(mixed, along_length, {});
  ASSERT_EQ(slice.axes.size(), 1U);
  EXPECT_EQ(slice.axes[0].values.size(), 4U);
  HeatResult other = drawn_heat(4000);
  other.point.document_lengths.median = 300;
  const Table two =
      MeasuredRun().add(drawn_heat(2000)).add(other).table({}, std::string(of_models));
  for (const Table& table : {mixed, two})
    EXPECT_THAT(make_figure(table, XAxis::length, YAxis::per_ms).error().message,
                HasSubstr("one document_lengths"));
  EXPECT_TRUE(published_rate(test::row_of(two, "tkl/segment", 2013)));
  EXPECT_FALSE(published_rate(test::row_of(two, "tkl/segment", 4013)));
}

TEST(DrawnLengths, HaveARankingForAllLengthsTogether) {
  const Table table =
      MeasuredRun().add(drawn_heat(2000)).table("tk/segment", std::string(of_models));
  const auto answers = make_answers(table, XAxis::length);
  ASSERT_EQ(answers.size(), 1U);
  ASSERT_EQ(answers[0].rankings.size(), 1U);
  EXPECT_EQ(answers[0].rankings[0].place, "Documents of lognormal 804/3267 up to 2000 words");
  EXPECT_THAT(answers[0].crossovers, IsEmpty());
  EXPECT_THAT(answers[0].fits, IsEmpty());
  EXPECT_THAT(answers[0].notes, testing::Contains(HasSubstr("not for a single length")));
}

TEST(PublishedRates, AreThoseOfTheSameModelSizeAndLongestDocument) {
  const auto rates = published_rates();
  ASSERT_EQ(rates.size(), 9U);
  EXPECT_EQ(rates[0].row, "match-pyramid");
  EXPECT_EQ(rates[5].row, "cross-bert");
  MeasuredRun run;
  const Table table = with_lengths(run).table({}, std::string(of_models));
  EXPECT_EQ(published_rate(test::row_of(table, "tkl/segment", 2013))->documents_per_ms, 1.1);
  EXPECT_EQ(published_rate(test::row_of(table, "tkl/segment", 4013))->trec_ndcg10, 0.644);
  EXPECT_EQ(published_rate(test::row_of(table, "tk/segment", 213))->dev_ndcg10, 0.375);
  EXPECT_FALSE(published_rate(test::row_of(table, "tk/segment", 2013)));
  EXPECT_FALSE(published_rate(test::row_of(table, "tkl/segment", 213)));
  HeatResult small = drawn_heat(200), deep = drawn_heat(2000);
  small.point.head_dim = 8;
  deep.point.layers = 3;
  for (const Row& row : MeasuredRun().add(small).add(deep).table({}, std::string(of_models)).rows)
    EXPECT_FALSE(published_rate(row)) << row.cell.cell.contender.model;
}

TEST(FigureOfEffectiveness, PlotsPublishedNdcgOverTheMeasuredRate) {
  MeasuredRun run;
  with_lengths(run).add(large_heat(200));
  const Table table = run.table({},
                                "operation=model;contender=tkl/segment;contender=tk/segment;"
                                "contender=cross-bert/segment;layers=12;layers=2");
  const auto figure = make_figure(table, XAxis::length, YAxis::trec_ndcg);
  ASSERT_TRUE(figure) << figure.error().message;
  const Series& tkl = figure->series.at(0);
  ASSERT_EQ(tkl.points.size(), 2U);
  EXPECT_NEAR(tkl.points[0].x, 2, 1e-9);
  EXPECT_EQ(tkl.points[0].y, 0.634);
  EXPECT_EQ(tkl.points[0].label, "2013 tokens");
  EXPECT_EQ(tkl.points[1].y, 0.644);
  EXPECT_THAT(tkl.rail.at(0).reason, HasSubstr("no value is published"));
  EXPECT_EQ(figure->x_label, "Documents per millisecond");
  EXPECT_EQ(figure->y_scale, Scale::log10);  // a linear one begins at 0
  EXPECT_THAT(figure->y_label, HasSubstr(std::string(published_label)));
  EXPECT_EQ(make_figure(table, XAxis::length, YAxis::dev_ndcg)->series.at(0).points.at(0).y, 0.403);
  EXPECT_THAT(make_figure(table, XAxis::length, YAxis::per_ms).error().message,
              HasSubstr("a figure shows one"));
}

TEST(PaperTableTkl, HasRatesNextToThePapersInItsOrder) {
  MeasuredRun run;
  with_lengths(run).add(drawn_heat(2000, Stage::online));
  run.add(drawn_heat(2000, Stage::offline));
  run.add(large_heat(200));
  const auto text = write_paper_table(run.table(), "tkl-table1", TableFormat::json);
  ASSERT_TRUE(text) << text.error().message;
  const json rows = json::parse(*text);
  ASSERT_EQ(rows.size(), 12U);
  std::vector<std::string> papers;
  for (const json& row : rows) {
    if (row.at("paper_documents_per_ms") == "") continue;
    papers.push_back(row.at("model").get<std::string>() + " " +
                     row.at("most_words").get<std::string>() + ": " +
                     row.at("documents_per_ms").get<std::string>() + ", " +
                     row.at("paper_documents_per_ms").get<std::string>());
  }
  EXPECT_THAT(papers,
              ElementsAre("Cross-BERT 200: 0.100, 0.1", "TK 200: 4.00, 4", "TKL 2000: 2.00, 1.1",
                          "TKL 4000: 2.00, 0.9", "TKL 2000: 2.00, 1.1"));
  EXPECT_EQ(rows.front().at("setting"), "Documents encoded with the query");
  EXPECT_EQ(rows.back().at("setting"), "Documents encoded before the query");
  EXPECT_EQ(rows[1].at("paper_trec2019_ndcg10"), "0.594");
  EXPECT_EQ(rows[1].at("paper_dev_ndcg10"), "0.375");
  EXPECT_EQ(rows[1].at("document_lengths"), "lognormal 804/3267");
  EXPECT_THAT(rows[1].at("source").get<std::string>(), HasSubstr("GTX 1080"));
}

}  // namespace
}  // namespace attnscope::report
