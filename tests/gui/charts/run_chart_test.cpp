// SPDX-License-Identifier: Apache-2.0
#include "app/gui/charts/run_chart.h"

#include <gtest/gtest.h>

#include <QAccessible>
#include <QApplication>
#include <QClipboard>
#include <QContextMenuEvent>
#include <QFontMetricsF>
#include <QImage>
#include <QMenu>
#include <QSignalSpy>
#include <QTableView>
#include <QTest>
#include <QWheelEvent>
#include <limits>
#include <set>

#include "app/drawing/chart_style.h"
#include "app/gui/charts/figure_table.h"
#include "tests/gui/charts/synthetic_figure.h"

namespace attnscope::charts {
namespace {

int pixels_of(const QImage& image, const QColor& color) {
  int count = 0;
  for (int y = 0; y < image.height(); ++y) {
    for (int x = 0; x < image.width(); ++x) count += image.pixel(x, y) == color.rgb() ? 1 : 0;
  }
  return count;
}

class RunChartTest : public testing::Test {
 protected:
  void SetUp() override {
    chart.resize(640, 560);
    chart.set_figure(figure);
    chart.show();
  }
  [[nodiscard]] const DrawnSeries& series(std::size_t index) const {
    return chart.drawing().series()[index];
  }
  [[nodiscard]] QPoint legend(std::size_t index) const {
    return chart.page().legend()[index].rect.center().toPoint();
  }
  [[nodiscard]] QPointF plot_at(double right, double up) const {
    const QRectF& plot = chart.drawing().plot();
    return {plot.left() + right * plot.width(), plot.bottom() - up * plot.height()};
  }
  void turn_wheel(QPointF at, int turns) {
    QWheelEvent event(at, chart.mapToGlobal(at), {}, {0, 120 * turns}, Qt::NoButton, {},
                      Qt::NoScrollPhase, false);
    QApplication::sendEvent(&chart, &event);
    wheel_taken = event.isAccepted();
  }
  void drag(Qt::MouseButton button, QPointF from, QPointF to,
            Qt::KeyboardModifiers modifiers = {}) {
    QTest::mousePress(&chart, button, modifiers, from.toPoint());
    QMouseEvent move(QEvent::MouseMove, to, chart.mapToGlobal(to), Qt::NoButton, button, {});
    QApplication::sendEvent(&chart, &move);
    QTest::mouseRelease(&chart, button, {}, to.toPoint());
  }
  void frame(QPointF from, QPointF to) { drag(Qt::LeftButton, from, to, Qt::ShiftModifier); }
  void zoom_in(int times) {
    for (int i = 0; i < times; ++i) QTest::keyClick(&chart, Qt::Key_Plus);
  }
  [[nodiscard]] QAction* action(const QString& name) {
    menu.reset(chart.make_menu());
    return chart.findChild<QAction*>(name);
  }
  void choose_scale(const char* axis, std::string_view scale) {
    menu.reset(chart.make_menu());
    menu->findChild<QMenu*>(axis)->findChild<QAction*>(QLatin1String(scale.data()))->trigger();
  }
  [[nodiscard]] FigureTable* table() const { return chart.findChild<FigureTable*>(); }
  [[nodiscard]] int rows() const { return table()->findChild<QTableView*>()->model()->rowCount(); }
  report::Figure figure = synthetic_figure();
  RunChart chart;
  std::unique_ptr<QMenu> menu;
  bool wheel_taken = false;
};
using RunChartZoom = RunChartTest;
using RunChartTools = RunChartTest;

TEST_F(RunChartTest, EverySeriesHasPointsAtItsValuesIntervalsAndALegendEntry) {
  ASSERT_EQ(chart.drawing().series().size(), figure.series.size());
  ASSERT_EQ(chart.page().legend().size(), figure.series.size());
  for (std::size_t s = 0; s < figure.series.size(); ++s) {
    EXPECT_EQ(series(s).points.size(), figure.series[s].points.size());
    EXPECT_EQ(series(s).intervals.size(), figure.series[s].points.size());
    EXPECT_EQ(series(s).lines.size(), 1U);
    for (std::size_t i = 0; i < series(s).points.size(); ++i) {
      EXPECT_TRUE(chart.drawing().plot().contains(series(s).points[i].position));
      if (i == 0) continue;
      EXPECT_GT(series(s).points[i].position.x(), series(s).points[i - 1].position.x());
      EXPECT_LT(series(s).points[i].position.y(), series(s).points[i - 1].position.y());
    }
  }
}

TEST_F(RunChartTest, CutsIntervalsAtTheAxisWithAnArrow) {
  for (const DrawnSeries& drawn : chart.drawing().series()) EXPECT_TRUE(drawn.arrows.empty());
  const double high = chart.drawing().whole_y().high, low = chart.drawing().whole_y().low;
  figure.series[0].points[3].low = 1e-9;
  figure.series[0].points[3].high = 1e9;
  chart.set_figure(figure);
  EXPECT_EQ(chart.drawing().whole_y().high, high);
  EXPECT_EQ(chart.drawing().whole_y().low, low);
  ASSERT_EQ(series(0).arrows.size(), 2U);
  EXPECT_TRUE(series(1).arrows.empty());
  const QRectF plot = chart.drawing().plot();
  const QPointF at = series(0).points[3].position;
  EXPECT_EQ(series(0).arrows[0][1], QPointF(at.x(), plot.top()));
  EXPECT_EQ(series(0).arrows[1][1], QPointF(at.x(), plot.bottom()));
  EXPECT_NEAR(series(0).intervals[3].dy(), -plot.height(), 1e-6);
  for (const QPolygonF& arrow : series(0).arrows)
    EXPECT_TRUE(plot.contains(arrow.boundingRect().adjusted(0, 0.01, 0, -0.01)));
  QTest::keyClick(&chart, Qt::Key_I);
  EXPECT_TRUE(series(0).arrows.empty());
}

TEST_F(RunChartTest, PlacesOverlappingIntervalBarsSideBySide) {
  figure.series.clear();
  for (const double y : {10.0, 11.0, 12.0, 500.0}) {
    const std::string name = std::to_string(y);
    figure.series.push_back({name, name, {{.x = 64, .y = y, .low = y / 1.2, .high = y * 1.2}}, {}});
  }
  chart.set_figure(figure);
  std::vector<double> xs;
  for (const DrawnSeries& drawn : chart.drawing().series()) {
    ASSERT_EQ(drawn.intervals.size(), 1U);
    xs.push_back(drawn.intervals[0].x1() - drawn.points[0].position.x());
    EXPECT_EQ(drawn.intervals[0].dx(), 0);
  }
  EXPECT_EQ(xs[0], 0);
  EXPECT_GT(xs[1], 2);
  EXPECT_LT(xs[2], -2);
  EXPECT_EQ(xs[3], 0) << "covers no other bar";
}

TEST_F(RunChartTest, WithoutValuesShowsTheRailAndTheCommonReason) {
  EXPECT_TRUE(chart.drawing().instead_of_values().isEmpty());
  for (report::Series& each : figure.series) {
    each.points.clear();
    each.rail = {{64, CellStatus::unsupported, "no driver"},
                 {128, CellStatus::unsupported, "no driver"}};
  }
  chart.set_figure(figure);
  EXPECT_FALSE(chart.drawing().empty());
  EXPECT_EQ(chart.drawing().rail_lanes().size(), figure.series.size());
  EXPECT_TRUE(chart.drawing().y_axis().ticks().empty());
  EXPECT_FALSE(chart.grab().isNull());
  EXPECT_EQ(chart.drawing().instead_of_values().toStdString(), "No cell has a value: no driver");
  figure.series.back().rail.back().reason = "no memory";
  chart.set_figure(figure);
  EXPECT_EQ(chart.drawing().instead_of_values().toStdString(), "No cell has a value");
}

TEST_F(RunChartTest, LegendAndTickLabelsFitAtEveryWidth) {
  for (const int width : {200, 320, 640, 1200}) {
    chart.resize(width, 900);
    for (std::size_t i = 0; i < figure.series.size(); ++i) {
      const LegendEntry& entry = chart.page().legend()[i];
      EXPECT_EQ(entry.text.toStdString(), figure.series[i].name);
      const QSizeF needed =
          size_of_lines(figure_font(em_of(chart.font())), entry.text, entry.text_rect.width());
      EXPECT_LE(needed.width(), entry.text_rect.width() + 0.5) << width;
      EXPECT_LE(needed.height(), entry.text_rect.height() + 0.5) << width;
      EXPECT_TRUE(QRectF(chart.rect()).contains(entry.rect)) << width;
    }
    const AxisScale& axis = chart.drawing().x_axis();
    const QFontMetricsF metrics(figure_font(em_of(chart.font())));
    double last = -1e9;
    ASSERT_GE(axis.ticks().size(), 2U);
    for (const Tick& tick : axis.ticks()) {
      const double center = axis.fraction(tick.value) * chart.drawing().plot().width();
      const double half = metrics.horizontalAdvance(tick.label) / 2;
      EXPECT_GT(center - half, last) << width;
      last = center + half;
    }
  }
}

TEST_F(RunChartTest, OutOfMemoryIsARailMarkWithItsReason) {
  ASSERT_EQ(chart.drawing().rail_lanes().size(), 1U);
  EXPECT_EQ(chart.drawing().rail_lanes()[0].label, "oom");
  ASSERT_EQ(series(0).rail.size(), 1U);
  const QPointF mark = series(0).rail[0].position;
  EXPECT_LT(mark.y(), chart.drawing().plot().top());
  const QString text = chart.value_at(mark);
  EXPECT_TRUE(text.contains("Full, dense")) << text.toStdString();
  EXPECT_TRUE(text.contains("asked for 9.7 GB, 3.1 GB are free")) << text.toStdString();
}

TEST_F(RunChartTest, ARailMarkSplitsTheLine) {
  report::Series& first = figure.series[0];
  first.rail.push_back({256, CellStatus::crashed, "signal 11"});
  std::erase_if(first.points, [](const report::Point& point) { return point.x == 256; });
  chart.set_figure(figure);
  EXPECT_EQ(series(0).lines.size(), 2U);
  EXPECT_EQ(chart.drawing().rail_lanes()[0].label, "no value");
}

TEST_F(RunChartTest, ZeroIsARailMarkAndNaNIsCountedInTheNote) {
  figure.series[1].points[2].y = 0;
  figure.series[1].points[4].y = std::numeric_limits<double>::quiet_NaN();
  chart.set_figure(figure);
  EXPECT_EQ(series(1).points.size(), figure.series[1].points.size() - 2);
  EXPECT_EQ(series(1).lines.size(), 2U);  // 64-128, (512 alone,) 2048-4096
  ASSERT_EQ(series(1).rail.size(), 1U);
  EXPECT_TRUE(series(1).rail[0].text.contains("zero: its value is 0"));
  EXPECT_TRUE(chart.drawing().note().startsWith("1 value that"))
      << chart.drawing().note().toStdString();
}

TEST_F(RunChartTest, TheReferenceLineIsWithinTheAxis) {
  figure.line_at = 1e4;  // far above every value
  chart.set_figure(figure);
  EXPECT_EQ(chart.drawing().line_at(), 1e4);
  EXPECT_GE(chart.drawing().y_axis().high(), 1e4);
  figure.line_at = 0;  // a logarithmic axis cannot show it
  chart.set_figure(figure);
  EXPECT_FALSE(chart.drawing().line_at());
}

TEST_F(RunChartTest, MarkLabelsAreInsideThePlot) {
  figure.marks = {{128, "from 128 tokens", "sparse/windowed/4"},
                  {4000, "up to 4000 tokens", "sparse/segment/4"},
                  {9999999, "from far away", "sparse/segment/4"}};
  chart.set_figure(figure);
  const std::vector<DrawnMark>& marks = chart.drawing().marks();
  ASSERT_EQ(marks.size(), 2U);
  EXPECT_EQ(marks[0].line.x1(), series(4).points[1].position.x());
  EXPECT_GT(marks[0].text_rect.left(), marks[0].line.x1());
  EXPECT_LT(marks[1].text_rect.right(), marks[1].line.x1());  // no room on its right
  EXPECT_FALSE(marks[0].text_rect.intersects(marks[1].text_rect));
  for (const DrawnMark& mark : marks) EXPECT_TRUE(chart.drawing().plot().contains(mark.text_rect));
  QTest::mouseClick(&chart, Qt::LeftButton, {}, legend(4));
  EXPECT_EQ(chart.drawing().marks().size(), 1U);
}

TEST_F(RunChartTest, OnePointHasTicksAroundIt) {
  figure.series.resize(1);
  figure.series[0].points.resize(1);
  figure.series[0].rail.clear();
  chart.set_figure(figure);
  EXPECT_TRUE(series(0).lines.empty());
  EXPECT_GE(chart.drawing().x_axis().ticks().size(), 2U);
  EXPECT_GE(chart.drawing().y_axis().ticks().size(), 2U);
  EXPECT_GT(pixels_of(chart.grab().toImage(), series(0).style.light), 10);
}

TEST_F(RunChartTest, LegendClicksHideAndShowASeriesOfAGrowingRun) {
  EXPECT_GT(pixels_of(chart.grab().toImage(), series(4).style.light), 50);
  QTest::mouseClick(&chart, Qt::LeftButton, {}, legend(4));
  EXPECT_FALSE(series(4).visible);
  EXPECT_EQ(pixels_of(chart.grab().toImage(), series(4).style.light), 0);
  QTest::mouseClick(&chart, Qt::LeftButton, {}, legend(4));
  EXPECT_TRUE(series(4).visible);
  QTest::mouseClick(&chart, Qt::LeftButton, {}, legend(0));
  chart.set_figure(figure);
  EXPECT_FALSE(series(0).visible);
  EXPECT_TRUE(chart.drawing().rail_lanes().empty());
}

TEST_F(RunChartTest, HoverShowsContenderLengthValueAndInterval) {
  const QString text = chart.value_at(series(6).points[0].position + QPointF(3, 2));
  const report::Point& point = chart.figure().series[6].points[0];
  EXPECT_TRUE(text.startsWith("Sparse, segment, w = 4")) << text.toStdString();
  EXPECT_TRUE(text.contains("Sequence length (tokens): 64")) << text.toStdString();
  EXPECT_TRUE(text.contains(number_text(point.y) + "  [" + number_text(point.low) + ", " +
                            number_text(point.high) + "]"))
      << text.toStdString();
  EXPECT_TRUE(chart.value_at(QPointF(-500, -500)).isEmpty());
}

TEST_F(RunChartTest, KeyboardReachesEveryValueAndTheLegend) {
  QTest::keyClick(&chart, Qt::Key_Down);
  QTest::keyClick(&chart, Qt::Key_Right);
  EXPECT_EQ(chart.current_value(), series(0).points[0].text);
  for (int i = 0; i < 20; ++i) QTest::keyClick(&chart, Qt::Key_Right);
  EXPECT_EQ(chart.current_value(), series(0).rail[0].text);
  EXPECT_EQ(chart.accessibleDescription(), chart.current_value());
  QTest::keyClick(&chart, Qt::Key_Space);
  EXPECT_FALSE(series(0).visible);
  QTest::keyClick(&chart, Qt::Key_Escape);
  EXPECT_TRUE(chart.current_value().isEmpty());
}

TEST_F(RunChartTest, ColoursFollowTheContendersOfTheRunAndThePalette) {
  const std::vector<std::string> ids{"full/dense", "mine/a", "mine/b", "mine/c"};
  figure.series[0].style_key = "mine/c";
  chart.set_contenders(ids);
  chart.set_figure(figure);
  EXPECT_EQ(series(0).style.slot, ContenderStyles(ids).style("mine/c").slot);
  QPalette dark;
  dark.setColor(QPalette::Window, Qt::black);
  dark.setColor(QPalette::WindowText, Qt::white);
  chart.setPalette(dark);
  EXPECT_EQ(pixels_of(chart.grab().toImage(), series(4).style.light), 0);
  EXPECT_GT(pixels_of(chart.grab().toImage(), series(4).style.dark), 50);
}

TEST_F(RunChartTest, ANarrowChartRequestsTheHeightOfItsLegend) {
  chart.resize(640, 600);
  const int wide = chart.minimumSizeHint().height();
  chart.resize(220, 600);
  EXPECT_GT(chart.minimumSizeHint().height(), wide);
}

TEST_F(RunChartTest, PanelsShareAxesAndALegend) {
  chart.resize(1000, 700);
  chart.set_facets(synthetic_facets(4));
  ASSERT_EQ(chart.page().panels().size(), 4U);
  for (const ChartDrawing& panel : chart.page().panels()) {
    EXPECT_EQ(panel.whole_y(), chart.drawing(0).whole_y());
    EXPECT_TRUE(panel.rect().contains(panel.plot()));
    EXPECT_TRUE(QRectF(chart.rect()).contains(panel.rect()));
  }
  EXPECT_EQ(chart.page().legend().size(), 8U);
  QTest::mouseClick(&chart, Qt::LeftButton, {}, chart.page().legend()[0].rect.center().toPoint());
  for (const ChartDrawing& panel : chart.page().panels()) EXPECT_FALSE(panel.series()[0].visible);
  EXPECT_EQ(chart.shown_facets().panels[1].series.size(), 7U);
  chart.set_facets(synthetic_facets(2));
  EXPECT_FALSE(chart.drawing(1).series()[0].visible) << "it stays hidden";
  chart.set_facets({});
  EXPECT_TRUE(chart.page().empty());
}

TEST_F(RunChartTest, TheNumberOfColumnsFollowsTheWidth) {
  report::Facets facets = synthetic_facets(4);
  const auto columns_at = [&](int width) {
    chart.resize(width, 700);
    chart.set_facets(facets);
    return chart.page().columns();
  };
  EXPECT_LT(columns_at(600), columns_at(1600));
  facets.columns = 2;
  EXPECT_EQ(columns_at(1600), 2);
  EXPECT_EQ(columns_at(300), 1);
}

TEST_F(RunChartTest, LegendReportsCoincidingCurves) {
  figure.series[6].points = figure.series[7].points;
  chart.set_figure(figure);
  const auto stated_at = [&](std::size_t entry) {
    return chart.value_at(chart.page().legend()[entry].rect.center()).toStdString();
  };
  EXPECT_EQ(stated_at(6), "Time (ms per document): coincides with Sparse, segment, w = 64");
  EXPECT_EQ(stated_at(5), "");
  QTest::mouseClick(&chart, Qt::LeftButton, {}, legend(7));
  EXPECT_EQ(stated_at(6), "");  // it is seen now
}

TEST_F(RunChartTest, KeyboardReachesAllPanels) {
  chart.resize(1000, 700);
  chart.set_facets(synthetic_facets(2));
  QTest::keyClick(&chart, Qt::Key_Down);
  std::set<QString> read;
  for (int i = 0; i < 20; ++i) {
    QTest::keyClick(&chart, Qt::Key_Right);
    read.insert(chart.current_value());
  }
  for (std::size_t panel : {0U, 1U}) {
    for (const DrawnPoint& point : chart.drawing(panel).series()[0].points)
      EXPECT_TRUE(read.contains(point.text));
  }
  EXPECT_EQ(chart.value_at(chart.drawing(1).series()[0].points[2].position),
            chart.drawing(1).series()[0].points[2].text);
}

TEST_F(RunChartTest, APanelWithoutAFigureShowsItsPlaceholder) {
  report::Facets facets = synthetic_facets(2);
  facets.panels[1] = {};
  chart.resize(1000, 700);
  chart.set_facets(facets, {QString(), QStringLiteral("Choose a baseline")});
  EXPECT_FALSE(chart.drawing(0).empty());
  EXPECT_TRUE(chart.drawing(1).empty());
  EXPECT_EQ(chart.drawing(1).instead_of_values(), QStringLiteral("Choose a baseline"));
  EXPECT_FALSE(chart.grab().isNull());
}

TEST(FigureFont, IsCompiledIn) {
  EXPECT_EQ(figure_font_family(), "Open Sans");
  EXPECT_EQ(QFontInfo(figure_font(20)).family(), "Open Sans");
}

TEST_F(RunChartZoom, WheelZoomsAboutTheCursor) {
  const QPointF cursor = plot_at(0.3, 0.6);
  const double x = chart.drawing().x_axis().value_at(0.3);
  const double y = chart.drawing().y_axis().value_at(0.6);
  turn_wheel(cursor, 2);
  ASSERT_TRUE(chart.x_range() && chart.y_range());
  EXPECT_NEAR(chart.drawing().x_axis().place(x), 0.3, 1e-6);
  EXPECT_NEAR(chart.drawing().y_axis().place(y), 0.6, 1e-6);
}

TEST_F(RunChartZoom, WheelNextToAnAxisZoomsOnlyThatAxis) {
  const QRectF plot = chart.drawing().plot();
  turn_wheel({plot.center().x(), plot.bottom() + 5}, 1);
  EXPECT_TRUE(chart.x_range());
  EXPECT_FALSE(chart.y_range());
  chart.reset_zoom();
  turn_wheel({plot.left() - 5, plot.center().y()}, 1);
  EXPECT_FALSE(chart.x_range());
  EXPECT_TRUE(chart.y_range());
}

TEST_F(RunChartZoom, WheelScrollsThePageAtTheWholeChart) {
  turn_wheel(plot_at(0.5, 0.5), -1);
  EXPECT_FALSE(wheel_taken);
  turn_wheel(plot_at(0.5, 0.5), 1);
  EXPECT_TRUE(wheel_taken);
  for (int i = 0; i < 5; ++i) turn_wheel(plot_at(0.5, 0.5), -1);
  EXPECT_FALSE(chart.is_zoomed());
}

TEST_F(RunChartZoom, ZoomsToADraggedFrame) {
  const AxisScale before = chart.drawing().x_axis();
  frame(plot_at(0.25, 0.75), plot_at(0.75, 0.25));
  ASSERT_TRUE(chart.x_range() && chart.y_range());
  EXPECT_NEAR(before.place(chart.x_range()->low), 0.25, 0.01);
  EXPECT_NEAR(before.place(chart.x_range()->high), 0.75, 0.01);
}

TEST_F(RunChartZoom, AFlatFrameZoomsOneAxisAndADoubleClickResetsIt) {
  frame(plot_at(0.25, 0.5), plot_at(0.75, 0.5));
  EXPECT_TRUE(chart.x_range());
  EXPECT_FALSE(chart.y_range());
  QTest::mouseDClick(&chart, Qt::LeftButton, {}, plot_at(0.5, 0.5).toPoint());
  EXPECT_FALSE(chart.is_zoomed());
  QTest::mouseClick(&chart, Qt::LeftButton, {}, plot_at(0.5, 0.5).toPoint());
  EXPECT_FALSE(chart.is_zoomed());
}

TEST_F(RunChartZoom, DraggingMovesAZoomedChartOnly) {
  drag(Qt::LeftButton, plot_at(0.5, 0.5), plot_at(0.3, 0.5));
  EXPECT_FALSE(chart.is_zoomed());
  zoom_in(3);
  const AxisRange before = *chart.x_range();
  drag(Qt::LeftButton, plot_at(0.5, 0.5), plot_at(0.3, 0.5));
  EXPECT_GT(chart.x_range()->low, before.low);
  const AxisRange moved = *chart.x_range();
  drag(Qt::MiddleButton, plot_at(0.5, 0.5), plot_at(0.7, 0.5));
  EXPECT_LT(chart.x_range()->low, moved.low);
}

TEST_F(RunChartZoom, KeyboardZoomsMovesUpToTheValuesAndResets) {
  QTest::keyClick(&chart, Qt::Key_Plus, Qt::ShiftModifier);
  ASSERT_TRUE(chart.is_zoomed());
  const AxisRange x = *chart.x_range(), y = *chart.y_range();
  QTest::keyClick(&chart, Qt::Key_Right, Qt::ControlModifier);
  EXPECT_GT(chart.x_range()->low, x.low);
  QTest::keyClick(&chart, Qt::Key_Up, Qt::ControlModifier);
  EXPECT_GT(chart.y_range()->low, y.low);
  QTest::keyClick(&chart, Qt::Key_Equal);
  EXPECT_LT(chart.x_range()->high / chart.x_range()->low, x.high / x.low);
  for (int i = 0; i < 80; ++i) {
    QTest::keyClick(&chart, Qt::Key_Right, Qt::ControlModifier);
    QTest::keyClick(&chart, Qt::Key_Down, Qt::ControlModifier);
  }
  EXPECT_NEAR(chart.x_range()->high, chart.drawing().whole_x().high, 1e-6);
  EXPECT_NEAR(chart.y_range()->low, chart.drawing().whole_y().low, 1e-9);
  const OptionalRange before = chart.x_range();
  chart.set_figure(figure);
  EXPECT_EQ(chart.x_range(), before) << "new values keep the zoom";
  QTest::keyClick(&chart, Qt::Key_Minus);
  EXPECT_GT(chart.x_range()->high / chart.x_range()->low, before->high / before->low);
  QTest::keyClick(&chart, Qt::Key_0);
  EXPECT_FALSE(chart.is_zoomed());
}

TEST_F(RunChartZoom, DeepZoomKeepsTwoDistinctTicks) {
  for (int i = 0; i < 60; ++i) {
    zoom_in(1);
    for (const AxisScale* axis : {&chart.drawing().x_axis(), &chart.drawing().y_axis()}) {
      ASSERT_GE(axis->ticks().size(), 2U) << i;
      for (std::size_t t = 1; t < axis->ticks().size(); ++t) {
        ASSERT_NE(axis->ticks()[t].label, axis->ticks()[t - 1].label) << i;
      }
    }
  }
}

TEST_F(RunChartZoom, CutsLinesAtTheFrame) {
  frame(plot_at(0.3, 0.7), plot_at(0.6, 0.4));
  const QRectF frame = chart.drawing().plot().adjusted(-0.01, -0.01, 0.01, 0.01);
  int lines = 0;
  for (const DrawnSeries& series : chart.drawing().series()) {
    for (const DrawnPoint& point : series.points) EXPECT_TRUE(frame.contains(point.position));
    for (const QLineF& interval : series.intervals) {
      EXPECT_TRUE(frame.contains(interval.p1()) && frame.contains(interval.p2()));
    }
    for (const QPolygonF& line : series.lines) {
      ++lines;
      for (const QPointF& point : line) EXPECT_TRUE(frame.contains(point));
    }
  }
  EXPECT_GT(lines, 0);
}

TEST_F(RunChartZoom, PanelsWithTheSameAxesZoomTogether) {
  report::Facets facets{.title = "Both", .panels = {}, .provenance = {}};
  facets.panels.assign(3, synthetic_figure());
  facets.panels[1].y_label = "Memory (MB)";
  facets.panels[2].x_label = "Useful work per byte (FLOP/byte)";
  facets.columns = 3;
  chart.resize(1200, 500);
  chart.set_facets(facets);
  turn_wheel(plot_at(0.5, 0.5), 3);
  const AxisRange x = chart.drawing(0).x_axis().range(), y = chart.drawing(0).y_axis().range();
  EXPECT_NE(x, chart.drawing(0).whole_x());
  EXPECT_EQ(chart.drawing(1).x_axis().range(), x);
  EXPECT_EQ(chart.drawing(1).y_axis().range(), chart.drawing(1).whole_y());
  EXPECT_EQ(chart.drawing(2).x_axis().range(), chart.drawing(2).whole_x());
  EXPECT_EQ(chart.drawing(2).y_axis().range(), y);
  chart.set_figure(facets.panels[2]);  // for a while
  chart.set_facets(facets);
  EXPECT_EQ(chart.drawing(1).x_axis().range(), x);
  QTest::keyClick(&chart, Qt::Key_0);
  EXPECT_EQ(chart.drawing(1).x_axis().range(), chart.drawing(1).whole_x());
}

TEST_F(RunChartZoom, MenuChoosesScalesAndEveryScaleDrawsItsValues) {
  for (const report::Scale x : {report::Scale::linear, report::Scale::log2, report::Scale::log10}) {
    for (const report::Scale y :
         {report::Scale::linear, report::Scale::log2, report::Scale::log10}) {
      choose_scale("x_scale", report::name_of(x));
      choose_scale("y_scale", report::name_of(y));
      const ChartDrawing& drawing = chart.drawing();
      EXPECT_EQ(drawing.x_axis().kind(), x);
      EXPECT_EQ(drawing.y_axis().kind(), y);
      EXPECT_GE(drawing.x_axis().ticks().size(), 2U);
      for (std::size_t s = 0; s < drawing.series().size(); ++s) {
        EXPECT_EQ(drawing.series()[s].points.size(), chart.figure().series[s].points.size());
      }
    }
  }
  choose_scale("x_scale", "own_scale");
  EXPECT_EQ(chart.drawing().x_axis().kind(), report::Scale::log2);
  choose_scale("y_scale", "linear");
  EXPECT_EQ(chart.y_scale(), report::Scale::linear);
  menu.reset(chart.make_menu());
  EXPECT_TRUE(menu->findChild<QMenu*>("y_scale")->findChild<QAction*>("linear")->isChecked());
}

TEST_F(RunChartTools, MenuKeyOpensTheMenuWithTheKeyOfEveryAction) {
  QContextMenuEvent event(QContextMenuEvent::Keyboard, QPoint(), QPoint());
  QApplication::sendEvent(&chart, &event);
  auto* opened = chart.findChild<QMenu*>("chart_menu");
  ASSERT_NE(opened, nullptr);
  EXPECT_TRUE(opened->isVisible());
  opened->close();
  menu.reset(chart.make_menu());
  for (QAction* each : menu->actions()) {
    if (each->isSeparator() || each->menu() != nullptr) continue;
    EXPECT_FALSE(each->shortcut().isEmpty()) << each->text().toStdString();
  }
}

TEST_F(RunChartTools, MenuAndKeyToggleIntervalBars) {
  EXPECT_FALSE(chart.drawing().series()[0].intervals.empty());
  action("intervals")->trigger();
  EXPECT_TRUE(chart.drawing().series()[0].intervals.empty());
  QTest::keyClick(&chart, Qt::Key_I);
  EXPECT_FALSE(chart.drawing().series()[0].intervals.empty());
}

TEST_F(RunChartTools, MenuAndKeyToggleCrossovers) {
  EXPECT_FALSE(action("crossovers")->isEnabled());
  figure.marks = {{128, "from 128 tokens", "sparse/windowed/4"}};
  chart.set_figure(figure);
  EXPECT_EQ(chart.drawing().marks().size(), 1U);
  EXPECT_TRUE(action("crossovers")->isEnabled());
  QTest::keyClick(&chart, Qt::Key_X);
  EXPECT_TRUE(chart.drawing().marks().empty());
  EXPECT_TRUE(chart.shown_facets().panels[0].marks.empty());
}

TEST_F(RunChartTools, KeyAndMenuRequestAnExport) {
  QSignalSpy requested(&chart, &RunChart::export_wanted);
  QTest::keyClick(&chart, Qt::Key_E);
  action("export_figure")->trigger();
  EXPECT_EQ(requested.size(), 2);
}

TEST_F(RunChartTools, TOpensTheTableOfNumbers) {
  QTest::keyClick(&chart, Qt::Key_T);
  ASSERT_NE(table(), nullptr);
  EXPECT_TRUE(table()->isVisible());
  std::size_t values = 0;
  for (const report::Series& series : chart.figure().series) {
    values += series.points.size() + series.rail.size();
  }
  EXPECT_EQ(rows(), static_cast<int>(values));
  QTest::keyClick(&chart, Qt::Key_Down);
  QTest::keyClick(&chart, Qt::Key_Space);
  EXPECT_EQ(rows(), static_cast<int>(values) - 7);
  QPointer<FigureTable> closed = table();
  QTest::keyClick(closed, Qt::Key_Escape);
  EXPECT_TRUE(!closed || !closed->isVisible());
}

TEST_F(RunChartTools, CopiesEveryRowWithTabs) {
  QTest::keyClick(&chart, Qt::Key_C, Qt::ControlModifier);
  const QString text = QApplication::clipboard()->text();
  EXPECT_TRUE(text.startsWith("Contender\tSequence length (tokens)\tTime (ms per document)\t"))
      << text.left(80).toStdString();
  EXPECT_TRUE(text.contains("oom: asked for 9.7 GB"));
  EXPECT_EQ(text.count('\n'), 1 + 8 * 7);
}

TEST_F(RunChartTools, AnEmptyChartShowsThePlaceholderAndDisablesItsActions) {
  chart.set_figure({});
  EXPECT_TRUE(chart.drawing().empty());
  const QImage before = chart.grab().toImage();
  chart.set_placeholder("Start a run to see its times");
  EXPECT_NE(chart.grab().toImage(), before);
  for (const char* name : {"export_figure", "copy_numbers", "show_table", "zoom_in"}) {
    EXPECT_FALSE(action(name)->isEnabled()) << name;
  }
  QTest::keyClick(&chart, Qt::Key_T);
  EXPECT_EQ(table(), nullptr);
}

TEST_F(RunChartTools, IsAccessibleAsAChartWithItsCurrentValue) {
  QAccessibleInterface* access = QAccessible::queryAccessibleInterface(&chart);
  ASSERT_NE(access, nullptr);
  EXPECT_EQ(access->role(), QAccessible::Chart);
  EXPECT_TRUE(access->text(QAccessible::Name).contains("Attention, forward"));
  EXPECT_TRUE(access->text(QAccessible::Description).contains("Time (ms per document)"));
  EXPECT_TRUE(access->text(QAccessible::Description).contains("Full, dense"));
  QTest::keyClick(&chart, Qt::Key_Down);
  QTest::keyClick(&chart, Qt::Key_Right);
  EXPECT_TRUE(access->text(QAccessible::Value).startsWith("Full, dense"));
}

TEST_F(RunChartTools, ExportsTheShownPart) {
  for (const Qt::Key key : {Qt::Key_Down, Qt::Key_Space, Qt::Key_I, Qt::Key_Plus})
    QTest::keyClick(&chart, key);
  choose_scale("y_scale", "linear");
  const report::Figure shown = chart.shown_facets().panels[0];
  EXPECT_EQ(shown.series.size(), chart.figure().series.size() - 1);
  EXPECT_EQ(shown.y_scale, report::Scale::linear);
  EXPECT_FALSE(chart.shown_options().intervals);
  EXPECT_EQ(chart.shown_options().ranges.at(shown.x_label), chart.x_range());
}

TEST_F(RunChartTools, CeilingLabelsDoNotCollide) {
  figure.ceilings = {{"30000 GFLOP/s", 3e4},
                     {"400 GB/s up to 1 MiB", 400, true},
                     {"100 GB/s beyond 1 MiB", 100, true}};
  chart.set_figure(figure);
  const std::vector<DrawnCeiling>& drawn = chart.drawing().ceilings();
  ASSERT_EQ(drawn.size(), 3U);
  for (const DrawnCeiling& ceiling : drawn) {
    EXPECT_TRUE(ceiling.has_text) << ceiling.text.toStdString();
    for (const QPolygonF& line : ceiling.lines) {
      for (const QPointF& point : line) {
        EXPECT_TRUE(chart.drawing().plot().adjusted(-1, -1, 1, 1).contains(point));
      }
    }
  }
  EXPECT_EQ(chart.value_at(drawn[0].lines[0].back() - QPointF(40, 0)).toStdString(),
            "30000 GFLOP/s");
}

TEST_F(RunChartTools, DrawsTheParetoFrontAndMarks) {
  const report::Point& first = figure.series[0].points.front();
  const report::Point& last = figure.series[0].points.back();
  figure.front = {first, last};
  figure.series[0].points.front().mark = "†";
  chart.set_figure(figure);
  const ChartDrawing& drawing = chart.drawing();
  ASSERT_EQ(drawing.front().size(), 1U);
  EXPECT_EQ(drawing.front()[0].first(), drawing.series()[0].points.front().position);
  EXPECT_EQ(drawing.series()[0].points.front().mark.toStdString(), "†");
  EXPECT_TRUE(drawing.series()[0].points.back().mark.isEmpty());
}

TEST_F(RunChartTools, CeilingLabelsInterruptOnlyTheirOwnLine) {
  figure.ceilings = {{"middle", 3e3}, {"above", 3.2e3}, {"below", 2.8e3}};
  chart.set_figure(figure);
  const std::vector<DrawnCeiling>& drawn = chart.drawing().ceilings();
  ASSERT_EQ(drawn.size(), 3U);
  const double height = QFontMetricsF(figure_font(em_of(chart.font()) * small_text)).capHeight();
  for (const DrawnCeiling& ceiling : drawn) {
    ASSERT_TRUE(ceiling.has_text) << ceiling.text.toStdString();
    for (const DrawnCeiling& other : drawn) {
      const double y = other.whole().y1(), bottom = ceiling.text_start.y();
      EXPECT_TRUE(&other == &ceiling || y < bottom - height || y > bottom)
          << other.text.toStdString() << " crosses " << ceiling.text.toStdString();
    }
  }
}

TEST(FigureTable, HasAColumnForCellLabels) {
  report::Figure figure = synthetic_figure();
  EXPECT_FALSE(numbers_text(figure).contains("\tCell\t"));
  figure.series[0].points[0].label = "64 tokens";
  EXPECT_TRUE(numbers_text(figure).contains("\tCell\t"));
  EXPECT_TRUE(numbers_text(figure).contains("\t64 tokens\t"));
}

}  // namespace
}  // namespace attnscope::charts
