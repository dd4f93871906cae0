// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "engine/report/figure.h"
#include "tests/report/measured_run.h"

namespace attnscope::report {
namespace {

using namespace test;
using testing::HasSubstr;

/// The run's memory with one cell that took none.
Figure memory_with_a_zero() {
  MeasuredRun run;
  HeatResult heat = MeasuredRun::heat_at(512);
  heat.cells[1].memory.requested_bytes = 0;
  run.add(heat);
  return make_figure(run.table(), XAxis::length, YAxis::memory).value();
}

TEST(Scales, AZero_ComesBackFromTheRailOnALinearAxis) {
  Figure figure = memory_with_a_zero();
  Series& series = figure.series[1];
  ASSERT_EQ(series.rail.size(), 1U);
  EXPECT_EQ(series.rail[0].word(), "zero");
  EXPECT_EQ(series.points.size(), 2U);
  set_scales(figure, std::nullopt, Scale::linear);
  EXPECT_TRUE(series.rail.empty());
  ASSERT_EQ(series.points.size(), 3U);
  EXPECT_EQ(series.points[2].x, 512);
  EXPECT_EQ(series.points[2].y, 0);
  set_scales(figure, std::nullopt, Scale::log10);
  EXPECT_EQ(series.points.size(), 2U);
  EXPECT_EQ(series.rail.size(), 1U);
}

TEST(Scales, WithoutAChoice_StayTheFiguresOwn) {
  Figure figure = memory_with_a_zero();
  set_scales(figure, std::nullopt, std::nullopt);
  EXPECT_EQ(figure.x_scale, Scale::log2);
  EXPECT_EQ(figure.y_scale, Scale::log10);
  set_scales(figure, Scale::log10, std::nullopt);
  EXPECT_EQ(figure.x_scale, Scale::log10);
}

TEST(Scales, UnknownNames_AreRefusedWithTheNearest) {
  EXPECT_EQ(*parse_scale("--scale-x", "log2"), Scale::log2);
  EXPECT_EQ(name_of(Scale::linear), "linear");
  EXPECT_THAT(parse_scale("--scale-x", "linaer").error().message,
              testing::AllOf(HasSubstr("--scale-x"), HasSubstr("did you mean 'linear'")));
}

TEST(Crossovers, AreMarkedOnlyWhereTimeIsTold) {
  const MeasuredRun run;
  const Table table = run.table("full/dense");
  for (const View& view : views()) {
    Figure figure = make_figure(table, XAxis::length, view.y).value();
    mark_crossovers(figure, table, XAxis::length, view.y);
    EXPECT_TRUE(tells_time(view.y) || figure.marks.empty()) << view.key;
  }
}

/// Fields of a line without quotes.
std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      fields.emplace_back();
    } else if (c != '\r') {
      fields.back() += c;
    }
  }
  return fields;
}

std::vector<std::vector<std::string>> lines_of(const std::string& csv) {
  std::vector<std::vector<std::string>> lines;
  std::stringstream stream(csv);
  for (std::string line; std::getline(stream, line);) lines.push_back(fields_of(line));
  return lines;
}

TEST(FigureCsv, EveryNumberReadsBackAsItIs) {
  const MeasuredRun run;
  for (const YAxis y : {YAxis::time, YAxis::limit, YAxis::roofline}) {
    const Figure figure = make_figure(run.table(), XAxis::length, y).value();
    const auto lines = lines_of(figure_csv(figure));
    std::size_t at = 1;
    for (const Series& series : figure.series) {
      for (const Point& point : series.points) {
        const std::vector<std::string>& line = lines.at(at++);
        EXPECT_EQ(line[0], series.name);
        EXPECT_EQ(std::stod(line[1]), point.x);
        EXPECT_EQ(std::stod(line[2]), point.y);
        EXPECT_EQ(std::stod(line[3]), point.low);
        EXPECT_EQ(std::stod(line[4]), point.high);
        EXPECT_EQ(line[5], "ok");
        EXPECT_EQ(y == YAxis::roofline ? line.at(6) : "", point.label);
      }
      at += series.rail.size();
    }
    EXPECT_EQ(lines.size(), at + figure.ceilings.size());
  }
}

TEST(FigureCsv, OfPanels_NamesPanelAndValueBeforeEveryRow) {
  const MeasuredRun run;
  const Facets facets =
      make_facets(run.table(), XAxis::length, {YAxis::time, YAxis::roofline}, "window").value();
  const auto lines = lines_of(facets_csv(facets));
  EXPECT_THAT(lines[0], testing::ElementsAre("panel", "value", "series", "x", "y", "low", "high",
                                             "status", "label"));
  EXPECT_EQ(lines[1][0], "w = 4");
  EXPECT_EQ(lines[1][1], "Time per document (ms)");
  for (const auto& line : lines) EXPECT_EQ(line.size(), 9U);
}

}  // namespace
}  // namespace attnscope::report
