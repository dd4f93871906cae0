// SPDX-License-Identifier: Apache-2.0
#include "app/gui/charts/facets_view.h"

#include <gtest/gtest.h>

#include <QSignalSpy>
#include <QTest>

#include "tests/gui/charts/synthetic_figure.h"

namespace attnscope::charts {
namespace {

report::Facets facets_of(int panels) {
  report::Facets facets{.title = "All of them", .panels = {}, .provenance = "A test"};
  for (int i = 0; i < panels; ++i) {
    report::Figure panel = synthetic_figure();
    panel.title = "panel " + std::to_string(i);
    for (report::Series& series : panel.series) {
      for (report::Point& point : series.points) point.y *= 1 + 10 * i;
    }
    facets.panels.push_back(panel);
  }
  return facets;
}

class FacetsViewTest : public testing::Test {
 protected:
  void SetUp() override {
    view.resize(1000, 700);
    view.set_facets(facets_of(4));
    view.show();
  }
  FacetsView view;
};

TEST_F(FacetsViewTest, EveryPanel_IsAChartOnTheSameAxes) {
  ASSERT_EQ(view.charts().size(), 4U);
  const AxisRange first = view.charts()[0]->drawing().whole_y();
  for (const RunChart* chart : view.charts()) EXPECT_EQ(chart->drawing().whole_y(), first);
  EXPECT_EQ(view.charts()[2]->figure().title, "panel 2");
  EXPECT_TRUE(view.charts()[0]->drawing().legend().empty());
  EXPECT_EQ(view.legend()->drawing().legend().size(), 8U);
}

TEST_F(FacetsViewTest, AWiderView_HasMoreColumns) {
  view.resize(1600, 700);
  const int wide = view.columns();
  view.resize(400, 700);
  EXPECT_LT(view.columns(), wide);
  EXPECT_EQ(view.columns(), 1);
}

TEST_F(FacetsViewTest, TheLegend_HidesInEveryPanel) {
  QSignalSpy toggled(&view, &FacetsView::series_toggled);
  QTest::keyClick(view.legend(), Qt::Key_Down);
  QTest::keyClick(view.legend(), Qt::Key_Return);
  EXPECT_EQ(toggled.size(), 1);
  for (const RunChart* chart : view.charts()) EXPECT_FALSE(chart->is_series_visible("full/dense"));
  EXPECT_EQ(view.shown_facets().panels[1].series.size(), 7U);
}

TEST_F(FacetsViewTest, OnePanelsZoom_IsEveryPanels) {
  QTest::keyClick(view.charts()[1], Qt::Key_Plus);
  ASSERT_TRUE(view.charts()[1]->x_range() && view.charts()[1]->y_range());
  for (const RunChart* chart : view.charts()) {
    EXPECT_EQ(chart->x_range(), view.charts()[1]->x_range());
    EXPECT_EQ(chart->y_range(), view.charts()[1]->y_range());
  }
}

TEST_F(FacetsViewTest, FewerPanels_TakeTheOthersAway_AndNewOnesKeepWhatIsHidden) {
  view.set_series_visible("full/sdpa", false);
  view.set_facets(facets_of(1));
  EXPECT_EQ(view.charts().size(), 1U);
  view.set_facets(facets_of(3));
  for (const RunChart* chart : view.charts()) EXPECT_FALSE(chart->is_series_visible("full/sdpa"));
  view.set_facets({});
  EXPECT_TRUE(view.charts().empty());
  EXPECT_FALSE(view.legend()->isVisible());
}

TEST_F(FacetsViewTest, ExportIsAskedForByAnyPanel) {
  QSignalSpy asked(&view, &FacetsView::export_wanted);
  QTest::keyClick(view.charts()[3], Qt::Key_E);
  QTest::keyClick(view.legend(), Qt::Key_E);
  EXPECT_EQ(asked.size(), 2);
}

}  // namespace
}  // namespace attnscope::charts
