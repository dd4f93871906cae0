// SPDX-License-Identifier: Apache-2.0
#include "engine/report/beside_table3.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "engine/report/published.h"
#include "tests/report/measured_run.h"

namespace attnscope::report {
namespace {

using namespace test;
using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

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
  const auto text = write_beside_table3(table, TableFormat::json);
  return text ? json::parse(*text) : json(text.error().message);
}

TEST(BesideTable3, Passages_AreComparedWithFullAttentionAsInThePaper) {
  MeasuredRun run;
  run.add(models_at(174));
  const json rows = rows_of(run.table());
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

TEST(BesideTable3, Documents_AreComparedWithLongformer) {
  MeasuredRun run;
  run.add(models_at(4096));
  const json rows = rows_of(run.table());
  ASSERT_EQ(rows.size(), 5U);
  EXPECT_EQ(rows[1].at("model"), "Longformer");
  EXPECT_EQ(rows[1].at("relative_time_percent"), "");
  EXPECT_EQ(rows[0].at("relative_time_percent"), "-50");
  EXPECT_EQ(rows[3].at("model"), "Sparse, without its kernel");
  EXPECT_EQ(rows[3].at("paper_relative_time_percent"), "-36");
}

TEST(BesideTable3, RowsThatThePaperDoesNotHave_StandBehindItsOwn) {
  MeasuredRun run;
  run.add(models_at(4096));
  const json rows = rows_of(run.table());
  EXPECT_EQ(rows[4].at("model"), "Sparse cross-encoder, last layer [CLS] only");
  EXPECT_EQ(rows[4].at("relative_time_percent"), "-88");
  EXPECT_EQ(rows[4].at("paper_time_us_per_document"), "");
}

TEST(BesideTable3, ABaselineOfOnesOwn_TakesThePapersPlace) {
  MeasuredRun run;
  run.add(models_at(4096));
  const json rows = rows_of(run.table("full/sdpa"));
  EXPECT_EQ(rows[0].at("relative_time_percent"), "");
  EXPECT_EQ(rows[1].at("relative_time_percent"), "+100");
}

TEST(BesideTable3, EveryForm_TellsWhoseNumbersAreWhose) {
  MeasuredRun run;
  run.add(models_at(174));
  run.add(models_at(4096));
  for (const auto format : {TableFormat::text, TableFormat::markdown, TableFormat::csv,
                            TableFormat::latex, TableFormat::json}) {
    const auto text = write_beside_table3(run.table(), format);
    ASSERT_TRUE(text) << text.error().message;
    EXPECT_THAT(*text, HasSubstr(std::string(published_label)));
    EXPECT_THAT(*text, HasSubstr("Sparse cross-encoder"));
    EXPECT_THAT(*text, HasSubstr("4096 tokens"));
  }
  const std::string latex = *write_beside_table3(run.table(), TableFormat::latex);
  EXPECT_THAT(latex, HasSubstr("$-$50"));
  EXPECT_THAT(latex, HasSubstr("\\emph{Documents, 4096 tokens}"));
}

TEST(BesideTable3, ARunWithoutModels_IsRefusedWithTheSweepThatHasThem) {
  MeasuredRun run;
  HeatResult attention = models_at(174);
  attention.point.operation = Operation::attention;
  run.add(attention);
  const auto text = write_beside_table3(run.table(), TableFormat::text);
  ASSERT_FALSE(text);
  EXPECT_THAT(text.error().message, HasSubstr("paper-table3"));
}

}  // namespace
}  // namespace attnscope::report
