// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <QImage>
#include <QProcess>
#include <QRegularExpression>
#include <QStandardPaths>
#include <QXmlStreamReader>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "app/drawing/chart_style.h"
#include "app/drawing/mask_drawing.h"
#include "app/drawing/printable.h"
#include "tests/gui/charts/exported_file.h"
#include "tests/gui/charts/svg_page.h"
#include "tests/gui/charts/synthetic_figure.h"

namespace attnscope::charts {
namespace {

using testing::HasSubstr;

LayoutItem item_of(std::int64_t document) {
  return {.cls = 1, .query = 11, .documents = {document}};
}

class FigureExport : public testing::Test {
 protected:
  /// A figure, facets or a mask as an SVG.
  template <typename Drawing>
  [[nodiscard]] SvgPage svg_of(const Drawing& drawing, const FigureOptions& options = {}) const {
    const auto path = folder.path("drawing.svg");
    const Status done = exported(drawing, path, options);
    EXPECT_TRUE(done) << (done ? "" : done.error().message);
    return read_svg(bytes_of(path));
  }
  template <typename Drawing>
  void refused(const Drawing& drawing, const std::string& name, const std::string& words,
               const FigureOptions& options = {}) const {
    const Status status = exported(drawing, folder.path(name), options);
    ASSERT_FALSE(status) << name;
    EXPECT_THAT(status.error().message, HasSubstr(words)) << name;
  }
  Files write(const std::string& name, const FigureOptions& options = {},
              const report::Figure& figure = synthetic_figure()) const {
    const auto files = write_printable(printable(figure), folder.path(name), options);
    if (!files) throw std::runtime_error(files.error().message);
    return *files;
  }
  [[nodiscard]] std::string text(const std::string& name) const {
    return bytes_of(folder.path(name)).toStdString();
  }
  const AttentionPattern& sparse = built_in_patterns()[1];
  ExportFolder folder;
};
using FacetsExport = FigureExport;
using MaskExport = FigureExport;
using PrintableTest = FigureExport;

TEST_F(FigureExport, PdfHasVectorsAnEmbeddedFontAndTheRequestedPageSize) {
  const auto is_a_drawing = [&](const char* name) {
    const QByteArray bytes = bytes_of(folder.path(name));
    EXPECT_TRUE(bytes.startsWith("%PDF")) << name;
    EXPECT_TRUE(bytes.contains("/FontFile")) << name;
    EXPECT_FALSE(bytes.contains("/Subtype /Image")) << name;
    return bytes;
  };
  ASSERT_TRUE(
      exported(synthetic_figure(), folder.path("f.pdf"), {.width_mm = 127, .height_mm = 101.6}));
  const QByteArray bytes = is_a_drawing("f.pdf");
  EXPECT_TRUE(bytes.contains("OpenSans"));
  EXPECT_TRUE(bytes.contains("/MediaBox [0 0 360"))
      << bytes.mid(bytes.indexOf("/MediaBox"), 60).toStdString();
  ASSERT_TRUE(
      exported(MaskSubject{{sparse, Window::of(4)}, item_of(500)}, folder.path("mask.pdf")));
  is_a_drawing("mask.pdf");
}

TEST_F(FigureExport, SvgIsWellFormedAndInsideItsViewBox) {
  const SvgPage page = svg_of(synthetic_figure(), {.width_mm = 84});
  EXPECT_TRUE(page.well_formed);
  ASSERT_FALSE(page.view_box.isEmpty());
  EXPECT_GT(page.boxes.size(), 100U);
  EXPECT_FALSE(QRegularExpression(QStringLiteral("<g\\b[^>]*>\\s*</g>"))
                   .match(QString::fromUtf8(bytes_of(folder.path("drawing.svg"))))
                   .hasMatch())
      << "the file has an empty group";
  EXPECT_EQ(page.outside(), std::nullopt);
}

TEST_F(FigureExport, SvgKeepsNamesAndLabelsAsText) {
  const report::Figure figure = synthetic_figure();
  const SvgPage page = svg_of(figure, {.caption = figure.provenance});
  for (const report::Series& series : figure.series) {
    EXPECT_TRUE(page.texts.contains(QString::fromStdString(series.name))) << series.name;
  }
  EXPECT_TRUE(page.texts.contains("4096"));
  EXPECT_TRUE(page.texts.contains("oom"));
  EXPECT_TRUE(page.texts.contains(QString::fromStdString(figure.title)));
  EXPECT_TRUE(page.texts.contains(QString::fromStdString(figure.provenance)));
  for (const QString& family : page.font_families) EXPECT_EQ(family, "Open Sans, sans-serif");
  EXPECT_FALSE(
      svg_of(figure, {.title = false}).texts.contains(QString::fromStdString(figure.title)));
}

TEST_F(FigureExport, PngHasTheRequestedSizeAt300Dpi) {
  const auto path = folder.path("FIGURE.PNG");
  ASSERT_TRUE(exported(synthetic_figure(), path, {.width_mm = 101.6, .height_mm = 127}));
  const QImage image(QString::fromStdString(path.string()));
  EXPECT_EQ(image.size(), QSize(1200, 1500));
  EXPECT_NEAR(image.dotsPerMeterX(), 300 / 0.0254, 1);
  EXPECT_EQ(image.text("Description"), "AttnScope, commit 0123456, a test");
  const auto mask = folder.path("mask.png");
  ASSERT_TRUE(
      exported(MaskSubject{{sparse, Window::of(4)}, item_of(500)}, mask, {.width_mm = 101.6}));
  EXPECT_EQ(QImage(QString::fromStdString(mask.string())).width(), 1200);
}

/// As a PDF's document information holds it.
QByteArray in_utf16(const std::string& text) {
  QByteArray bytes;
  for (const char c : text) bytes.append('\0').append(c);
  return bytes;
}

TEST_F(FigureExport, EveryFormatStoresTitleAndProvenance) {
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

TEST_F(FigureExport, SvgEscapesHostileNames) {
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

TEST_F(FigureExport, WarningsAreInTheFigureAndItsCaption) {
  report::Figure figure = synthetic_figure();
  figure.warning = "3 of 9 cells were disturbed by other programs";
  EXPECT_TRUE(svg_of(figure).texts.contains(QString::fromStdString(figure.warning)));
  ASSERT_TRUE(exported(figure, folder.path("disturbed.pdf"), {.tex = true}));
  EXPECT_TRUE(bytes_of(folder.path("disturbed.tex"))
                  .contains(QByteArray::fromStdString(figure.warning + ".")));
}

TEST_F(FigureExport, WithoutMarkersLinesAndLegendRemain) {
  report::Figure figure = synthetic_figure();
  const SvgPage with = svg_of(figure);
  figure.has_markers = false;
  const SvgPage without = svg_of(figure);
  std::size_t points = 0;
  for (const report::Series& series : figure.series) points += series.points.size();
  EXPECT_GE(with.boxes.size(), without.boxes.size() + points);
  EXPECT_EQ(with.texts, without.texts);
}

TEST_F(FigureExport, WrapsLongNames) {
  report::Figure figure = synthetic_figure();
  figure.series[0].name = "A contender whose display name is far longer than any column is wide";
  QString all = svg_of(figure, {.width_mm = 40}).texts.join(' ');
  EXPECT_TRUE(all.remove(' ').contains(QString::fromStdString(figure.series[0].name).remove(' ')));
}

TEST_F(FigureExport, RefusesNamesSizesAndEmptyDrawings) {
  const report::Figure figure = synthetic_figure();
  const report::Facets facets = synthetic_facets(4);
  refused(figure, "figure.jpg", ".jpg");
  refused(figure, "figure.jpg", ".pdf, .svg or .png");
  refused(figure, "figure", ".pdf, .svg or .png");
  refused(figure, "f.pdf", "width", {.width_mm = -3});
  refused(figure, "f.pdf", "font size", {.font_pt = 0});
  refused(figure, "f.png", "dots per inch", {.png_dpi = 1e9});
  refused(figure, "f.pdf", "use at least", {.width_mm = 60, .height_mm = 25});
  refused(facets, "f.pdf", "use at least", {.width_mm = 60, .height_mm = 60});
  refused(report::Figure{}, "f.pdf", "nothing to draw");
  refused(report::Facets{}, "f.pdf", "nothing to draw");
  EXPECT_EQ(folder.file_count(), 0);
}

TEST_F(FigureExport, RefusesUnwritablePaths) {
  for (const std::string name : {"no/folder/f.pdf", "no/folder/f.svg", "no/folder/f.png"}) {
    refused(synthetic_figure(), name, name + ": cannot be written");
  }
}

TEST_F(FigureExport, ReplacesAnExistingFile) {
  const auto path = folder.path("figure.svg");
  std::ofstream(path) << "old";
  ASSERT_TRUE(exported(synthetic_figure(), path));
  EXPECT_TRUE(read_svg(bytes_of(path)).well_formed);
  EXPECT_EQ(folder.file_count(), 1);
}

TEST_F(FigureExport, AFailedWriteKeepsTheOldFile) {
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

TEST_F(FigureExport, NeverReplacesLinksAndFolders) {
  std::ofstream(folder.path("real.png")) << "kept";
  std::filesystem::create_symlink(folder.path("real.png"), folder.path("link.png"));
  std::filesystem::create_directory(folder.path("folder.png"));
  for (const char* name : {"link.png", "folder.png"}) {
    refused(synthetic_figure(), name, std::string(name) + ": is a");
  }
  EXPECT_EQ(bytes_of(folder.path("real.png")), "kept");
}

TEST_F(FacetsExport, DrawsOneTitleOneLegendAndAllPanelTitles) {
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

TEST_F(FacetsExport, DrawsNothingOutsideThePageAndMoreColumnsOnAWiderPage) {
  std::vector<double> heights;
  for (const double width : {60.0, 122.0, 200.0}) {
    const SvgPage page = svg_of(synthetic_facets(4), {.width_mm = width});
    EXPECT_GT(page.boxes.size(), 200U);
    EXPECT_EQ(page.outside(), std::nullopt);
    heights.push_back(page.view_box.height());
  }
  EXPECT_GT(heights[0], heights[1]);
}

TEST_F(FacetsExport, OtherValuesHaveSeparateAxes) {
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

TEST_F(MaskExport, WritesEveryPatternStyleAndFormat) {
  int written = 0;
  for (const AttentionPattern& pattern : built_in_patterns()) {
    for (const MaskStyle style : {MaskStyle::schematic, MaskStyle::true_scale}) {
      for (const char* extension : {".pdf", ".svg", ".png"}) {
        const auto path = folder.path(pattern.name + std::string(name_of(style)) + extension);
        const Status status =
            exported(MaskSubject{{pattern, Window::of(4)}, item_of(500), style}, path);
        ASSERT_TRUE(status) << status.error().message;
        EXPECT_GT(std::filesystem::file_size(path), 2000U) << path;
        ++written;
      }
    }
  }
  EXPECT_EQ(written, folder.file_count());
}

TEST_F(MaskExport, SvgHasVectorsAndTextInsideTheViewBoxAndALongMaskAsAnImage) {
  const SvgPage page = svg_of(MaskSubject{{sparse, Window::of(4)}, item_of(500)});
  ASSERT_TRUE(page.well_formed);
  EXPECT_EQ(page.images, 0);
  EXPECT_TRUE(page.texts.contains("[CLS]"));
  EXPECT_TRUE(page.texts.contains("w = 4"));
  EXPECT_EQ(page.outside(), std::nullopt);
  const SvgPage image =
      svg_of(MaskSubject{{sparse, Window::of(64)}, item_of(16372), MaskStyle::true_scale});
  EXPECT_TRUE(image.well_formed);
  EXPECT_EQ(image.images, 1);
}

TEST_F(MaskExport, DifferenceSvgHasLegendAndHatchingInsideTheViewBox) {
  const AttentionPattern& full = built_in_patterns()[0];
  const SvgPage page = svg_of(MaskSubject{
      .source = {sparse, Window::of(4)}, .item = item_of(500), .against = MaskSource{full, {}}});
  ASSERT_TRUE(page.well_formed);
  EXPECT_EQ(page.images, 0);
  EXPECT_TRUE(page.texts.contains("only Sparse asymmetric, window 4"));
  EXPECT_TRUE(page.texts.contains("only Full attention"));
  EXPECT_TRUE(page.texts.contains("both"));
  EXPECT_EQ(page.outside(), std::nullopt);
}

TEST_F(MaskExport, AnInvalidMaskWritesNothing) {
  refused(MaskSubject{{sparse, std::nullopt}, item_of(9)}, "mask.png", "");
  refused(MaskSubject{{sparse, Window::of(4)}, item_of(-9)}, "mask.png", "");
  refused(MaskSubject{.source = {built_in_patterns()[0], {}},
                      .item = item_of(500),
                      .against = MaskSource{sparse, {}}},
          "no.pdf", "");
  EXPECT_EQ(folder.file_count(), 0);
}

TEST_F(PrintableTest, EveryFormatIsReproducible) {
  for (const char* name : {"a.pdf", "a.svg", "a.png"}) {
    write(name);
    const QByteArray first = bytes_of(folder.path(name));
    write(name);
    EXPECT_EQ(bytes_of(folder.path(name)), first) << name;
  }
  EXPECT_FALSE(bytes_of(folder.path("a.pdf")).contains("CreationDate"));
}

TEST_F(PrintableTest, WritesCompanionFiles) {
  const Files files = write("f.pdf", {.csv = true, .tex = true});
  EXPECT_EQ(files, (Files{folder.path("f.pdf"), folder.path("f.csv"), folder.path("f.tex")}));
  EXPECT_EQ(folder.file_count(), 3);
  EXPECT_EQ(text("f.csv"), report::figure_csv(synthetic_figure()));
}

TEST_F(PrintableTest, ReplacesAllFilesOrNone) {
  std::ofstream(folder.path("f.pdf")) << "old";
  std::filesystem::create_directory(folder.path("f.csv"));
  refused(synthetic_figure(), "f.pdf", "f.csv", {.csv = true});
  EXPECT_EQ(text("f.pdf"), "old");
}

TEST_F(PrintableTest, AppliesIntervalsRangesScalesAndCeilings) {
  report::Figure figure = synthetic_figure();
  EXPECT_LT(svg_of(figure, {.intervals = false}).boxes.size(), svg_of(figure).boxes.size());
  const SvgPage part = svg_of(figure, {.x_range = AxisRange{100, 300}});
  EXPECT_TRUE(part.texts.contains("128") && part.texts.contains("256"));
  EXPECT_FALSE(part.texts.contains("4096"));
  EXPECT_EQ(part.outside(), std::nullopt);
  report::Figure linear = figure;
  report::set_scales(linear, report::Scale::linear, std::nullopt);
  EXPECT_TRUE(svg_of(linear).texts.contains("1000"));
  figure.ceilings = {{"300 GFLOP/s", 300}, {"4 GB/s", 4, true}};
  const SvgPage page = svg_of(figure);
  EXPECT_TRUE(page.texts.contains("300 GFLOP/s") && page.texts.contains("4 GB/s"));
  for (report::Series& series : figure.series) {
    series.points.clear();
    series.rail = {{64, CellStatus::oom, "too big"}};
  }
  figure.ceilings.clear();
  EXPECT_TRUE(svg_of(figure).well_formed) << "a figure without values";
}

/// Braces that escapes do not hide.
int open_braces(const std::string& tex) {
  int depth = 0;
  for (std::size_t i = 0; i < tex.size(); ++i) {
    if (tex[i] == '\\') {
      ++i;
    } else if (tex[i] == '{') {
      ++depth;
    } else if (tex[i] == '}') {
      if (--depth < 0) return -1;
    }
  }
  return depth;
}

report::Figure hostile_figure() {
  report::Figure figure = synthetic_figure();
  figure.title = "50% of {a_b} & $c$ #1 ~ ^ \\ <x> | --flag";
  figure.provenance = "line one\nline 100%";
  return figure;
}

TEST_F(PrintableTest, TexSnippetIncludesTheFileAndEscapesText) {
  write("my figure_1.pdf", {.caption = "90% \\of{it", .tex = true}, hostile_figure());
  const std::string tex = text("my figure_1.tex");
  EXPECT_THAT(tex, HasSubstr("\\begin{figure}"));
  EXPECT_THAT(tex, HasSubstr("\\includegraphics[width=122mm]{my figure_1.pdf}"));
  EXPECT_THAT(tex, HasSubstr("\\label{fig:my-figure-1}"));
  EXPECT_THAT(tex, HasSubstr("50\\% of \\{a\\_b\\} \\& \\$c\\$ \\#1"));
  EXPECT_THAT(tex, HasSubstr("90\\%"));
  EXPECT_THAT(tex, HasSubstr("% line one line 100%\n"));
  const std::size_t body = tex.find("\\begin");
  EXPECT_EQ(open_braces(tex.substr(body)), 0);
}

TEST_F(PrintableTest, TexSnippetCompiles) {
  const QString latex = QStandardPaths::findExecutable("pdflatex");
  if (latex.isEmpty()) GTEST_SKIP() << "pdflatex is not installed";
  write("f.pdf", {.tex = true}, hostile_figure());
  std::ofstream(folder.path("paper.tex"))
      << "\\documentclass{article}\\usepackage[T1]{fontenc}\\usepackage{graphicx}\n"
         "\\begin{document}\\input{f.tex}\\end{document}\n";
  QProcess process;
  process.setWorkingDirectory(QString::fromStdString(folder.path("").string()));
  process.start(latex, {"-interaction=nonstopmode", "-halt-on-error", "paper.tex"});
  ASSERT_TRUE(process.waitForFinished(120'000));
  EXPECT_EQ(process.exitCode(), 0) << process.readAllStandardOutput().toStdString();
}

TEST_F(PrintableTest, RefusesTexForFilesThatLatexCannotInclude) {
  refused(synthetic_figure(), "f.svg", ".pdf or .png", {.tex = true});
  refused(synthetic_figure(), "50%.pdf", "ASCII letters", {.tex = true});
  EXPECT_EQ(folder.file_count(), 0);
}

TEST_F(PrintableTest, MaskCsvHasEveryRunOfKeys) {
  const MaskSubject mask{.source = {built_in_patterns()[0], {}},
                         .item = {.query = 3, .documents = {4}},
                         .style = MaskStyle::true_scale};
  const auto files = write_printable(printable(mask), folder.path("m.pdf"),
                                     {.width_mm = 84, .csv = true, .tex = true});
  ASSERT_TRUE(files) << files.error().message;
  std::string expected = "query,first_key,last_key\r\n";
  for (int query = 0; query < 8; ++query) expected += std::to_string(query) + ",0,7\r\n";
  EXPECT_EQ(text("m.csv"), expected);
  EXPECT_THAT(text("m.tex"), HasSubstr("{m.pdf}"));
}

TEST(FigureOptions, ParsesWidthsAndRanges) {
  EXPECT_EQ(*width_in_mm("acm"), 84.7);
  EXPECT_EQ(*width_in_mm("100.5"), 100.5);
  EXPECT_FALSE(width_in_mm("wide"));
  EXPECT_FALSE(width_in_mm("nan"));
  EXPECT_EQ(*parse_range("--range-x", "64:1024"), (AxisRange{64, 1024}));
  for (const char* text : {"", "64", "64:", "9:3", "a:b", "1:2:3"}) {
    const auto range = parse_range("--range-x", text);
    ASSERT_FALSE(range) << text;
    EXPECT_THAT(range.error().message, HasSubstr("--range-x"));
  }
}

TEST(TextLines, BreaksLinesAtSpacesAndNotAtHyphens) {
  const QFont font = figure_font(12);
  const QString text = "12 heads, head-major and sdpa-mask beside it";
  for (double width = 100; width < 400; width += 7) {
    const QStringList lines = lines_of(font, text, width);
    EXPECT_EQ(lines.join(' '), text) << width;
  }
  const QStringList broken = lines_of(font, "Donaudampfschifffahrt", 40);
  EXPECT_GT(broken.size(), 1);
  EXPECT_EQ(broken.join(""), "Donaudampfschifffahrt");
}

}  // namespace
}  // namespace attnscope::charts
