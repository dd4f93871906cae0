// SPDX-License-Identifier: Apache-2.0
//
// Reads every format of a table back.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <clocale>
#include <locale>
#include <nlohmann/json.hpp>
#include <sstream>

#include "engine/report/number_text.h"
#include "engine/report/run_figures.h"
#include "engine/report/table.h"
#include "tests/report/measured_run.h"

namespace attnscope::report {
namespace {

using namespace test;
using nlohmann::json;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

std::vector<std::string> contract_keys() {
  return {"contender",       "name",
          "implementation",  "pattern",
          "window",          "sequence_tokens",
          "query_tokens",    "document_tokens",
          "documents",       "batch",
          "heads",           "head_dim",
          "dtype",           "memory_order",
          "cache",           "device",
          "threads",         "operation",
          "direction",       "status",
          "reason",          "median_ms",
          "low_ms",          "high_ms",
          "samples",         "placements",
          "ms_per_document", "ms_per_1000_tokens",
          "peak_bytes",      "peak_bytes_per_document",
          "relative_error",  "useful_flop",
          "least_bytes",     "executed_flop",
          "executed_bytes",  "executed_ratio",
          "limit_ms",        "share_of_limit"};
}

TEST(Json, Rows_HaveEveryKeyOfTheContract) {
  const MeasuredRun run;
  const json plain = json_rows(run.table());
  ASSERT_EQ(plain.size(), 8U);
  for (const json& row : plain) {
    for (const std::string& key : contract_keys()) EXPECT_TRUE(row.contains(key)) << key;
    EXPECT_FALSE(row.contains("ratio"));
  }
  for (const json& row : json_rows(run.table("full/dense"))) {
    for (const char* key : {"ratio", "ratio_low", "ratio_high", "verdict", "paired"}) {
      EXPECT_TRUE(row.contains(key)) << key;
    }
  }
}

TEST(Json, Values_AreNumbersPerCallAndPerDocumentOrNull) {
  const json rows = json_rows(MeasuredRun().table("full/dense"));
  const json& row = rows.at(5);
  EXPECT_EQ(row.at("contender"), "sparse/segment/4");
  EXPECT_EQ(row.at("name"), "Sparse, fused, w = 4");
  EXPECT_EQ(row.at("window"), 4);
  EXPECT_EQ(row.at("sequence_tokens"), 256);
  EXPECT_EQ(row.at("query_tokens"), 10);
  EXPECT_EQ(row.at("document_tokens"), 244);
  EXPECT_EQ(row.at("batch"), 4);
  EXPECT_EQ(row.at("dtype"), "float32");
  EXPECT_EQ(row.at("memory_order"), "head-major");
  EXPECT_EQ(row.at("cache"), "warm");
  EXPECT_EQ(row.at("status"), "ok");
  EXPECT_NEAR(row.at("median_ms").get<double>(), 4, 1e-9);
  EXPECT_NEAR(row.at("ms_per_document").get<double>(), 1, 1e-9);
  EXPECT_LE(row.at("low_ms").get<double>(), row.at("median_ms").get<double>());
  EXPECT_GE(row.at("high_ms").get<double>(), row.at("median_ms").get<double>());
  EXPECT_EQ(row.at("samples"), 6);
  EXPECT_EQ(row.at("placements"), 3);
  EXPECT_EQ(row.at("peak_bytes"), 8000000);
  EXPECT_EQ(row.at("peak_bytes_per_document"), 2000000.0);
  EXPECT_EQ(row.at("relative_error"), 1.5e-7);
  EXPECT_EQ(row.at("useful_flop"), 1e9);
  EXPECT_EQ(row.at("executed_ratio"), 2.0);
  EXPECT_NEAR(row.at("ratio").get<double>(), 0.125, 1e-9);
  EXPECT_EQ(row.at("verdict"), "faster");
  EXPECT_EQ(row.at("paired"), true);
  EXPECT_TRUE(rows.at(0).at("window").is_null());
  const json& oom = rows.at(7);
  EXPECT_EQ(oom.at("status"), "oom");
  EXPECT_THAT(oom.at("reason").get<std::string>(), HasSubstr("9.1 GB"));
  for (const char* key : {"median_ms", "low_ms", "ms_per_document", "peak_bytes", "ratio",
                          "verdict", "share_of_limit"}) {
    EXPECT_TRUE(oom.at(key).is_null()) << key;
  }
}

TEST(Json, OfModels_HasTheRowAndItsAttention) {
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
  EXPECT_EQ(rows[0].at("contender"), "sparse-without-kernel/longformer-chunks/4");
  EXPECT_EQ(rows[0].at("model"), "sparse-without-kernel");
  EXPECT_EQ(rows[0].at("pattern"), "sparse");
  EXPECT_EQ(rows[0].at("implementation"), "longformer-chunks");
  EXPECT_EQ(rows[1].at("model"), "sparse+cls-only-last-layer");
  EXPECT_EQ(rows[1].at("layers"), 6);
  EXPECT_EQ(rows[1].at("feed_forward"), 1536);
  EXPECT_EQ(rows[1].at("batch_per_contender"), true);
  const json others = json_rows(run.table({}, "operation=attention"));
  EXPECT_TRUE(others.at(0).at("model").is_null());
  EXPECT_TRUE(others.at(0).at("layers").is_null());
  EXPECT_EQ(run.table({}, "model=sparse-without-kernel;layers=6").rows.size(), 1U);
}

TEST(Json, AnInfiniteWindow_IsTheWordInf) {
  HeatResult heat{.heat_index = 2, .point = point_at(512), .cells = {}};
  heat.cells = {timed_cell("sparse", "segment", Window::infinite(), "x", 1)};
  EXPECT_EQ(json_rows(MeasuredRun().add(heat).table()).back().at("window"), "inf");
}

TEST(Json, NumbersThatAreNotFinite_AreNull) {
  HeatResult heat{.heat_index = 2, .point = point_at(512), .cells = {}};
  heat.cells = {timed_cell("sparse", "segment", Window::of(4), "x", 1)};
  heat.cells[0].relative_error = std::numeric_limits<double>::infinity();
  const json row = json_rows(MeasuredRun().add(heat).table()).back();
  EXPECT_TRUE(row.at("relative_error").is_null());
}

TEST(Json, ADamagedCell_IsShownAsDamagedWithoutValues) {
  Table table = MeasuredRun().table("full/dense");
  table.rows[1].cell.damaged = true;
  const json row = json_rows(table).at(1);
  EXPECT_EQ(row.at("status"), "damaged");
  EXPECT_TRUE(row.at("median_ms").is_null());
  EXPECT_THAT(write_table(table, TableFormat::text), HasSubstr("damaged"));
}

TEST(Csv, ReadBack_HasTheSameValuesAsJson) {
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

TEST(Text, AReasonOfSeveralContenders_IsPrintedOnce) {
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

TEST(Text, Blocks_OnePerLengthWithinTheTerminalsWidth) {
  const MeasuredRun run;
  const std::string text = write_table(run.table("full/dense"), TableFormat::text);
  EXPECT_LT(text.find("64 tokens, batch 4\n"), text.find("256 tokens, batch 4\n"));
  std::stringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(width_of(line), 110U) << line;
  EXPECT_THAT(text, HasSubstr("-88 %"));
  EXPECT_THAT(text, HasSubstr("\n  oom: it asks for 9.1 GB"));
  EXPECT_THAT(text, HasSubstr("base: full/dense"));
  EXPECT_THAT(text, HasSubstr(run.info().id.uuid));
}

TEST(Text, IntervalsAndLongVerdicts_StillFitTheTerminal) {
  Table table = MeasuredRun().table("full/dense");
  for (Row& row : table.rows) {
    if (!row.ratio) continue;
    row.cell.cell.contender.name = "Longformer/windowed/128 tokens";
    row.ratio->low = 0.1334;
    row.ratio->high = 1.2345;
    row.ratio->verdict = statistics::Verdict::no_difference_shown;
  }
  const std::string text = write_table(table, TableFormat::text);
  EXPECT_THAT(text, HasSubstr("  -87 to +23 %\n"));
  EXPECT_THAT(write_table(table, TableFormat::markdown), HasSubstr("| executed |"));
  EXPECT_THAT(text, HasSubstr("no difference shown"));
  std::stringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(width_of(line), 110U) << line;
}

TEST(Text, ExecutedWork_HasAColumnIfItExceedsUsefulWork) {
  Table table = MeasuredRun().table();
  EXPECT_THAT(write_table(table, TableFormat::text), HasSubstr(" 2.00x\n"));
  EXPECT_THAT(write_table(table, TableFormat::markdown), HasSubstr("| executed |"));
  for (Row& row : table.rows) row.cell.cell.work.executed_flop = row.cell.cell.work.useful_flop;
  EXPECT_THAT(write_table(table, TableFormat::text), testing::Not(HasSubstr("executed")));
}

TEST(Text, BatchesThatDifferWithinABlock_HaveAColumn) {
  HeatResult heat = MeasuredRun::heat_at(512);
  heat.cells[0].batch = 1;
  const std::string text = write_table(MeasuredRun().add(heat).table(), TableFormat::text);
  EXPECT_THAT(text, HasSubstr("\n512 tokens\n"));
  EXPECT_THAT(text, HasSubstr("  batch  "));
  EXPECT_THAT(text, HasSubstr("\n64 tokens, batch 4\n"));
}

TEST(Text, Columns_AreAligned) {
  std::stringstream lines(write_table(MeasuredRun().table(), TableFormat::text));
  std::vector<std::size_t> ends;
  for (std::string line; std::getline(lines, line);) {
    for (const char* unit : {" ms ", " µs ", " time/doc "}) {
      const std::size_t at = line.find(unit);
      if (line.starts_with("  ") && at != std::string::npos && at < 60) {
        ends.push_back(width_of(line.substr(0, at)) + width_of(unit));
        break;
      }
    }
  }
  ASSERT_GT(ends.size(), 6U);
  for (const std::size_t end : ends) EXPECT_EQ(end, ends.front());
}

TEST(Text, ARunWithoutHeats_HasASentence) {
  const Table empty;
  EXPECT_THAT(write_table(empty, TableFormat::text), HasSubstr("No heat of this run is finished"));
  EXPECT_EQ(json_rows(empty), json::array());
  EXPECT_EQ(parse_csv(write_table(empty, TableFormat::csv)).size(), 1U);
}

TEST(Markdown, EveryLineOfTheTable_HasTheHeadersFields) {
  HeatResult heat{.heat_index = 2, .point = point_at(512), .cells = {}};
  heat.cells = {timed_cell("sparse", "segment", Window::of(4), "a|b *c*\nd", 1)};
  std::stringstream lines(
      write_table(MeasuredRun().add(heat).table("full/dense"), TableFormat::markdown));
  std::vector<int> counts;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("|")) continue;
    int bars = 0;
    for (std::size_t i = 0; i < line.size(); ++i) {
      if (line[i] == '|' && (i == 0 || line[i - 1] != '\\')) ++bars;
    }
    counts.push_back(bars);
  }
  ASSERT_EQ(counts.size(), 11U);
  for (const int count : counts) EXPECT_EQ(count, counts.front());
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
    for (const TableFormat format : every_format) {
      text += write_table(table, format);
    }
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

TEST(Provenance, OneLine_NamesRunDeviceBuildCommandAndUuid) {
  const MeasuredRun run;
  const std::string line = provenance_line(run.info());
  EXPECT_EQ(line.find('\n'), std::string::npos);
  for (const char* part :
       {"Run 1", "Some CPU", "AttnScope 0.1.0", "commit 0123456789 (modified)", "GNU 12.2",
        "attnscope run", " UTC", "to repeat: attnscope run --again "}) {
    EXPECT_THAT(line, HasSubstr(part));
  }
  EXPECT_THAT(line, testing::EndsWith("attnscope run --again " + run.info().id.uuid + " --db " +
                                      run.info().file.string()));
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

TEST(Provenance, CacheStatesOfTheRun_AreNamed) {
  RunInfo run;
  run.start.provenance = R"({"measuring": {"cache": "warm, cold"}})";
  EXPECT_THAT(provenance_line(run), HasSubstr("; warm, cold caches;"));
  run.start.provenance = "{}";
  EXPECT_THAT(provenance_line(run), testing::Not(HasSubstr("caches")));
}

TEST(Provenance, ThatIsNotJson_IsOmitted) {
  RunInfo run;
  run.start.provenance = "not json {";
  run.start.command_line = "two\nlines";
  EXPECT_THAT(provenance_line(run), HasSubstr("two lines"));
}

std::string latex(std::optional<std::string_view> baseline) {
  return write_table(MeasuredRun().table(baseline), TableFormat::latex);
}

/// Number of columns that a line of a tabular fills, including those spanned by \multicolumn.
int columns_filled(const std::string& line) {
  int count = 1;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '&' && (i == 0 || line[i - 1] != '\\')) ++count;
  }
  const std::string spanning = "\\multicolumn{";
  for (std::size_t at = line.find(spanning); at != std::string::npos;
       at = line.find(spanning, at + 1)) {
    count += std::stoi(line.substr(at + spanning.size())) - 1;
  }
  return count;
}

TEST(Latex, EveryLine_FillsTheDeclaredColumns) {
  std::stringstream lines(latex("full/dense"));
  int declared = 0, checked = 0;
  for (std::string line; std::getline(lines, line);) {
    if (const auto at = line.find("\\begin{tabular}{"); at != std::string::npos) {
      declared = static_cast<int>(line.size() - at - std::string("\\begin{tabular}{}").size());
    }
    if (!line.ends_with("\\\\")) continue;
    EXPECT_EQ(columns_filled(line), declared) << line;
    ++checked;
  }
  EXPECT_EQ(declared, 5);
  EXPECT_EQ(checked, 8);  // two of head, three a length
}

TEST(Latex, BracesAndEnvironments_AreBalanced) {
  const std::string text = latex("full/dense");
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool literal = i > 0 && text[i - 1] == '\\';
    if (text[i] == '{' && !literal) ++depth;
    if (text[i] == '}' && !literal) --depth;
    ASSERT_GE(depth, 0);
  }
  EXPECT_EQ(depth, 0);
  const auto count = [&](const std::string& word) {
    int found = 0;
    for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++found;
    return found;
  };
  EXPECT_EQ(count("\\begin{"), count("\\end{"));
  EXPECT_EQ(count("$") % 2, 0);
  EXPECT_EQ(count("\\toprule") + count("\\bottomrule"), 2);
}

TEST(Latex, HasTheFormOfThePapersTable3) {
  const std::string text = latex("full/dense");
  EXPECT_THAT(text, HasSubstr("\\multicolumn{1}{c}{Full/dense} & \\multicolumn{2}{c}{Sparse, fused}"
                              " & \\multicolumn{1}{c}{sparse/sdpa-mask}"));
  EXPECT_THAT(text, HasSubstr("Unit, $w =$ & -- & 4 & 64 & 4 \\\\"));
  // 256 tokens, batch 4: dense 32 ms, segment 4 and 6 ms, each over four documents.
  EXPECT_THAT(text,
              HasSubstr("$\\mu$s & \\underline{8000} & 1000 $(-88\\,\\%)$ & 1500 $(-81\\,\\%)$ "
                        "& oom"));
  EXPECT_THAT(text,
              HasSubstr("$\\mu$s & \\underline{500} & 250 $(-50\\,\\%)$ & 375 $(-25\\,\\%)$ & "
                        "1000 $(+100\\,\\%)$"));
  EXPECT_THAT(text, HasSubstr("MB & \\underline{2.00} & 2.00 $(0\\,\\%)$"));
  EXPECT_LT(text.find("64 tokens"), text.find("256 tokens"));
  EXPECT_THAT(
      text,
      ContainsRegex(R"(95 \\% intervals that are shown reach at most \$-\$[0-9.]+/\+[0-9.]+ \\% )"
                    R"(around a time and \$-\$[0-9.]+/\+[0-9.]+ \\% around a ratio)"));
}

TEST(Latex, WithoutBaseline_NothingIsUnderlinedOrCompared) {
  const std::string text = latex(std::nullopt);
  EXPECT_THAT(text, Not(HasSubstr("underline")));
  EXPECT_THAT(text, Not(HasSubstr("\\,\\%)")));
}

TEST(Latex, AnEmptyTable_IsStillWellFormed) {
  const std::string text = write_table(Table{}, TableFormat::latex);
  EXPECT_THAT(text, HasSubstr("\\begin{tabular}{l}"));
}

}  // namespace
}  // namespace attnscope::report
