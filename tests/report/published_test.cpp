// SPDX-License-Identifier: Apache-2.0
#include "engine/report/published.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "engine/report/html_page.h"
#include "tests/report/measured_run.h"

namespace attnscope::report {
namespace {

using namespace test;
using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

PublishedTable table_named(std::string_view id) {
  for (PublishedTable& table : published_tables()) {
    if (table.id == id) return std::move(table);
  }
  ADD_FAILURE() << "no table " << id;
  return {};
}

std::string cell(const PublishedTable& table, std::size_t row, std::string_view key) {
  const auto found = std::ranges::find(table.columns, key, &SheetColumn::key);
  if (found == table.columns.end() || row >= table.rows.size()) return "none";
  return table.rows[row][static_cast<std::size_t>(found - table.columns.begin())];
}

TEST(Published, EveryTableHasItsCitationLabelMachineAndWholeRows) {
  const std::vector<PublishedTable> tables = published_tables();
  ASSERT_EQ(tables.size(), 4U);
  for (const PublishedTable& table : tables) {
    SCOPED_TRACE(table.id);
    EXPECT_FALSE(table.rows.empty());
    EXPECT_FALSE(table.machine.empty());
    EXPECT_THAT(std::string(table.citation), HasSubstr("20"));
    for (const auto& row : table.rows) EXPECT_EQ(row.size(), table.columns.size());
    for (const TableFormat format : every_format) {
      EXPECT_THAT(write_published(table, format),
                  AllOf(HasSubstr("not measured here"), HasSubstr(std::string(table.title))));
    }
  }
}

TEST(Published, NdcgTableHasThePapersLayout) {
  const PublishedTable table = table_named("ecir24-table1");
  EXPECT_EQ(table.rows.size(), 10U);     // two tasks: four years and their mean
  EXPECT_EQ(table.columns.size(), 15U);  // task, year, 6 + 6 + 1 windows
  EXPECT_EQ(cell(table, 0, "full_or_longformer/inf"), "0.724");
  EXPECT_EQ(cell(table, 0, "full_or_longformer/64"), "0.719†");
  EXPECT_EQ(cell(table, 4, "year"), "average");
  EXPECT_EQ(cell(table, 4, "sparse/4"), "0.612†");
  EXPECT_EQ(cell(table, 9, "sparse/0"), "0.561");
  EXPECT_EQ(cell(table, 9, "qds/64"), "0.587†");
}

TEST(Published, CostTableHasThePapersNumbersWithTheirUnits) {
  const PublishedTable table = table_named("ecir24-table3");
  EXPECT_EQ(table.rows.size(), 10U);
  EXPECT_EQ(cell(table, 1, "relative_time_percent"), "+170");
  EXPECT_EQ(cell(table, 2, "relative_time_percent"), "-1");
  EXPECT_EQ(cell(table, 3, "window"), "∞");
  EXPECT_EQ(cell(table, 3, "memory_mb_per_document"), "1608");
  const auto time = std::ranges::find(table.columns, "time_us_per_document", &SheetColumn::key);
  ASSERT_NE(time, table.columns.end());
  EXPECT_THAT(time->title, HasSubstr("µs"));
  const std::string csv = write_published(table, TableFormat::csv);
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 11);
  EXPECT_THAT(csv, HasSubstr("passage,174,Full attention,∞,368,,9,,yes,"));
}

TEST(Published, CostsNameOurPatternIfItIsTheSame) {
  const std::vector<PublishedCost> costs = published_costs();
  ASSERT_EQ(costs.size(), 10U);
  EXPECT_EQ(costs[0].pattern, "full");
  EXPECT_EQ(costs[0].window, std::nullopt);
  EXPECT_EQ(costs[0].sequence_tokens, 174);
  EXPECT_EQ(costs[7].pattern, "sparse");
  EXPECT_EQ(costs[7].window, Window::of(4));
  EXPECT_EQ(costs[7].time_us_per_document, 8000);
  EXPECT_EQ(costs[7].memory_mb_per_document, 66);
  EXPECT_EQ(costs[8].pattern, "") << "the paper's ablation of its kernel is no pattern";
}

TEST(Published, NdcgIsThePapersMeanOfTheTaskOfThatLength) {
  const auto passages = published_ndcg("sparse", Window::of(4), 174);
  ASSERT_TRUE(passages);
  EXPECT_TRUE(passages->is_equivalent);
  EXPECT_THAT(passages->source, HasSubstr("Table 1"));
  EXPECT_EQ(passages->note, "");
  const auto none = std::optional<double>();
  for (const auto& [pattern, window, tokens, ndcg10] :
       {std::tuple("sparse", std::optional(Window::of(4)), 174, std::optional(0.612)),
        std::tuple("sparse", std::optional(Window::of(4)), 512, std::optional(0.612)),
        std::tuple("sparse", std::optional(Window::of(4)), 513, std::optional(0.577)),
        std::tuple("sparse", std::optional(Window::of(4)), 4097, none),
        std::tuple("sparse", std::optional(Window::of(0)), 174, std::optional(0.560)),
        std::tuple("sparse", std::optional(Window::infinite()), 174, std::optional(0.615)),
        std::tuple("sparse", std::optional(Window::of(8)), 174, none),
        std::tuple("sparse", std::optional<Window>(), 174, none),
        std::tuple("full", std::optional<Window>(), 174, std::optional(0.619)),
        std::tuple("longformer", std::optional(Window::of(64)), 4096, std::optional(0.582)),
        std::tuple("qds", std::optional(Window::of(64)), 4096, std::optional(0.587)),
        std::tuple("qds", std::optional(Window::of(4)), 174, none),
        std::tuple("bigbird", std::optional<Window>(), 174, none)}) {
    const auto published = published_ndcg(pattern, window, tokens);
    EXPECT_EQ(published ? std::optional(published->ndcg10) : none, ndcg10)
        << pattern << ", " << tokens << " tokens";
  }
  EXPECT_THAT(std::string(published_ndcg("full", std::nullopt, 4096)->note), HasSubstr("MaxP"));
  EXPECT_EQ(published_ndcg("full", std::nullopt, 174)->note, "");
}

TEST(Published, OurCellsAreMatchedByLengthWindowAndPattern) {
  Table table;
  for (const auto& [pattern, window, tokens] :
       {std::tuple("full", std::optional<Window>(), 4096),
        std::tuple("sparse", std::optional(Window::of(4)), 4096),
        std::tuple("sparse", std::optional(Window::of(4)), 2048),
        std::tuple("sparse", std::optional(Window::of(16)), 4096),
        std::tuple("qds", std::optional(Window::of(64)), 4096),
        std::tuple("longformer", std::optional(Window::of(64)), 4096)}) {
    Row& row = table.rows.emplace_back();
    row.cell.cell = timed_cell(pattern, "segment", window, pattern, 1);
    row.cell.point.sequence_tokens = tokens;
    row.cell.summary = statistics::summarise(per_item(row.cell));
  }
  table.rows.back().cell.cell.status = CellStatus::oom;
  const auto found = published_comparison(table);
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].row, &table.rows[0]);
  EXPECT_EQ(found[0].cost.time_us_per_document, 49000);
  EXPECT_EQ(found[1].row, &table.rows[1]);
  EXPECT_EQ(found[1].cost.time_us_per_document, 8000);
  EXPECT_EQ(found[2].row, &table.rows[4]);
}

TEST(PublishedFiles, ErrorsNameTheLineThatLacksColumns) {
  constexpr std::array<std::string_view, 2> keys{"a", "b"};
  EXPECT_THAT(parse_reference("# c\na,b\r\n1,\n", keys).value(), ElementsAre(ElementsAre("1", "")));
  EXPECT_THAT(parse_reference("a,c\n1,2\n", keys).error().message, HasSubstr("line 1"));
  EXPECT_THAT(parse_reference("a,b\n1,2\n3\n", keys).error().message, HasSubstr("line 3"));
  EXPECT_THAT(parse_reference("# only\n", keys).error().message, HasSubstr("no rows"));
  EXPECT_THAT(std::string(resource("ecir24_table3.csv").text), HasSubstr("NVIDIA A100"));
  EXPECT_EQ(resource("nothing.csv").text, "");
}

Cell model_cell(const std::string& row, const std::string& pattern,
                const std::string& implementation, std::optional<Window> window, double median_ms) {
  Cell cell = timed_cell(pattern, implementation, window, row + "/" + implementation, median_ms);
  cell.contender.model = row;
  return cell;
}

HeatResult models_at(std::int64_t sequence_tokens) {
  HeatResult heat{.heat_index = 3, .point = point_at(sequence_tokens), .cells = {}};
  heat.point.operation = Operation::model;
  heat.point.layers = 6;
  heat.point.feed_forward = 1536;
  heat.cells = {
      model_cell("sparse", "sparse", "segment", Window::of(4), 4),
      model_cell("sparse-without-kernel", "sparse", "longformer-chunks", Window::of(4), 6),
      model_cell("full", "full", "sdpa", std::nullopt, 8),
      model_cell("longformer", "longformer", "longformer-chunks", Window::of(64), 16),
      model_cell("sparse+cls-only-last-layer", "sparse", "segment", Window::of(4), 2)};
  heat.cells[0].memory.requested_bytes = 4000000;
  return heat;
}

/// The values that are expected of a row, by their keys.
void expect_values(const json& row, const std::map<std::string, std::string>& expected) {
  for (const auto& [key, value] : expected) EXPECT_EQ(row.at(key), value) << key;
}

json rows_of(const Table& table, std::string_view paper = "ecir24-table3") {
  const auto text = write_paper_table(table, paper, TableFormat::json);
  return text ? json::parse(*text) : json(text.error().message);
}

TEST(PaperTable3, ComparesPassagesWithFullAttention) {
  const json rows = rows_of(MeasuredRun().add(models_at(174)).table());
  ASSERT_EQ(rows.size(), 5U);
  expect_values(rows[0], {{"task", "Passages, 174 tokens"},
                          {"model", "Full attention"},
                          {"relative_time_percent", ""},
                          {"paper_time_us_per_document", "368"}});
  expect_values(rows[2], {{"model", "Sparse cross-encoder"},
                          {"window", "4"},
                          {"implementation", "segment"},
                          {"time_us_per_document", "1000"},  // 4 ms for four documents
                          {"relative_time_percent", "-50"},
                          {"memory_mb_per_document", "1.00"},
                          {"relative_memory_percent", "-50"},
                          {"paper_time_us_per_document", "364"},
                          {"paper_relative_memory_percent", "-22"}});
}

TEST(PaperTable3, ComparesDocumentsWithLongformerOrARequestedBaseline) {
  MeasuredRun run;
  run.add(models_at(4096));
  const json rows = rows_of(run.table());
  ASSERT_EQ(rows.size(), 5U);
  expect_values(rows[0], {{"relative_time_percent", "-50"}});
  expect_values(rows[1], {{"model", "Longformer"}, {"relative_time_percent", ""}});
  expect_values(rows[3],
                {{"model", "Sparse, without its kernel"}, {"paper_relative_time_percent", "-36"}});
  expect_values(rows[4], {{"model", "Sparse cross-encoder, last layer [CLS] only"},
                          {"relative_time_percent", "-88"},
                          {"paper_time_us_per_document", ""}});
  const json requested = rows_of(run.table("full/sdpa"));
  expect_values(requested[0], {{"relative_time_percent", ""}});
  expect_values(requested[1], {{"relative_time_percent", "+100"}});
}

TEST(PaperTable3, LabelsThePapersNumbersInEveryFormat) {
  const Table table = MeasuredRun().add(models_at(174)).add(models_at(4096)).table();
  for (const auto format : every_format) {
    const auto text = write_paper_table(table, "ecir24-table3", format);
    ASSERT_TRUE(text) << text.error().message;
    EXPECT_THAT(*text, AllOf(HasSubstr(std::string(published_label)),
                             HasSubstr("Sparse cross-encoder"), HasSubstr("4096 tokens")));
  }
  EXPECT_THAT(*write_paper_table(table, "ecir24-table3", TableFormat::latex),
              AllOf(HasSubstr("$-$50"), HasSubstr("\\emph{Documents, 4096 tokens}")));
}

TEST(PaperTable6, HasTimesSpaceAndSpeedUpNextToThePapers) {
  const json rows = rows_of(
      MeasuredRun().add(stage_heat(Stage::offline, 0)).add(stage_heat(Stage::online, 1000)).table(),
      "mixencoder-table6");
  ASSERT_EQ(rows.size(), 2U);
  expect_values(
      rows[0],
      {{"model", "Cross-BERT"}, {"speed_up", ""}, {"kept_mb", ""}, {"paper_time_ms", "949.4"}});
  expect_values(rows[1], {{"candidates", "1000 candidates"},
                          {"model", "MixEncoder-a"},
                          {"time_ms", "101"},
                          {"speed_up", "990"},
                          {"kept_mb", "3.07"},
                          {"offline_ms_per_document", "50.0"},
                          {"paper_time_ms", "8.4"}});
}

TEST(PaperTable6, MarksASpeedUpOverABaselineWithFewerCandidates) {
  HeatResult many = stage_heat(Stage::online, 100);
  many.cells.erase(many.cells.begin());
  const json rows = rows_of(MeasuredRun().add(stage_heat(Stage::online, 10)).add(many).table(),
                            "mixencoder-table6");
  ASSERT_EQ(rows.size(), 3U);
  expect_values(rows[1], {{"speed_up", "500"}});
  expect_values(rows[2], {{"speed_up", "909°"}, {"paper_time_ms", ""}});  // of 1,000 alone
}

TEST(PaperTables, AreRefusedWithTheTableOrTheSweepThatIsMeant) {
  HeatResult attention = models_at(174);
  attention.point.operation = Operation::attention;
  const Table table = MeasuredRun().add(attention).table();
  for (const auto& [paper, message] :
       {std::pair("ecir24-table3", "paper-table3"),
        std::pair("mixencoder-table6", "attnscope run paper-mixencoder"),
        std::pair("tkl-table1", "attnscope run paper-tkl"),
        std::pair("mixencoder-table7", "did you mean 'mixencoder-table6'?")})
    EXPECT_THAT(write_paper_table(table, paper, TableFormat::text).error().message,
                HasSubstr(message));
}

}  // namespace
}  // namespace attnscope::report
