// SPDX-License-Identifier: Apache-2.0
//
// The writers of a Sheet: escapes and layout of all formats.

#include "engine/report/sheet.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

namespace attnscope::report {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// Characters that are special in some format.
const std::string hostile = "a|b_{c}*`<d>&\\, \"e\"\n50 % # $ ~ ^ µ ∞";

Sheet sheet_of(const std::string& name) {
  Sheet sheet{.above = {"What it is of"},
              .columns = {{"name", "Name", false}, {"ms", "Time (µs)"}},
              .below = {"Where it is from"}};
  sheet.add({name, "-43 %"});
  return sheet;
}

TEST(Sheet, Markdown_EscapesMarkup) {
  EXPECT_THAT(write_sheet(sheet_of(hostile), TableFormat::markdown),
              AllOf(HasSubstr("\n| a\\|b\\_{c}\\*\\`\\<d>\\&\\\\, \"e\" 50 % # \\$ \\~ ^ µ ∞ | "
                              "-43 % |\n"),
                    HasSubstr("| --- | ---: |")));
}

TEST(Sheet, Latex_OmitsLocalFolders) {
  Sheet sheet = sheet_of("sparse/segment/4");
  sheet.below = {
      "Run 3; attnscope run '/home/me/my sweeps/a.json' --only contender=full/dense "
      "--db=/home/me/runs.db; to repeat: attnscope run --again 3 --db ../other/runs.db, "
      "50 / 60"};
  sheet.frame = SheetFrame::floating;
  EXPECT_THAT(write_sheet(sheet, TableFormat::latex),
              HasSubstr("attnscope run 'a.json' -{}-only contender=full/dense -{}-db=runs.db; to "
                        "repeat: attnscope run -{}-again 3 -{}-db runs.db, 50 / 60"));
}

TEST(Sheet, Latex_EscapesEverySignAndSetsOnlyNumbersAsNumbers) {
  Sheet sheet = sheet_of(hostile);
  for (const char* text : {"2.5e-05", "1exp", "1e99999999999", "2e"}) sheet.add({"", text});
  const std::string text = write_sheet(sheet, TableFormat::latex);
  for (const char* part :
       {"a\\textbar{}b\\_\\{c\\}*`\\textless{}d\\textgreater{}\\&\\textbackslash{}, \"e\" 50 \\% "
        "\\# "
        "\\$ \\textasciitilde{} \\textasciicircum{} $\\mu$ $\\infty$ & $-43\\,\\%$ \\\\",
        "Time ($\\mu$s)", "$2.5 \\cdot 10^{-5}$", " & 1exp ", " & 1e99999999999 ", " & 2e "})
    EXPECT_THAT(text, HasSubstr(part));
}

TEST(Sheet, Latex_TypesetsWindowsDashesAndMinusSigns) {
  for (const auto& [text, latex] :
       {std::pair("a--b", "a-{}-b"),
        {"–", "--"},
        {"a?`b!`c", "a?{}`b!{}`c"},
        {"Sparse, w = 4", "Sparse, $w = 4$"},
        {"w = 4 to w = ∞", "$w = 4$ to $w = \\infty$"},
        {"new = 4", "new = 4"},
        {"-2.1/-2.3 (-45 to -41 %)", "$-$2.1/$-$2.3 ($-$45 to $-$41 \\%)"},
        {"2026-11-29 run-4", "2026-11-29 run-4"}})
    EXPECT_EQ(latex_escaped(text), latex);
}

TEST(Sheet, Latex_LabelsDependOnContents) {
  const auto label_of = [](const Sheet& sheet) {
    const std::string text = write_sheet(sheet, TableFormat::latex);
    const std::size_t begin = text.find("\\label{");
    return text.substr(begin, text.find('}', begin) - begin);
  };
  Sheet sheet{.frame = SheetFrame::floating, .above = {"Time."}, .columns = {{"", "a"}}};
  Sheet other = sheet;
  other.above = {"Memory."};
  EXPECT_THAT(label_of(sheet), HasSubstr("\\label{tab:attnscope-"));
  EXPECT_NE(label_of(sheet), label_of(other));
  sheet.add({"2.5"});
  EXPECT_EQ(label_of(sheet), label_of(Sheet{.frame = SheetFrame::floating,
                                            .above = {"Time."},
                                            .columns = {{"", "a"}},
                                            .blocks = {SheetBlock{}}}));
}

TEST(Sheet, Latex_ProtectsRowsThatBeginLikeAnArgument) {
  for (const std::string name : {"[9cm]x", "*y"})
    EXPECT_THAT(write_sheet(sheet_of(name), TableFormat::latex), HasSubstr("\n{}" + name));
}

TEST(Sheet, Csv_QuotesCommasQuotesAndLineEnds) {
  Sheet sheet = sheet_of("a,\"b\"\nc");
  sheet.add({Value(0.1), Value()});
  EXPECT_EQ(write_sheet(sheet, TableFormat::csv),
            "name,ms\r\n\"a,\"\"b\"\"\nc\",-43 %\r\n0.1,\r\n");
}

TEST(Sheet, Json_HasValuesUnderTheirKeys) {
  Sheet sheet = sheet_of(hostile + "\xff");
  sheet.add({Value(std::int64_t{3}), Value()});
  const auto rows = nlohmann::json::parse(write_sheet(sheet, TableFormat::json));
  EXPECT_EQ(rows.at(0).at("name"), hostile + "\xEF\xBF\xBD");
  EXPECT_EQ(rows.at(1).at("name"), 3);
  EXPECT_TRUE(rows.at(1).at("ms").is_null());
}

TEST(Sheet, Markdown_EscapesLinksAndBlocks) {
  Sheet sheet = sheet_of("[a](http://b) [c][d] [e]: f, [1, 2]");
  sheet.above = {"# not a heading"};
  const std::string text = write_sheet(sheet, TableFormat::markdown);
  EXPECT_THAT(text, HasSubstr("| [a\\](http://b) [c\\][d] [e\\]: f, [1, 2] |"));
  EXPECT_THAT(text, testing::StartsWith("\\# not a heading\n"));
}

TEST(Sheet, Csv_HasNoFormulas) {
  for (const char* formula : {"=1+1", "@sum(a1)", "+cmd|' /C calc'!A0", "-2+3", "\tx"}) {
    EXPECT_THAT(write_sheet(sheet_of(formula), TableFormat::csv),
                HasSubstr(std::string("\n'") + formula + ",-43 %"));
  }
}

TEST(Sheet, EveryFormat_ReplacesControlCharacters) {
  const Sheet sheet = sheet_of("\x1b[2Ja\u202eb\u009bc\x07");
  const Sheet long_name = sheet_of(std::string(100'000, 'x'));
  for (const TableFormat format :
       {TableFormat::text, TableFormat::markdown, TableFormat::latex, TableFormat::html}) {
    EXPECT_THAT(write_sheet(sheet, format), HasSubstr("?[2Ja?b?c?")) << name_of(format).name;
    EXPECT_LT(write_sheet(long_name, format).size(), 4000U) << name_of(format).name;
  }
  EXPECT_THAT(write_tabbed(sheet), HasSubstr("?[2Ja?b?c?"));
  EXPECT_GT(write_sheet(long_name, TableFormat::csv).size(), 100'000U);
}

TEST(Sheet, Text_IsAlignedByCodePoints) {
  Sheet sheet = sheet_of("µµ");
  sheet.add({"abc", "1"});
  EXPECT_EQ(write_sheet(sheet, TableFormat::text),
            "What it is of\n\n  Name  Time (µs)\n  µµ        -43 %\n  abc           1\n\n"
            "Where it is from\n");
  EXPECT_EQ(write_tabbed(sheet_of("a\tb\nc")), "Name\tTime (µs)\na b c\t-43 %\n");
}

TEST(Sheet, ColumnsBeyondALine_ContinueBelowWithLabels) {
  Sheet sheet{.columns = {{"", "row", false}}, .labels = 1};
  std::vector<SheetCell> cells{"label"};
  for (int i = 0; i < 4; ++i) {
    sheet.columns.push_back({"", std::string(40, 'x')});
    cells.emplace_back(std::to_string(i));
  }
  sheet.add(cells);
  const std::string text = write_sheet(sheet, TableFormat::text);
  EXPECT_THAT(text, HasSubstr(" 1\n\n  row"));
  EXPECT_EQ(std::ranges::count(text, '\n'), 5);
}

TEST(Sheet, Formats_AreKnownByTheirNames) {
  for (const TableFormatName& one : table_formats()) {
    EXPECT_EQ(*parse_table_format(one.name), one.format);
    EXPECT_EQ(name_of(one.format).name, one.name);
    EXPECT_THAT(table_format_words(), HasSubstr(std::string(one.name)));
  }
  EXPECT_THAT(parse_table_format("latec").error().message, HasSubstr("did you mean 'latex'"));
}

TEST(SheetHtml, IsASelfContainedEscapedPage) {
  Sheet sheet = sheet_of(hostile);
  sheet.blocks.front().title = "<256 tokens>";
  sheet.blocks.front().rows.front().back().is_baseline = true;
  const std::string page = write_sheet(sheet, TableFormat::html);
  EXPECT_THAT(page, testing::StartsWith("<!doctype html>"));
  for (const char* part :
       {"<title>What it is of</title>", "a|b_{c}*`&lt;d&gt;&amp;\\, &quot;e&quot; 50 %",
        "<td class=\"number baseline\">-43 %</td>", "colspan=\"2\">&lt;256 tokens&gt;</th>",
        "<footer>\n<p>Where it is from</p>", "prefers-color-scheme: dark"})
    EXPECT_THAT(page, HasSubstr(part));
  for (const char* outside : {"http:", "https:", "<script", "<link", "<img", "url("})
    EXPECT_THAT(page, Not(HasSubstr(outside)));
}

}  // namespace
}  // namespace attnscope::report
