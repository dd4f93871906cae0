// SPDX-License-Identifier: Apache-2.0
#include "engine/report/row.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/report/run_figures.h"
#include "tests/report/measured_run.h"

namespace attnscope::report {
namespace {

using namespace test;
using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

Row row_with(Cell cell) {
  Row row;
  row.cell.summary.samples = static_cast<int>(cell.samples.size());
  row.cell.cell = std::move(cell);
  return row;
}

Cell plain_cell() {
  return timed_cell("sparse", "segment", Window::of(4), "Sparse", 1);
}

TEST(Conditions, CellWithoutAny_HasNoValuesAndNoNotes) {
  const Row row = row_with(plain_cell());
  EXPECT_EQ(median_clock_mhz(row), std::nullopt);
  EXPECT_EQ(median_temperature_c(row), std::nullopt);
  EXPECT_EQ(throttled_samples(row), 0);
  EXPECT_THAT(notes_on(row), IsEmpty());
}

TEST(Conditions, AreMediansOverTheSamplesWithAValue) {
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

/// A run with a plain cell and one with uncounted memory and two throttled samples.
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

TEST(Conditions, AreInEveryFormat) {
  const UnusualRun run;
  const Table table = run.table(std::nullopt, "sequence_tokens=999");
  const nlohmann::json rows = json_rows(table);
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

/// A cell of five placements of twelve rounds, whose times rise by `rise` over a placement.
Cell rising_cell(const std::string& implementation, double rise) {
  Cell cell = timed_cell("sparse", implementation, Window::of(4), implementation, 1);
  cell.document_tokens = 500;
  cell.samples.clear();
  for (int placement = 0; placement < 5; ++placement) {
    for (int round = 0; round < 12; ++round) {
      const double ripple = 0.0005 * ((round * 7 + placement * 3) % 5);
      cell.samples.push_back({.process = placement < 3 ? 0 : 1,
                              .placement = placement,
                              .round = round,
                              .time_ns = 1e6 * (1 + ripple + rise * round / 11)});
    }
  }
  return cell;
}

Table table_of(std::vector<Cell> cells) {
  return MeasuredRun()
      .add(HeatResult{.heat_index = 2, .point = point_at(512), .cells = std::move(cells)})
      .table(std::nullopt, "sequence_tokens=512");
}

TEST(DriftInTables, ASteadyCell_HasNoMarkAndNoNote) {
  const Table table = table_of({rising_cell("segment", 0)});
  EXPECT_FALSE(table.rows[0].drift.is_flagged);
  EXPECT_THAT(marks_of(table.rows[0]), IsEmpty());
  EXPECT_THAT(notes_on(table.rows[0]), IsEmpty());
}

TEST(DriftInTables, ACellThatDrifted_IsMarkedNotedAndKept) {
  const Table table = table_of({rising_cell("segment", 0.05)});
  EXPECT_EQ(marks_of(table.rows[0]), "~");
  EXPECT_EQ(table.rows[0].cell.summary.samples, 60);
  EXPECT_THAT(notes_on(table.rows[0]), ElementsAre(HasSubstr("drifted by +5.")));
  const std::string text = write_table(table, TableFormat::text);
  EXPECT_THAT(text, HasSubstr(" ~"));
  EXPECT_THAT(text, HasSubstr("segment, 512 tokens: drifted by +5."));
  const json row = json_rows(table).at(0);
  EXPECT_NEAR(row.at("drift").get<double>(), 0.05, 0.006);
  EXPECT_EQ(row.at("drifted"), true);
}

/// A table of one GPU cell whose calls take 1 ms and `queued_ns` of processor time.
Table table_on_cuda(double queued_ns) {
  Cell cell = rising_cell("segment", 0);
  for (Sample& sample : cell.samples) sample.cpu_ns = queued_ns;
  HeatPoint point = point_at(512);
  point.device = DeviceKind::cuda;
  return MeasuredRun()
      .add(HeatResult{.heat_index = 2, .point = point, .cells = {cell}})
      .table(std::nullopt, "sequence_tokens=512");
}

TEST(LaunchesInTables, NotesLaunchBoundCalls) {
  EXPECT_THAT(notes_on(table_on_cuda(9.8e5).rows[0]),
              ElementsAre(HasSubstr("launch-bound: queueing a call kept a core busy for 980 us")));
  EXPECT_THAT(notes_on(table_on_cuda(2e5).rows[0]), IsEmpty());
}

TEST(LaunchesInTables, OnTheProcessor_HaveNoNote) {
  Cell cell = rising_cell("segment", 0);
  for (Sample& sample : cell.samples) sample.cpu_ns = 1e6;
  EXPECT_THAT(notes_on(table_of({cell}).rows[0]), IsEmpty());
}

TEST(ImplausibleCells, UseMoreProcessorTimeThanTheirThreadsHave) {
  Cell cell = rising_cell("segment", 0);  // 1 ms a call, with two threads
  for (Sample& sample : cell.samples) sample.cpu_ns = 2.4e6;
  EXPECT_FALSE(is_implausible(table_of({cell}).rows[0]));
  for (Sample& sample : cell.samples) sample.cpu_ns = 3.8e6;
  const Table table = table_of({cell});
  EXPECT_TRUE(is_implausible(table.rows[0]));
  EXPECT_EQ(marks_of(table.rows[0]), "?");
  EXPECT_THAT(notes_on(table.rows[0]),
              ElementsAre(HasSubstr(
                  "used the processor time of 3.80 cores, but 2 threads were requested")));
  EXPECT_THAT(write_table(table, TableFormat::text), HasSubstr("?: implausible"));
}

TEST(ImplausibleCells, AreFarAboveTheirLimit) {
  Table table = table_of({rising_cell("segment", 0)});
  table.rows[0].share_of_limit = 1.2;
  EXPECT_FALSE(is_implausible(table.rows[0]));
  table.rows[0].share_of_limit = 72.7;
  EXPECT_TRUE(is_implausible(table.rows[0]));
  EXPECT_THAT(write_table(table, TableFormat::text), HasSubstr("> limit: 7270 %"));
}

TEST(DriftInTables, ContendersThatDriftTogether_HaveSteadyRatios) {
  const Table table = table_of({rising_cell("segment", 0.05), rising_cell("windowed", 0.05)});
  EXPECT_EQ(table.rows[0].ratio_drifted, false);
  EXPECT_THAT(notes_on(table.rows[1]), ElementsAre(HasSubstr("its ratio to another contender did "
                                                             "not")));
}

TEST(DriftInTables, AContenderThatDriftsAlone_HasADriftingRatio) {
  const Table table = table_of({rising_cell("segment", 0.05), rising_cell("windowed", 0)});
  EXPECT_EQ(table.rows[0].ratio_drifted, true);
  EXPECT_EQ(table.rows[1].ratio_drifted, std::nullopt);
  EXPECT_THAT(notes_on(table.rows[0]), ElementsAre(HasSubstr("and so did its ratio to another "
                                                             "contender")));
}

TEST(Disturbance, OtherProcesses_MarkACellUnlessNoSampleWaited) {
  Cell busy = rising_cell("segment", 0), quiet = rising_cell("windowed", 0);
  for (Sample& sample : busy.samples) sample.foreign_load = 0.6;
  busy.samples[3].involuntary_switches = 4;
  const Row unknown = table_of({busy}).rows[0];
  EXPECT_EQ(marks_of(unknown), "!") << "other processes used 0.6 cores in addition to its 2";
  EXPECT_THAT(notes_on(unknown),
              ElementsAre(HasSubstr("kept 0.600 cores busy, in addition to the 2 it uses")));
  EXPECT_THAT(marks_of(table_of({quiet}).rows[0]), IsEmpty());
  for (Sample& sample : busy.samples) sample.waited_ns = 0;
  const Table table = table_of({busy});
  EXPECT_THAT(marks_of(table.rows[0]), IsEmpty()) << "no sample waited for a core";
  const json rows = json_rows(table);
  EXPECT_EQ(rows.at(0).at("foreign_load"), 0.6);
  EXPECT_EQ(rows.at(0).at("involuntary_switches"), 4);
  EXPECT_EQ(rows.at(0).at("disturbed"), false);
  EXPECT_THAT(write_table(table, TableFormat::text), Not(HasSubstr("cells were disturbed")));
}

TEST(Disturbance, AnotherMeasurementAtTheSameTime_MarksTheCellAndIsNamed) {
  Cell cell = rising_cell("segment", 0);
  for (Sample& sample : cell.samples) sample.waited_ns = 0;
  cell.disturbed_by = "run 'other' (process 7)\x1b[2J";
  const Table table = table_of({cell});
  EXPECT_EQ(marks_of(table.rows[0]), "!");
  EXPECT_THAT(notes_on(table.rows[0]),
              ElementsAre("disturbed: another measurement ran at the same time: run 'other' "
                          "(process 7)?[2J"));
  EXPECT_EQ(json_rows(table).at(0).at("disturbed"), true);
  EXPECT_THAT(write_table(table, TableFormat::text), HasSubstr("run 'other' (process 7)"));
}

TEST(Disturbance, IsInTheProvenanceOfEveryFormat) {
  Cell held_up = rising_cell("segment", 0);
  for (Sample& sample : held_up.samples) sample.waited_ns = sample.time_ns / 2;
  const Table table = table_of({held_up});
  for (const TableFormat format : every_format) {
    EXPECT_THAT(write_table(table, format),
                testing::ContainsRegex("1 of 1 +cells[ \n]+were[ \n]+disturbed"));
  }
  const auto time = make_figure(table, XAxis::length, YAxis::time),
             memory = make_figure(table, XAxis::length, YAxis::memory);
  EXPECT_THAT(time->provenance, HasSubstr("1 of 1 cells were disturbed"));
  EXPECT_EQ(time->warning, "1 of 1 cells were disturbed by other programs");
  EXPECT_EQ(memory->warning, "") << "memory is not disturbed";
  const auto facets = make_facets(table, XAxis::length, {YAxis::time, YAxis::memory}, "", false);
  EXPECT_EQ(facets->warning, time->warning);
}

TEST(Disturbance, AHeatThatWaitedForCores_IsMarkedWithARemedy) {
  Cell held_up = rising_cell("segment", 0), alongside = rising_cell("windowed", 0);
  for (Sample& sample : held_up.samples) sample.waited_ns = sample.time_ns / 2;
  for (Sample& sample : alongside.samples) sample.waited_ns = 0;
  const Table table = table_of({held_up, alongside});
  EXPECT_EQ(marks_of(table.rows[0]), "!");
  EXPECT_EQ(marks_of(table.rows[1]), "!") << "its heat has too few undisturbed rounds";
  EXPECT_THAT(notes_on(table.rows[0]), ElementsAre(HasSubstr("samples waited for cores")));
  EXPECT_THAT(disturbed_cells_in_words(table.run, {&table.rows[0], &table.rows[1]}),
              AllOf(HasSubstr("2 of 2 cells were disturbed"), HasSubstr("attnscope run --again")));
  EXPECT_THAT(
      disturbed_cells_in_words(table.run, {&table.rows[0], &table.rows[1]}, Remedy::menu),
      AllOf(HasSubstr("\"Measure again\" in the run's menu"), Not(HasSubstr("attnscope run"))));
  EXPECT_THAT(disturbed_cells_in_words(table.run, {}), IsEmpty());
}

TEST(Disturbance, CellWithMoreThanAFifthOfOutliers_IsMarkedAndKeepsThem) {
  Cell cell = rising_cell("segment", 0);
  for (std::size_t i = 0; i < cell.samples.size(); i += 4) cell.samples[i].time_ns *= 1.5;
  const Table table = table_of({cell});
  EXPECT_THAT(marks_of(table.rows[0]), HasSubstr("!"));
  const json row = json_rows(table).at(0);
  EXPECT_EQ(row.at("outliers"), 15);
  EXPECT_EQ(row.at("samples"), 60);
  EXPECT_THAT(write_table(table, TableFormat::latex), HasSubstr("15 of 60 samples are outliers"));
}

}  // namespace
}  // namespace attnscope::report
