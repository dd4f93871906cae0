// SPDX-License-Identifier: Apache-2.0
#include "engine/report/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/report/measured_run.h"

namespace attnscope::report {
namespace {

using namespace test;
using testing::AllOf;
using testing::HasSubstr;

Comparison compare_or_throw(const MeasuredRun& a, const MeasuredRun& b) {
  auto comparison = compare_runs(a.store(), a.info(), b.store(), b.info());
  if (!comparison) throw std::runtime_error(comparison.error().message);
  return *comparison;
}

TEST(Compare, OfARunWithItselfShowsNoDifference) {
  const MeasuredRun run;
  const Comparison comparison = compare_or_throw(run, run);
  EXPECT_EQ(comparison.cells.size(), 8U);
  EXPECT_EQ(comparison.only_in_a + comparison.only_in_b, 0);
  int ratios = 0;
  for (const ComparedCell& cell : comparison.cells) {
    if (!cell.ratio) continue;
    ++ratios;
    EXPECT_DOUBLE_EQ(cell.ratio->ratio, 1);
    EXPECT_FALSE(cell.ratio->paired);
    EXPECT_EQ(cell.ratio->verdict, statistics::Verdict::no_difference_shown);
  }
  EXPECT_EQ(ratios, 7) << "all but the cell that ran out of memory";
  EXPECT_THAT(comparison_notes(comparison).front(), "A and B are the same run");
  const auto figure = comparison_figure(comparison);
  ASSERT_TRUE(figure) << figure.error().message;
  EXPECT_EQ(figure->y_label, "Time of B over time of A");
  EXPECT_EQ(figure->line_at, 1);
  std::size_t points = 0, without = 0;
  for (const Series& series : figure->series) {
    points += series.points.size();
    without += series.rail.size();
    for (const Point& point : series.points) {
      EXPECT_DOUBLE_EQ(point.y, 1);
      EXPECT_LT(point.low, 1);
      EXPECT_GT(point.high, 1);
    }
  }
  EXPECT_EQ(points, 7U);
  EXPECT_EQ(without, 1U);
  EXPECT_FALSE(comparison_figure({}));
}

TEST(Compare, OfRunsWithoutSharedCellsNamesTheDifferingSettings) {
  const MeasuredRun run;
  const TemporaryFolder folder;
  Store store = open_or_throw(folder / "other.db");
  const RunId other = begin_or_throw(store, sample_run());
  HeatResult heat = MeasuredRun::heat_at(64);
  heat.point.threads = 1;
  heat.point.batch_max = 7;
  ASSERT_TRUE(store.add_heat(other, heat));
  const auto comparison = compare_runs(run.store(), run.info(), store, *store.find_run("last"));
  ASSERT_TRUE(comparison);
  const std::vector<std::string> notes = comparison_notes(*comparison);
  EXPECT_THAT(notes, testing::Contains("different: Threads: 2 in A, 1 in B"));
  EXPECT_THAT(notes, testing::Contains(HasSubstr("7 in B")));
  EXPECT_THAT(notes.front(), HasSubstr("the runs have no cell with the same settings"));
}

// same_words_test.cpp compares the verdicts of the formats.
TEST(Compare, IsWrittenInEveryFormat) {
  const MeasuredRun run;
  const Comparison comparison = compare_or_throw(run, run);
  const auto written = [&](TableFormat format) { return write_comparison(comparison, format); };
  const auto whole = nlohmann::json::parse(written(TableFormat::json));
  EXPECT_EQ(whole.at("a"), run.info().id.uuid);
  ASSERT_EQ(whole.at("cells").size(), 8U);
  int without = 0;
  for (const auto& cell : whole.at("cells")) {
    EXPECT_TRUE(cell.at("sequence_tokens").is_number());
    if (cell.at("a").at("status") != "oom") continue;
    ++without;
    EXPECT_TRUE(cell.at("verdict").is_null());
    EXPECT_TRUE(cell.at("a").at("ms_per_document").is_null());
  }
  EXPECT_EQ(without, 1);
  const std::string csv = written(TableFormat::csv);
  EXPECT_THAT(csv, testing::StartsWith("setting,contender,a_ms,b_ms,ratio,r"));
  const auto records = parse_csv(csv);
  ASSERT_EQ(records.size(), 1U + 8U);
  for (const auto& record : records) EXPECT_EQ(record.size(), records[0].size());
  EXPECT_THAT(records.back(), testing::Contains("").Times(testing::Ge(4)));
  const auto lines = lines_of(written(TableFormat::markdown));
  ASSERT_GT(lines.size(), 10U);
  for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(std::ranges::count(lines[i], '|'), 7);
  EXPECT_THAT(written(TableFormat::markdown),
              AllOf(HasSubstr("no difference shown in 7 of 8 shared cells"),
                    HasSubstr(run.info().id.uuid.substr(0, 8))));
  EXPECT_THAT(written(TableFormat::latex), AllOf(HasSubstr("\\toprule"), HasSubstr("\\bottomrule"),
                                                 HasSubstr("95 \\% interval")));
  EXPECT_EQ(lines_of(written(TableFormat::latex)).size(), 8U + 8U);
  EXPECT_THAT(written(TableFormat::text),
              AllOf(HasSubstr("Sparse, fused, w = 64"), HasSubstr("oom"),
                    HasSubstr("no difference shown in 7 of 8 shared cells")));
}

TEST(Compare, MatchesCellsByPointAndContender) {
  MeasuredRun a, b;
  HeatResult extra = MeasuredRun::heat_at(512);
  extra.cells.resize(2);
  b.add(extra);
  HeatResult other_type = MeasuredRun::heat_at(64);
  other_type.point.dtype = DType::float16;
  a.add(other_type);
  const Comparison comparison = compare_or_throw(a, b);
  EXPECT_EQ(comparison.cells.size(), 8U);
  EXPECT_EQ(comparison.only_in_a, 4);
  EXPECT_EQ(comparison.only_in_b, 2);
  EXPECT_THAT(write_comparison(comparison),
              AllOf(HasSubstr(a.info().id.uuid), HasSubstr(b.info().id.uuid)));
}

TEST(Compare, RatioIsBOverAPerDocument) {
  MeasuredRun a, b;
  HeatResult heat{.heat_index = 2, .point = point_at(512), .cells = {}};
  heat.cells = {timed_cell("full", "dense", std::nullopt, "Full/dense", 8)};
  a.add(heat);
  heat.cells = {timed_cell("full", "dense", std::nullopt, "Full/dense", 2)};
  heat.cells[0].batch = 2;  // 1 ms a document against 2 ms
  b.add(heat);
  const Comparison comparison = compare_or_throw(a, b);
  const ComparedCell& cell = comparison.cells.back();
  ASSERT_EQ(cell.a.cell.point.sequence_tokens, 512);
  EXPECT_NEAR(cell.ratio->ratio, 0.5, 1e-9);
  EXPECT_EQ(cell.ratio->verdict, statistics::Verdict::faster);
}

TEST(Compare, AttributesAShiftOfAllCellsUpToFivePercentToTheMachine) {
  // Most cells of the second run are slower by the same factor.
  for (const double slower : {1.04, 1.5}) {
    MeasuredRun a, b;
    for (std::int64_t tokens = 512; tokens <= 6144; tokens += 512) {
      HeatResult heat{.heat_index = 2, .point = point_at(tokens), .cells = {}};
      heat.cells = {timed_cell("full", "dense", Window::of(8), "Another", 8)};
      a.add(heat);
      heat.cells = {timed_cell("full", "dense", Window::of(8), "Another", 8 * slower)};
      b.add(heat);
    }
    const Comparison comparison = compare_or_throw(a, b);
    for (const ComparedCell& cell : comparison.cells) {
      if (cell.a.cell.cell.contender.name != "Another") continue;
      EXPECT_EQ(cell.ratio->verdict, slower > 1.1 ? statistics::Verdict::slower
                                                  : statistics::Verdict::no_difference_shown);
    }
  }
}

TEST(Compare, ReportsChangedCeilings) {
  const auto shift_with = [](double flop_per_second) {
    MeasuredRun a, b;
    b.add(Ceilings{.threads = 2,
                   .flop_per_second = flop_per_second,
                   .exponentials_per_second = flop_per_second / 100,
                   .copy = {{1 << 20, flop_per_second / 100}}});
    return compare_or_throw(a, b).machine_moved;
  };
  EXPECT_NEAR(*shift_with(1e12), 0, 1e-9);
  EXPECT_NEAR(*shift_with(0.9e12), std::log(1 / 0.9), 1e-9);
  const MeasuredRun a, b;
  EXPECT_THAT(write_comparison(compare_or_throw(a, b)), HasSubstr("its ceilings changed by 0.0 %"));
}

}  // namespace
}  // namespace attnscope::report
