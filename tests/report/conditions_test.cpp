// SPDX-License-Identifier: Apache-2.0
#include "engine/report/conditions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/report/measured_run.h"

namespace attnscope::report {
namespace {

using namespace test;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

Row row_with(Cell cell) {
  Row row{.cell = {}, .limit_ms = {}, .share_of_limit = {}, .ratio = {}};
  row.cell.summary.samples = static_cast<int>(cell.samples.size());
  row.cell.cell = std::move(cell);
  return row;
}

Cell plain_cell() {
  return timed_cell("sparse", "segment", Window::of(4), "Sparse", 1);
}

TEST(Conditions, OfACellWithoutAny_AreUnknownAndNeedNoNote) {
  const Row row = row_with(plain_cell());
  EXPECT_EQ(median_clock_mhz(row), std::nullopt);
  EXPECT_EQ(median_temperature_c(row), std::nullopt);
  EXPECT_EQ(throttled_samples(row), 0);
  EXPECT_THAT(notes_on(row), IsEmpty());
}

TEST(Conditions, AreMediansOverTheSamplesThatHaveThem) {
  Cell cell = plain_cell();
  cell.samples[0].clock_mhz = 1000;
  cell.samples[2].clock_mhz = 3000;
  cell.samples[3].clock_mhz = 2000;
  cell.samples[1].temperature_c = 60;
  cell.samples[4].temperature_c = 70;
  const Row row = row_with(cell);
  EXPECT_EQ(median_clock_mhz(row), 2000);
  EXPECT_EQ(median_temperature_c(row), 65);
}

TEST(Conditions, ThrottledSamples_AreCountedKeptAndNoted) {
  Cell cell = plain_cell();
  cell.samples[1].throttled = cell.samples[5].throttled = true;
  const Row row = row_with(cell);
  EXPECT_EQ(throttled_samples(row), 2);
  EXPECT_THAT(notes_on(row), ElementsAre(HasSubstr("2 of 6 samples")));
}

TEST(Conditions, OfACellWithoutATime_GetNoNote) {
  Cell cell = plain_cell();
  cell.samples[0].throttled = true;
  cell.status = CellStatus::wrong;
  EXPECT_THAT(notes_on(row_with(cell)), IsEmpty());
}

/// A run with a cell of 100 MiB unseen and two throttled samples beside a plain one.
class UnusualRun : public MeasuredRun {
 public:
  UnusualRun() {
    HeatResult heat;
    heat.point = point_at(999);
    heat.cells = {plain_cell(), plain_cell()};
    heat.cells[0].contender.name = "Plain";
    Cell& cell = heat.cells[1];
    cell.contender.name = "Unusual";
    cell.contender.implementation = "unusual";
    cell.memory.process_peak_bytes = 108'000'000;
    for (Sample& sample : cell.samples) sample.clock_mhz = 2500.5;
    cell.samples[0].throttled = cell.samples[1].throttled = true;
    add(heat);
  }
};

TEST(Conditions, ReachEveryForm) {
  const UnusualRun run;
  const Table table = run.table(std::nullopt, "sequence_tokens=999");
  const nlohmann::json rows = nlohmann::json::parse(write_table(table, TableFormat::json));
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_TRUE(rows[0].at("clock_mhz").is_null());
  EXPECT_EQ(rows[0].at("throttled"), 0);
  EXPECT_TRUE(rows[0].at("process_peak_bytes").is_null());
  EXPECT_EQ(rows[0].at("peak_bytes"), 8'000'000);
  EXPECT_EQ(rows[1].at("clock_mhz"), 2500.5);
  EXPECT_EQ(rows[1].at("throttled"), 2);
  EXPECT_EQ(rows[1].at("process_peak_bytes"), 108'000'000);
  EXPECT_EQ(rows[1].at("peak_bytes"), 108'000'000);
  for (const TableFormat format : {TableFormat::text, TableFormat::markdown}) {
    const std::string text = write_table(table, format);
    EXPECT_THAT(text, AllOf(HasSubstr("2 of 6 samples"), HasSubstr("outside the counted")));
    EXPECT_THAT(text, Not(HasSubstr("Plain: its process")));
  }
}

}  // namespace
}  // namespace attnscope::report
