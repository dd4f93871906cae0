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

TEST(Conditions, AreMediansOverTheSamplesWithAValue) {
  Cell cell = plain_cell();
  EXPECT_EQ(median_clock_mhz(row_with(cell)), std::nullopt);
  EXPECT_EQ(median_temperature_c(row_with(cell)), std::nullopt);
  EXPECT_EQ(throttled_samples(row_with(cell)), 0);
  EXPECT_THAT(notes_on(row_with(cell)), IsEmpty());
  cell.samples[0].clock_mhz = 1000;
  cell.samples[2].clock_mhz = 3000;
  cell.samples[3].clock_mhz = 2000;
  cell.samples[1].temperature_c = 60;
  cell.samples[4].temperature_c = 70;
  cell.samples[1].throttled = cell.samples[5].throttled = true;
  EXPECT_EQ(median_clock_mhz(row_with(cell)), 2000);
  EXPECT_EQ(median_temperature_c(row_with(cell)), 65);
  EXPECT_EQ(throttled_samples(row_with(cell)), 2);
  EXPECT_THAT(notes_on(row_with(cell)), ElementsAre(HasSubstr("2 of 6 samples")));
  cell.status = CellStatus::wrong;
  EXPECT_THAT(notes_on(row_with(cell)), IsEmpty()) << "it has no time";
}

TEST(Conditions, AreInEveryFormat) {
  HeatResult heat;
  heat.point = point_at(999);
  heat.cells = {plain_cell(), plain_cell()};
  heat.cells[0].contender.name = "Plain";
  Cell& unusual = heat.cells[1];
  unusual.contender.name = "Unusual";
  unusual.contender.implementation = "unusual";
  unusual.memory.process_peak_bytes = 108'000'000;
  for (Sample& sample : unusual.samples) sample.clock_mhz = 2500.5;
  unusual.samples[0].throttled = unusual.samples[1].throttled = true;
  const Table table = MeasuredRun().add(heat).table(std::nullopt, "sequence_tokens=999");
  const json rows = json_rows(table);
  ASSERT_EQ(rows.size(), 2U);
  const json plain{{"clock_mhz", nullptr},
                   {"throttled", 0},
                   {"process_peak_bytes", nullptr},
                   {"peak_bytes", 8'000'000}};
  const json other{{"clock_mhz", 2500.5},
                   {"throttled", 2},
                   {"process_peak_bytes", 108'000'000},
                   {"peak_bytes", 108'000'000}};
  for (const auto& [key, value] : plain.items()) EXPECT_EQ(rows[0].at(key), value) << key;
  for (const auto& [key, value] : other.items()) EXPECT_EQ(rows[1].at(key), value) << key;
  for (const TableFormat format : {TableFormat::text, TableFormat::markdown}) {
    EXPECT_THAT(write_table(table, format),
                AllOf(HasSubstr("2 of 6 samples"), HasSubstr("outside the counted"),
                      Not(HasSubstr("Plain: its process"))));
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

TEST(DriftInTables, ACellThatDriftedIsMarkedNotedAndKept) {
  const Row steady = table_of({rising_cell("segment", 0)}).rows[0];
  EXPECT_FALSE(steady.drift.is_flagged);
  EXPECT_THAT(marks_of(steady), IsEmpty());
  EXPECT_THAT(notes_on(steady), IsEmpty());
  const Table table = table_of({rising_cell("segment", 0.05)});
  EXPECT_EQ(marks_of(table.rows[0]), "~");
  EXPECT_EQ(table.rows[0].cell.summary.samples, 60);
  EXPECT_THAT(notes_on(table.rows[0]), ElementsAre(HasSubstr("drifted by +5.")));
  EXPECT_THAT(write_table(table, TableFormat::text),
              AllOf(HasSubstr(" ~"), HasSubstr("segment, 512 tokens: drifted by +5.")));
  const json row = json_rows(table).at(0);
  EXPECT_NEAR(row.at("drift").get<double>(), 0.05, 0.006);
  EXPECT_EQ(row.at("drifted"), true);
}

TEST(LaunchesInTables, NotesLaunchBoundCallsOnGpus) {
  // The calls take 1 ms and `queued_ns` of processor time.
  const auto notes = [](DeviceKind device, double queued_ns) {
    HeatResult heat{.heat_index = 2, .point = point_at(512), .cells = {rising_cell("segment", 0)}};
    heat.point.device = device;
    for (Sample& sample : heat.cells[0].samples) sample.cpu_ns = queued_ns;
    return notes_on(MeasuredRun().add(heat).table(std::nullopt, "sequence_tokens=512").rows[0]);
  };
  EXPECT_THAT(notes(DeviceKind::cuda, 9.8e5),
              ElementsAre(HasSubstr("launch-bound: queueing a call kept a core busy for 980 us")));
  EXPECT_THAT(notes(DeviceKind::cuda, 2e5), IsEmpty());
  EXPECT_THAT(notes(DeviceKind::cpu, 1e6), IsEmpty());
}

TEST(ImplausibleCells, UseTooMuchProcessorTimeOrAreFarAboveTheirLimit) {
  Cell cell = rising_cell("segment", 0);  // 1 ms a call, with two threads
  for (Sample& sample : cell.samples) sample.cpu_ns = 2.4e6;
  Table plausible = table_of({cell});
  plausible.rows[0].share_of_limit = 1.2;
  EXPECT_FALSE(is_implausible(plausible.rows[0]));
  plausible.rows[0].share_of_limit = 72.7;
  EXPECT_TRUE(is_implausible(plausible.rows[0]));
  EXPECT_THAT(write_table(plausible, TableFormat::text), HasSubstr("> limit: 7270 %"));
  for (Sample& sample : cell.samples) sample.cpu_ns = 3.8e6;
  const Table table = table_of({cell});
  EXPECT_TRUE(is_implausible(table.rows[0]));
  EXPECT_EQ(marks_of(table.rows[0]), "?");
  EXPECT_THAT(notes_on(table.rows[0]),
              ElementsAre(HasSubstr(
                  "used the processor time of 3.80 cores, but 2 threads were requested")));
  EXPECT_THAT(write_table(table, TableFormat::text), HasSubstr("?: implausible"));
}

TEST(DriftInTables, NotesWhetherTheRatioDriftedToo) {
  const Table both = table_of({rising_cell("segment", 0.05), rising_cell("windowed", 0.05)});
  EXPECT_EQ(both.rows[0].ratio_drifted, false);
  EXPECT_THAT(notes_on(both.rows[1]),
              ElementsAre(HasSubstr("its ratio to another contender did not")));
  const Table one = table_of({rising_cell("segment", 0.05), rising_cell("windowed", 0)});
  EXPECT_EQ(one.rows[0].ratio_drifted, true);
  EXPECT_EQ(one.rows[1].ratio_drifted, std::nullopt);
  EXPECT_THAT(notes_on(one.rows[0]),
              ElementsAre(HasSubstr("and so did its ratio to another contender")));
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

TEST(Disturbance, MarksACellWithMoreThanAFifthOfOutliersAndKeepsThem) {
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
