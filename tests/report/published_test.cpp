// SPDX-License-Identifier: Apache-2.0
#include "engine/report/published.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "engine/report/html_page.h"
#include "tests/report/measured_run.h"

namespace attnscope::report {
namespace {

using namespace test;
using nlohmann::json;
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

TEST(Published, EveryTable_HasItsCitationMachineAndWholeRows) {
  const std::vector<PublishedTable> tables = published_tables();
  ASSERT_EQ(tables.size(), 4U);
  for (const PublishedTable& table : tables) {
    SCOPED_TRACE(table.id);
    EXPECT_FALSE(table.rows.empty());
    EXPECT_FALSE(table.machine.empty());
    EXPECT_THAT(std::string(table.citation), HasSubstr("20"));
    for (const auto& row : table.rows) EXPECT_EQ(row.size(), table.columns.size());
  }
}

TEST(Published, TheNdcgTable_HasThePapersLayout) {
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

TEST(Published, TheCostTable_HasThePapersNumbersWithTheirUnits) {
  const PublishedTable table = table_named("ecir24-table3");
  EXPECT_EQ(table.rows.size(), 10U);
  EXPECT_EQ(cell(table, 0, "time_us_per_document"), "368");
  EXPECT_EQ(cell(table, 1, "relative_time_percent"), "+170");
  EXPECT_EQ(cell(table, 2, "relative_time_percent"), "-1");
  EXPECT_EQ(cell(table, 3, "window"), "∞");
  EXPECT_EQ(cell(table, 3, "memory_mb_per_document"), "1608");
  const auto time = std::ranges::find(table.columns, "time_us_per_document", &SheetColumn::key);
  ASSERT_NE(time, table.columns.end());
  EXPECT_THAT(time->title, HasSubstr("µs"));
}

TEST(Published, Costs_NameOurPatternIfItIsTheSame) {
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

TEST(Published, Ndcg_IsThePapersMeanOfTheTaskOfThatLength) {
  const auto passages = published_ndcg("sparse", Window::of(4), 174);
  ASSERT_TRUE(passages);
  EXPECT_EQ(passages->ndcg10, 0.612);
  EXPECT_TRUE(passages->is_equivalent);
  EXPECT_THAT(passages->source, HasSubstr("Table 1"));
  EXPECT_EQ(passages->note, "");
  EXPECT_EQ(published_ndcg("sparse", Window::of(4), 512)->ndcg10, 0.612);
  EXPECT_EQ(published_ndcg("sparse", Window::of(4), 513)->ndcg10, 0.577);
  EXPECT_EQ(published_ndcg("sparse", Window::of(0), 174)->ndcg10, 0.560);
  EXPECT_EQ(published_ndcg("full", std::nullopt, 174)->ndcg10, 0.619);
  EXPECT_EQ(published_ndcg("longformer", Window::of(64), 4096)->ndcg10, 0.582);
  EXPECT_EQ(published_ndcg("qds", Window::of(64), 4096)->ndcg10, 0.587);
}

TEST(Published, Ndcg_IsAbsentWhereThePaperHasNone) {
  EXPECT_FALSE(published_ndcg("sparse", Window::of(8), 174));
  EXPECT_FALSE(published_ndcg("qds", Window::of(4), 174));
  EXPECT_FALSE(published_ndcg("bigbird", std::nullopt, 174));
  EXPECT_FALSE(published_ndcg("sparse", std::nullopt, 174));
  EXPECT_FALSE(published_ndcg("sparse", Window::of(4), 4097));
}

TEST(Published, FullAttentionOverDocuments_IsNotedAsMaxP) {
  EXPECT_THAT(std::string(published_ndcg("full", std::nullopt, 4096)->note), HasSubstr("MaxP"));
  EXPECT_EQ(published_ndcg("full", std::nullopt, 174)->note, "");
}

/// A measured cell of a length.
Row measured(const std::string& pattern, std::optional<Window> window, std::int64_t tokens) {
  Row row;
  row.cell.point.sequence_tokens = tokens;
  row.cell.cell.contender.pattern = pattern;
  row.cell.cell.contender.window = window;
  row.cell.cell.samples = {{.time_ns = 5}};
  row.cell.cell.batch = 1;
  row.cell.summary.median_ns = 5;
  row.cell.summary.samples = 1;
  return row;
}

TEST(Published, OurCells_AreMatchedByLengthWindowAndPattern) {
  Table table;
  table.rows = {measured("full", std::nullopt, 4096), measured("sparse", Window::of(4), 4096),
                measured("sparse", Window::of(4), 2048), measured("sparse", Window::of(16), 4096),
                measured("qds", Window::of(64), 4096)};
  table.rows.push_back(measured("longformer", Window::of(64), 4096));
  table.rows.back().cell.cell.status = CellStatus::oom;
  const auto found = published_comparison(table);
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].row, &table.rows[0]);
  EXPECT_EQ(found[0].cost.time_us_per_document, 49000);
  EXPECT_EQ(found[1].row, &table.rows[1]);
  EXPECT_EQ(found[1].cost.time_us_per_document, 8000);
  EXPECT_EQ(found[2].row, &table.rows[4]);
}

TEST(Published, EveryFormat_HasTheCitationAndTheLabel) {
  for (const PublishedTable& table : published_tables()) {
    SCOPED_TRACE(table.id);
    for (const TableFormat format : every_format) {
      const std::string text = write_published(table, format);
      EXPECT_THAT(text, HasSubstr("not measured here"));
      EXPECT_THAT(text, HasSubstr(std::string(table.title)));
    }
  }
}

TEST(Published, Csv_HasARowForEveryRowAndAFieldForEveryColumn) {
  const PublishedTable table = table_named("ecir24-table3");
  const std::string csv = write_published(table, TableFormat::csv);
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 11);
  EXPECT_THAT(csv, HasSubstr("passage,174,Full attention,∞,368,,9,,yes,"));
}

TEST(PublishedFiles, AreCompiledIn) {
  EXPECT_THAT(std::string(resource("ecir24_table3.csv").text), HasSubstr("NVIDIA A100"));
  EXPECT_EQ(resource("nothing.csv").text, "");
}

TEST(PublishedFiles, AFileWithoutItsColumns_IsAnErrorWithTheLine) {
  constexpr std::array<std::string_view, 2> keys{"a", "b"};
  EXPECT_THAT(parse_reference("# c\na,b\r\n1,\n", keys).value(), ElementsAre(ElementsAre("1", "")));
  EXPECT_THAT(parse_reference("a,c\n1,2\n", keys).error().message, HasSubstr("line 1"));
  EXPECT_THAT(parse_reference("a,b\n1,2\n3\n", keys).error().message, HasSubstr("line 3"));
  EXPECT_THAT(parse_reference("# only\n", keys).error().message, HasSubstr("no rows"));
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

json rows_of(const Table& table) {
  const auto text = write_paper_table(table, "ecir24-table3", TableFormat::json);
  return text ? json::parse(*text) : json(text.error().message);
}

TEST(PaperTable3, Passages_AreComparedWithFullAttentionAsInThePaper) {
  const json rows = rows_of(MeasuredRun().add(models_at(174)).table());
  ASSERT_EQ(rows.size(), 5U);
  EXPECT_EQ(rows[0].at("task"), "Passages, 174 tokens");
  EXPECT_EQ(rows[0].at("model"), "Full attention");
  EXPECT_EQ(rows[0].at("relative_time_percent"), "");
  EXPECT_EQ(rows[0].at("paper_time_us_per_document"), "368");
  const json& sparse = rows[2];
  EXPECT_EQ(sparse.at("model"), "Sparse cross-encoder");
  EXPECT_EQ(sparse.at("window"), "4");
  EXPECT_EQ(sparse.at("implementation"), "segment");
  EXPECT_EQ(sparse.at("time_us_per_document"), "1000");  // 4 ms for four documents
  EXPECT_EQ(sparse.at("relative_time_percent"), "-50");
  EXPECT_EQ(sparse.at("memory_mb_per_document"), "1.00");
  EXPECT_EQ(sparse.at("relative_memory_percent"), "-50");
  EXPECT_EQ(sparse.at("paper_time_us_per_document"), "364");
  EXPECT_EQ(sparse.at("paper_relative_memory_percent"), "-22");
}

TEST(PaperTable3, Documents_AreComparedWithLongformerAndExtraRowsFollow) {
  const json rows = rows_of(MeasuredRun().add(models_at(4096)).table());
  ASSERT_EQ(rows.size(), 5U);
  EXPECT_EQ(rows[1].at("model"), "Longformer");
  EXPECT_EQ(rows[1].at("relative_time_percent"), "");
  EXPECT_EQ(rows[0].at("relative_time_percent"), "-50");
  EXPECT_EQ(rows[3].at("model"), "Sparse, without its kernel");
  EXPECT_EQ(rows[3].at("paper_relative_time_percent"), "-36");
  EXPECT_EQ(rows[4].at("model"), "Sparse cross-encoder, last layer [CLS] only");
  EXPECT_EQ(rows[4].at("relative_time_percent"), "-88");
  EXPECT_EQ(rows[4].at("paper_time_us_per_document"), "");
}

TEST(PaperTable3, ARequestedBaseline_ReplacesThePapers) {
  const json rows = rows_of(MeasuredRun().add(models_at(4096)).table("full/sdpa"));
  EXPECT_EQ(rows[0].at("relative_time_percent"), "");
  EXPECT_EQ(rows[1].at("relative_time_percent"), "+100");
}

TEST(PaperTable3, EveryFormat_LabelsThePapersNumbers) {
  MeasuredRun run;
  run.add(models_at(174));
  run.add(models_at(4096));
  for (const auto format : every_format) {
    const auto text = write_paper_table(run.table(), "ecir24-table3", format);
    ASSERT_TRUE(text) << text.error().message;
    EXPECT_THAT(*text, HasSubstr(std::string(published_label)));
    EXPECT_THAT(*text, HasSubstr("Sparse cross-encoder"));
    EXPECT_THAT(*text, HasSubstr("4096 tokens"));
  }
  const std::string latex = *write_paper_table(run.table(), "ecir24-table3", TableFormat::latex);
  EXPECT_THAT(latex, HasSubstr("$-$50"));
  EXPECT_THAT(latex, HasSubstr("\\emph{Documents, 4096 tokens}"));
}

TEST(PaperTable3, ARunWithoutModels_IsRefusedWithTheSweepThatHasThem) {
  HeatResult attention = models_at(174);
  attention.point.operation = Operation::attention;
  const auto text =
      write_paper_table(MeasuredRun().add(attention).table(), "ecir24-table3", TableFormat::text);
  ASSERT_FALSE(text);
  EXPECT_THAT(text.error().message, HasSubstr("paper-table3"));
}

json rows_of_table6(const Table& table) {
  const auto text = write_paper_table(table, "mixencoder-table6", TableFormat::json);
  return text ? json::parse(*text) : json(text.error().message);
}

TEST(PaperTable6, HasTimesSpaceAndSpeedUpNextToThePapers) {
  const json rows = rows_of_table6(MeasuredRun()
                                       .add(stage_heat(Stage::offline, 0))
                                       .add(stage_heat(Stage::online, 1000))
                                       .table());
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].at("model"), "Cross-BERT");
  EXPECT_EQ(rows[0].at("speed_up"), "");
  EXPECT_EQ(rows[0].at("kept_mb"), "");
  EXPECT_EQ(rows[0].at("paper_time_ms"), "949.4");
  const json& mix = rows[1];
  EXPECT_EQ(mix.at("candidates"), "1000 candidates");
  EXPECT_EQ(mix.at("model"), "MixEncoder-a");
  EXPECT_EQ(mix.at("time_ms"), "101");
  EXPECT_EQ(mix.at("speed_up"), "990");
  EXPECT_EQ(mix.at("kept_mb"), "3.07");
  EXPECT_EQ(mix.at("offline_ms_per_document"), "50.0");
  EXPECT_EQ(mix.at("paper_time_ms"), "8.4");
}

TEST(PaperTable6, ABaselineWithFewerCandidates_GivesASpeedUpThatIsMarked) {
  HeatResult many = stage_heat(Stage::online, 100);
  many.cells.erase(many.cells.begin());
  const json rows =
      rows_of_table6(MeasuredRun().add(stage_heat(Stage::online, 10)).add(many).table());
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[1].at("speed_up"), "500");
  EXPECT_EQ(rows[2].at("speed_up"), "909°");
  EXPECT_EQ(rows[2].at("paper_time_ms"), "");  // of 1,000 alone
}

TEST(Alongside, UnknownTablesAndRunsWithoutModels_AreRefused) {
  const MeasuredRun run;
  EXPECT_THAT(
      write_paper_table(run.table(), "mixencoder-table6", TableFormat::text).error().message,
      HasSubstr("attnscope run paper-mixencoder"));
  EXPECT_THAT(
      write_paper_table(run.table(), "mixencoder-table7", TableFormat::text).error().message,
      HasSubstr("did you mean 'mixencoder-table6'?"));
}

}  // namespace
}  // namespace attnscope::report
