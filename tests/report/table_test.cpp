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
using testing::AllOf;
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

TEST(Table, RatiosAreOfOneHeatAndPerDocument) {
  HeatResult heat = MeasuredRun::heat_at(512);
  heat.cells[0].batch = 1;  // 128 ms for one document; segment/4: 8 ms for four
  MeasuredRun run;
  const Table table = run.add(heat).table("full/dense");
  const Row& row = row_of(table, "sparse/segment/4", 256);
  ASSERT_TRUE(row.ratio.has_value());
  EXPECT_TRUE(row.ratio->paired);
  EXPECT_NEAR(row.ratio->ratio, 4.0 / 32, 1e-9);
  EXPECT_EQ(row.ratio->verdict, statistics::Verdict::faster);
  EXPECT_EQ(row_of(table, "full/dense", 64).ratio->ratio, 1);
  EXPECT_FALSE(row_of(table, "sparse/sdpa-mask/4", 256).ratio.has_value());
  const Row& unpaired = row_of(table, "sparse/segment/4", 512);
  EXPECT_FALSE(unpaired.ratio->paired);
  EXPECT_NEAR(unpaired.ratio->ratio, (8.0 / 4) / 128, 1e-9);
  const Table kept = run.table("full/dense", "contender=sparse/segment/4");
  EXPECT_EQ(kept.rows.size(), 3U);
  EXPECT_TRUE(kept.rows[0].ratio.has_value()) << "although the baseline's row is not kept";
  const Table by_mask = run.table("sparse/sdpa-mask/4");
  EXPECT_TRUE(row_of(by_mask, "full/dense", 64).ratio.has_value());
  EXPECT_FALSE(row_of(by_mask, "full/dense", 256).ratio.has_value()) << "no time of the baseline";
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

TEST(Table, FindsABaselineByIdNameOrWithoutItsOnlyWindow) {
  const MeasuredRun run;
  EXPECT_EQ(run.table("full/dense").baseline, "full/dense");
  EXPECT_EQ(run.table("Full/dense").baseline, "full/dense");
  EXPECT_EQ(run.table("Sparse, fused, w = 64").baseline, "sparse/segment/64");
  EXPECT_EQ(run.table("sparse/sdpa-mask").baseline, "sparse/sdpa-mask/4");
  for (const char* text : {"sparse/segment", "Sparse, fused"})
    EXPECT_THAT(run.refusal(text), HasSubstr("sparse/segment/4, sparse/segment/64")) << text;
  EXPECT_THAT(run.refusal("full/dens"),
              AllOf(HasSubstr("no contender 'full/dens'"), HasSubstr("did you mean 'full/dense'"),
                    HasSubstr("sparse/segment/64")));
  const Table without = run.table();
  EXPECT_FALSE(without.baseline.has_value());
  for (const Row& row : without.rows) EXPECT_FALSE(row.ratio.has_value());
}

TEST(Table, OnlyKeepsMatchingRows) {
  const MeasuredRun run;
  for (const auto& [only, rows] :
       {std::pair("sequence_tokens=64", 4U), std::pair("sequence_tokens=64;window=4", 2U),
        std::pair("window=4;window=64", 6U), std::pair("window=none", 2U),
        std::pair("status=oom", 1U),
        std::pair("contender=sparse/segment/4;query_tokens=10;batch=4", 2U),
        std::pair("batch=100", 8U),  // the sweep's own limit
        std::pair("name=Full/dense;dtype=float32;device=cpu;operation=attention", 2U)})
    EXPECT_EQ(run.table({}, only).rows.size(), rows) << only;
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

TEST(Table, LimitsUseTheBestCeilingsOfTheSameThreads) {
  MeasuredRun run;  // 1e9 FLOP at 1e12 a second: 1 ms
  HeatResult bfloat16 = MeasuredRun::heat_at(1024);
  bfloat16.point.dtype = DType::bfloat16;
  run.add(bfloat16);
  EXPECT_NEAR(*row_of(run.table(), "full/dense", 64).limit_ms, 1.0, 1e-12);
  EXPECT_NEAR(*row_of(run.table(), "full/dense", 64).share_of_limit, 0.5, 1e-9);
  EXPECT_FALSE(row_of(run.table(), "full/dense", 1024).limit_ms.has_value()) << "no ceilings";
  run.add(Ceilings{.threads = 2, .flop_per_second = 2e12, .copy = {}});
  run.add(
      Ceilings{.threads = 2, .flop_per_second = 2e11, .copy = {}});  // while others had the cores
  run.add(Ceilings{.threads = 1, .flop_per_second = 1e13, .copy = {}});
  EXPECT_NEAR(*row_of(run.table(), "full/dense", 64).limit_ms, 0.5, 1e-12);
}

TEST(Table, ColdCachesLowerTheCopyRateAndAreNamed) {
  MeasuredRun run;
  HeatResult heat = MeasuredRun::heat_at(64);
  heat.point.cache = CacheState::cold;
  for (Cell& cell : heat.cells) cell.work = {.useful_flop = 1, .least_bytes = 1e3};
  run.add(heat);
  const std::string text = write_table(run.table(), TableFormat::text);
  EXPECT_THAT(text, AllOf(HasSubstr("64 tokens, cache warm"), HasSubstr("64 tokens, cold caches")));
  EXPECT_THAT(write_table(run.table({}, "cache=cold"), TableFormat::text),
              HasSubstr("head-major, cold caches,"));
  heat.point.threads = 3;
  run.add(heat).add(Ceilings{.threads = 3,
                             .flop_per_second = 1e12,
                             .exponentials_per_second = 1e9,
                             .copy = {{10'000, 1e10}, {1'000'000, 1e9}}});
  EXPECT_NEAR(*row_of(run.table({}, "cache=cold;threads=3"), "full/dense", 64).limit_ms, 1e-3,
              1e-12);
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

TEST(Growth, IsRelativeToTheShortestLengthOfTheSameSetting) {
  const Table table =
      with_growth(MeasuredRun()
                      .add(MeasuredRun::heat_at(1024))
                      .table({}, "sequence_tokens=256;sequence_tokens=1024;contender=full/dense"));
  EXPECT_EQ(row_of(table, "full/dense", 256).growth->ratio, 1);
  EXPECT_NEAR(row_of(table, "full/dense", 1024).growth->ratio, 4, 1e-9);
  HeatResult cold = MeasuredRun::heat_at(1024);
  cold.point.cache = CacheState::cold;
  HeatResult single = MeasuredRun::heat_at(128);
  single.cells[0].batch = 1;  // 8 ms for one document; at 64 tokens 2 ms for four
  const Table other = with_growth(MeasuredRun().add(cold).add(single).table());
  EXPECT_EQ(row_of(other, "full/dense", 1024).growth->ratio, 1);
  EXPECT_NEAR(row_of(other, "full/dense", 128).growth->ratio, 8, 1e-9);
  EXPECT_FALSE(row_of(other, "sparse/sdpa-mask/4", 256).growth.has_value()) << "no time";
}

TEST(Growth, IsInEveryFormatIfItWasAdded) {
  const MeasuredRun run;
  const Table plain = run.table(), grown = with_growth(run.table());
  EXPECT_THAT(write_table(grown, TableFormat::text),
              AllOf(HasSubstr("growth: time per token against the shortest length"),
                    HasSubstr("per 1k tokens"), HasSubstr("+300 %")));
  EXPECT_THAT(write_table(grown, TableFormat::markdown), HasSubstr(" growth | 95 % of growth |"));
  EXPECT_THAT(write_table(grown, TableFormat::csv), HasSubstr(",growth,growth_low,growth_high,"));
  for (const TableFormat format : {TableFormat::text, TableFormat::csv, TableFormat::json})
    EXPECT_THAT(write_table(plain, format), Not(HasSubstr("growth")));
  const json rows = json_rows(grown);
  EXPECT_NEAR(rows.at(4).at("growth").get<double>(), 4, 1e-9);
  // full/dense at 64 tokens: 2 ms for four documents.
  EXPECT_NEAR(rows.at(0).at("ms_per_1000_tokens").get<double>(), 2.0 / 4 / 0.064, 1e-9);
  EXPECT_TRUE(rows.at(7).at("ms_per_1000_tokens").is_null());
}

}  // namespace
}  // namespace attnscope::report
