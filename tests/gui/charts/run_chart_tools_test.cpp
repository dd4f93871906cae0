// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <QAccessible>
#include <QApplication>
#include <QClipboard>
#include <QContextMenuEvent>
#include <QFontMetricsF>
#include <QMenu>
#include <QSignalSpy>
#include <QTableView>
#include <QTest>

#include "app/gui/charts/figure_font.h"
#include "app/gui/charts/figure_table.h"
#include "app/gui/charts/run_chart.h"
#include "tests/gui/charts/synthetic_figure.h"

namespace attnscope::charts {
namespace {

class RunChartTools : public testing::Test {
 protected:
  void SetUp() override {
    chart.resize(640, 560);
    chart.set_figure(synthetic_figure());
    chart.show();
  }
  [[nodiscard]] QAction* action(const QString& name) {
    menu.reset(chart.make_menu());
    return chart.findChild<QAction*>(name);
  }
  void choose_scale(const char* axis, const char* scale) {
    menu.reset(chart.make_menu());
    menu->findChild<QMenu*>(axis)->findChild<QAction*>(scale)->trigger();
  }
  [[nodiscard]] FigureTable* table() const { return chart.findChild<FigureTable*>(); }
  [[nodiscard]] int rows() const { return table()->findChild<QTableView*>()->model()->rowCount(); }
  RunChart chart;
  std::unique_ptr<QMenu> menu;
};

TEST_F(RunChartTools, EveryActionOfTheMenu_ShowsItsKey) {
  menu.reset(chart.make_menu());
  for (QAction* each : menu->actions()) {
    if (each->isSeparator() || each->menu() != nullptr) continue;
    EXPECT_FALSE(each->shortcut().isEmpty()) << each->text().toStdString();
  }
}

TEST_F(RunChartTools, TheMenuKey_OpensTheMenu) {
  QContextMenuEvent event(QContextMenuEvent::Keyboard, QPoint(), QPoint());
  QApplication::sendEvent(&chart, &event);
  auto* opened = chart.findChild<QMenu*>("chart_menu");
  ASSERT_NE(opened, nullptr);
  EXPECT_TRUE(opened->isVisible());
  opened->close();
}

TEST_F(RunChartTools, IntervalBars_GoAndComeBackByMenuAndByKey) {
  EXPECT_FALSE(chart.drawing().series()[0].intervals.empty());
  action("intervals")->trigger();
  EXPECT_TRUE(chart.drawing().series()[0].intervals.empty());
  QTest::keyClick(&chart, Qt::Key_I);
  EXPECT_FALSE(chart.drawing().series()[0].intervals.empty());
}

TEST_F(RunChartTools, Crossovers_AreASwitch) {
  report::Figure figure = synthetic_figure();
  EXPECT_FALSE(action("crossovers")->isEnabled());
  figure.marks = {{128, "from 128 tokens", "sparse/windowed/4"}};
  chart.set_figure(figure);
  EXPECT_EQ(chart.drawing().marks().size(), 1U);
  EXPECT_TRUE(action("crossovers")->isEnabled());
  QTest::keyClick(&chart, Qt::Key_X);
  EXPECT_TRUE(chart.drawing().marks().empty());
  EXPECT_TRUE(chart.shown_facets().panels[0].marks.empty());
}

TEST_F(RunChartTools, ScalesAreChosenInTheMenu) {
  choose_scale("y_scale", "linear");
  EXPECT_EQ(chart.y_scale(), report::Scale::linear);
  EXPECT_EQ(chart.drawing().y_axis().kind(), report::Scale::linear);
  menu.reset(chart.make_menu());
  EXPECT_TRUE(menu->findChild<QMenu*>("y_scale")->findChild<QAction*>("linear")->isChecked());
}

TEST_F(RunChartTools, ExportIsAskedForByKeyAndByMenu) {
  QSignalSpy asked(&chart, &RunChart::export_wanted);
  QTest::keyClick(&chart, Qt::Key_E);
  action("export_figure")->trigger();
  EXPECT_EQ(asked.size(), 2);
}

TEST_F(RunChartTools, T_OpensTheNumbersBehindTheChart) {
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

TEST_F(RunChartTools, CopiedNumbers_AreEveryRowWithTabs) {
  QTest::keyClick(&chart, Qt::Key_C, Qt::ControlModifier);
  const QString text = QApplication::clipboard()->text();
  EXPECT_TRUE(text.startsWith("Contender\tSequence length (tokens)\tTime (ms per document)\t"))
      << text.left(80).toStdString();
  EXPECT_TRUE(text.contains("oom: asked for 9.7 GB"));
  EXPECT_EQ(text.count('\n'), 1 + 8 * 7);
}

TEST_F(RunChartTools, AnEmptyChart_OffersNothingToExportOrRead) {
  chart.set_figure({});
  for (const char* name : {"export_figure", "copy_numbers", "show_table", "zoom_in"}) {
    EXPECT_FALSE(action(name)->isEnabled()) << name;
  }
  QTest::keyClick(&chart, Qt::Key_T);
  EXPECT_EQ(table(), nullptr);
}

TEST_F(RunChartTools, AssistivePrograms_SeeAChartWithItsCurrentValue) {
  QAccessibleInterface* access = QAccessible::queryAccessibleInterface(&chart);
  ASSERT_NE(access, nullptr);
  EXPECT_EQ(access->role(), QAccessible::Chart);
  EXPECT_TRUE(access->text(QAccessible::Name).contains("Attention, forward"));
  EXPECT_TRUE(access->text(QAccessible::Description).contains("Full, dense"));
  QTest::keyClick(&chart, Qt::Key_Down);
  QTest::keyClick(&chart, Qt::Key_Right);
  EXPECT_TRUE(access->text(QAccessible::Value).startsWith("Full, dense"));
}

TEST_F(RunChartTools, WhatIsShown_IsWhatAFileWouldHold) {
  for (const Qt::Key key : {Qt::Key_Down, Qt::Key_Space, Qt::Key_I, Qt::Key_Plus})
    QTest::keyClick(&chart, key);
  choose_scale("y_scale", "linear");
  const report::Figure shown = chart.shown_facets().panels[0];
  EXPECT_EQ(shown.series.size(), chart.figure().series.size() - 1);
  EXPECT_EQ(shown.y_scale, report::Scale::linear);
  EXPECT_FALSE(chart.shown_options().intervals);
  EXPECT_EQ(chart.shown_options().ranges.at(shown.x_label), chart.x_range());
}

TEST_F(RunChartTools, Ceilings_ReachAcrossThePlotWithWordsThatDoNotCollide) {
  report::Figure figure = synthetic_figure();
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

TEST_F(RunChartTools, AFront_IsALineInsideThePlot_AndMarksStandAtTheirPoints) {
  report::Figure figure = synthetic_figure();
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

TEST_F(RunChartTools, WordsOfCeilings_BetweenOthersCloseToThem_InterruptTheirOwnLineAlone) {
  report::Figure figure = synthetic_figure();
  figure.ceilings = {{"middle", 3e3}, {"above", 3.2e3}, {"below", 2.8e3}};
  chart.set_figure(figure);
  const std::vector<DrawnCeiling>& drawn = chart.drawing().ceilings();
  ASSERT_EQ(drawn.size(), 3U);
  const double height = QFontMetricsF(figure_font(em_of(chart) * small_text)).capHeight();
  for (const DrawnCeiling& ceiling : drawn) {
    ASSERT_TRUE(ceiling.has_text) << ceiling.text.toStdString();
    for (const DrawnCeiling& other : drawn) {
      const double y = other.whole().y1(), bottom = ceiling.text_start.y();
      EXPECT_TRUE(&other == &ceiling || y < bottom - height || y > bottom)
          << other.text.toStdString() << " crosses " << ceiling.text.toStdString();
    }
  }
}

TEST(FigureTable, HasAColumnForWhatTellsCellsApart) {
  report::Figure figure = synthetic_figure();
  EXPECT_FALSE(numbers_text(figure).contains("\tCell\t"));
  figure.series[0].points[0].label = "64 tokens";
  EXPECT_TRUE(numbers_text(figure).contains("\tCell\t"));
  EXPECT_TRUE(numbers_text(figure).contains("\t64 tokens\t"));
}

}  // namespace
}  // namespace attnscope::charts
