// SPDX-License-Identifier: Apache-2.0
#include "engine/report/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/report/measured_run.h"

namespace attnscope::report {
namespace {

using namespace test;
using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

TEST(Table, Rows_AreOrderedByLengthThenAsTheSweepOrdersContenders) {
  std::vector<std::string> order;
  for (const Row& row : MeasuredRun().table().rows) {
    order.push_back(std::to_string(row.cell.point.sequence_tokens) + " " +
                    row.cell.cell.contender.id());
  }
  EXPECT_THAT(
      order, testing::ElementsAre("64 full/dense", "64 sparse/segment/4", "64 sparse/segment/64",
                                  "64 sparse/sdpa-mask/4", "256 full/dense", "256 sparse/segment/4",
                                  "256 sparse/segment/64", "256 sparse/sdpa-mask/4"));
}

TEST(Table, ExecutedRatio_NeedsKnownWork) {
  const Table table = MeasuredRun().table();
  Row row = row_of(table, "sparse/segment/4", 64);
  EXPECT_EQ(executed_ratio(row), 2);
  EXPECT_EQ(executed_in_words(row), "executes 2.00x the useful products");
  EXPECT_EQ(executed_ratio(row_of(table, "sparse/sdpa-mask/4", 256)), 2);  // planned, but oom
  row.cell.cell.work.executed_flop = 0;
  EXPECT_FALSE(executed_ratio(row));
  EXPECT_EQ(executed_in_words(row), "");
  row = row_of(table, "full/dense", 64);
  row.cell.damaged = true;
  EXPECT_FALSE(executed_ratio(row));
}

TEST(Table, WithoutBaseline_ThereAreNoRatios) {
  const Table table = MeasuredRun().table();
  EXPECT_FALSE(table.baseline.has_value());
  for (const Row& row : table.rows) EXPECT_FALSE(row.ratio.has_value());
}

TEST(Table, RatiosOfOneHeat_ArePairedAndPerDocument) {
  const Table table = MeasuredRun().table("full/dense");
  const Row& row = row_of(table, "sparse/segment/4", 256);
  ASSERT_TRUE(row.ratio.has_value());
  EXPECT_TRUE(row.ratio->paired);
  EXPECT_NEAR(row.ratio->ratio, 4.0 / 32, 1e-9);
  EXPECT_EQ(row.ratio->verdict, statistics::Verdict::faster);
  EXPECT_EQ(row_of(table, "full/dense", 64).ratio->ratio, 1);
  EXPECT_FALSE(row_of(table, "sparse/sdpa-mask/4", 256).ratio.has_value());
}

TEST(Table, DifferentBatches_CompareUnpairedAndPerDocument) {
  HeatResult heat = MeasuredRun::heat_at(512);
  heat.cells[0].batch = 1;  // 128 ms for one document; segment/4: 8 ms for four
  const Table table = MeasuredRun().add(heat).table("full/dense");
  const Row& row = row_of(table, "sparse/segment/4", 512);
  EXPECT_FALSE(row.ratio->paired);
  EXPECT_NEAR(row.ratio->ratio, (8.0 / 4) / 128, 1e-9);
}

TEST(Table, ACellWithImpossibleValues_IsDamaged) {
  HeatResult heat = MeasuredRun::heat_at(512);
  heat.cells[1].memory.requested_bytes = -1;  // as its fingerprint has it, too
  const Table table = MeasuredRun().add(heat).table("full/dense", "sequence_tokens=512");
  EXPECT_FALSE(is_measured(table.rows[1]));
  const auto row = json_rows(table).at(1);
  EXPECT_EQ(row.at("status"), "damaged");
  EXPECT_THAT(row.at("reason"), HasSubstr("an impossible memory size"));
  EXPECT_TRUE(row.at("median_ms").is_null());
  EXPECT_TRUE(row.at("peak_bytes").is_null());
}

TEST(Table, AHeatWhoseBaselineHasNoTime_HasNoRatios) {
  const Table table = MeasuredRun().table("sparse/sdpa-mask/4");
  EXPECT_TRUE(row_of(table, "full/dense", 64).ratio.has_value());
  EXPECT_FALSE(row_of(table, "full/dense", 256).ratio.has_value());
}

TEST(Table, ABaseline_IsFoundByIdNameOrWithoutItsOnlyWindow) {
  const MeasuredRun run;
  EXPECT_EQ(run.table("full/dense").baseline, "full/dense");
  EXPECT_EQ(run.table("Full/dense").baseline, "full/dense");
  EXPECT_EQ(run.table("Sparse, fused, w = 64").baseline, "sparse/segment/64");
  EXPECT_EQ(run.table("sparse/sdpa-mask").baseline, "sparse/sdpa-mask/4");
}

TEST(Table, ABaselineOfSeveralWindows_HasToNameOne) {
  for (const char* text : {"sparse/segment", "Sparse, fused"}) {
    EXPECT_THAT(MeasuredRun().refusal(text), HasSubstr("sparse/segment/4, sparse/segment/64"))
        << text;
  }
}

TEST(Table, AnUnknownBaseline_IsRefusedWithTheRunsContenders) {
  const std::string text = MeasuredRun().refusal("full/dens");
  EXPECT_THAT(text, HasSubstr("no contender 'full/dens'"));
  EXPECT_THAT(text, HasSubstr("did you mean 'full/dense'"));
  EXPECT_THAT(text, HasSubstr("sparse/segment/64"));
}

TEST(Table, OnlyKeepsMatchingRows_KeysByAndValuesByOr) {
  const MeasuredRun run;
  EXPECT_EQ(run.table({}, "sequence_tokens=64").rows.size(), 4U);
  EXPECT_EQ(run.table({}, "sequence_tokens=64;window=4").rows.size(), 2U);
  EXPECT_EQ(run.table({}, "window=4;window=64").rows.size(), 6U);
  EXPECT_EQ(run.table({}, "window=none").rows.size(), 2U);
  EXPECT_EQ(run.table({}, "status=oom").rows.size(), 1U);
  EXPECT_EQ(run.table({}, "contender=sparse/segment/4;query_tokens=10;batch=4").rows.size(), 2U);
  EXPECT_EQ(run.table({}, "batch=100").rows.size(), 8U) << "the sweep's own limit";
  EXPECT_EQ(
      run.table({}, "name=Full/dense;dtype=float32;device=cpu;operation=attention").rows.size(),
      2U);
}

TEST(Table, RatiosRemain_WhenTheBaselinesRowIsNotKept) {
  const Table table = MeasuredRun().table("full/dense", "contender=sparse/segment/4");
  ASSERT_EQ(table.rows.size(), 2U);
  EXPECT_TRUE(table.rows[0].ratio.has_value());
}

TEST(Table, AnUnknownKeyOrNoRowsLeft_IsRefused) {
  const MeasuredRun run;
  EXPECT_THAT(run.refusal({}, "windows=4"), HasSubstr("did you mean 'window'"));
  EXPECT_THAT(run.refusal({}, "median_ms=4"), HasSubstr("no column 'median_ms'"));
  EXPECT_THAT(run.refusal({}, "sequence_tokens=65"), HasSubstr("sequence_tokens: 64, 256"));
}

TEST(Table, ARunWithoutHeats_IsAnEmptyTable) {
  const TemporaryFolder folder;
  Store store = open_or_throw(folder / "results.db");
  begin_or_throw(store, sample_run());
  const auto table = make_table(store, *store.find_run("last"), std::nullopt, {});
  ASSERT_TRUE(table);
  EXPECT_TRUE(table->rows.empty());
  EXPECT_FALSE(make_table(store, *store.find_run("last"), "full/dense", {}));
}

Ceilings of_rate(int threads, double flop_per_second) {
  Ceilings ceilings;
  ceilings.threads = threads;
  ceilings.flop_per_second = flop_per_second;
  return ceilings;
}

TEST(Table, Limits_UseTheBestCeilingsOfTheSameThreads) {
  MeasuredRun run;  // 1e9 FLOP at 1e12 a second: 1 ms
  EXPECT_NEAR(*row_of(run.table(), "full/dense", 64).limit_ms, 1.0, 1e-12);
  EXPECT_NEAR(*row_of(run.table(), "full/dense", 64).share_of_limit, 0.5, 1e-9);
  run.add(of_rate(2, 2e12));
  run.add(of_rate(2, 2e11));  // while others had the cores
  run.add(of_rate(1, 1e13));
  EXPECT_NEAR(*row_of(run.table(), "full/dense", 64).limit_ms, 0.5, 1e-12);
}

TEST(Table, ColdCaches_LowerTheCopyRateThatLimits) {
  HeatResult heat = MeasuredRun::heat_at(64);
  heat.point.cache = CacheState::cold;
  heat.point.threads = 3;
  for (Cell& cell : heat.cells) cell.work = {.useful_flop = 1, .least_bytes = 1e3};
  EXPECT_NEAR(*row_of(MeasuredRun()
                          .add(heat)
                          .add(Ceilings{.threads = 3,
                                        .flop_per_second = 1e12,
                                        .exponentials_per_second = 1e9,
                                        .copy = {{10'000, 1e10}, {1'000'000, 1e9}}})
                          .table({}, "cache=cold"),
                      "full/dense", 64)
                   .limit_ms,
              1e-3, 1e-12);
}

TEST(Table, SeveralDocumentsOfAnItem_DivideTimeAndMemory) {
  MeasuredRun run;
  HeatResult heat = MeasuredRun::heat_at(64);
  heat.point.documents = 5;
  run.add(heat);
  const Table table = run.table("full/dense", "documents=5");
  ASSERT_EQ(table.rows.size(), 4U);
  const Row& row = row_of(table, "sparse/segment/4", 64);
  EXPECT_EQ(items_of(row), 4);
  EXPECT_EQ(documents_of(row), 20);
  EXPECT_NEAR(row.ratio->ratio, 0.5, 1e-9);  // as with one document: both have five
  const std::string text = write_table(table, TableFormat::text);
  EXPECT_THAT(text, HasSubstr("5 documents an item"));
  EXPECT_THAT(text, HasSubstr(" 50.0 µs "));  // 1 ms for 4 x 5 documents
  EXPECT_THAT(text, HasSubstr(" 400 kB "));
  const std::string both = write_table(run.table({}, "sequence_tokens=64"), TableFormat::text);
  EXPECT_THAT(both, HasSubstr("64 tokens, documents 1"));
}

TEST(Table, CacheStates_AreSeparateBlocksWithColdNamed) {
  MeasuredRun run;
  HeatResult heat = MeasuredRun::heat_at(64);
  heat.point.cache = CacheState::cold;
  run.add(heat);
  const std::string text = write_table(run.table(), TableFormat::text);
  EXPECT_THAT(text, HasSubstr("64 tokens, cache warm"));
  EXPECT_THAT(text, HasSubstr("64 tokens, cold caches"));
  const std::string cold = write_table(run.table({}, "cache=cold"), TableFormat::text);
  EXPECT_THAT(cold, HasSubstr("head-major, cold caches,"));
}

TEST(Table, CellsWithoutCeilings_HaveNoLimit) {
  HeatResult heat = MeasuredRun::heat_at(1024);
  heat.point.dtype = DType::bfloat16;
  EXPECT_FALSE(row_of(MeasuredRun().add(heat).table(), "full/dense", 1024).limit_ms.has_value());
}

TEST(BaseName, OmitsOnlyTheWindow) {
  const auto name = [](std::optional<Window> window, std::string text) {
    return base_name({.pattern = "p",
                      .implementation = "i",
                      .window = window,
                      .name = text,
                      .pattern_json = ""});
  };
  EXPECT_EQ(name(Window::of(4), "Sparse, fused, w = 4"), "Sparse, fused");
  EXPECT_EQ(name(Window::infinite(), "sparse/segment, w = inf"), "sparse/segment");
  EXPECT_EQ(name(Window::of(4), "My four"), "My four");
  EXPECT_EQ(name(std::nullopt, "Model/4"), "Model/4");
}

Table with_growth(Table table) {
  add_growth(table);
  return table;
}

// The contender full/dense is quadratic, sparse/segment is linear.
TEST(Growth, IsOneForLinearAndTheLengthFactorForQuadraticCost) {
  const Table table = with_growth(MeasuredRun().table());
  for (const char* contender : {"full/dense", "sparse/segment/4", "sparse/segment/64"}) {
    const auto& shortest = row_of(table, contender, 64).growth;
    ASSERT_TRUE(shortest.has_value());
    EXPECT_EQ(shortest->ratio, 1);
    EXPECT_EQ(shortest->low, 1);
    EXPECT_EQ(shortest->high, 1);
  }
  EXPECT_NEAR(row_of(table, "full/dense", 256).growth->ratio, 4, 1e-9);
  const statistics::Ratio linear = *row_of(table, "sparse/segment/4", 256).growth;
  EXPECT_NEAR(linear.ratio, 1, 1e-9);
  EXPECT_LT(linear.low, 1);
  EXPECT_GT(linear.high, 1);
}

TEST(Growth, IsRelativeToTheTablesShortestLength) {
  const Table table =
      with_growth(MeasuredRun()
                      .add(MeasuredRun::heat_at(1024))
                      .table({}, "sequence_tokens=256;sequence_tokens=1024;contender=full/dense"));
  EXPECT_EQ(row_of(table, "full/dense", 256).growth->ratio, 1);
  EXPECT_NEAR(row_of(table, "full/dense", 1024).growth->ratio, 4, 1e-9);
}

TEST(Growth, IsSeparateForOtherAxes) {
  HeatResult cold = MeasuredRun::heat_at(1024);
  cold.point.cache = CacheState::cold;
  const Table table = with_growth(MeasuredRun().add(cold).table());
  EXPECT_EQ(row_of(table, "full/dense", 1024).growth->ratio, 1);
}

TEST(Growth, DocumentsOfABatch_CountAsMany) {
  HeatResult heat = MeasuredRun::heat_at(128);
  heat.cells[0].batch = 1;  // 8 ms for one document; at 64 tokens 2 ms for four
  EXPECT_NEAR(row_of(with_growth(MeasuredRun().add(heat).table()), "full/dense", 128).growth->ratio,
              8, 1e-9);
}

TEST(Growth, CellsWithoutATime_HaveNone) {
  EXPECT_FALSE(
      row_of(with_growth(MeasuredRun().table()), "sparse/sdpa-mask/4", 256).growth.has_value());
}

TEST(Growth, IsInEveryFormatIfItWasAdded) {
  const MeasuredRun run;
  const Table plain = run.table(), grown = with_growth(run.table());
  const std::string text = write_table(grown, TableFormat::text);
  EXPECT_THAT(text, HasSubstr("growth: time per token against the shortest length"));
  EXPECT_THAT(text, HasSubstr("per 1k tokens"));
  EXPECT_THAT(text, HasSubstr("+300 %"));
  EXPECT_THAT(write_table(plain, TableFormat::text), Not(HasSubstr("growth")));
  EXPECT_THAT(write_table(grown, TableFormat::markdown), HasSubstr(" growth | 95 % of growth |"));
  EXPECT_THAT(write_table(grown, TableFormat::csv), HasSubstr(",growth,growth_low,growth_high,"));
  EXPECT_THAT(write_table(plain, TableFormat::csv), Not(HasSubstr("growth")));
  const json rows = json_rows(grown);
  EXPECT_NEAR(rows.at(4).at("growth").get<double>(), 4, 1e-9);
  EXPECT_FALSE(json_rows(plain).at(0).contains("growth"));
}

TEST(Growth, TimePerThousandTokens_IsPerDocument) {
  const json rows = json_rows(MeasuredRun().table());
  // full/dense at 64 tokens: 2 ms for four documents.
  EXPECT_NEAR(rows.at(0).at("ms_per_1000_tokens").get<double>(), 2.0 / 4 / 0.064, 1e-9);
  EXPECT_TRUE(rows.at(7).at("ms_per_1000_tokens").is_null());
}

}  // namespace
}  // namespace attnscope::report
