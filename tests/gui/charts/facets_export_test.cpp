// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/gui/charts/exported_file.h"
#include "tests/gui/charts/svg_page.h"
#include "tests/gui/charts/synthetic_figure.h"

namespace attnscope::charts {
namespace {

using testing::HasSubstr;

report::Facets synthetic_facets(int panels) {
  report::Facets facets{.title = "All of them", .panels = {}, .provenance = "A test"};
  for (int i = 0; i < panels; ++i) {
    report::Figure panel = synthetic_figure();
    panel.title = "panel " + std::to_string(i);
    // Each reaches further than the one before.
    for (report::Series& series : panel.series) {
      for (report::Point& point : series.points) point.y *= 1 + 10 * i;
    }
    facets.panels.push_back(panel);
  }
  return facets;
}

class FacetsExport : public testing::Test {
 protected:
  [[nodiscard]] SvgPage svg_of(const report::Facets& facets, const FigureOptions& options = {}) {
    const auto path = folder.path("facets.svg");
    const Status done = exported(facets, path, options);
    EXPECT_TRUE(done) << (done ? "" : done.error().message);
    return read_svg(bytes_of(path));
  }
  ExportFolder folder;
};

TEST_F(FacetsExport, TitleAndLegendStandOnce_PanelTitlesEachOnce) {
  const report::Facets facets = synthetic_facets(3);
  const SvgPage page = svg_of(facets, {.caption = facets.provenance});
  EXPECT_TRUE(page.well_formed);
  for (const char* text : {"All of them", "panel 0", "panel 1", "panel 2", "A test"}) {
    EXPECT_EQ(page.texts.count(text), 1) << text;
  }
  for (const report::Series& series : facets.panels[0].series) {
    EXPECT_EQ(page.texts.count(QString::fromStdString(series.name)), 1) << series.name;
  }
}

TEST_F(FacetsExport, NothingIsDrawnOutsideThePage) {
  for (const double width : {60.0, 122.0, 200.0}) {
    const SvgPage page = svg_of(synthetic_facets(4), {.width_mm = width});
    const QRectF allowed = page.view_box.adjusted(-1, -1, 1, 1);
    EXPECT_GT(page.boxes.size(), 200U);
    for (const QRectF& box : page.boxes) {
      EXPECT_TRUE(allowed.contains(box.topLeft()) && allowed.contains(box.bottomRight()))
          << width << ": " << box.left() << " " << box.top() << " " << box.right() << " "
          << box.bottom();
    }
  }
}

TEST_F(FacetsExport, ColumnsOfAnotherValue_HaveAnAxisOfTheirOwn) {
  report::Facets facets = synthetic_facets(4);
  facets.columns = 2;
  for (const std::size_t i : {1U, 3U}) {
    facets.panels[i].y_label = "Memory (MB)";
    for (report::Series& series : facets.panels[i].series) {
      for (report::Point& point : series.points) point.y = point.low = point.high = 3e5;
    }
  }
  const SvgPage page = svg_of(facets, {.width_mm = 250});
  EXPECT_EQ(page.texts.count("Memory (MB)"), 2);
  EXPECT_EQ(page.texts.count("200000"), 2);  // on their axes, and on no axis of the times
  const double two_rows = page.view_box.height();
  facets.columns = 4;
  EXPECT_LT(svg_of(facets, {.width_mm = 250}).view_box.height(), two_rows);
}

TEST_F(FacetsExport, AWiderPage_HasMoreColumnsAndIsLower) {
  const auto height = [&](double width) {
    return svg_of(synthetic_facets(4), {.width_mm = width}).view_box.height();
  };
  EXPECT_GT(height(60), height(122));
}

TEST_F(FacetsExport, TooLowAPage_SaysHowMuchItTakes) {
  const Status status =
      exported(synthetic_facets(4), folder.path("f.pdf"), {.width_mm = 60, .height_mm = 60});
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr("it takes"));
  EXPECT_EQ(folder.file_count(), 0);
}

TEST_F(FacetsExport, WithoutPanels_ThereIsNothingToDraw) {
  const Status status = exported(report::Facets{}, folder.path("f.pdf"));
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr("nothing to draw"));
}

TEST_F(FacetsExport, SenselessSizesAndOtherEndings_AreRefused) {
  EXPECT_FALSE(exported(synthetic_facets(1), folder.path("f.pdf"), {.width_mm = -3}));
  EXPECT_FALSE(exported(synthetic_facets(1), folder.path("f.jpg")));
}

}  // namespace
}  // namespace attnscope::charts
