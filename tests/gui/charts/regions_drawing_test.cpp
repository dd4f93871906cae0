#include "app/drawing/regions_drawing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QImage>
#include <QPainter>
#include <memory>
#include <optional>
#include <string>

#include "tests/inspect/regions_file.h"

namespace attnscope::charts {
namespace {

class RegionsDrawingTest : public testing::Test {
 protected:
  RegionsDrawingTest() : drawing_(made()) {}
  static RegionsDrawing made() {
    auto regions = tests::RegionsFile().read();
    EXPECT_TRUE(regions);
    return {std::make_shared<const DocumentRegions>(std::move(*regions)), {.width = 900, .em = 13}};
  }
  /// The first description from the top of the drawing, at the horizontal position of the word.
  [[nodiscard]] std::string reported(double word) const {
    for (double y = 0; y < drawing_.height(); ++y) {
      if (const QString words = drawing_.words_at({word * 10, y}); !words.isEmpty())
        return words.toStdString();
    }
    return {};
  }
  RegionsDrawing drawing_;
};

TEST_F(RegionsDrawingTest, StripReportsTheRegionCentredThere) {
  EXPECT_EQ(reported(25), "Region of words 11 to 40: score -2.500");
  EXPECT_EQ(reported(1), "Region of words 1 to 30: score -3.000");
  EXPECT_EQ(reported(89.9), "Region of words 89 to 90: score 1.400");
}

TEST_F(RegionsDrawingTest, ReportsThePartsOfABestRegion) {
  EXPECT_THAT(reported(55),
              testing::StartsWith("Region 1: words 41 to 70, score -1.000 = -2.250 if "
                                  "nothing matched +1.250 by tall near"));
}

TEST_F(RegionsDrawingTest, HighlightsTheRegionUnderTheMouse) {
  const auto drawn = [this](std::optional<std::int64_t> shown) {
    QImage image(900, static_cast<int>(drawing_.height()) + 1, QImage::Format_RGB32);
    QPainter painter(&image);
    drawing_.paint(painter, shown);
    painter.end();
    return image;
  };
  EXPECT_NE(drawn(20), drawn(std::nullopt));
}

}  // namespace
}  // namespace attnscope::charts
