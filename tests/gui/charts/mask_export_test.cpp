// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QImage>

#include "app/gui/charts/map_export.h"
#include "tests/gui/charts/exported_file.h"
#include "tests/gui/charts/svg_page.h"

namespace attnscope::charts {
namespace {

using testing::HasSubstr;

LayoutItem item_of(std::int64_t document) {
  LayoutItem item;
  item.cls = 1;
  item.query = 11;
  item.documents = {document};
  return item;
}

class MaskExport : public testing::Test {
 protected:
  const AttentionPattern& sparse = built_in_patterns()[1];
  ExportFolder folder;
};

TEST_F(MaskExport, EveryPatternStyleAndFormat_IsWritten) {
  int written = 0;
  for (const AttentionPattern& pattern : built_in_patterns()) {
    for (const MaskStyle style : {MaskStyle::schematic, MaskStyle::true_scale}) {
      for (const char* extension : {".pdf", ".svg", ".png"}) {
        const auto path = folder.path(pattern.name + std::string(name_of(style)) + extension);
        const Status status =
            exported(MaskSubject{pattern, Window::of(4), item_of(500), style}, path);
        ASSERT_TRUE(status) << status.error().message;
        EXPECT_GT(std::filesystem::file_size(path), 2000U) << path;
        ++written;
      }
    }
  }
  EXPECT_EQ(written, folder.file_count());
}

TEST_F(MaskExport, SchematicSvg_IsVectorsAndTextInsideTheViewBox) {
  const auto path = folder.path("mask.svg");
  ASSERT_TRUE(exported(MaskSubject{sparse, Window::of(4), item_of(500)}, path));
  const SvgPage page = read_svg(bytes_of(path));
  ASSERT_TRUE(page.well_formed);
  EXPECT_EQ(page.images, 0);
  EXPECT_TRUE(page.texts.contains("[CLS]"));
  EXPECT_TRUE(page.texts.contains("w = 4"));
  const QRectF allowed = page.view_box.adjusted(-1, -1, 1, 1);
  for (const QRectF& box : page.boxes) {
    EXPECT_TRUE(allowed.contains(box.topLeft()) && allowed.contains(box.bottomRight()))
        << box.left() << " " << box.top() << " " << box.right() << " " << box.bottom();
  }
}

TEST_F(MaskExport, SchematicPdf_EmbedsItsFontAndNoImage) {
  const auto path = folder.path("mask.pdf");
  ASSERT_TRUE(exported(MaskSubject{sparse, Window::of(4), item_of(500)}, path));
  const QByteArray bytes = bytes_of(path);
  EXPECT_TRUE(bytes.startsWith("%PDF"));
  EXPECT_TRUE(bytes.contains("/FontFile"));
  EXPECT_FALSE(bytes.contains("/Subtype /Image"));
}

TEST_F(MaskExport, DifferenceSvg_HasItsLegendAndHatchingInsideTheViewBox) {
  const auto path = folder.path("difference.svg");
  const AttentionPattern& full = built_in_patterns()[0];
  ASSERT_TRUE(exported(MaskSubject{.pattern = sparse,
                                   .window = Window::of(4),
                                   .item = item_of(500),
                                   .against = MaskSource{full, {}}},
                       path));
  const SvgPage page = read_svg(bytes_of(path));
  ASSERT_TRUE(page.well_formed);
  EXPECT_EQ(page.images, 0);
  EXPECT_TRUE(page.texts.contains("only Sparse asymmetric, window 4"));
  EXPECT_TRUE(page.texts.contains("only Full attention"));
  EXPECT_TRUE(page.texts.contains("both"));
  const QRectF allowed = page.view_box.adjusted(-1, -1, 1, 1);
  for (const QRectF& box : page.boxes) {
    EXPECT_TRUE(allowed.contains(box.topLeft()) && allowed.contains(box.bottomRight()));
  }
}

TEST_F(MaskExport, DifferenceThatCannotBeDrawn_WritesNothing) {
  const AttentionPattern& full = built_in_patterns()[0];
  EXPECT_FALSE(exported(
      MaskSubject{
          .pattern = full, .window = {}, .item = item_of(500), .against = MaskSource{sparse, {}}},
      folder.path("no.pdf")));
  EXPECT_EQ(folder.file_count(), 0);
}

TEST_F(MaskExport, LongMask_IsOneImageInTheSvg) {
  const auto path = folder.path("mask.svg");
  ASSERT_TRUE(
      exported(MaskSubject{sparse, Window::of(64), item_of(16372), MaskStyle::true_scale}, path));
  const SvgPage page = read_svg(bytes_of(path));
  EXPECT_TRUE(page.well_formed);
  EXPECT_EQ(page.images, 1);
}

TEST_F(MaskExport, Png_HasTheWidthAsked) {
  const auto path = folder.path("mask.png");
  ASSERT_TRUE(
      exported(MaskSubject{sparse, Window::of(4), item_of(500)}, path, {.width_mm = 101.6}));
  EXPECT_EQ(QImage(QString::fromStdString(path.string())).width(), 1200);
}

TEST_F(MaskExport, WrongUse_IsASentenceAndNoFile) {
  const Status extension =
      exported(MaskSubject{sparse, Window::of(4), item_of(9)}, folder.path("mask.gif"));
  ASSERT_FALSE(extension);
  EXPECT_THAT(extension.error().message, HasSubstr(".pdf, .svg or .png"));
  const Status unwritable =
      exported(MaskSubject{sparse, Window::of(4), item_of(9)}, folder.path("no/m.png"));
  ASSERT_FALSE(unwritable);
  EXPECT_THAT(unwritable.error().message, HasSubstr("cannot be written"));
  EXPECT_FALSE(exported(MaskSubject{sparse, std::nullopt, item_of(9)}, folder.path("mask.png")));
  EXPECT_FALSE(exported(MaskSubject{sparse, Window::of(4), item_of(-9)}, folder.path("mask.png")));
  EXPECT_FALSE(exported(MaskSubject{sparse, Window::of(4), item_of(9)}, folder.path("m.png"),
                        {.width_mm = 1}));
  EXPECT_EQ(folder.file_count(), 0);
}

}  // namespace
}  // namespace attnscope::charts
