// SPDX-License-Identifier: Apache-2.0
//
// Reads every format of a table back.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <clocale>
#include <iterator>
#include <limits>
#include <locale>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "engine/report/number_text.h"
#include "engine/report/run_figures.h"
#include "engine/report/table.h"
#include "tests/report/measured_run.h"

namespace attnscope::report {
namespace {

using namespace test;
using nlohmann::json;
using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

TEST(Json, RowsHaveEveryKeyOfTheContract) {
  const auto words = [](const char* text) {
    std::istringstream stream(text);
    return std::vector<std::string>(std::istream_iterator<std::string>(stream), {});
  };
  const MeasuredRun run;
  const json plain = json_rows(run.table());
  ASSERT_EQ(plain.size(), 8U);
  for (const json& row : plain) {
    for (const std::string& key :
         words("contender name implementation pattern window sequence_tokens query_tokens "
               "document_tokens documents batch heads head_dim dtype memory_order cache device "
               "threads operation direction status reason median_ms low_ms high_ms samples "
               "placements ms_per_document ms_per_1000_tokens peak_bytes peak_bytes_per_document "
               "relative_error useful_flop least_bytes executed_flop executed_bytes executed_ratio "
               "limit_ms share_of_limit"))
      EXPECT_TRUE(row.contains(key)) << key;
    EXPECT_FALSE(row.contains("ratio"));
  }
  for (const json& row : json_rows(run.table("full/dense"))) {
    for (const std::string& key : words("ratio ratio_low ratio_high verdict paired"))
      EXPECT_TRUE(row.contains(key)) << key;
  }
}

TEST(Json, ValuesAreNumbersPerCallAndPerDocumentOrNull) {
  const json rows = json_rows(MeasuredRun().table("full/dense"));
  const json& row = rows.at(5);
  const json expected = json::parse(R"({
    "contender": "sparse/segment/4", "name": "Sparse, fused, w = 4", "window": 4,
    "sequence_tokens": 256, "query_tokens": 10, "document_tokens": 244, "batch": 4,
    "dtype": "float32", "memory_order": "head-major", "cache": "warm", "status": "ok",
    "samples": 6, "placements": 3, "peak_bytes": 8000000, "peak_bytes_per_document": 2000000.0,
    "relative_error": 1.5e-7, "useful_flop": 1e9, "executed_ratio": 2.0, "verdict": "faster",
    "paired": true})");
  for (const auto& [key, value] : expected.items()) EXPECT_EQ(row.at(key), value) << key;
  EXPECT_NEAR(row.at("median_ms").get<double>(), 4, 1e-9);
  EXPECT_NEAR(row.at("ms_per_document").get<double>(), 1, 1e-9);
  EXPECT_NEAR(row.at("ratio").get<double>(), 0.125, 1e-9);
  EXPECT_LE(row.at("low_ms").get<double>(), row.at("median_ms").get<double>());
  EXPECT_GE(row.at("high_ms").get<double>(), row.at("median_ms").get<double>());
  EXPECT_TRUE(rows.at(0).at("window").is_null());
  const json& oom = rows.at(7);
  EXPECT_EQ(oom.at("status"), "oom");
  EXPECT_THAT(oom.at("reason").get<std::string>(), HasSubstr("9.1 GB"));
  for (const char* key : {"median_ms", "low_ms", "ms_per_document", "peak_bytes", "ratio",
                          "verdict", "share_of_limit"})
    EXPECT_TRUE(oom.at(key).is_null()) << key;
}

TEST(Json, OfModelsHasTheRowAndItsAttention) {
  MeasuredRun run;
  HeatResult heat{.heat_index = 2, .point = point_at(512), .cells = {}};
  heat.point.operation = Operation::model;
  heat.point.layers = 6;
  heat.point.feed_forward = 1536;
  heat.point.batch_per_contender = true;
  heat.cells = {timed_cell("sparse", "longformer-chunks", Window::of(4), "a", 1),
                timed_cell("sparse", "longformer-chunks", Window::of(4), "b", 2)};
  heat.cells[0].contender.model = "sparse-without-kernel";
  heat.cells[1].contender.model = "sparse+cls-only-last-layer";
  run.add(heat);
  const json rows = json_rows(run.table({}, "operation=model"));
  ASSERT_EQ(rows.size(), 2U);
  const json expected = json::parse(R"({
    "contender": "sparse-without-kernel/longformer-chunks/4", "model": "sparse-without-kernel",
    "pattern": "sparse", "implementation": "longformer-chunks", "layers": 6, "feed_forward": 1536,
    "batch_per_contender": true})");
  for (const auto& [key, value] : expected.items()) EXPECT_EQ(rows[0].at(key), value) << key;
  EXPECT_EQ(rows[1].at("model"), "sparse+cls-only-last-layer");
  const json others = json_rows(run.table({}, "operation=attention"));
  EXPECT_TRUE(others.at(0).at("model").is_null());
  EXPECT_TRUE(others.at(0).at("layers").is_null());
  EXPECT_EQ(run.table({}, "model=sparse-without-kernel;layers=6").rows.size(), 1U);
}

TEST(Json, WritesInfiniteWindowsAsAWordAndInfiniteNumbersAsNull) {
  HeatResult heat{.heat_index = 2, .point = point_at(512), .cells = {}};
  heat.cells = {timed_cell("sparse", "segment", Window::infinite(), "x", 1)};
  heat.cells[0].relative_error = std::numeric_limits<double>::infinity();
  const json row = json_rows(MeasuredRun().add(heat).table()).back();
  EXPECT_EQ(row.at("window"), "inf");
  EXPECT_TRUE(row.at("relative_error").is_null());
}

TEST(Json, ShowsADamagedCellWithoutValues) {
  Table table = MeasuredRun().table("full/dense");
  table.rows[1].cell.damaged = true;
  const json row = json_rows(table).at(1);
  EXPECT_EQ(row.at("status"), "damaged");
  EXPECT_TRUE(row.at("median_ms").is_null());
}

TEST(Csv, HasTheSameValuesAsJson) {
  const Table table = MeasuredRun().table("full/dense");
  const json rows = json_rows(table);
  const auto records = parse_csv(write_table(table, TableFormat::csv));
  ASSERT_EQ(records.size(), rows.size() + 1);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    ASSERT_EQ(records[r + 1].size(), records[0].size());
    for (std::size_t c = 0; c < records[0].size(); ++c) {
      const json& value = rows[r].at(records[0][c]);
      const std::string& text = records[r + 1][c];
      if (value.is_null()) {
        EXPECT_EQ(text, "");
      } else if (value.is_string()) {
        EXPECT_EQ(text, value.get<std::string>());
      } else {
        EXPECT_EQ(json::parse(text), value) << records[0][c];
      }
    }
  }
}

TEST(Text, PrintsAReasonOfSeveralContendersOnce) {
  Table table = MeasuredRun().table("full/dense");
  for (Row& row : table.rows) {
    const bool last = row.cell.cell.contender.name == "sparse/sdpa-mask, w = 4";
    if (row.cell.point.sequence_tokens == 256 && last) continue;
    row.cell.cell.status = CellStatus::unsupported;
    row.cell.cell.reason = "no driver";
  }
  const std::string text = write_table(table, TableFormat::text);
  EXPECT_THAT(text, HasSubstr("\n  unsupported: no driver (7 cells)\n"));
}

/// No line is wider than a terminal.
void expect_narrow(const std::string& text) {
  for (const std::string& line : lines_of(text)) EXPECT_LE(width_of(line), 110U) << line;
}

TEST(Text, HasABlockPerLengthWithinTheTerminalsWidth) {
  const MeasuredRun run;
  const std::string text = write_table(run.table("full/dense"), TableFormat::text);
  EXPECT_LT(text.find("64 tokens, batch 4\n"), text.find("256 tokens, batch 4\n"));
  expect_narrow(text);
  EXPECT_THAT(text, AllOf(HasSubstr("-88 %"), HasSubstr("\n  oom: it asks for 9.1 GB"),
                          HasSubstr("base: full/dense"), HasSubstr(run.info().id.uuid)));
}

TEST(Text, FitsIntervalsAndLongVerdictsIntoTheTerminal) {
  Table table = MeasuredRun().table("full/dense");
  for (Row& row : table.rows) {
    if (!row.ratio) continue;
    row.cell.cell.contender.name = "Longformer/windowed/128 tokens";
    row.ratio->low = 0.1334;
    row.ratio->high = 1.2345;
    row.ratio->verdict = statistics::Verdict::no_difference_shown;
  }
  const std::string text = write_table(table, TableFormat::text);
  EXPECT_THAT(text, AllOf(HasSubstr("  -87 to +23 %\n"), HasSubstr("no difference shown")));
  expect_narrow(text);
}

TEST(Text, HasAColumnForExecutedWorkThatExceedsUsefulWork) {
  Table table = MeasuredRun().table();
  EXPECT_THAT(write_table(table, TableFormat::text), HasSubstr(" 2.00x\n"));
  EXPECT_THAT(write_table(table, TableFormat::markdown), HasSubstr("| executed |"));
  for (Row& row : table.rows) row.cell.cell.work.executed_flop = row.cell.cell.work.useful_flop;
  EXPECT_THAT(write_table(table, TableFormat::text), Not(HasSubstr("executed")));
}

TEST(Text, HasAColumnForBatchesThatDifferWithinABlock) {
  HeatResult heat = MeasuredRun::heat_at(512);
  heat.cells[0].batch = 1;
  EXPECT_THAT(write_table(MeasuredRun().add(heat).table(), TableFormat::text),
              AllOf(HasSubstr("\n512 tokens\n"), HasSubstr("  batch  "),
                    HasSubstr("\n64 tokens, batch 4\n")));
}

TEST(Text, AlignsColumns) {
  std::set<std::size_t> ends;
  std::size_t lines = 0;
  for (const std::string& line : lines_of(write_table(MeasuredRun().table(), TableFormat::text))) {
    for (const char* unit : {" ms ", " µs ", " time/doc "}) {
      const std::size_t at = line.find(unit);
      if (!line.starts_with("  ") || at == std::string::npos || at >= 60) continue;
      ends.insert(width_of(line.substr(0, at)) + width_of(unit));
      ++lines;
      break;
    }
  }
  EXPECT_GT(lines, 6U);
  EXPECT_EQ(ends.size(), 1U);
}

TEST(Formats, OfARunWithoutHeatsAreComplete) {
  const Table empty;
  EXPECT_THAT(write_table(empty, TableFormat::text), HasSubstr("No heat of this run is finished"));
  EXPECT_EQ(json_rows(empty), json::array());
  EXPECT_EQ(parse_csv(write_table(empty, TableFormat::csv)).size(), 1U);
  EXPECT_THAT(write_table(empty, TableFormat::latex), HasSubstr("\\begin{tabular}{l}"));
}

TEST(Markdown, HasTheHeadersFieldsInEveryLine) {
  HeatResult heat{.heat_index = 2, .point = point_at(512), .cells = {}};
  heat.cells = {timed_cell("sparse", "segment", Window::of(4), "a|b *c*\nd", 1)};
  std::multiset<std::ptrdiff_t> counts;
  for (std::string line :
       lines_of(write_table(MeasuredRun().add(heat).table("full/dense"), TableFormat::markdown))) {
    if (!line.starts_with("|")) continue;
    line = std::regex_replace(line, std::regex(R"(\\\|)"), "");
    counts.insert(std::ranges::count(line, '|'));
  }
  EXPECT_EQ(counts.size(), 11U);
  EXPECT_EQ(counts.count(*counts.begin()), 11U);
}

/// As in German: a decimal comma and points between thousands.
struct Commas : std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

TEST(Formats, AreIndependentOfTheLocale) {
  const MeasuredRun run;
  const Table table = run.table("full/dense");
  const auto all = [&] {
    std::string text;
    for (const TableFormat format : every_format) text += write_table(table, format);
    return text + figure_csv(*make_figure(table, XAxis::length, YAxis::time));
  };
  const std::string before = all();
  const std::locale saved = std::locale::global(std::locale(std::locale(), new Commas));
  std::setlocale(LC_ALL, "de_DE.UTF-8");  // where the machine has it
  const std::string within = all();
  const Table read_within = run.table("full/dense");
  std::setlocale(LC_ALL, "C");
  std::locale::global(saved);
  EXPECT_EQ(within, before);
  EXPECT_EQ(write_table(read_within, TableFormat::csv), write_table(table, TableFormat::csv));
}

TEST(Provenance, IsOneLineWithRunDeviceBuildAndCommands) {
  const MeasuredRun run;
  const std::string line = provenance_line(run.info());
  EXPECT_EQ(line.find('\n'), std::string::npos);
  for (const char* part :
       {"Run 1", "Some CPU", "AttnScope 0.1.0", "commit 0123456789 (modified)", "GNU 12.2",
        "attnscope run", " UTC", "to repeat: attnscope run --again "})
    EXPECT_THAT(line, HasSubstr(part));
  EXPECT_THAT(line, testing::EndsWith("attnscope run --again " + run.info().id.uuid + " --db " +
                                      run.info().file.string()));
  RunInfo other;
  other.start.provenance = R"({"measuring": {"cache": "warm, cold"}})";
  EXPECT_THAT(provenance_line(other), HasSubstr("; warm, cold caches;"));
  other.start.provenance = "{}";
  EXPECT_THAT(provenance_line(other), Not(HasSubstr("caches")));
  other.start.provenance = "not json {";
  other.start.command_line = "two\nlines";
  EXPECT_THAT(provenance_line(other), HasSubstr("two lines"));
}

TEST(Provenance, IsInEveryFormatOfATable) {
  const MeasuredRun run;
  const Table table = run.table("full/dense");
  for (const TableFormat format : every_format) {
    std::string text = write_table(table, format);
    std::erase(text, '\n');
    std::erase(text, ' ');  // lines are broken at blanks
    std::erase_if(text, [](char c) { return c == '{' || c == '}'; });
    EXPECT_THAT(text, HasSubstr("attnscoperun--again" + run.info().id.uuid));
    EXPECT_THAT(text, HasSubstr("commit0123456789"));
  }
}

std::string latex(std::optional<std::string_view> baseline) {
  return write_table(MeasuredRun().table(baseline), TableFormat::latex);
}

TEST(Latex, FillsTheDeclaredColumnsInEveryLine) {
  std::ptrdiff_t declared = 0, checked = 0;
  for (std::string line : lines_of(latex("full/dense"))) {
    if (std::smatch found;
        std::regex_search(line, found, std::regex(R"(\\begin\{tabular\}\{(\w+)\})")))
      declared = found[1].length();
    if (!line.ends_with("\\\\")) continue;
    std::ptrdiff_t filled = 1 + std::ranges::count(line, '&');
    for (std::smatch found; std::regex_search(line, found, std::regex(R"(\\multicolumn\{(\d+)\})"));
         line = found.suffix())
      filled += std::stoi(found[1]) - 1;
    EXPECT_EQ(filled, declared) << line;
    ++checked;
  }
  EXPECT_EQ(declared, 5);
  EXPECT_EQ(checked, 8);  // two of head, three a length
}

TEST(Latex, BalancesBracesAndEnvironments) {
  const std::string text = std::regex_replace(latex("full/dense"), std::regex(R"(\\[{}])"), "");
  int depth = 0;
  for (const char c : text) {
    depth += c == '{' ? 1 : c == '}' ? -1 : 0;
    ASSERT_GE(depth, 0);
  }
  EXPECT_EQ(depth, 0);
  const auto count = [&](const char* pattern) {
    const std::regex wanted(pattern);
    return std::distance(std::sregex_iterator(text.begin(), text.end(), wanted), {});
  };
  EXPECT_EQ(count(R"(\\begin\{)"), count(R"(\\end\{)"));
  EXPECT_EQ(count(R"(\$)") % 2, 0);
  EXPECT_EQ(count(R"(\\toprule|\\bottomrule)"), 2);
}

TEST(Latex, HasTheFormOfThePapersTable3) {
  const std::string text = latex("full/dense");
  // 256 tokens, batch 4: dense 32 ms, segment 4 and 6 ms, each over four documents.
  for (const char* part :
       {"\\multicolumn{1}{c}{Full/dense} & \\multicolumn{2}{c}{Sparse, fused} & "
        "\\multicolumn{1}{c}{sparse/sdpa-mask}",
        "Unit, $w =$ & -- & 4 & 64 & 4 \\\\",
        "$\\mu$s & \\underline{8000} & 1000 $(-88\\,\\%)$ & 1500 $(-81\\,\\%)$ & oom",
        "$\\mu$s & \\underline{500} & 250 $(-50\\,\\%)$ & 375 $(-25\\,\\%)$ & 1000 $(+100\\,\\%)$",
        "MB & \\underline{2.00} & 2.00 $(0\\,\\%)$"})
    EXPECT_THAT(text, HasSubstr(part));
  EXPECT_LT(text.find("64 tokens"), text.find("256 tokens"));
  EXPECT_THAT(
      text,
      ContainsRegex(R"(95 \\% intervals that are shown reach at most \$-\$[0-9.]+/\+[0-9.]+ \\% )"
                    R"(around a time and \$-\$[0-9.]+/\+[0-9.]+ \\% around a ratio)"));
  EXPECT_THAT(latex(std::nullopt), AllOf(Not(HasSubstr("underline")), Not(HasSubstr("\\,\\%)"))));
}

}  // namespace
}  // namespace attnscope::report
