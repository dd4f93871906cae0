// SPDX-License-Identifier: Apache-2.0
#include "engine/report/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/report/measured_run.h"

namespace attnscope::report {
namespace {

using namespace test;
using testing::HasSubstr;

Comparison compare_or_throw(const MeasuredRun& a, const MeasuredRun& b) {
  auto comparison = compare_runs(a.store(), a.info(), b.store(), b.info());
  if (!comparison) throw std::runtime_error(comparison.error().message);
  return *comparison;
}

TEST(Compare, ARunWithItself_ShowsNoDifference) {
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
}

TEST(Compare, AsAFigure_HasTheRatiosOverTheLength) {
  const MeasuredRun run;
  const auto figure = comparison_figure(compare_or_throw(run, run));
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

TEST(Compare, RunsWithoutSharedCells_NameTheDifferingSettings) {
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
  EXPECT_THAT(notes.back(), HasSubstr("the runs have no cell with the same settings"));
}

TEST(Compare, AsJson_HasVerdictsAndNullsWhereThereIsNoTime) {
  const MeasuredRun run;
  const auto whole =
      nlohmann::json::parse(write_comparison(compare_or_throw(run, run), TableFormat::json));
  EXPECT_EQ(whole.at("a"), run.info().id.uuid);
  ASSERT_EQ(whole.at("cells").size(), 8U);
  int without = 0;
  for (const auto& cell : whole.at("cells")) {
    if (cell.at("a").at("status") == "oom") {
      ++without;
      EXPECT_TRUE(cell.at("verdict").is_null());
      EXPECT_TRUE(cell.at("a").at("ms_per_document").is_null());
    } else {
      EXPECT_EQ(cell.at("verdict"), "no difference shown");
      EXPECT_DOUBLE_EQ(cell.at("ratio").get<double>(), 1);
    }
    EXPECT_TRUE(cell.at("sequence_tokens").is_number());
  }
  EXPECT_EQ(without, 1);
}

TEST(Compare, AsCsv_HasOneLinePerCell) {
  const MeasuredRun run;
  const auto lines = lines_of(write_comparison(compare_or_throw(run, run), TableFormat::csv));
  ASSERT_EQ(lines.size(), 1U + 8U);
  EXPECT_EQ(lines[0].substr(0, 35), "setting,contender,a_ms,b_ms,ratio,r");
  int without_time = 0;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    EXPECT_EQ(std::ranges::count(lines[i], ','), std::ranges::count(lines[0], ',')) << lines[i];
    without_time += lines[i].find(",,,,,") != std::string::npos ? 1 : 0;
  }
  EXPECT_EQ(without_time, 1);
}

TEST(Compare, AsMarkdown_IsATableAboveItsNotes) {
  const MeasuredRun run;
  const std::string text = write_comparison(compare_or_throw(run, run), TableFormat::markdown);
  const auto lines = lines_of(text);
  ASSERT_GT(lines.size(), 10U);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(std::ranges::count(lines[static_cast<std::size_t>(i)], '|'), 7);
  }
  EXPECT_THAT(text, HasSubstr("no difference shown in 7 of 8 shared cells"));
  EXPECT_THAT(text, HasSubstr(run.info().id.uuid.substr(0, 8)));
}

TEST(Compare, AsLatex_HasABooktabsTableWithEscapedWords) {
  const MeasuredRun run;
  const std::string text = write_comparison(compare_or_throw(run, run), TableFormat::latex);
  EXPECT_THAT(text, HasSubstr("\\toprule"));
  EXPECT_THAT(text, HasSubstr("\\bottomrule"));
  EXPECT_THAT(text, HasSubstr("95 \\% of it"));
  EXPECT_EQ(lines_of(text).size(), 8U + 8U);
}

TEST(Compare, Cells_AreMatchedByPointAndContender) {
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
}

TEST(Compare, TheRatio_IsBOverAPerDocument) {
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

TEST(Compare, AShiftOfAllCellsUpToFivePercent_IsAttributedToTheMachine) {
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

TEST(Compare, ChangedCeilingsAreReported) {
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

TEST(Compare, TheText_NamesBothRunsEveryCellAndTheCounts) {
  MeasuredRun a, b;
  const std::string text = write_comparison(compare_or_throw(a, b));
  EXPECT_THAT(text, HasSubstr(a.info().id.uuid));
  EXPECT_THAT(text, HasSubstr(b.info().id.uuid));
  EXPECT_THAT(text, HasSubstr("Sparse, fused, w = 64"));
  EXPECT_THAT(text, HasSubstr("oom"));
  EXPECT_THAT(text, HasSubstr("no difference shown in 7 of 8 shared cells"));
}

}  // namespace
}  // namespace attnscope::report
