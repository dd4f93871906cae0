// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <QImage>
#include <QRegularExpression>
#include <QXmlStreamReader>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "tests/gui/charts/exported_file.h"
#include "tests/gui/charts/svg_page.h"
#include "tests/gui/charts/synthetic_figure.h"

namespace attnscope::charts {
namespace {

using testing::HasSubstr;

class FigureExport : public testing::Test {
 protected:
  ExportFolder folder;
};

TEST_F(FigureExport, Pdf_HasVectorsAndAnEmbeddedFont) {
  const auto path = folder.path("figure.pdf");
  ASSERT_TRUE(exported(synthetic_figure(), path));
  const QByteArray bytes = bytes_of(path);
  EXPECT_TRUE(bytes.startsWith("%PDF"));
  EXPECT_TRUE(bytes.contains("/FontFile"));
  EXPECT_TRUE(bytes.contains("OpenSans"));
  EXPECT_FALSE(bytes.contains("/Subtype /Image"));
}

TEST_F(FigureExport, Pdf_HasThePageSizeAsked) {
  const auto path = folder.path("figure.pdf");
  ASSERT_TRUE(exported(synthetic_figure(), path, {.width_mm = 127, .height_mm = 101.6}));
  const QByteArray bytes = bytes_of(path);
  EXPECT_TRUE(bytes.contains("/MediaBox [0 0 360"))
      << bytes.mid(bytes.indexOf("/MediaBox"), 60).toStdString();
}

TEST_F(FigureExport, Svg_IsWellFormedAndDrawsNothingOutsideItsViewBox) {
  const auto path = folder.path("figure.svg");
  ASSERT_TRUE(exported(synthetic_figure(), path, {.width_mm = 84}));
  const SvgPage page = read_svg(bytes_of(path));
  EXPECT_TRUE(page.well_formed);
  ASSERT_FALSE(page.view_box.isEmpty());
  EXPECT_GT(page.boxes.size(), 100U);
  EXPECT_FALSE(QRegularExpression(QStringLiteral("<g\\b[^>]*>\\s*</g>"))
                   .match(QString::fromUtf8(bytes_of(path)))
                   .hasMatch())
      << "a group without anything in it";
  const QRectF allowed = page.view_box.adjusted(-1, -1, 1, 1);
  for (const QRectF& box : page.boxes) {
    EXPECT_TRUE(allowed.contains(box.topLeft()) && allowed.contains(box.bottomRight()))
        << box.left() << " " << box.top() << " " << box.right() << " " << box.bottom();
  }
}

TEST_F(FigureExport, Svg_KeepsNamesAndLabelsAsText) {
  const auto path = folder.path("figure.svg");
  const report::Figure figure = synthetic_figure();
  ASSERT_TRUE(exported(figure, path, {.caption = figure.provenance}));
  const SvgPage page = read_svg(bytes_of(path));
  for (const report::Series& series : figure.series) {
    EXPECT_TRUE(page.texts.contains(QString::fromStdString(series.name))) << series.name;
  }
  EXPECT_TRUE(page.texts.contains("4096"));
  EXPECT_TRUE(page.texts.contains("oom"));
  EXPECT_TRUE(page.texts.contains(QString::fromStdString(figure.title)));
  EXPECT_TRUE(page.texts.contains(QString::fromStdString(figure.provenance)));
  for (const QString& family : page.font_families) EXPECT_EQ(family, "Open Sans, sans-serif");
}

TEST_F(FigureExport, Png_HasTheSizeAskedAt300Dpi) {
  const auto path = folder.path("figure.png");
  ASSERT_TRUE(exported(synthetic_figure(), path, {.width_mm = 101.6, .height_mm = 127}));
  const QImage image(QString::fromStdString(path.string()));
  EXPECT_EQ(image.size(), QSize(1200, 1500));
  EXPECT_NEAR(image.dotsPerMeterX(), 300 / 0.0254, 1);
  EXPECT_EQ(image.text("Description"), "AttnScope, commit 0123456, a test");
}

/// As a PDF's document information holds it.
QByteArray in_utf16(const std::string& text) {
  QByteArray bytes;
  for (const char c : text) bytes.append('\0').append(c);
  return bytes;
}

TEST_F(FigureExport, TitleAndProvenance_AreReadBackFromEveryFormat) {
  const report::Figure figure = synthetic_figure();
  for (const char* name : {"f.pdf", "f.svg", "f.png"}) {
    ASSERT_TRUE(exported(figure, folder.path(name)));
  }
  const QByteArray svg = bytes_of(folder.path("f.svg"));
  EXPECT_TRUE(svg.contains(QByteArray("<title>") + figure.title.c_str() + "</title>"));
  EXPECT_TRUE(svg.contains(QByteArray("<desc>") + figure.provenance.c_str() + "</desc>"));
  const QByteArray pdf = bytes_of(folder.path("f.pdf"));
  EXPECT_TRUE(pdf.contains(in_utf16(figure.provenance)));
  const QImage png(QString::fromStdString(folder.path("f.png").string()));
  EXPECT_EQ(png.text("Title").toStdString(), figure.title);
  EXPECT_EQ(png.text("Description").toStdString(), figure.provenance);
}

TEST_F(FigureExport, Svg_HoldsHostileNamesAsTextsAlone) {
  const std::string hostile = "x<script>alert(1)</script>&\"\x1b[2J\x01\u202e";
  report::Figure figure = synthetic_figure();
  figure.title = figure.provenance = figure.series[0].name = hostile;
  ASSERT_TRUE(exported(figure, folder.path("f.svg"), {.width_mm = 300}));
  const QByteArray svg = bytes_of(folder.path("f.svg"));
  EXPECT_FALSE(svg.contains("<script"));
  EXPECT_FALSE(svg.contains('\x1b') || svg.contains('\x01') || svg.contains("\u202e"));
  const QString shown = QStringLiteral("x<script>alert(1)</script>&\"?[2J??");
  QXmlStreamReader reader(svg);
  QStringList elements;
  while (!reader.atEnd()) {
    if (reader.readNext() != QXmlStreamReader::StartElement) continue;
    if (reader.name() != QLatin1String("title") && reader.name() != QLatin1String("desc")) continue;
    elements.append(reader.readElementText());
  }
  EXPECT_FALSE(reader.hasError()) << reader.errorString().toStdString();
  EXPECT_EQ(elements, QStringList({shown, shown}));
}

TEST_F(FigureExport, ExtensionInCapitals_IsUnderstood) {
  EXPECT_TRUE(exported(synthetic_figure(), folder.path("FIGURE.PNG")));
}

TEST_F(FigureExport, WhatItsReaderHasToKnow_StandsInTheFigureAndInItsCaption) {
  report::Figure figure = synthetic_figure();
  figure.warning = "3 of 9 cells were disturbed by other programs";
  const auto path = folder.path("disturbed.svg"), pdf = folder.path("disturbed.pdf");
  ASSERT_TRUE(exported(figure, path));
  EXPECT_TRUE(read_svg(bytes_of(path)).texts.contains(QString::fromStdString(figure.warning)));
  ASSERT_TRUE(exported(figure, pdf, {.tex = true}));
  EXPECT_TRUE(bytes_of(folder.path("disturbed.tex"))
                  .contains(QByteArray::fromStdString(figure.warning + ".")));
}

TEST_F(FigureExport, NoTitle_IsNotDrawn) {
  const auto path = folder.path("figure.svg");
  ASSERT_TRUE(exported(synthetic_figure(), path, {.title = false}));
  EXPECT_FALSE(
      read_svg(bytes_of(path)).texts.contains(QString::fromStdString(synthetic_figure().title)));
}

TEST_F(FigureExport, WithoutMarkers_LinesAndLegendStay) {
  report::Figure figure = synthetic_figure();
  const auto drawn = [&] {
    const auto path = folder.path("lines.svg");
    EXPECT_TRUE(exported(figure, path));
    return read_svg(bytes_of(path));
  };
  const SvgPage with = drawn();
  figure.has_markers = false;
  const SvgPage without = drawn();
  std::size_t points = 0;
  for (const report::Series& series : figure.series) points += series.points.size();
  EXPECT_GE(with.boxes.size(), without.boxes.size() + points);
  EXPECT_EQ(with.texts, without.texts);
}

TEST_F(FigureExport, LongName_IsBrokenAndWhole) {
  const auto path = folder.path("figure.svg");
  report::Figure figure = synthetic_figure();
  figure.series[0].name = "A contender whose display name is far longer than any column is wide";
  ASSERT_TRUE(exported(figure, path, {.width_mm = 40}));
  const SvgPage page = read_svg(bytes_of(path));
  QString all = page.texts.join(' ');
  EXPECT_TRUE(all.remove(' ').contains(QString::fromStdString(figure.series[0].name).remove(' ')));
}

TEST_F(FigureExport, OtherExtension_IsRefusedWithTheThree) {
  const Status status = exported(synthetic_figure(), folder.path("figure.jpg"));
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr(".jpg"));
  EXPECT_THAT(status.error().message, HasSubstr(".pdf, .svg or .png"));
  EXPECT_FALSE(exported(synthetic_figure(), folder.path("figure")));
  EXPECT_EQ(folder.file_count(), 0);
}

TEST_F(FigureExport, UnwritablePath_IsASentence) {
  for (const char* name :
       {"no/such/folder/f.pdf", "no/such/folder/f.svg", "no/such/folder/f.png"}) {
    const Status status = exported(synthetic_figure(), folder.path(name));
    ASSERT_FALSE(status) << name;
    EXPECT_THAT(status.error().message, HasSubstr("cannot be written"));
    EXPECT_THAT(status.error().message, HasSubstr(name));
  }
}

TEST_F(FigureExport, ExistingFile_IsReplacedAndNothingElseLeft) {
  const auto path = folder.path("figure.svg");
  std::ofstream(path) << "old";
  ASSERT_TRUE(exported(synthetic_figure(), path));
  EXPECT_TRUE(read_svg(bytes_of(path)).well_formed);
  EXPECT_EQ(folder.file_count(), 1);
}

TEST_F(FigureExport, WriteThatFailsHalfway_KeepsTheOldFile) {
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  for (const char* name : {"f.pdf", "f.svg", "f.png"}) {
    const auto path = folder.path(name);
    std::ofstream(path) << "old";
    rlimit small = before;
    small.rlim_cur = 4096;  // bytes: less than any figure
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
    const Status status = exported(synthetic_figure(), path);
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
    ASSERT_FALSE(status) << name;
    EXPECT_THAT(status.error().message, HasSubstr("cannot be written"));
    EXPECT_EQ(bytes_of(path), "old") << name;
  }
  EXPECT_EQ(folder.file_count(), 3);
}

TEST_F(FigureExport, WhatIsNoFile_IsNeverReplaced) {
  std::ofstream(folder.path("real.png")) << "kept";
  std::filesystem::create_symlink(folder.path("real.png"), folder.path("link.png"));
  std::filesystem::create_directory(folder.path("folder.png"));
  for (const char* name : {"link.png", "folder.png"}) {
    const Status status = exported(synthetic_figure(), folder.path(name));
    ASSERT_FALSE(status) << name;
    EXPECT_THAT(status.error().message, HasSubstr(std::string(name) + ": is a"));
  }
  EXPECT_EQ(bytes_of(folder.path("real.png")), "kept");
}

TEST_F(FigureExport, TooLowAPage_SaysHowMuchItTakes) {
  const Status status =
      exported(synthetic_figure(), folder.path("f.pdf"), {.width_mm = 60, .height_mm = 25});
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr("it takes"));
  EXPECT_EQ(folder.file_count(), 0);
}

TEST_F(FigureExport, SenselessSizes_AreRefused) {
  EXPECT_FALSE(exported(synthetic_figure(), folder.path("f.pdf"), {.width_mm = -3}));
  EXPECT_FALSE(exported(synthetic_figure(), folder.path("f.pdf"), {.font_pt = 0}));
  EXPECT_FALSE(exported(synthetic_figure(), folder.path("f.png"), {.png_dpi = 1e9}));
}

TEST_F(FigureExport, EmptyFigure_IsRefused) {
  const Status status = exported(report::Figure{}, folder.path("figure.pdf"));
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr("nothing to draw"));
}

TEST_F(FigureExport, AllOutOfMemory_IsStillAFigure) {
  report::Figure figure = synthetic_figure();
  for (report::Series& series : figure.series) {
    series.points.clear();
    series.rail = {{64, CellStatus::oom, "too big"}};
  }
  EXPECT_TRUE(exported(figure, folder.path("figure.pdf")));
}

}  // namespace
}  // namespace attnscope::charts
