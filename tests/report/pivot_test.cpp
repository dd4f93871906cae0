// SPDX-License-Identifier: Apache-2.0
#include "engine/report/pivot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/report/measured_run.h"

namespace attnscope::report {
namespace {

using test::lines_of;
using testing::_;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

Pivot pivot_of(const Table& table, const PivotChoice& choice = {}) {
  Result<Pivot> pivot = make_pivot(table, choice);
  if (!pivot) throw std::runtime_error(pivot.error().message);
  return *pivot;
}

std::vector<std::string> words(const std::vector<PivotHead>& heads) {
  std::vector<std::string> all;
  for (const PivotHead& head : heads) all.push_back(head.words);
  return all;
}

std::vector<std::string> texts(const PivotLine& line) {
  std::vector<std::string> all;
  for (const PivotCell& cell : line.cells) all.push_back(cell.text);
  return all;
}

std::string written(const Table& table, const PivotChoice& choice, TableFormat format) {
  return write_pivot(table, pivot_of(table, choice), format);
}

TEST(Pivot, ContendersAgainstLengths_HaveATimeAndItsDifferenceInEachCell) {
  const Table table = test::MeasuredRun().table("full/dense");
  const Pivot pivot = pivot_of(table);
  EXPECT_THAT(words(pivot.columns), ElementsAre("64 tokens", "256 tokens"));
  EXPECT_THAT(words(pivot.rows), ElementsAre("Full/dense", "Sparse, fused, w = 4",
                                             "Sparse, fused, w = 64", "sparse/sdpa-mask, w = 4"));
  ASSERT_EQ(pivot.blocks.size(), 1U);
  EXPECT_EQ(pivot.blocks.front().words, "");
  const auto& lines = pivot.blocks.front().lines;
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_THAT(texts(lines[0]), ElementsAre("500 µs", "8.00 ms"));
  EXPECT_THAT(texts(lines[1]), ElementsAre("250 µs (-50 %)", "1.00 ms (-88 %)"));
  EXPECT_THAT(texts(lines[3]), ElementsAre("1.00 ms (+100 %)", "oom"));
}

TEST(Pivot, MarksTheBaselineAndWritesDifferencesInWords) {
  Table table = test::MeasuredRun().table("full/dense");
  Pivot pivot = pivot_of(table, {.cells = {Quantity::ratio}});
  EXPECT_TRUE(pivot.rows.front().is_baseline);
  EXPECT_FALSE(pivot.rows.back().is_baseline);
  const auto& lines = pivot.blocks.front().lines;
  EXPECT_THAT(texts(lines[0]), ElementsAre("baseline", "baseline"));
  EXPECT_TRUE(lines[0].cells.front().is_baseline);
  EXPECT_FALSE(lines[0].cells.front().ratio);
  EXPECT_THAT(texts(lines[1]), ElementsAre("-50 %", "-88 %"));
  EXPECT_EQ(lines[1].cells.front().ratio->verdict, statistics::Verdict::faster);
  for (Row& row : table.rows) {
    if (row.ratio) row.ratio->verdict = statistics::Verdict::no_difference_shown;
  }
  pivot = pivot_of(table, {.cells = {Quantity::time, Quantity::ratio}});
  EXPECT_EQ(pivot.blocks.front().lines[2].cells.front().text, "250 µs (no difference shown)");
  EXPECT_EQ(pivot.blocks.front().lines[3].cells.front().text, "no difference shown");
}

TEST(Pivot, SeveralQuantities_AreLinesOfEachRow) {
  const Table table = test::MeasuredRun().table("full/dense");
  const Pivot pivot = pivot_of(table, {.rows = "sequence_tokens",
                                       .columns = "contender",
                                       .cells = {Quantity::time, Quantity::memory}});
  const auto& lines = pivot.blocks.front().lines;
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_EQ(lines[1].quantity, Quantity::memory);
  EXPECT_EQ(lines[1].head, 0U);
  EXPECT_THAT(texts(lines[1]),
              ElementsAre("2.00 MB", "2.00 MB (0 %)", "2.00 MB (0 %)", "2.00 MB (0 %)"));
}

TEST(Pivot, AgainstWindows_AContenderIsOneRow) {
  const Table table = test::MeasuredRun().table("full/dense", "sequence_tokens=64");
  const Pivot pivot = pivot_of(table, {.columns = "window"});
  EXPECT_THAT(words(pivot.columns), ElementsAre("no window", "w = 4", "w = 64"));
  EXPECT_THAT(words(pivot.rows), ElementsAre("Full/dense", "Sparse, fused", "sparse/sdpa-mask"));
  const auto& lines = pivot.blocks.front().lines;
  EXPECT_THAT(texts(lines[1]), ElementsAre("", "250 µs (-50 %)", "375 µs (-25 %)"));
  EXPECT_FALSE(lines[1].cells.front().row.has_value());
}

TEST(Pivot, HasABlockForEachValueOfOtherAxes) {
  const Table table = test::MeasuredRun().table("full/dense");
  const auto blocks = [&](const PivotChoice& choice) {
    std::vector<std::string> all;
    for (const PivotBlock& block : pivot_of(table, choice).blocks) all.push_back(block.words);
    return all;
  };
  EXPECT_THAT(blocks({.columns = "window"}), ElementsAre("64 tokens", "256 tokens"));
  EXPECT_THAT(blocks({.rows = "pattern"}), ElementsAre(_, "segment/w = 4", _, _));
}

TEST(Pivot, HasEveryKeptRowInOneCell) {
  const Table table = test::MeasuredRun().table("full/dense");
  for (const std::string rows : {"contender", "pattern", "implementation", "window", "dtype"}) {
    std::vector<int> seen(table.rows.size(), 0);
    for (const PivotBlock& block : pivot_of(table, {.rows = rows}).blocks) {
      for (const PivotLine& line : block.lines) {
        for (const PivotCell& cell : line.cells) {
          if (cell.row) ++seen[*cell.row];
        }
      }
    }
    EXPECT_THAT(seen, testing::Each(1)) << rows;
  }
  const auto pivot =
      make_pivot(table, {}, [](const Row& row) { return row.cell.point.sequence_tokens == 64; });
  ASSERT_TRUE(pivot.has_value());
  EXPECT_THAT(words(pivot->columns), ElementsAre("64 tokens"));
  EXPECT_TRUE(make_pivot(table, {}, [](const Row&) { return false; })->blocks.empty());
}

TEST(Pivot, HasWordsForEachQuantity) {
  const Table table = test::MeasuredRun().table();
  const Pivot pivot = pivot_of(
      table, {.cells = {Quantity::limit, Quantity::error, Quantity::executed, Quantity::per_ms}});
  const auto& lines = pivot.blocks.front().lines;
  EXPECT_EQ(lines[0].cells[0].text, "50.0 %");
  EXPECT_EQ(lines[1].cells[0].text, "1.5e-07");
  EXPECT_EQ(lines[2].cells[0].text, "2.00x");
  EXPECT_NEAR(*lines[3].cells[0].value, 2, 1e-9) << "0.5 ms per document";
  EXPECT_FALSE(lines[3].cells[0].text.empty());
  // A cell that ran out of memory has no time, but its work is known.
  EXPECT_EQ(lines[12].cells[1].text, "oom");
  EXPECT_EQ(lines[14].cells[1].text, "2.00x");
}

TEST(Pivot, WrongKeysAndQuantities_AreRefusedWithASuggestion) {
  const auto same = make_pivot(test::MeasuredRun().table(), {.rows = "dtype", .columns = "dtype"});
  ASSERT_FALSE(same.has_value());
  EXPECT_THAT(same.error().message, HasSubstr("both 'dtype'"));
  EXPECT_EQ(parse_pivot_key("--rows", "length").value(), "sequence_tokens");
  EXPECT_THAT(parse_pivot_key("--rows", "dtpye").error().message,
              HasSubstr("--rows: there is no key 'dtpye'; did you mean 'dtype'?"));
  EXPECT_THAT(parse_quantities("time,memroy").error().message, HasSubstr("did you mean 'memory'?"));
  EXPECT_THAT(parse_quantities("time,memory,time").value(),
              ElementsAre(Quantity::time, Quantity::memory));
}

TEST(PivotText, StacksColumnsToFitALine) {
  const std::string text =
      written(test::MeasuredRun().table("full/dense"),
              {.rows = "sequence_tokens", .columns = "contender"}, TableFormat::text);
  for (const std::string& line : lines_of(text)) EXPECT_LE(line.size(), 110U) << line;
  EXPECT_THAT(text, HasSubstr("Full/dense (baseline)"));
  EXPECT_THAT(text, HasSubstr("oom: it asks for 9.1 GB"));
  EXPECT_THAT(text, HasSubstr("time per document, in parentheses the difference to full/dense"));
}

TEST(PivotMarkdown, EveryLineHasTheSameColumns) {
  for (const std::string columns : {"sequence_tokens", "window"}) {
    const std::string text = written(
        test::MeasuredRun().table("full/dense"),
        {.columns = columns, .cells = {Quantity::time, Quantity::memory}}, TableFormat::markdown);
    std::set<std::ptrdiff_t> bars;
    for (const std::string& line : lines_of(text)) {
      if (line.starts_with("|")) bars.insert(std::ranges::count(line, '|'));
    }
    EXPECT_EQ(bars.size(), 1U) << text;
  }
}

TEST(PivotCsv, HasBareNumbersInTheSameGrid) {
  const test::MeasuredRun run;
  const std::string text = written(run.table("full/dense"), {}, TableFormat::csv);
  const std::vector<std::string> lines = lines_of(text);
  EXPECT_TRUE(lines[0].starts_with("setting,contender,quantity,64,256,run,provenance")) << lines[0];
  EXPECT_TRUE(lines[1].starts_with(",full/dense,ms_per_document,0.5")) << lines[1];
  EXPECT_TRUE(lines[2].starts_with(",full/dense,ratio,,,")) << lines[2];
  EXPECT_THAT(text, HasSubstr(",sparse/segment/4,verdict,faster,faster,"));
  EXPECT_THAT(text, HasSubstr(",oom,"));
  EXPECT_THAT(written(run.table(), {}, TableFormat::csv), Not(HasSubstr(",ratio,")));
}

TEST(PivotJson, HasAnObjectForEachCellWithTheUnitsOfTableRows) {
  const auto cells = nlohmann::json::parse(written(test::MeasuredRun().table("full/dense"),
                                                   {.cells = {Quantity::time, Quantity::memory}},
                                                   TableFormat::json));
  ASSERT_EQ(cells.size(), 8U);
  EXPECT_EQ(cells[0]["contender"], "full/dense");
  EXPECT_EQ(cells[0]["sequence_tokens"], "64");
  EXPECT_NEAR(cells[0]["ms_per_document"].get<double>(), 0.5, 1e-9);
  EXPECT_EQ(cells[0]["peak_bytes_per_document"].get<double>(), 2e6);
  EXPECT_TRUE(cells[0]["ratio"].is_null());
  EXPECT_EQ(cells[2]["verdict"], "faster");
  EXPECT_EQ(cells[7]["status"], "oom");
}

TEST(PivotLatex, LinesFillTheTabularsColumns_AndBlocksHaveRules) {
  const std::string text = written(
      test::MeasuredRun().table("full/dense"),
      {.columns = "window", .cells = {Quantity::time, Quantity::memory}}, TableFormat::latex);
  EXPECT_THAT(text, HasSubstr("\\begin{tabular}{llrrr}"));
  EXPECT_THAT(text, HasSubstr("\\midrule\n\\multicolumn{5}{l}{\\emph{64 tokens}} \\\\\n"));
  EXPECT_THAT(text, HasSubstr("\\midrule\n\\multicolumn{5}{l}{\\emph{256 tokens}} \\\\\n"));
  bool inside = false;
  for (const std::string& line : lines_of(text)) {
    if (line == "\\bottomrule") inside = false;
    if (inside && line != "\\midrule" && !line.starts_with("\\multicolumn")) {
      EXPECT_EQ(std::ranges::count(line, '&'), 4) << line;
      EXPECT_TRUE(line.ends_with(" \\\\")) << line;
    }
    if (line == "\\toprule") inside = true;
  }
  EXPECT_EQ(std::ranges::count(text, '{'), std::ranges::count(text, '}'));
}

TEST(PivotLatex, UnderlinesTheBaselineAndHasOneUnit) {
  const Table table = test::MeasuredRun().table("full/dense");
  EXPECT_THAT(written(table, {}, TableFormat::latex),
              AllOf(HasSubstr("\\underline{Full/dense} & \\underline{500} & \\underline{8000}"),
                    HasSubstr("250 $(-50\\,\\%)$"), HasSubstr("Time per document, in $\\mu$s")));
  const PivotChoice along_contenders{.rows = "sequence_tokens",
                                     .columns = "contender",
                                     .cells = {Quantity::time, Quantity::memory}};
  EXPECT_THAT(written(table, along_contenders, TableFormat::latex),
              AllOf(HasSubstr(" & \\multicolumn{2}{c}{Sparse, fused}"),
                    HasSubstr("$w =$ & -- & 4 & 64 & 4 \\\\")));
  EXPECT_THAT(written(test::MeasuredRun().table({}, "implementation=segment;window=4"),
                      along_contenders, TableFormat::latex),
              AllOf(HasSubstr("64 tokens & $\\mu$s & 250 \\\\\n & MB & 2.00 \\\\"),
                    HasSubstr("256 tokens & $\\mu$s & 1000 \\\\")));
}

}  // namespace
}  // namespace attnscope::report
