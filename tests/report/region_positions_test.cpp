#include "engine/report/region_positions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

namespace attnscope::report {
namespace {

using testing::HasSubstr;

TEST(RegionPositions, BinsAreEquallyWideAndNoneIsLeftOut) {
  RegionPositions positions;
  positions.add(std::array<std::int64_t, 3>{0, 640, 1990});
  positions.add(std::array<std::int64_t, 2>{49, 500});
  const auto figure = positions.figure("tkl");
  ASSERT_TRUE(figure) << figure.error().message;
  EXPECT_EQ(figure->x_label, "First word of the region, in bins of 50 words");
  EXPECT_THAT(figure->title, HasSubstr("of tkl begin in 2 documents"));
  ASSERT_EQ(figure->series.size(), 3U);
  const Series& best = figure->series[0];
  ASSERT_EQ(best.points.size(), 40U);
  EXPECT_EQ(best.points[0].x, 25);
  EXPECT_EQ(best.points[0].y, 100) << "of both documents, in words 1 to 50";
  EXPECT_EQ(best.points[1].y, 0) << "an empty bin is a point";
  const Series& second = figure->series[1];
  EXPECT_EQ(second.points[10].y, 50);
  EXPECT_EQ(second.points[12].y, 50);
  EXPECT_EQ(figure->series[2].points[39].y, 100) << "of the one document that has a third";
  EXPECT_EQ(second.style_key, "region 2") << "coloured as regions are";
}

TEST(RegionPositions, SharesBehindThePapersWordAreTold) {
  RegionPositions positions;
  positions.add(std::array<std::int64_t, 3>{0, 640, 1990});
  positions.add(std::array<std::int64_t, 2>{499, 500});
  EXPECT_EQ(positions.in_words(),
            "0.0 % of the best regions of 2 documents, 100.0 % of the second and 100.0 % of the "
            "third begin after word 500");
}

TEST(RegionPositions, WithoutAnyThereIsNoFigure) {
  RegionPositions positions;
  positions.add({});
  EXPECT_FALSE(positions.figure("tkl"));
}

}  // namespace
}  // namespace attnscope::report
