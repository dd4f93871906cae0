// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "engine/report/crossovers.h"
#include "engine/report/run_figures.h"
#include "tests/report/measured_run.h"

namespace attnscope::report {
namespace {

using namespace test;
using testing::HasSubstr;
using testing::Not;

const Series& series_of(const Figure& figure, std::string_view key) {
  for (const Series& series : figure.series) {
    if (series.style_key == key) return series;
  }
  throw std::runtime_error("no such series");
}

Figure figure_or_throw(const Table& table, XAxis x, YAxis y) {
  auto figure = make_figure(table, x, y);
  if (!figure) throw std::runtime_error(figure.error().message);
  return *figure;
}

TEST(Figure, AlongLength_HasOneSeriesForEachContenderAndWindow) {
  const MeasuredRun run;
  const Figure figure = figure_or_throw(run.table(), XAxis::length, YAxis::time);
  ASSERT_EQ(figure.series.size(), 4U);
  EXPECT_EQ(figure.series[1].name, "Sparse, fused, w = 4");
  EXPECT_EQ(figure.series[1].style_key, "sparse/segment/4");
  const Series& dense = series_of(figure, "full/dense");
  ASSERT_EQ(dense.points.size(), 2U);
  EXPECT_EQ(dense.points[0].x, 64);
  EXPECT_EQ(dense.points[1].x, 256);
  EXPECT_NEAR(dense.points[1].y, 8, 1e-9);  // 32 ms over four documents
  EXPECT_LT(dense.points[1].low, dense.points[1].y);
  EXPECT_GT(dense.points[1].high, dense.points[1].y);
  EXPECT_EQ(figure.x_scale, Scale::log2);
  EXPECT_EQ(figure.y_scale, Scale::log10);
}

TEST(Figure, ACellWithoutATime_IsOnTheRailWithItsReason) {
  const MeasuredRun run;
  const Figure figure = figure_or_throw(run.table(), XAxis::length, YAxis::time);
  const Series& mask = series_of(figure, "sparse/sdpa-mask/4");
  EXPECT_EQ(mask.points.size(), 1U);
  ASSERT_EQ(mask.rail.size(), 1U);
  EXPECT_EQ(mask.rail[0].x, 256);
  EXPECT_EQ(mask.rail[0].status, CellStatus::oom);
  EXPECT_THAT(mask.rail[0].reason, HasSubstr("9.1 GB"));
}

TEST(Figure, ADamagedCell_IsNeverPlottedAsATime) {
  const MeasuredRun run;
  Table table = run.table();
  table.rows[0].cell.damaged = true;
  const Figure figure = figure_or_throw(table, XAxis::length, YAxis::time);
  EXPECT_EQ(series_of(figure, "full/dense").points.size(), 1U);
  EXPECT_THAT(series_of(figure, "full/dense").rail.at(0).reason, HasSubstr("fingerprint"));
}

TEST(Figure, Memory_HasNoIntervalAndIsPerDocument) {
  const MeasuredRun run;
  const Figure figure = figure_or_throw(run.table(), XAxis::length, YAxis::memory);
  for (const Series& series : figure.series) {
    for (const Point& point : series.points) {
      EXPECT_DOUBLE_EQ(point.y, 2.0);
      EXPECT_EQ(point.low, point.y);
      EXPECT_EQ(point.high, point.y);
    }
  }
}

TEST(Figure, NoMemoryAtAll_IsOnTheRailBecauseALogAxisCannotShowIt) {
  MeasuredRun run;
  HeatResult heat = MeasuredRun::heat_at(512);
  heat.cells[1].memory.requested_bytes = 0;
  run.add(heat);
  const Figure figure = figure_or_throw(run.table(), XAxis::length, YAxis::memory);
  const Series& series = series_of(figure, "sparse/segment/4");
  EXPECT_EQ(series.points.size(), 2U);
  ASSERT_EQ(series.rail.size(), 1U);
  EXPECT_THAT(series.rail[0].reason, HasSubstr("logarithmic"));
}

TEST(Figure, AlongWindow_ContendersWithoutWindowsStandAtEveryWindow) {
  const MeasuredRun run;
  const Figure figure =
      figure_or_throw(run.table({}, "sequence_tokens=64"), XAxis::window, YAxis::time);
  ASSERT_EQ(figure.series.size(), 3U);
  const Series& dense = series_of(figure, "full/dense");
  ASSERT_EQ(dense.points.size(), 2U);
  EXPECT_EQ(dense.points[0].x, 4);
  EXPECT_EQ(dense.points[1].x, 64);
  EXPECT_EQ(dense.points[0].y, dense.points[1].y);
  const Series& fused = series_of(figure, "sparse/segment");
  EXPECT_EQ(fused.name, "Sparse, fused");
  ASSERT_EQ(fused.points.size(), 2U);
  EXPECT_LT(fused.points[0].y, fused.points[1].y);
}

TEST(Figure, WindowsZeroAndInfinite_HaveAPlace) {
  MeasuredRun run;
  HeatResult heat{.heat_index = 2, .point = point_at(512), .cells = {}};
  heat.cells = {timed_cell("sparse", "segment", Window::infinite(), "a", 2),
                timed_cell("sparse", "segment", Window::of(0), "a", 1)};
  for (Cell& cell : heat.cells) cell.document_tokens = 500;
  run.add(heat);
  const Figure figure =
      figure_or_throw(run.table({}, "sequence_tokens=512"), XAxis::window, YAxis::time);
  ASSERT_EQ(figure.series.size(), 1U);
  EXPECT_EQ(figure.series[0].points[0].x, 0);
  EXPECT_EQ(figure.series[0].points[1].x, 500);
  EXPECT_EQ(figure.x_scale, Scale::linear);
}

TEST(Figure, TheInfiniteWindow_IsNamedAndStandsBeyondAllOthers) {
  MeasuredRun run;
  HeatResult heat{.heat_index = 2, .point = point_at(512), .cells = {}};
  heat.cells = {timed_cell("sparse", "segment", Window::infinite(), "a", 3),
                timed_cell("sparse", "segment", Window::of(500), "a", 2),
                timed_cell("sparse", "segment", Window::of(4), "a", 1),
                timed_cell("longformer", "segment", Window::infinite(), "b", 3)};
  heat.cells.back().status = CellStatus::oom;
  for (Cell& cell : heat.cells) cell.document_tokens = 500;
  run.add(heat);
  const Table table = run.table({}, "sequence_tokens=512");
  const Figure figure = figure_or_throw(table, XAxis::window, YAxis::time);
  const std::vector<Point>& points = series_of(figure, "sparse/segment").points;
  ASSERT_EQ(points.size(), 3U);
  EXPECT_EQ(points[1].x, 500);
  EXPECT_EQ(points[2].x, 625);
  EXPECT_EQ(figure.infinite_x, 625);
  EXPECT_EQ(name_on_x(figure, 500), "");
  const std::string csv = figure_csv(figure);
  EXPECT_THAT(csv, HasSubstr(",500,"));
  EXPECT_THAT(csv, HasSubstr(",inf,"));
  EXPECT_THAT(csv, Not(HasSubstr("625")));
  EXPECT_EQ(series_of(figure, "longformer/segment").rail.front().x, 625);
  const Facets facets = make_facets(table, XAxis::length, {YAxis::time}, "window").value();
  ASSERT_EQ(facets.panels.size(), 3U);
  EXPECT_EQ(facets.panels.front().title, "w = 4");
  EXPECT_EQ(facets.panels.back().title, "w = inf");
}

TEST(Figure, MixedAxes_AreRefusedNamingTheAxisAndTheWayOut) {
  MeasuredRun run;
  HeatResult heat = MeasuredRun::heat_at(64);
  heat.point.dtype = DType::bfloat16;
  run.add(heat);
  const auto mixed = make_figure(run.table(), XAxis::length, YAxis::time);
  ASSERT_FALSE(mixed);
  EXPECT_THAT(mixed.error().message, HasSubstr("one dtype"));
  EXPECT_THAT(mixed.error().message, HasSubstr("--only dtype=float32"));
  EXPECT_TRUE(make_figure(run.table({}, "dtype=float32"), XAxis::length, YAxis::time));

  heat.point.dtype = DType::float32;
  heat.point.cache = CacheState::cold;
  run.add(heat);
  const auto caches = make_figure(run.table({}, "dtype=float32"), XAxis::length, YAxis::time);
  ASSERT_FALSE(caches);
  EXPECT_THAT(caches.error().message, HasSubstr("--only cache=warm"));

  const auto lengths =
      make_figure(run.table({}, "dtype=float32;cache=warm"), XAxis::window, YAxis::time);
  ASSERT_FALSE(lengths);
  EXPECT_THAT(lengths.error().message, HasSubstr("--only sequence_tokens=64"));
}

TEST(Figure, AlongWindowWithoutAnyWindow_IsRefused) {
  const MeasuredRun run;
  const auto figure = make_figure(run.table({}, "contender=full/dense;sequence_tokens=64"),
                                  XAxis::window, YAxis::time);
  ASSERT_FALSE(figure);
  EXPECT_THAT(figure.error().message, HasSubstr("--x length"));
}

TEST(Figure, Ratio_NeedsABaselineAndDrawsItsIntervals) {
  const MeasuredRun run;
  EXPECT_THAT(make_figure(run.table(), XAxis::length, YAxis::ratio).error().message,
              HasSubstr("--baseline"));
  const Figure figure = figure_or_throw(run.table("full/dense"), XAxis::length, YAxis::ratio);
  EXPECT_EQ(series_of(figure, "full/dense").points[0].y, 1);
  EXPECT_NEAR(series_of(figure, "sparse/segment/4").points[1].y, 0.125, 1e-9);
  EXPECT_THAT(figure.y_label, HasSubstr("full/dense"));
}

TEST(Figure, Limit_IsAShareOnALinearAxis) {
  const MeasuredRun run;
  const Figure figure = figure_or_throw(run.table(), XAxis::length, YAxis::limit);
  EXPECT_EQ(figure.y_scale, Scale::linear);
  const Point& point = series_of(figure, "full/dense").points[0];  // 1 ms of 2 ms
  EXPECT_NEAR(point.y, 0.5, 1e-9);
  EXPECT_LT(point.low, point.y);
  EXPECT_GT(point.high, point.y);
}

TEST(Figure, Executed_IsWorkOverUsefulWorkWithALineAtOne) {
  const MeasuredRun run;
  const Figure figure = figure_or_throw(run.table(), XAxis::length, YAxis::executed);
  EXPECT_EQ(figure.y_scale, Scale::log10);
  EXPECT_EQ(figure.line_at, 1);
  EXPECT_EQ(series_of(figure, "full/dense").points[0].y, 2);
  EXPECT_FALSE(figure_or_throw(run.table(), XAxis::length, YAxis::time).line_at);
}

TEST(Figure, SeveralDocuments_ShareTheTimeAndNotTheTokens) {
  MeasuredRun run;
  HeatResult heat = MeasuredRun::heat_at(64);
  heat.point.documents = 5;
  run.add(heat);
  const Table table = run.table({}, "documents=5");
  const Figure time = figure_or_throw(table, XAxis::length, YAxis::time);
  EXPECT_NEAR(series_of(time, "sparse/segment/4").points[0].y, 0.05, 1e-9);
  const Figure per_token = figure_or_throw(table, XAxis::length, YAxis::per_token);
  EXPECT_NEAR(series_of(per_token, "sparse/segment/4").points[0].y, 0.25 / 0.064, 1e-9);
}

TEST(Figure, PerToken_IsFlatForWhatIsLinear) {
  const MeasuredRun run;
  const Figure figure = figure_or_throw(run.table(), XAxis::length, YAxis::per_token);
  EXPECT_EQ(figure.y_scale, Scale::linear);
  const auto& points = series_of(figure, "sparse/segment/4").points;
  EXPECT_NEAR(points[0].y, 0.25 / 0.064, 1e-9);
  EXPECT_NEAR(points[1].y, points[0].y, 1e-9);
  EXPECT_LT(points[1].low, points[1].y);
  EXPECT_THAT(figure.y_label, HasSubstr("1000 tokens"));
}

TEST(Figure, TheTitle_NamesTheAxesThatAreFixed) {
  const MeasuredRun run;
  const std::string title = figure_or_throw(run.table(), XAxis::length, YAxis::time).title;
  for (const char* word : {"attention", "forward", "cpu", "float32", "query 10", "2 threads"}) {
    EXPECT_THAT(title, HasSubstr(word));
  }
  EXPECT_THAT(title, testing::Not(HasSubstr("tokens")));
  EXPECT_THAT(
      figure_or_throw(run.table({}, "sequence_tokens=64"), XAxis::window, YAxis::time).title,
      HasSubstr("64 tokens"));
}

TEST(Figure, ARunWithoutHeats_IsAFigureWithoutSeries) {
  const Table empty;
  for (const XAxis x : {XAxis::length, XAxis::window}) {
    EXPECT_TRUE(figure_or_throw(empty, x, YAxis::time).series.empty());
  }
}

/// Offline, and online with 10 and 1000 candidates.
MeasuredRun& add_stages(MeasuredRun& run) {
  run.add(stage_heat(Stage::offline, 0));
  for (const std::int64_t candidates : {10, 1000}) run.add(stage_heat(Stage::online, candidates));
  return run;
}

TEST(FigureOfRerankers, AlongCandidates_HasAQuerysTimeAndMarksWhereContendersCross) {
  MeasuredRun run;
  const Table table = add_stages(run).table("cross-bert/segment", "operation=model;stage=online");
  Figure figure = figure_or_throw(table, XAxis::candidates, YAxis::per_query);
  EXPECT_EQ(figure.x_label, "Candidates of a query");
  EXPECT_THAT(figure.title, testing::Not(HasSubstr("candidates")));
  const Series& mix = series_of(figure, "mixencoder-a/segment");
  ASSERT_EQ(mix.points.size(), 2U);
  EXPECT_EQ(mix.points[1].x, 1000);
  EXPECT_NEAR(mix.points[1].y, 101, 1e-9);
  const auto answers =
      find_crossover_answers(all_rows(table.rows), XAxis::candidates, "cross-bert/segment");
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(answers[0].sentence,
            "MixEncoder-a is faster than Cross-BERT at every measured number of candidates (10 to "
            "1000 candidates).");
  EXPECT_FALSE(make_figure(table, XAxis::length, YAxis::per_query));  // candidates differ
}

TEST(FigureOfRerankers, Space_StandsOverTheTimeOfAQuery) {
  MeasuredRun run;
  const Figure figure =
      figure_or_throw(add_stages(run).table(std::nullopt, "operation=model;stage=online"),
                      XAxis::candidates, YAxis::space);
  const Series& mix = series_of(figure, "mixencoder-a/segment");
  ASSERT_EQ(mix.points.size(), 2U);
  EXPECT_NEAR(mix.points[0].x, 2, 1e-9);
  EXPECT_NEAR(mix.points[0].y, 0.03072, 1e-9);
  EXPECT_EQ(mix.points[0].label, "10 candidates");
  const Series& cross = series_of(figure, "cross-bert/segment");
  EXPECT_TRUE(cross.points.empty());
  EXPECT_THAT(cross.rail.at(0).reason, HasSubstr("it keeps no data"));
  EXPECT_EQ(cross.rail.at(0).word(), "no value");
}

TEST(FigureOfRerankers, Stages_AreBarsOfADocumentsTime) {
  MeasuredRun run;
  // Documents are encoded for any number of candidates.
  const Table table = add_stages(run).table(std::nullopt, "operation=model;candidates=1000");
  const Figure figure = figure_or_throw(table, XAxis::length, YAxis::stages);
  EXPECT_THAT(figure.x_names, testing::ElementsAre("Cross-BERT", "MixEncoder-a"));
  ASSERT_EQ(figure.series.size(), 2U);
  EXPECT_NEAR(series_of(figure, "offline").points.at(0).y, 50, 1e-9);
  EXPECT_EQ(series_of(figure, "offline").points.at(0).x, 1);
  EXPECT_EQ(series_of(figure, "offline").rail.at(0).x, 0);
  EXPECT_NEAR(series_of(figure, "online").points.at(0).y, 100, 1e-9);
  EXPECT_THAT(figure.title, HasSubstr("1000 candidates"));
  EXPECT_THAT(figure_csv(figure), HasSubstr("offline,MixEncoder-a,50"));
}

TEST(FigureOfRerankers, Parts_AreBarsOfTheTimePerToken) {
  MeasuredRun run;
  HeatResult heat = stage_heat(Stage::online, 10);
  heat.cells[0].parts = {{"attention", 30, 0}, {"feed-forward", 90, 4e12}, {"other", 0, 0}};
  run.add(heat);
  Table table = run.table(std::nullopt, "operation=model");
  table.ceilings.emplace_back();
  table.ceilings.back().threads = 2;
  table.ceilings.back().flop_per_second = 1e13;
  const Figure figure = figure_or_throw(table, XAxis::length, YAxis::parts);
  EXPECT_THAT(figure.x_names, testing::ElementsAre("Cross-BERT", "MixEncoder-a"));
  const Point& attention = series_of(figure, "attention").points.at(0);
  EXPECT_NEAR(attention.y, 250 / 1.99, 1e-9);  // a quarter of 1000 ms, of 10 x 199 tokens
  EXPECT_EQ(attention.mark, "");
  const Point& wide = series_of(figure, "feed-forward").points.at(0);
  EXPECT_NEAR(wide.y, 3 * attention.y, 1e-9);
  EXPECT_EQ(wide.mark, "53 %");
  EXPECT_EQ(wide.label, "75.0 % of the time, 53 % of the ceiling");
  EXPECT_EQ(series_of(figure, "whole").rail.at(0).reason, "its parts are not known");
  EXPECT_THAT(write_table(table, TableFormat::csv), HasSubstr(R"([""attention"",30.0,0.0])"));
}

TEST(FigureOfRerankers, OfAttentionAlone_IsRefused) {
  const MeasuredRun run;
  const auto figure = make_figure(run.table(), XAxis::length, YAxis::stages);
  ASSERT_FALSE(figure);
  EXPECT_THAT(figure.error().message, HasSubstr("is for re-rankers"));
}

TEST(FigureCsv, HoldsEveryPointAndRailMark) {
  const MeasuredRun run;
  const std::string csv = figure_csv(figure_or_throw(run.table(), XAxis::length, YAxis::time));
  std::stringstream lines(csv);
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(line, "series,x,y,low,high,status\r");
  int points = 0, marks = 0;
  for (; std::getline(lines, line);) (line.ends_with(",ok\r") ? points : marks)++;
  EXPECT_EQ(points, 7);
  EXPECT_EQ(marks, 1);
  EXPECT_THAT(csv, HasSubstr("\"sparse/sdpa-mask, w = 4\",256,,,,oom\r\n"));
  EXPECT_THAT(csv, HasSubstr("\"Sparse, fused, w = 4\",64,0.2"));
}

TEST(FigureAxes, UnknownNames_AreRefusedWithTheNearest) {
  EXPECT_EQ(*parse_x("window"), XAxis::window);
  EXPECT_EQ(*parse_y("ratio"), YAxis::ratio);
  EXPECT_EQ(*parse_y("per-token"), YAxis::per_token);
  EXPECT_EQ(*parse_y("executed"), YAxis::executed);
  EXPECT_EQ(*parse_ys("time,memory"), (std::vector{YAxis::time, YAxis::memory}));
  EXPECT_THAT(parse_ys("time,memroy").error().message, HasSubstr("did you mean 'memory'"));
  EXPECT_THAT(parse_ys("time,time").error().message, HasSubstr("is repeated"));
  EXPECT_FALSE(parse_ys("time,"));
  EXPECT_THAT(parse_x("lenght").error().message, HasSubstr("did you mean 'length'"));
  EXPECT_THAT(parse_y("speed").error().message, HasSubstr("--y"));
}

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
    if (view.of_models || view.of_one_length) continue;
    Figure figure = make_figure(table, XAxis::length, view.y).value();
    mark_crossovers(figure, table, XAxis::length, view.y);
    EXPECT_TRUE(has_time(view.y) || figure.marks.empty()) << view.key;
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

std::vector<std::vector<std::string>> table_of_csv(const std::string& csv) {
  std::vector<std::vector<std::string>> lines;
  std::stringstream stream(csv);
  for (std::string line; std::getline(stream, line);) lines.push_back(fields_of(line));
  return lines;
}

TEST(FigureCsv, EveryNumberReadsBackAsItIs) {
  const MeasuredRun run;
  for (const YAxis y : {YAxis::time, YAxis::limit, YAxis::roofline}) {
    const Figure figure = make_figure(run.table(), XAxis::length, y).value();
    const auto lines = table_of_csv(figure_csv(figure));
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
  const auto lines = table_of_csv(facets_csv(facets));
  EXPECT_THAT(lines[0], testing::ElementsAre("panel", "value", "series", "x", "y", "low", "high",
                                             "status", "label"));
  EXPECT_EQ(lines[1][0], "w = 4");
  EXPECT_EQ(lines[1][1], "Time per document (ms)");
  for (const auto& line : lines) EXPECT_EQ(line.size(), 9U);
}

}  // namespace
}  // namespace attnscope::report
