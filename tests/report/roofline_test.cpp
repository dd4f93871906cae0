// SPDX-License-Identifier: Apache-2.0
#include "engine/report/roofline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "engine/report/run_figures.h"
#include "tests/report/measured_run.h"

namespace attnscope::report {
namespace {

using namespace test;
using testing::HasSubstr;

Figure roofline_of(const Table& table, XAxis x = XAxis::length) {
  auto figure = make_figure(table, x, YAxis::roofline);
  if (!figure) throw std::runtime_error(figure.error().message);
  return *figure;
}

TEST(Roofline, ACell_StandsAtItsWorkPerByteAndItsRate) {
  const MeasuredRun run;
  const Figure figure = roofline_of(run.table());
  ASSERT_EQ(figure.series[0].points.size(), 2U);
  const Point& point = figure.series[0].points[0];  // 1e9 FLOP and 1e6 bytes in 2 ms
  EXPECT_DOUBLE_EQ(point.x, 1000);
  EXPECT_NEAR(point.y, 500, 1);
  EXPECT_LT(point.low, point.y);
  EXPECT_GT(point.high, point.y);
  EXPECT_EQ(point.label, "64 tokens");
  EXPECT_FALSE(figure.along_x);
}

TEST(Roofline, AllCellsOfAContender_AreJoinedInTheOrderOfLengths) {
  const MeasuredRun run;
  const Figure figure = roofline_of(run.table());
  EXPECT_EQ(figure.series[0].points[0].label, "64 tokens");
  EXPECT_EQ(figure.series[0].points[1].label, "256 tokens");
}

TEST(Roofline, AlongWindows_LabelsTellTheWindow) {
  const MeasuredRun run;
  const Figure figure = roofline_of(run.table({}, "sequence_tokens=64"), XAxis::window);
  ASSERT_EQ(figure.series[1].points.size(), 2U);
  EXPECT_EQ(figure.series[1].points[0].label, "w = 4");
  EXPECT_EQ(figure.series[1].points[1].label, "w = 64");
}

TEST(Roofline, ACellWithoutATime_IsOnTheRailAtItsWorkPerByte) {
  const MeasuredRun run;
  const Figure figure = roofline_of(run.table());
  const Series& mask = figure.series.back();
  ASSERT_EQ(mask.rail.size(), 1U);
  EXPECT_EQ(mask.rail[0].status, CellStatus::oom);
  EXPECT_EQ(mask.rail[0].label, "256 tokens");
  EXPECT_DOUBLE_EQ(mask.rail[0].x, 1000);
}

TEST(Roofline, ACellWithoutKnownWork_IsCountedAndNotPlaced) {
  const MeasuredRun run;
  Table table = run.table();
  table.rows[0].cell.cell.work = {};
  const Figure figure = roofline_of(table);
  EXPECT_EQ(figure.without_place, 1);
  EXPECT_EQ(figure.series[0].points.size(), 1U);
}

TEST(Ceilings, OfTheRunsMachine_AreProductsAndCopies) {
  const MeasuredRun run;
  const std::vector<Ceiling> all = ceilings_of(run.table());
  ASSERT_EQ(all.size(), 2U);  // exponentials allow more FLOP than the products do
  EXPECT_EQ(all[0].text, "1000 GFLOP/s");
  EXPECT_FALSE(all[0].per_x);
  EXPECT_EQ(all[1].text, "10.0 GB/s up to 1.00 MiB");
  EXPECT_DOUBLE_EQ(all[1].rate, 10);
  EXPECT_TRUE(all[1].per_x);
}

TEST(Ceilings, Exponentials_AreThereWhereTheyBind) {
  const MeasuredRun run;
  Table table = run.table();
  table.ceilings[0].exponentials_per_second = 5e7;  // of 1e4 FLOP each
  const std::vector<Ceiling> all = ceilings_of(table);
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[1].text, "exponentials: 500 GFLOP/s");
}

TEST(Ceilings, SeveralMeasurements_GiveTheirBest_AndEqualRatesOneLine) {
  const MeasuredRun run;
  Table table = run.table();
  table.ceilings[0].copy = {{1 << 18, 2e11}, {1 << 20, 1.95e11}, {1 << 26, 3e10}};
  table.ceilings.push_back(table.ceilings[0]);
  table.ceilings[1].flop_per_second = 2e12;
  const std::vector<Ceiling> all = ceilings_of(table);
  ASSERT_EQ(all.size(), 3U);
  EXPECT_DOUBLE_EQ(all[0].rate, 2000);
  EXPECT_THAT(all[1].text, HasSubstr("up to 1.00 MiB"));
  EXPECT_EQ(all[2].text, "30.0 GB/s beyond 1.00 MiB");
}

TEST(Ceilings, OfOtherThreads_AreNotThisMachines) {
  const MeasuredRun run;
  Table table = run.table();
  table.ceilings[0].threads = 64;
  EXPECT_TRUE(ceilings_of(table).empty());
  EXPECT_TRUE(roofline_of(table).ceilings.empty());
}

TEST(Views, EveryOneHasANameOfItsOwnAndIsDrawn) {
  MeasuredRun run;
  run.add(stage_heat(Stage::online, 10));
  std::set<std::string_view> keys;
  for (const View& view : views()) {
    EXPECT_TRUE(keys.insert(view.key).second) << view.key;
    EXPECT_EQ(*parse_y(view.key), view.y);
    EXPECT_EQ(view_of(view.y).title, view.title);
    const std::string only = fmt::format("operation={}{}", view.of_models ? "model" : "attention",
                                         view.of_one_length ? ";sequence_tokens=64" : "");
    const Table table = run.table(view.of_models ? "cross-bert/segment" : "full/dense", only);
    const auto figure = make_figure(table, XAxis::length, view.y);
    ASSERT_TRUE(figure) << view.key;
    EXPECT_FALSE(figure->series.empty()) << view.key;
    EXPECT_EQ(make_figure(run.table(std::nullopt, only), XAxis::length, view.y).has_value(),
              !view.needs_baseline);
  }
}

}  // namespace
}  // namespace attnscope::report
