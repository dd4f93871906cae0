// SPDX-License-Identifier: Apache-2.0
#include "engine/report/effectiveness.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/report/measured_run.h"

namespace attnscope::report {
namespace {

using effectiveness::Qrels;
using effectiveness::TrecRun;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int queries = 30;

/// Query i's only relevant document is at rank `rank(i)` of ten.
template <typename Rank>
EvaluatedRun run_with(const std::string& name, Rank&& rank, int first = 0) {
  TrecRun run{.file = name, .queries = {}};
  for (int query = first; query < queries; ++query) {
    std::vector<effectiveness::RankedDocument>& documents =
        run.queries[fmt::format("q{:02}", query)];
    for (int at = 1; at <= 10; ++at) {
      documents.push_back({.id = at == rank(query) ? "relevant" : fmt::format("other{}", at),
                           .score = static_cast<float>(-at)});
    }
  }
  return {.name = name, .run = std::move(run)};
}

Qrels judged() {
  Qrels qrels{.file = "qrels", .queries = {}};
  for (int query = 0; query < queries; ++query)
    qrels.queries[fmt::format("q{:02}", query)] = {{"relevant", 1}, {"other1", 0}};
  return qrels;
}

EffectivenessReport report_of(std::vector<EvaluatedRun> runs, const EffectivenessQuestion& question,
                              const char* measures = "RR@10") {
  return evaluate_runs(std::move(runs), judged(), effectiveness::parse_measures(measures).value(),
                       question);
}

std::vector<EvaluatedRun> three_runs() {
  std::vector<EvaluatedRun> runs;
  runs.push_back(run_with("full", [](int query) { return 1 + query % 3; }));
  runs.push_back(run_with("near", [](int query) { return query == 2 ? 4 : 1 + query % 3; }));
  runs.push_back(run_with("far", [](int query) { return 2 + query % 5; }));
  return runs;
}

TEST(Effectiveness, EveryFormatStatesMeasureGainAndTieRule) {
  const EffectivenessReport report = report_of(three_runs(), {}, "nDCG@10,RR(rel=2)@10");
  for (const TableFormat format : test::every_format) {
    for (const char* part :
         {"nDCG@10", "gain relevance", "relevant: judged 2 or higher", "greater document id first"})
      EXPECT_THAT(write_sheet(effectiveness_sheet(report, format), format), HasSubstr(part));
  }
}

/// The table of the report in a format.
std::string table_of(const EffectivenessReport& report, TableFormat format) {
  return write_sheet(effectiveness_sheet(report, format), format);
}

TEST(Effectiveness, ABaselineAddsTestsWithMarginAlphaAndCorrection) {
  std::vector<EvaluatedRun> runs = three_runs();
  const EffectivenessReport report =
      report_of(runs, {.baseline = 0, .margin = 0.03, .alpha = 0.05, .bonferroni = true});
  EXPECT_DOUBLE_EQ(report.alpha, 0.025);
  EXPECT_TRUE(report.runs[1].tests[0].equivalent);
  EXPECT_FALSE(report.runs[2].tests[0].equivalent);
  for (const char* part :
       {"†", "the baseline", "equivalent within ± 0.03", "0.025 (0.05 / 2 by Bonferroni", "worse"})
    EXPECT_THAT(table_of(report, TableFormat::text), HasSubstr(part));
  const auto rows = nlohmann::json::parse(table_of(report, TableFormat::json));
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_TRUE(rows[0]["p_equivalence"].is_null());
  EXPECT_EQ(rows[1]["pairs"], queries);
  EXPECT_EQ(rows[1]["alpha"], 0.025);
  EXPECT_EQ(rows[1]["margin"], 0.03);
  EXPECT_TRUE(rows[1]["equivalent"]);
  EXPECT_LT(rows[1]["p_equivalence"], 0.025);
  EXPECT_EQ(rows[1]["ties"], effectiveness::tie_rule);
  runs[1] = run_with("again", [](int query) { return 1 + query % 3; });
  EXPECT_THAT(table_of(report_of(std::move(runs), {.baseline = 0}), TableFormat::text),
              HasSubstr("the same for every query"));
}

TEST(Effectiveness, PairsAreJoinedByTheirIds_AndMeansOfOtherQueriesAreNoted) {
  std::vector<EvaluatedRun> runs;
  runs.push_back(run_with("full", [](int query) { return 1 + query % 3; }));
  runs.push_back(run_with(
      "part", [](int query) { return 1 + query % 4; }, 10));
  const EffectivenessReport some = report_of(runs, {.baseline = 0});
  EXPECT_EQ(some.runs[1].tests[0].n, queries - 10);
  EXPECT_THAT(some.notes, ::testing::Contains(HasSubstr("do not have the same judged queries")));
  const EffectivenessReport all =
      report_of(runs, {.evaluation = {.complete = true}, .baseline = 0});
  EXPECT_EQ(all.runs[1].tests[0].n, queries);
  EXPECT_THAT(all.notes, Not(::testing::Contains(HasSubstr("do not have the same"))));
  EXPECT_THAT(all.notes, ::testing::Contains(HasSubstr("lacks 10 of the 30")));
}

TEST(Effectiveness, QueriesThatNeitherRunHas_DoNotMakeThemEquivalent) {
  std::vector<EvaluatedRun> runs;
  for (const int best : {1, 2}) {
    runs.push_back(run_with(
        fmt::format("from{}", best), [best](int query) { return best + query % 3; }, queries - 5));
  }
  const EffectivenessReport all =
      report_of(runs, {.evaluation = {.complete = true}, .baseline = 0, .margin = 0.1});
  EXPECT_EQ(all.runs[1].tests[0].n, 5);
  EXPECT_FALSE(all.runs[1].tests[0].equivalent);
  EXPECT_LT(all.runs[1].tests[0].difference, -0.1);
  EXPECT_THAT(all.notes, ::testing::Contains(HasSubstr("25 of the 30 judged queries are neither")));
}

TEST(Effectiveness, RunsOfOtherDepthsAreNoted) {
  std::vector<EvaluatedRun> runs = three_runs();
  EXPECT_THAT(report_of(runs, {.baseline = 0}).notes,
              Not(::testing::Contains(HasSubstr("documents per query"))));
  for (auto& [query, documents] : runs[1].run.queries) documents.resize(2);
  EXPECT_THAT(report_of(runs, {.baseline = 0}).notes,
              ::testing::Contains(HasSubstr("has up to 2 documents per query, ")));
}

TEST(Effectiveness, ByQuery_TheLastRowIsTheMean) {
  const EffectivenessReport report = report_of(three_runs(), {});
  const Sheet sheet = per_query_sheet(report, TableFormat::csv);
  ASSERT_EQ(sheet.blocks.size(), 1U);
  ASSERT_EQ(sheet.blocks[0].rows.size(), queries + 1U);
  const std::vector<SheetCell>& last = sheet.blocks[0].rows.back();
  EXPECT_EQ(text_of(last[0].value), "all");
  EXPECT_EQ(last[1].value, Value(report.runs[0].evaluation.mean(0)));
}

TEST(Effectiveness, DifferencesAreSortedByOverlapAndReadBack) {
  const EffectivenessReport report = report_of(three_runs(), {.baseline = 0});
  const Sheet sheet = differences_sheet(report, differences_of(report), TableFormat::csv);
  ASSERT_EQ(sheet.blocks.size(), 2U);
  EXPECT_EQ(sheet.blocks[0].title, "near");
  const std::vector<SheetCell>& first = sheet.blocks[0].rows.front();
  EXPECT_EQ(text_of(first[0].value), "q02");
  EXPECT_THAT(text_of(first[4].value), HasSubstr("relevant 3>4"));
  EXPECT_LT(std::get<double>(first[3].value), 0);
  EXPECT_DOUBLE_EQ(std::get<double>(sheet.blocks[0].rows.back()[1].value), 1);
  std::vector<RankingDifference> differences = differences_of(report);
  differences.front().text = "how tall is it";
  differences.front().moved.front().text = "It is\n300 m tall.";
  const std::string json = write_differences(differences);
  const auto back = parse_differences(json, "differences.json");
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(write_differences(*back), json);
  EXPECT_EQ(back->front().run, "near");
  EXPECT_EQ(back->front().moved.front().text, "It is\n300 m tall.");
  EXPECT_EQ(ranks_in_words({.id = "d", .from = 0, .to = 4}), "none>4");
  EXPECT_THAT(parse_differences("[{\"run\": \"a\"}]", "differences.json").error().message,
              HasSubstr("differences.json, line 1"));
}

}  // namespace
}  // namespace attnscope::report
