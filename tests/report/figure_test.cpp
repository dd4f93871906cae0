// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "engine/report/length_curve.h"
#include "engine/report/run_figures.h"
#include "engine/report/scatter_figures.h"
#include "tests/report/measured_run.h"

namespace attnscope::report {
namespace {

using namespace test;
using testing::ElementsAre;
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
  const Figure figure = figure_or_throw(MeasuredRun().table(), XAxis::length, YAxis::time);
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
  const Series& mask = series_of(figure, "sparse/sdpa-mask/4");
  EXPECT_EQ(mask.points.size(), 1U);
  ASSERT_EQ(mask.rail.size(), 1U);
  EXPECT_EQ(mask.rail[0].x, 256);
  EXPECT_EQ(mask.rail[0].status, CellStatus::oom);
  EXPECT_THAT(mask.rail[0].reason, HasSubstr("9.1 GB"));
}

TEST(Figure, ADamagedCell_IsOnTheRail) {
  Table table = MeasuredRun().table();
  table.rows[0].cell.damaged = true;
  const Figure figure = figure_or_throw(table, XAxis::length, YAxis::time);
  EXPECT_EQ(series_of(figure, "full/dense").points.size(), 1U);
  EXPECT_THAT(series_of(figure, "full/dense").rail.at(0).reason, HasSubstr("fingerprint"));
}

TEST(Figure, Memory_HasNoIntervalAndIsPerDocument) {
  const Figure figure = figure_or_throw(MeasuredRun().table(), XAxis::length, YAxis::memory);
  for (const Series& series : figure.series) {
    for (const Point& point : series.points) {
      EXPECT_DOUBLE_EQ(point.y, 2.0);
      EXPECT_EQ(point.low, point.y);
      EXPECT_EQ(point.high, point.y);
    }
  }
}

TEST(Figure, ZeroMemory_IsOnTheRailOfALogAxis) {
  HeatResult heat = MeasuredRun::heat_at(512);
  heat.cells[1].memory.requested_bytes = 0;
  const Figure figure =
      figure_or_throw(MeasuredRun().add(heat).table(), XAxis::length, YAxis::memory);
  const Series& series = series_of(figure, "sparse/segment/4");
  EXPECT_EQ(series.points.size(), 2U);
  ASSERT_EQ(series.rail.size(), 1U);
  EXPECT_THAT(series.rail[0].reason, HasSubstr("logarithmic"));
}

TEST(Figure, AlongWindow_ContendersWithoutWindowsAreAtEveryWindow) {
  const Figure figure =
      figure_or_throw(MeasuredRun().table({}, "sequence_tokens=64"), XAxis::window, YAxis::time);
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

TEST(Figure, WindowsZeroAndInfinite_HaveAPosition) {
  HeatResult heat{.heat_index = 2, .point = point_at(512), .cells = {}};
  heat.cells = {timed_cell("sparse", "segment", Window::infinite(), "a", 2),
                timed_cell("sparse", "segment", Window::of(0), "a", 1)};
  for (Cell& cell : heat.cells) cell.document_tokens = 500;
  const Figure figure = figure_or_throw(MeasuredRun().add(heat).table({}, "sequence_tokens=512"),
                                        XAxis::window, YAxis::time);
  ASSERT_EQ(figure.series.size(), 1U);
  EXPECT_EQ(figure.series[0].points[0].x, 0);
  EXPECT_EQ(figure.series[0].points[1].x, 500);
  EXPECT_EQ(figure.x_scale, Scale::linear);
}

TEST(Figure, TheInfiniteWindow_IsNamedAndBeyondAllOthers) {
  HeatResult heat{.heat_index = 2, .point = point_at(512), .cells = {}};
  heat.cells = {timed_cell("sparse", "segment", Window::infinite(), "a", 3),
                timed_cell("sparse", "segment", Window::of(500), "a", 2),
                timed_cell("sparse", "segment", Window::of(4), "a", 1),
                timed_cell("longformer", "segment", Window::infinite(), "b", 3)};
  heat.cells.back().status = CellStatus::oom;
  for (Cell& cell : heat.cells) cell.document_tokens = 500;
  const Table table = MeasuredRun().add(heat).table({}, "sequence_tokens=512");
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

TEST(Figure, MixedAxes_AreRefusedWithTheOptionThatSeparatesThem) {
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
  const auto figure =
      make_figure(MeasuredRun().table({}, "contender=full/dense;sequence_tokens=64"), XAxis::window,
                  YAxis::time);
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
  const Figure figure = figure_or_throw(MeasuredRun().table(), XAxis::length, YAxis::limit);
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

TEST(Figure, SeveralDocuments_DivideTheTimeButNotTheTokens) {
  HeatResult heat = MeasuredRun::heat_at(64);
  heat.point.documents = 5;
  const Table table = MeasuredRun().add(heat).table({}, "documents=5");
  const Figure time = figure_or_throw(table, XAxis::length, YAxis::time);
  EXPECT_NEAR(series_of(time, "sparse/segment/4").points[0].y, 0.05, 1e-9);
  const Figure per_token = figure_or_throw(table, XAxis::length, YAxis::per_token);
  EXPECT_NEAR(series_of(per_token, "sparse/segment/4").points[0].y, 0.25 / 0.064, 1e-9);
}

TEST(Figure, PerToken_IsConstantForLinearCost) {
  const Figure figure = figure_or_throw(MeasuredRun().table(), XAxis::length, YAxis::per_token);
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

/// Adds the offline stage, and the online stage with 10 and 1000 candidates.
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

TEST(FigureOfRerankers, Space_IsPlottedOverTheTimeOfAQuery) {
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
  EXPECT_THAT(cross.rail.at(0).reason, HasSubstr("it stores no data"));
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
  HeatResult heat = stage_heat(Stage::online, 10);
  heat.cells[0].parts = {{"attention", 30, 0}, {"feed-forward", 90, 4e12}, {"other", 0, 0}};
  Table table = MeasuredRun().add(heat).table(std::nullopt, "operation=model");
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
  const auto figure = make_figure(MeasuredRun().table(), XAxis::length, YAxis::stages);
  ASSERT_FALSE(figure);
  EXPECT_THAT(figure.error().message, HasSubstr("is for re-rankers"));
}

TEST(FigureCsv, HasEveryPointAndRailMark) {
  const std::string csv =
      figure_csv(figure_or_throw(MeasuredRun().table(), XAxis::length, YAxis::time));
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

/// The run's memory with one cell of zero bytes.
Figure memory_with_a_zero() {
  HeatResult heat = MeasuredRun::heat_at(512);
  heat.cells[1].memory.requested_bytes = 0;
  return make_figure(MeasuredRun().add(heat).table(), XAxis::length, YAxis::memory).value();
}

TEST(Scales, AZero_ReturnsFromTheRailOnALinearAxis) {
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

TEST(Scales, WithoutAChoice_AreTheFiguresDefaults) {
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

TEST(Crossovers, AreMarkedOnlyInViewsOfTime) {
  const Table table = MeasuredRun().table("full/dense");
  for (const View& view : views()) {
    if (view.of_models || view.of_one_length) continue;
    Figure figure = make_figure(table, XAxis::length, view.y).value();
    mark_crossovers(figure, table, XAxis::length, view.y);
    EXPECT_TRUE(has_time(view.y) || figure.marks.empty()) << view.key;
  }
}

TEST(FigureCsv, EveryNumberIsReadBackExactly) {
  for (const YAxis y : {YAxis::time, YAxis::limit, YAxis::roofline}) {
    const Figure figure = make_figure(MeasuredRun().table(), XAxis::length, y).value();
    const auto lines = parse_csv(figure_csv(figure));
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
  const Facets facets =
      make_facets(MeasuredRun().table(), XAxis::length, {YAxis::time, YAxis::roofline}, "window")
          .value();
  const auto lines = parse_csv(facets_csv(facets));
  EXPECT_THAT(lines[0], testing::ElementsAre("panel", "value", "series", "x", "y", "low", "high",
                                             "status", "label"));
  EXPECT_EQ(lines[1][0], "w = 4");
  EXPECT_EQ(lines[1][1], "Time per document (ms)");
  for (const auto& line : lines) EXPECT_EQ(line.size(), 9U);
}

Facets facets_or_throw(const Table& table, XAxis x, std::string_view key) {
  auto facets = make_facets(table, x, {YAxis::time}, key);
  if (!facets) throw std::runtime_error(facets.error().message);
  return std::move(*facets);
}

std::vector<std::string> titles_of(const Facets& facets) {
  std::vector<std::string> titles;
  for (const Figure& panel : facets.panels) titles.push_back(panel.title);
  return titles;
}

std::vector<std::string> names_of(const Figure& figure) {
  std::vector<std::string> names;
  for (const Series& series : figure.series) names.push_back(series.name);
  return names;
}

/// A length with cold caches, in addition to the run's warm ones.
void add_cold_heat(MeasuredRun& run) {
  HeatResult heat = MeasuredRun::heat_at(64);
  heat.point.cache = CacheState::cold;
  run.add(heat);
}

TEST(Facets, APanelForEachValue_TitledWithItAlone) {
  MeasuredRun run;
  add_cold_heat(run);
  const Facets facets = facets_or_throw(run.table(), XAxis::length, "cache");
  EXPECT_THAT(titles_of(facets), ElementsAre("cache warm", "cold caches"));
  EXPECT_THAT(facets.title, HasSubstr("attention, forward"));
  EXPECT_THAT(facets.title, Not(HasSubstr("cold")));
  EXPECT_THAT(facets.title, Not(HasSubstr("tokens")));
  EXPECT_EQ(facets.panels[0].series[0].points.size(), 2U);
  EXPECT_EQ(facets.panels[1].series[0].points.size(), 1U);
  EXPECT_EQ(facets.provenance, provenance_line(run.info()));
}

TEST(Facets, Windows_KeepContendersWithoutOneInEveryPanel) {
  const Facets facets = facets_or_throw(MeasuredRun().table(), XAxis::length, "window");
  EXPECT_THAT(titles_of(facets), ElementsAre("w = 4", "w = 64"));
  EXPECT_THAT(names_of(facets.panels[0]),
              ElementsAre("Full/dense", "Sparse, fused", "sparse/sdpa-mask"));
  EXPECT_THAT(names_of(facets.panels[1]), ElementsAre("Full/dense", "Sparse, fused"));
  EXPECT_EQ(facets.panels[0].series[1].style_key, facets.panels[1].series[1].style_key);
  EXPECT_NEAR(facets.panels[0].series[1].points[0].y, 0.25, 1e-9);
  EXPECT_NEAR(facets.panels[1].series[1].points[0].y, 0.375, 1e-9);
}

TEST(Facets, LengthsAndContenders_AreKeysToo) {
  const MeasuredRun run;
  EXPECT_THAT(titles_of(facets_or_throw(run.table(), XAxis::window, "sequence_tokens")),
              ElementsAre("64 tokens", "256 tokens"));
  EXPECT_THAT(titles_of(facets_or_throw(run.table(), XAxis::length, "implementation")),
              ElementsAre("dense", "segment", "sdpa-mask"));
  EXPECT_THAT(titles_of(facets_or_throw(run.table(), XAxis::length, "batch")),
              ElementsAre("batch 4"));
}

TEST(Facets, InvalidKeys_AreRefused) {
  const auto refusal = [&](XAxis x, std::string_view key) {
    const auto facets = make_facets(MeasuredRun().table(), x, {YAxis::time}, key);
    return facets ? std::string("drawn") : facets.error().message;
  };
  EXPECT_THAT(refusal(XAxis::length, "windw"), HasSubstr("did you mean 'window'?"));
  EXPECT_THAT(refusal(XAxis::length, "sequence_tokens"), HasSubstr("is already on the x axis"));
  EXPECT_THAT(refusal(XAxis::window, "window"), HasSubstr("is already on the x axis"));
  EXPECT_THAT(refusal(XAxis::window, "implementation"), HasSubstr("--only sequence_tokens=64"));
}

TEST(Facets, AThirdVaryingAxis_IsRefused) {
  MeasuredRun run;
  add_cold_heat(run);
  const auto facets = make_facets(run.table(), XAxis::length, {YAxis::time}, "window");
  ASSERT_FALSE(facets);
  EXPECT_THAT(facets.error().message, HasSubstr("--only cache=warm"));
}

TEST(Facets, TooManyPanels_AreRefused) {
  MeasuredRun run;
  for (int threads = 3; threads < 30; ++threads) {
    HeatResult heat = MeasuredRun::heat_at(64);
    heat.point.threads = threads;
    run.add(heat);
  }
  const auto facets = make_facets(run.table(), XAxis::length, {YAxis::time}, "threads");
  ASSERT_FALSE(facets);
  EXPECT_THAT(facets.error().message, HasSubstr("28 values"));
}

TEST(Facets, ARunWithoutHeats_HasNoPanels) {
  EXPECT_TRUE(facets_or_throw({}, XAxis::length, "dtype").panels.empty());
}

TEST(Facets, SeveralViews_AreColumnsOfEachRow) {
  const auto facets =
      make_facets(MeasuredRun().table({}, "implementation=dense;implementation=segment"),
                  XAxis::length, {YAxis::time, YAxis::memory}, "window");
  ASSERT_TRUE(facets) << facets.error().message;
  EXPECT_EQ(facets->columns, 2);
  EXPECT_THAT(titles_of(*facets), ElementsAre("w = 4", "w = 4", "w = 64", "w = 64"));
  EXPECT_THAT(facets->panels[0].y_label, HasSubstr("Time"));
  EXPECT_THAT(facets->panels[1].y_label, HasSubstr("Memory"));
  for (const Figure& panel : facets->panels) EXPECT_EQ(panel.series.size(), 2U);
}

TEST(Facets, SeveralViewsWithoutAKey_AreOneRow) {
  const MeasuredRun run;
  const auto facets =
      make_facets(run.table(), XAxis::length, {YAxis::time, YAxis::memory, YAxis::executed}, "");
  ASSERT_TRUE(facets) << facets.error().message;
  EXPECT_EQ(facets->columns, 3);
  EXPECT_THAT(titles_of(*facets), ElementsAre("", "", ""));
  for (const Figure& panel : facets->panels) EXPECT_EQ(panel.series.size(), 4U);
  Table empty = run.table();
  empty.rows.clear();
  EXPECT_TRUE(make_facets(empty, XAxis::length, {YAxis::time, YAxis::memory}, "")->panels.empty());
}

Figure roofline_of(const Table& table, XAxis x = XAxis::length) {
  auto figure = make_figure(table, x, YAxis::roofline);
  if (!figure) throw std::runtime_error(figure.error().message);
  return *figure;
}

TEST(Roofline, Cells_AreAtTheirWorkPerByteAndRateOrOnTheRail) {
  const Figure figure = roofline_of(MeasuredRun().table());
  ASSERT_EQ(figure.series[0].points.size(), 2U);
  const Point& point = figure.series[0].points[0];  // 1e9 FLOP and 1e6 bytes in 2 ms
  EXPECT_DOUBLE_EQ(point.x, 1000);
  EXPECT_NEAR(point.y, 500, 1);
  EXPECT_LT(point.low, point.y);
  EXPECT_GT(point.high, point.y);
  EXPECT_EQ(point.label, "64 tokens");
  EXPECT_FALSE(figure.along_x);
  EXPECT_EQ(figure.series[0].points[0].label, "64 tokens");
  EXPECT_EQ(figure.series[0].points[1].label, "256 tokens");
  const Series& mask = figure.series.back();
  ASSERT_EQ(mask.rail.size(), 1U);
  EXPECT_EQ(mask.rail[0].status, CellStatus::oom);
  EXPECT_EQ(mask.rail[0].label, "256 tokens");
  EXPECT_DOUBLE_EQ(mask.rail[0].x, 1000);
}

TEST(Roofline, AlongWindows_LabelsAreWindows) {
  const Figure figure = roofline_of(MeasuredRun().table({}, "sequence_tokens=64"), XAxis::window);
  ASSERT_EQ(figure.series[1].points.size(), 2U);
  EXPECT_EQ(figure.series[1].points[0].label, "w = 4");
  EXPECT_EQ(figure.series[1].points[1].label, "w = 64");
}

TEST(Roofline, ACellWithoutKnownWork_IsCountedAndNotPlaced) {
  Table table = MeasuredRun().table();
  table.rows[0].cell.cell.work = {};
  const Figure figure = roofline_of(table);
  EXPECT_EQ(figure.without_place, 1);
  EXPECT_EQ(figure.series[0].points.size(), 1U);
}

TEST(Ceilings, AreProductsAndCopies) {
  const std::vector<Ceiling> all = ceilings_of(MeasuredRun().table());
  ASSERT_EQ(all.size(), 2U);  // exponentials allow more FLOP than the products do
  EXPECT_EQ(all[0].text, "1000 GFLOP/s");
  EXPECT_FALSE(all[0].per_x);
  EXPECT_EQ(all[1].text, "10.0 GB/s up to 1.00 MiB");
  EXPECT_DOUBLE_EQ(all[1].rate, 10);
  EXPECT_TRUE(all[1].per_x);
}

TEST(Ceilings, Exponentials_AreShownIfTheyAreLower) {
  Table table = MeasuredRun().table();
  table.ceilings[0].exponentials_per_second = 5e7;  // of 1e4 FLOP each
  const std::vector<Ceiling> all = ceilings_of(table);
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[1].text, "exponentials: 500 GFLOP/s");
}

TEST(Ceilings, SeveralMeasurements_GiveTheBestRates) {
  Table table = MeasuredRun().table();
  table.ceilings[0].copy = {{1 << 18, 2e11}, {1 << 20, 1.95e11}, {1 << 26, 3e10}};
  table.ceilings.push_back(table.ceilings[0]);
  table.ceilings[1].flop_per_second = 2e12;
  const std::vector<Ceiling> all = ceilings_of(table);
  ASSERT_EQ(all.size(), 3U);
  EXPECT_DOUBLE_EQ(all[0].rate, 2000);
  EXPECT_THAT(all[1].text, HasSubstr("up to 1.00 MiB"));
  EXPECT_EQ(all[2].text, "30.0 GB/s beyond 1.00 MiB");
}

TEST(Ceilings, OfOtherThreads_AreIgnored) {
  Table table = MeasuredRun().table();
  table.ceilings[0].threads = 64;
  EXPECT_TRUE(ceilings_of(table).empty());
  EXPECT_TRUE(roofline_of(table).ceilings.empty());
}

TEST(Views, HaveUniqueNamesAndFigures) {
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
