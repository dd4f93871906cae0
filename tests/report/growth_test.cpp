// SPDX-License-Identifier: Apache-2.0
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

Table with_growth(Table table) {
  add_growth(table);
  return table;
}

// Of the run's contenders, full/dense is quadratic and sparse/segment linear.
TEST(Growth, IsOneForWhatIsLinear_AndTheFactorOfLengthsForWhatIsQuadratic) {
  const MeasuredRun run;
  const Table table = with_growth(run.table());
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

TEST(Growth, StartsAtTheShortestLengthTheTableHas) {
  MeasuredRun run;
  run.add(MeasuredRun::heat_at(1024));
  const Table table =
      with_growth(run.table({}, "sequence_tokens=256;sequence_tokens=1024;contender=full/dense"));
  EXPECT_EQ(row_of(table, "full/dense", 256).growth->ratio, 1);
  EXPECT_NEAR(row_of(table, "full/dense", 1024).growth->ratio, 4, 1e-9);
}

TEST(Growth, OtherAxes_GrowOnTheirOwn) {
  MeasuredRun run;
  HeatResult cold = MeasuredRun::heat_at(1024);
  cold.point.cache = CacheState::cold;
  run.add(cold);
  const Table table = with_growth(run.table());
  EXPECT_EQ(row_of(table, "full/dense", 1024).growth->ratio, 1);
}

TEST(Growth, DocumentsOfABatch_CountAsMany) {
  MeasuredRun run;
  HeatResult heat = MeasuredRun::heat_at(128);
  heat.cells[0].batch = 1;  // 8 ms for one document; at 64 tokens 2 ms for four
  run.add(heat);
  EXPECT_NEAR(row_of(with_growth(run.table()), "full/dense", 128).growth->ratio, 8, 1e-9);
}

TEST(Growth, CellsWithoutATime_HaveNone) {
  const MeasuredRun run;
  EXPECT_FALSE(row_of(with_growth(run.table()), "sparse/sdpa-mask/4", 256).growth.has_value());
}

TEST(Growth, IsInEveryFormWhereItWasAdded_AndInNoneElse) {
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
  const json rows = json::parse(write_table(grown, TableFormat::json));
  EXPECT_NEAR(rows.at(4).at("growth").get<double>(), 4, 1e-9);
  EXPECT_FALSE(json::parse(write_table(plain, TableFormat::json)).at(0).contains("growth"));
}

TEST(Growth, TimePerThousandTokens_IsPerDocument) {
  const MeasuredRun run;
  const json rows = json::parse(write_table(run.table(), TableFormat::json));
  // full/dense at 64 tokens: 2 ms for four documents.
  EXPECT_NEAR(rows.at(0).at("ms_per_1000_tokens").get<double>(), 2.0 / 4 / 0.064, 1e-9);
  EXPECT_TRUE(rows.at(7).at("ms_per_1000_tokens").is_null());
}

}  // namespace
}  // namespace attnscope::report
