// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <tuple>

#include "engine/report/length_curve.h"
#include "engine/report/run_figures.h"
#include "engine/report/scatter_figures.h"
#include "tests/report/measured_run.h"

namespace attnscope::report {
namespace {

using namespace test;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

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

TEST(Figure, AlongLengthHasOneSeriesForEachContenderAndWindow) {
  Table table = MeasuredRun().table();
  const Figure figure = figure_or_throw(table, XAxis::length, YAxis::time);
  ASSERT_EQ(figure.series.size(), 4U);
  EXPECT_EQ(figure.series[1].name, "Sparse, fused, w = 4");
  EXPECT_EQ(figure.series[1].style_key, "sparse/segment/4");
  const Series& dense = series_of(figure, "full/dense");
  ASSERT_EQ(dense.points.size(), 2U);
  EXPECT_EQ(dense.points[0].x, 64);
  EXPECT_EQ(dense.points[1].x, 256);
  EXPECT_EQ(figure.x_scale, Scale::log2);
  const Series& mask = series_of(figure, "sparse/sdpa-mask/4");
  EXPECT_EQ(mask.points.size(), 1U);
  ASSERT_EQ(mask.rail.size(), 1U);
  EXPECT_EQ(mask.rail[0].x, 256);
  EXPECT_EQ(mask.rail[0].status, CellStatus::oom);
  EXPECT_THAT(mask.rail[0].reason, HasSubstr("9.1 GB"));
  table.rows[0].cell.damaged = true;
  const Series damaged =
      series_of(figure_or_throw(table, XAxis::length, YAxis::time), "full/dense");
  EXPECT_EQ(damaged.points.size(), 1U);
  EXPECT_THAT(damaged.rail.at(0).reason, HasSubstr("fingerprint"));
}

TEST(Figure, EachViewHasItsValuesIntervalsScaleAndLine) {
  const Table table = MeasuredRun().table("full/dense");
  for (const auto& [y, contender, first, second, scale, label] :
       {std::tuple(YAxis::time, "full/dense", 0.5, 8.0, Scale::log10, "Time per document"),
        std::tuple(YAxis::memory, "full/dense", 2.0, 2.0, Scale::log10, "Memory"),
        std::tuple(YAxis::ratio, "sparse/segment/4", 0.5, 0.125, Scale::log10, "full/dense"),
        std::tuple(YAxis::limit, "full/dense", 0.5, 1 / 32.0, Scale::linear, ""),
        std::tuple(YAxis::executed, "full/dense", 2.0, 2.0, Scale::log10, ""),
        // Constant for linear cost.
        std::tuple(YAxis::per_token, "sparse/segment/4", 0.25 / 0.064, 0.25 / 0.064, Scale::linear,
                   "1000 tokens")}) {
    SCOPED_TRACE(view_of(y).key);
    const Figure figure = figure_or_throw(table, XAxis::length, y);
    EXPECT_EQ(figure.y_scale, scale);
    EXPECT_THAT(figure.y_label, HasSubstr(label));
    EXPECT_EQ(figure.line_at.has_value(), y == YAxis::executed || y == YAxis::ratio);
    EXPECT_EQ(figure.line_at.value_or(1), 1);
    const std::vector<Point>& points = series_of(figure, contender).points;
    EXPECT_NEAR(points.at(0).y, first, 1e-9);
    EXPECT_NEAR(points.at(1).y, second, 1e-9);
    const bool is_exact = y == YAxis::memory || y == YAxis::executed;
    for (const Point& point : points) {
      EXPECT_EQ(point.low < point.y, !is_exact);
      EXPECT_EQ(point.high > point.y, !is_exact);
    }
  }
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

TEST(Figure, InfiniteWindowIsNamedAndBeyondAllOthers) {
  HeatResult heat{.heat_index = 2, .point = point_at(512), .cells = {}};
  heat.cells = {timed_cell("sparse", "segment", Window::infinite(), "a", 3),
                timed_cell("sparse", "segment", Window::of(0), "a", 1)};
  for (Cell& cell : heat.cells) cell.document_tokens = 500;
  const Figure from_zero = figure_or_throw(MeasuredRun().add(heat).table({}, "sequence_tokens=512"),
                                           XAxis::window, YAxis::time);
  EXPECT_EQ(from_zero.series.at(0).points.at(0).x, 0);
  EXPECT_EQ(from_zero.series.at(0).points.at(1).x, 500);
  EXPECT_EQ(from_zero.x_scale, Scale::linear);
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
  EXPECT_THAT(figure_csv(figure),
              AllOf(HasSubstr(",500,"), HasSubstr(",inf,"), Not(HasSubstr("625"))));
  EXPECT_EQ(series_of(figure, "longformer/segment").rail.front().x, 625);
  EXPECT_THAT(titles_of(facets_or_throw(table, XAxis::length, "window")),
              ElementsAre("w = 4", "w = 500", "w = inf"));
}

TEST(Figure, IsRefusedWithTheOptionThatHelps) {
  MeasuredRun run;
  HeatResult heat = MeasuredRun::heat_at(64);
  heat.point.dtype = DType::bfloat16;
  run.add(heat);
  heat.point.dtype = DType::float32;
  heat.point.cache = CacheState::cold;
  run.add(heat);
  for (int threads = 3; threads < 30; ++threads) {
    heat.point.threads = threads;
    run.add(heat);
  }
  const std::string warm = "threads=2;cache=warm", one = "threads=2;dtype=float32",
                    alone = one + ";cache=warm";
  for (const auto& [only, x, y, message] :
       {std::tuple(warm, XAxis::length, YAxis::time, "--only dtype=float32"),
        std::tuple(warm, XAxis::length, YAxis::time, "one dtype"),
        std::tuple(one, XAxis::length, YAxis::time, "--only cache=warm"),
        std::tuple(alone, XAxis::window, YAxis::time, "--only sequence_tokens=64"),
        std::tuple(alone, XAxis::length, YAxis::ratio, "--baseline"),
        std::tuple(alone, XAxis::length, YAxis::stages, "is for re-rankers"),
        std::tuple(alone + ";contender=full/dense;sequence_tokens=64", XAxis::window, YAxis::time,
                   "--x length")}) {
    const auto figure = make_figure(run.table({}, only), x, y);
    EXPECT_THAT(figure ? "" : figure.error().message, HasSubstr(message));
  }
  EXPECT_TRUE(make_figure(run.table({}, alone), XAxis::length, YAxis::time));
  for (const auto& [only, x, key, message] :
       {std::tuple(alone, XAxis::length, "windw", "did you mean 'window'?"),
        std::tuple(alone, XAxis::length, "sequence_tokens", "is already on the x axis"),
        std::tuple(alone, XAxis::window, "window", "is already on the x axis"),
        std::tuple(alone, XAxis::window, "implementation", "--only sequence_tokens=64"),
        std::tuple(one, XAxis::length, "window", "--only cache=warm"),
        std::tuple(std::string("cache=cold"), XAxis::length, "threads", "28 values")}) {
    const auto facets = make_facets(run.table({}, only), x, {YAxis::time}, key);
    EXPECT_THAT(facets ? "" : facets.error().message, HasSubstr(message)) << key;
  }
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

TEST(Figure, TitleNamesTheFixedAxes) {
  const MeasuredRun run;
  EXPECT_THAT(
      figure_or_throw(run.table(), XAxis::length, YAxis::time).title,
      AllOf(HasSubstr("attention"), HasSubstr("forward"), HasSubstr("cpu"), HasSubstr("float32"),
            HasSubstr("query 10"), HasSubstr("2 threads"), Not(HasSubstr("tokens"))));
  EXPECT_THAT(
      figure_or_throw(run.table({}, "sequence_tokens=64"), XAxis::window, YAxis::time).title,
      HasSubstr("64 tokens"));
}

TEST(Figure, OfARunWithoutHeatsIsEmpty) {
  for (const XAxis x : {XAxis::length, XAxis::window})
    EXPECT_TRUE(figure_or_throw({}, x, YAxis::time).series.empty());
  EXPECT_TRUE(facets_or_throw({}, XAxis::length, "dtype").panels.empty());
  EXPECT_TRUE(make_facets({}, XAxis::length, {YAxis::time, YAxis::memory}, "")->panels.empty());
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
  EXPECT_THAT(figure.title, Not(HasSubstr("candidates")));
  const Series& mix = series_of(figure, "mixencoder-a/segment");
  ASSERT_EQ(mix.points.size(), 2U);
  EXPECT_EQ(mix.points[1].x, 1000);
  EXPECT_NEAR(mix.points[1].y, 101, 1e-9);
  EXPECT_EQ(find_crossover_answers(all_rows(table.rows), XAxis::candidates, "cross-bert/segment")
                .at(0)
                .sentence,
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
  EXPECT_THAT(figure.x_names, ElementsAre("Cross-BERT", "MixEncoder-a"));
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
  EXPECT_THAT(figure.x_names, ElementsAre("Cross-BERT", "MixEncoder-a"));
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

TEST(FigureAxes, UnknownNamesAreRefusedWithTheNearest) {
  EXPECT_EQ(*parse_x("window"), XAxis::window);
  EXPECT_EQ(*parse_ys("time,memory"), (std::vector{YAxis::time, YAxis::memory}));
  EXPECT_THAT(parse_ys("time,memroy").error().message, HasSubstr("did you mean 'memory'"));
  EXPECT_THAT(parse_ys("time,time").error().message, HasSubstr("is repeated"));
  EXPECT_FALSE(parse_ys("time,"));
  EXPECT_THAT(parse_x("lenght").error().message, HasSubstr("did you mean 'length'"));
  EXPECT_THAT(parse_y("speed").error().message, HasSubstr("--y"));
  EXPECT_EQ(*parse_scale("--scale-x", "log2"), Scale::log2);
  EXPECT_EQ(name_of(Scale::linear), "linear");
  EXPECT_THAT(parse_scale("--scale-x", "linaer").error().message,
              AllOf(HasSubstr("--scale-x"), HasSubstr("did you mean 'linear'")));
}

TEST(Scales, ZeroIsOnTheRailOfALogarithmicAxisOnly) {
  HeatResult heat = MeasuredRun::heat_at(512);
  heat.cells[1].memory.requested_bytes = 0;
  Figure figure = figure_or_throw(MeasuredRun().add(heat).table(), XAxis::length, YAxis::memory);
  set_scales(figure, std::nullopt, std::nullopt);
  EXPECT_EQ(figure.x_scale, Scale::log2);
  EXPECT_EQ(figure.y_scale, Scale::log10);
  Series& series = figure.series[1];
  ASSERT_EQ(series.rail.size(), 1U);
  EXPECT_EQ(series.rail[0].word(), "zero");
  EXPECT_THAT(series.rail[0].reason, HasSubstr("logarithmic"));
  EXPECT_EQ(series.points.size(), 2U);
  set_scales(figure, Scale::log10, Scale::linear);
  EXPECT_EQ(figure.x_scale, Scale::log10);
  EXPECT_TRUE(series.rail.empty());
  ASSERT_EQ(series.points.size(), 3U);
  EXPECT_EQ(series.points[2].x, 512);
  EXPECT_EQ(series.points[2].y, 0);
  set_scales(figure, std::nullopt, Scale::log10);
  EXPECT_EQ(series.points.size(), 2U);
  EXPECT_EQ(series.rail.size(), 1U);
}

TEST(FigureCsv, HasEveryPointExactlyAndEveryRailMark) {
  for (const YAxis y : {YAxis::time, YAxis::limit, YAxis::roofline}) {
    const Figure figure = figure_or_throw(MeasuredRun().table(), XAxis::length, y);
    const std::string csv = figure_csv(figure);
    const auto lines = parse_csv(csv);
    if (y == YAxis::time) {
      EXPECT_THAT(csv, AllOf(StartsWith("series,x,y,low,high,status\r\n"),
                             HasSubstr("\"sparse/sdpa-mask, w = 4\",256,,,,oom\r\n")));
    }
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
  const auto lines = parse_csv(facets_csv(
      make_facets(MeasuredRun().table(), XAxis::length, {YAxis::time, YAxis::roofline}, "window")
          .value()));
  EXPECT_THAT(lines[0],
              ElementsAre("panel", "value", "series", "x", "y", "low", "high", "status", "label"));
  EXPECT_EQ(lines[1][0], "w = 4");
  EXPECT_EQ(lines[1][1], "Time per document (ms)");
  for (const auto& line : lines) EXPECT_EQ(line.size(), 9U);
}

TEST(Facets, AreAPanelForEachValueTitledWithItAlone) {
  HeatResult heat = MeasuredRun::heat_at(64);
  heat.point.cache = CacheState::cold;
  const Table table = MeasuredRun().add(heat).table();
  const Facets facets = facets_or_throw(table, XAxis::length, "cache");
  EXPECT_THAT(titles_of(facets), ElementsAre("cache warm", "cold caches"));
  EXPECT_THAT(facets.title, AllOf(HasSubstr("attention, forward"), Not(HasSubstr("cold")),
                                  Not(HasSubstr("tokens"))));
  EXPECT_EQ(facets.panels[0].series[0].points.size(), 2U);
  EXPECT_EQ(facets.panels[1].series[0].points.size(), 1U);
  EXPECT_EQ(facets.provenance, provenance_line(table.run));
}

TEST(Facets, KeepContendersWithoutAWindowInEveryPanel) {
  const Facets facets = facets_or_throw(MeasuredRun().table(), XAxis::length, "window");
  EXPECT_THAT(titles_of(facets), ElementsAre("w = 4", "w = 64"));
  const auto names_in = [&](std::size_t panel) {
    std::vector<std::string> names;
    for (const Series& series : facets.panels[panel].series) names.push_back(series.name);
    return names;
  };
  EXPECT_THAT(names_in(0), ElementsAre("Full/dense", "Sparse, fused", "sparse/sdpa-mask"));
  EXPECT_THAT(names_in(1), ElementsAre("Full/dense", "Sparse, fused"));
  EXPECT_EQ(facets.panels[0].series[1].style_key, facets.panels[1].series[1].style_key);
  EXPECT_NEAR(facets.panels[0].series[1].points[0].y, 0.25, 1e-9);
  EXPECT_NEAR(facets.panels[1].series[1].points[0].y, 0.375, 1e-9);
}

TEST(Facets, HaveLengthsAndContendersAsKeysToo) {
  const Table table = MeasuredRun().table();
  EXPECT_THAT(titles_of(facets_or_throw(table, XAxis::window, "sequence_tokens")),
              ElementsAre("64 tokens", "256 tokens"));
  EXPECT_THAT(titles_of(facets_or_throw(table, XAxis::length, "implementation")),
              ElementsAre("dense", "segment", "sdpa-mask"));
  EXPECT_THAT(titles_of(facets_or_throw(table, XAxis::length, "batch")), ElementsAre("batch 4"));
}

TEST(Facets, HaveAColumnForEachOfSeveralViews) {
  const MeasuredRun run;
  const Facets by_window = make_facets(run.table({}, "implementation=dense;implementation=segment"),
                                       XAxis::length, {YAxis::time, YAxis::memory}, "window")
                               .value();
  EXPECT_EQ(by_window.columns, 2);
  EXPECT_THAT(titles_of(by_window), ElementsAre("w = 4", "w = 4", "w = 64", "w = 64"));
  EXPECT_THAT(by_window.panels[0].y_label, HasSubstr("Time"));
  EXPECT_THAT(by_window.panels[1].y_label, HasSubstr("Memory"));
  for (const Figure& panel : by_window.panels) EXPECT_EQ(panel.series.size(), 2U);
  const Facets alone =
      make_facets(run.table(), XAxis::length, {YAxis::time, YAxis::memory, YAxis::executed}, "")
          .value();
  EXPECT_EQ(alone.columns, 3);
  EXPECT_THAT(titles_of(alone), ElementsAre("", "", ""));
  for (const Figure& panel : alone.panels) EXPECT_EQ(panel.series.size(), 4U);
}

TEST(Roofline, PlacesCellsByTheirWorkPerByteAndRate) {
  Table table = MeasuredRun().table();
  const Figure figure = figure_or_throw(table, XAxis::length, YAxis::roofline);
  ASSERT_EQ(figure.series[0].points.size(), 2U);
  const Point& point = figure.series[0].points[0];  // 1e9 FLOP and 1e6 bytes in 2 ms
  EXPECT_DOUBLE_EQ(point.x, 1000);
  EXPECT_NEAR(point.y, 500, 1);
  EXPECT_LT(point.low, point.y);
  EXPECT_GT(point.high, point.y);
  EXPECT_FALSE(figure.along_x);
  EXPECT_EQ(point.label, "64 tokens");
  EXPECT_EQ(figure.series[0].points[1].label, "256 tokens");
  const Series& mask = figure.series.back();
  ASSERT_EQ(mask.rail.size(), 1U);
  EXPECT_EQ(mask.rail[0].status, CellStatus::oom);
  EXPECT_EQ(mask.rail[0].label, "256 tokens");
  EXPECT_DOUBLE_EQ(mask.rail[0].x, 1000);
  const Figure windows = figure_or_throw(MeasuredRun().table({}, "sequence_tokens=64"),
                                         XAxis::window, YAxis::roofline);
  EXPECT_EQ(windows.series[1].points.at(0).label, "w = 4");
  EXPECT_EQ(windows.series[1].points.at(1).label, "w = 64");
  table.rows[0].cell.cell.work = {};
  const Figure without = figure_or_throw(table, XAxis::length, YAxis::roofline);
  EXPECT_EQ(without.without_place, 1);
  EXPECT_EQ(without.series[0].points.size(), 1U);
}

TEST(Ceilings, AreTheBestRatesOfProductsExponentialsAndCopies) {
  Table table = MeasuredRun().table();
  std::vector<Ceiling> all = ceilings_of(table);
  ASSERT_EQ(all.size(), 2U) << "exponentials allow more FLOP than the products do";
  EXPECT_EQ(all[0].text, "1000 GFLOP/s");
  EXPECT_FALSE(all[0].per_x);
  EXPECT_EQ(all[1].text, "10.0 GB/s up to 1.00 MiB");
  EXPECT_DOUBLE_EQ(all[1].rate, 10);
  EXPECT_TRUE(all[1].per_x);
  table.ceilings[0].exponentials_per_second = 5e7;  // of 1e4 FLOP each
  all = ceilings_of(table);
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[1].text, "exponentials: 500 GFLOP/s");
  table.ceilings[0].exponentials_per_second = 1e10;
  table.ceilings[0].copy = {{1 << 18, 2e11}, {1 << 20, 1.95e11}, {1 << 26, 3e10}};
  table.ceilings.push_back(table.ceilings[0]);
  table.ceilings[1].flop_per_second = 2e12;
  all = ceilings_of(table);
  ASSERT_EQ(all.size(), 3U);
  EXPECT_DOUBLE_EQ(all[0].rate, 2000);
  EXPECT_THAT(all[1].text, HasSubstr("up to 1.00 MiB"));
  EXPECT_EQ(all[2].text, "30.0 GB/s beyond 1.00 MiB");
  for (attnscope::Ceilings& of_others : table.ceilings) of_others.threads = 64;
  EXPECT_TRUE(ceilings_of(table).empty());
  EXPECT_TRUE(figure_or_throw(table, XAxis::length, YAxis::roofline).ceilings.empty());
}

TEST(Views, HaveUniqueNamesFiguresAndCrossoversOfTimes) {
  MeasuredRun run;
  run.add(stage_heat(Stage::online, 10));
  std::set<std::string_view> keys;
  for (const View& view : views()) {
    SCOPED_TRACE(view.key);
    EXPECT_TRUE(keys.insert(view.key).second);
    EXPECT_EQ(*parse_y(view.key), view.y);
    EXPECT_EQ(view_of(view.y).title, view.title);
    const std::string only = fmt::format("operation={}{}", view.of_models ? "model" : "attention",
                                         view.of_one_length ? ";sequence_tokens=64" : "");
    const Table table = run.table(view.of_models ? "cross-bert/segment" : "full/dense", only);
    auto figure = make_figure(table, XAxis::length, view.y);
    ASSERT_TRUE(figure);
    EXPECT_FALSE(figure->series.empty());
    EXPECT_EQ(make_figure(run.table(std::nullopt, only), XAxis::length, view.y).has_value(),
              !view.needs_baseline);
    if (view.of_models || view.of_one_length) continue;
    mark_crossovers(*figure, table, XAxis::length, view.y);
    EXPECT_TRUE(has_time(view.y) || figure->marks.empty());
  }
}

}  // namespace
}  // namespace attnscope::report
