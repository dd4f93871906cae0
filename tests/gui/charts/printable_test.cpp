// SPDX-License-Identifier: Apache-2.0
#include "app/gui/charts/printable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QProcess>
#include <QStandardPaths>
#include <fstream>

#include "app/gui/charts/figure_font.h"
#include "app/gui/charts/map_export.h"
#include "tests/gui/charts/exported_file.h"
#include "tests/gui/charts/svg_page.h"
#include "tests/gui/charts/synthetic_figure.h"

namespace attnscope::charts {
namespace {

using testing::HasSubstr;

class PrintableTest : public testing::Test {
 protected:
  Files write(const std::string& name, const FigureOptions& options = {},
              const report::Figure& figure = synthetic_figure()) const {
    const auto files = write_printable(printable(figure), folder.path(name), options);
    if (!files) throw std::runtime_error(files.error().message);
    return *files;
  }
  [[nodiscard]] std::string text(const std::string& name) const {
    return bytes_of(folder.path(name)).toStdString();
  }
  ExportFolder folder;
};

TEST_F(PrintableTest, TheSameFigure_GivesTheSameBytesInEveryFormat) {
  for (const char* name : {"a.pdf", "a.svg", "a.png"}) {
    write(name);
    const QByteArray first = bytes_of(folder.path(name));
    write(name);
    EXPECT_EQ(bytes_of(folder.path(name)), first) << name;
  }
  EXPECT_FALSE(bytes_of(folder.path("a.pdf")).contains("CreationDate"));
}

TEST_F(PrintableTest, FilesBesideTheFigure_AreWrittenWithIt) {
  const Files files = write("f.pdf", {.csv = true, .tex = true});
  EXPECT_EQ(files, (Files{folder.path("f.pdf"), folder.path("f.csv"), folder.path("f.tex")}));
  EXPECT_EQ(folder.file_count(), 3);
  EXPECT_EQ(text("f.csv"), report::figure_csv(synthetic_figure()));
}

TEST_F(PrintableTest, WhenOneFileCannotBeWritten_NoneIsReplaced) {
  std::ofstream(folder.path("f.pdf")) << "old";
  std::filesystem::create_directory(folder.path("f.csv"));
  const auto files =
      write_printable(printable(synthetic_figure()), folder.path("f.pdf"), {.csv = true});
  ASSERT_FALSE(files);
  EXPECT_THAT(files.error().message, HasSubstr("f.csv"));
  EXPECT_EQ(text("f.pdf"), "old");
}

TEST_F(PrintableTest, IntervalsRangesAndScales_AreDrawnAsAsked) {
  write("all.svg");
  write("none.svg", {.intervals = false});
  EXPECT_LT(read_svg(bytes_of(folder.path("none.svg"))).boxes.size(),
            read_svg(bytes_of(folder.path("all.svg"))).boxes.size());
  write("part.svg", {.x_range = AxisRange{100, 300}});
  const SvgPage part = read_svg(bytes_of(folder.path("part.svg")));
  EXPECT_TRUE(part.texts.contains("128") && part.texts.contains("256"));
  EXPECT_FALSE(part.texts.contains("4096"));
  for (const QRectF& box : part.boxes) {
    const QRectF allowed = part.view_box.adjusted(-1, -1, 1, 1);
    EXPECT_TRUE(allowed.contains(box.topLeft()) && allowed.contains(box.bottomRight()));
  }
  report::Figure linear = synthetic_figure();
  report::set_scales(linear, report::Scale::linear, std::nullopt);
  write("linear.svg", {}, linear);
  EXPECT_TRUE(read_svg(bytes_of(folder.path("linear.svg"))).texts.contains("1000"));
}

TEST_F(PrintableTest, Ceilings_AreInsideThePage) {
  report::Figure figure = synthetic_figure();
  figure.ceilings = {{"300 GFLOP/s", 300}, {"4 GB/s", 4, true}};
  write("roof.svg", {}, figure);
  const SvgPage page = read_svg(bytes_of(folder.path("roof.svg")));
  EXPECT_TRUE(page.texts.contains("300 GFLOP/s") && page.texts.contains("4 GB/s"));
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

TEST_F(PrintableTest, TheTexSnippet_IncludesTheFileAndEscapesEveryText) {
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

TEST_F(PrintableTest, TheTexSnippet_Compiles) {
  const QString latex = QStandardPaths::findExecutable("pdflatex");
  if (latex.isEmpty()) GTEST_SKIP() << "no pdflatex here: the snippet's text alone was checked";
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

TEST_F(PrintableTest, TexForWhatLatexCannotInclude_IsRefusedBeforeAnythingIsWritten) {
  const auto svg =
      write_printable(printable(synthetic_figure()), folder.path("f.svg"), {.tex = true});
  ASSERT_FALSE(svg);
  EXPECT_THAT(svg.error().message, HasSubstr(".pdf or .png"));
  const auto name =
      write_printable(printable(synthetic_figure()), folder.path("50%.pdf"), {.tex = true});
  ASSERT_FALSE(name);
  EXPECT_THAT(name.error().message, HasSubstr("plain letters"));
  EXPECT_EQ(folder.file_count(), 0);
}

TEST_F(PrintableTest, AMasksCsv_HasEveryRunOfKeys) {
  const auto pattern = find_pattern("full");
  ASSERT_TRUE(pattern);
  LayoutItem item;
  item.query = 3;
  item.documents = {4};
  const auto files = write_printable(
      printable(MaskSubject{
          .pattern = *pattern, .window = {}, .item = item, .style = MaskStyle::true_scale}),
      folder.path("m.pdf"), {.width_mm = 84, .csv = true, .tex = true});
  ASSERT_TRUE(files) << files.error().message;
  std::string expected = "query,first_key,last_key\r\n";
  for (int query = 0; query < 8; ++query) expected += std::to_string(query) + ",0,7\r\n";
  EXPECT_EQ(text("m.csv"), expected);
  EXPECT_THAT(text("m.tex"), HasSubstr("{m.pdf}"));
}

TEST(FigureOptions, WidthsAndRanges_AreReadOrRefusedInASentence) {
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

TEST(TextLines, WordsAreBrokenAtBlanksAndNotAtHyphens) {
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
