// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <QMenu>
#include <QSignalSpy>
#include <QTest>
#include <QWheelEvent>

#include "app/gui/charts/run_chart.h"
#include "tests/gui/charts/synthetic_figure.h"

namespace attnscope::charts {
namespace {

class RunChartZoom : public testing::Test {
 protected:
  void SetUp() override {
    chart.resize(640, 560);
    chart.set_figure(synthetic_figure());
    chart.show();
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
  void choose_scale(const char* axis, std::string_view scale) {
    const std::unique_ptr<QMenu> menu(chart.make_menu());
    menu->findChild<QMenu*>(axis)->findChild<QAction*>(QLatin1String(scale.data()))->trigger();
  }
  void zoom_in(int times) {
    for (int i = 0; i < times; ++i) QTest::keyClick(&chart, Qt::Key_Plus);
  }
  RunChart chart;
  bool wheel_taken = false;
};

TEST_F(RunChartZoom, TheWheel_ZoomsAboutTheCursor) {
  const QPointF cursor = plot_at(0.3, 0.6);
  const double x = chart.drawing().x_axis().value_at(0.3);
  const double y = chart.drawing().y_axis().value_at(0.6);
  turn_wheel(cursor, 2);
  ASSERT_TRUE(chart.x_range() && chart.y_range());
  EXPECT_NEAR(chart.drawing().x_axis().place(x), 0.3, 1e-6);
  EXPECT_NEAR(chart.drawing().y_axis().place(y), 0.6, 1e-6);
}

TEST_F(RunChartZoom, TheWheelBesideAnAxis_ZoomsAlongItAlone) {
  const QRectF plot = chart.drawing().plot();
  turn_wheel({plot.center().x(), plot.bottom() + 5}, 1);
  EXPECT_TRUE(chart.x_range());
  EXPECT_FALSE(chart.y_range());
  chart.reset_zoom();
  turn_wheel({plot.left() - 5, plot.center().y()}, 1);
  EXPECT_FALSE(chart.x_range());
  EXPECT_TRUE(chart.y_range());
}

TEST_F(RunChartZoom, OutOfTheWholeChart_TheWheelIsLeftToThePage) {
  turn_wheel(plot_at(0.5, 0.5), -1);
  EXPECT_FALSE(wheel_taken);
  turn_wheel(plot_at(0.5, 0.5), 1);
  EXPECT_TRUE(wheel_taken);
  for (int i = 0; i < 5; ++i) turn_wheel(plot_at(0.5, 0.5), -1);
  EXPECT_FALSE(chart.is_zoomed());
}

TEST_F(RunChartZoom, ADraggedFrame_IsWhatIsShownThen) {
  const AxisScale before = chart.drawing().x_axis();
  frame(plot_at(0.25, 0.75), plot_at(0.75, 0.25));
  ASSERT_TRUE(chart.x_range() && chart.y_range());
  EXPECT_NEAR(before.place(chart.x_range()->low), 0.25, 0.01);
  EXPECT_NEAR(before.place(chart.x_range()->high), 0.75, 0.01);
}

TEST_F(RunChartZoom, AFlatFrame_ZoomsAlongOneAxis_AndAClickNot) {
  frame(plot_at(0.25, 0.5), plot_at(0.75, 0.5));
  EXPECT_TRUE(chart.x_range());
  EXPECT_FALSE(chart.y_range());
  chart.reset_zoom();
  QTest::mouseClick(&chart, Qt::LeftButton, {}, plot_at(0.5, 0.5).toPoint());
  EXPECT_FALSE(chart.is_zoomed());
}

TEST_F(RunChartZoom, ADrag_MovesWhatIsShown_AndNothingOfTheWhole) {
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

TEST_F(RunChartZoom, ADoubleClick_ResetsAll) {
  zoom_in(3);
  QTest::mouseDClick(&chart, Qt::LeftButton, {}, plot_at(0.5, 0.5).toPoint());
  EXPECT_FALSE(chart.is_zoomed());
}

TEST_F(RunChartZoom, TheKeyboard_ZoomsMovesAndResets) {
  QTest::keyClick(&chart, Qt::Key_Plus, Qt::ShiftModifier);
  ASSERT_TRUE(chart.is_zoomed());
  const AxisRange x = *chart.x_range(), y = *chart.y_range();
  QTest::keyClick(&chart, Qt::Key_Right, Qt::ControlModifier);
  EXPECT_GT(chart.x_range()->low, x.low);
  QTest::keyClick(&chart, Qt::Key_Up, Qt::ControlModifier);
  EXPECT_GT(chart.y_range()->low, y.low);
  QTest::keyClick(&chart, Qt::Key_Equal);
  EXPECT_LT(chart.x_range()->high / chart.x_range()->low, x.high / x.low);
  QTest::keyClick(&chart, Qt::Key_Minus);
  QTest::keyClick(&chart, Qt::Key_0);
  EXPECT_FALSE(chart.is_zoomed());
}

TEST_F(RunChartZoom, Moves_EndWhereTheValuesDo) {
  zoom_in(2);
  for (int i = 0; i < 80; ++i) {
    QTest::keyClick(&chart, Qt::Key_Right, Qt::ControlModifier);
    QTest::keyClick(&chart, Qt::Key_Down, Qt::ControlModifier);
  }
  EXPECT_NEAR(chart.x_range()->high, chart.drawing().whole_x().high, 1e-6);
  EXPECT_NEAR(chart.y_range()->low, chart.drawing().whole_y().low, 1e-9);
}

TEST_F(RunChartZoom, HoweverDeep_TicksStayDistinctAndThereAreTwo) {
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

TEST_F(RunChartZoom, WhatLiesOutside_IsCutAtTheFrame) {
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

TEST_F(RunChartZoom, PanelsWhoseAxesSayTheSame_ShowTheSamePart) {
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

TEST_F(RunChartZoom, AHeatThatEnds_LeavesTheZoomAlone) {
  zoom_in(3);
  const OptionalRange before = chart.x_range();
  chart.set_figure(synthetic_figure());
  EXPECT_EQ(chart.x_range(), before);
}

TEST_F(RunChartZoom, EveryScale_DrawsEveryValueItCanShow) {
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
}

}  // namespace
}  // namespace attnscope::charts
