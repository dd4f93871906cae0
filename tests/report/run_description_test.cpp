// SPDX-License-Identifier: Apache-2.0
#include "engine/report/run_description.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "engine/report/provenance.h"
#include "engine/sweep/sweep.h"
#include "tests/report/measured_run.h"

namespace attnscope::report {
namespace {

using namespace test;
using nlohmann::json;
using test::row_of;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

json sound_provenance() {
  return json::parse(R"({
    "again_of": "11111111-2222-4333-8444-555555555555",
    "device": {"name": "Some CPU", "cores": 4, "affinity": "0-3", "governor": "performance",
               "kernel": "Linux 6.1", "turbo": false, "memory_bytes": 16000000000,
               "environment": {"OMP_NUM_THREADS": "4"}, "load": "0.10 0.05 0.01 1/100 4711"},
    "build": {"version": "0.1.0", "commit": "0123456789abcdef", "dirty": false, "compiler": "GNU 12.2",
              "flags": "-O3", "build_type": "Release", "libtorch": "2.15.0", "blas": "MKL 2024.2",
              "allocator": "counting"},
    "driver": {"version": "0.1.0", "commit": "0123456789abcdef", "dirty": false,
               "libraries": {"sqlite": "3.40.1"}},
    "measuring": {"cache": "warm"}})");
}

RunInfo run_with(const json& provenance) {
  RunInfo run;
  run.start.provenance = provenance.dump();
  return run;
}

RunDescription settled_description() {
  RunDescription description{
      .run = run_with(sound_provenance()), .restarts = {}, .ceilings = {}, .rows = {}};
  description.run.status = RunStatus::done;
  Row row;
  row.cell.point = point_at(64);
  row.cell.cell = timed_cell("full", "dense", std::nullopt, "Full", 1);
  row.cell.cell.settled = true;
  row.cell.summary.samples = static_cast<int>(row.cell.cell.samples.size());
  description.rows = {row};
  return description;
}

TEST(RunDescription, HasMachineBuildSettingsAndRepeatCommand) {
  const std::string text = write_description(settled_description());
  for (const char* part :
       {"Some CPU", "0-3", "performance", "Linux 6.1", "OMP_NUM_THREADS 4", "0.10 0.05",
        "commit 0123456789abcdef", "GNU 12.2", "-O3", "2.15.0", "MKL 2024.2", "sqlite 3.40.1",
        "attnscope run --again", "11111111-2222-4333-8444-555555555555", "1: 1 ok",
        "no problems are known"})
    EXPECT_THAT(text, HasSubstr(part));
  EXPECT_THAT(cautions(settled_description()), IsEmpty());
}

TEST(RunDescription, OfAStoredRunHasItsCeilingsAndSweep) {
  const MeasuredRun run;
  const auto description = describe(run.store(), run.info());
  ASSERT_TRUE(description) << description.error().message;
  const json whole = json::parse(write_description_json(*description));
  EXPECT_EQ(whole.at("uuid"), run.info().id.uuid);
  EXPECT_EQ(whole.at("sweep_text"), run.info().start.sweep_text);
  EXPECT_EQ(whole.at("provenance"), json::parse(run.info().start.provenance));
  EXPECT_EQ(whole.at("ceilings").size(), description->ceilings.size());
  EXPECT_FALSE(description->ceilings.empty());
  EXPECT_EQ(whole.at("cells").at("oom"), 1);
  EXPECT_THAT(write_description(*description), HasSubstr("GFLOP/s"));
}

TEST(RunDescription, OfProvenanceThatIsNotJson_IsStillWritten) {
  RunDescription description = settled_description();
  description.run.start.provenance = "not json {";
  description.run.start.command_line = "two\nlines";
  EXPECT_THAT(write_description(description), HasSubstr("two lines"));
  EXPECT_EQ(json::parse(write_description_json(description)).at("provenance"), "not json {");
}

TEST(Cautions, NameModifiedDebugAndForeignBuildsAndTheGovernor) {
  RunDescription description = settled_description();
  json provenance = sound_provenance();
  provenance["build"]["dirty"] = true;
  provenance["build"]["build_type"] = "Debug";
  provenance["driver"]["commit"] = "fedcba9876543210";
  provenance["device"]["governor"] = "powersave";
  description.run.start.provenance = provenance.dump();
  EXPECT_THAT(cautions(description),
              ElementsAre(HasSubstr("modified sources"), HasSubstr("'Debug'"),
                          HasSubstr("another commit"), HasSubstr("'powersave'")));
}

TEST(Cautions, CountDamagedUnsettledAndDisturbedCells) {
  RunDescription description = settled_description();
  description.rows.assign(6, description.rows.front());
  description.rows[0].cell.damaged = true;
  description.rows[1].cell.cell.settled = false;
  description.rows[2].cell.basis.is_disturbed = true;
  description.rows[3].cell.cell.samples.front().throttled = true;
  description.rows[4].drift.is_flagged = true;
  description.rows[5].cell.point.threads = 8;
  EXPECT_THAT(
      cautions(description),
      ElementsAre(HasSubstr("1 of 6 cells are damaged"),
                  HasSubstr("1 of 5 cells reached their time"),
                  HasSubstr("1 of 5 cells were disturbed"), HasSubstr("1 of 5 cells have samples"),
                  HasSubstr("1 of 5 cells drifted"), HasSubstr("1 of 5 cells ran with more")));
}

TEST(Cautions, IgnoreImpossibleNumbersOfCores) {
  RunDescription description = settled_description();
  description.rows.front().cell.point.threads = 8;
  for (const char* cores : {"-5", "0", "1000000000000", "18446744073709551612", "4.5"}) {
    SCOPED_TRACE(cores);
    json provenance = sound_provenance();
    provenance["device"]["cores"] = json::parse(cores);
    description.run = run_with(provenance);
    EXPECT_THAT(cautions(description), IsEmpty());
    EXPECT_THAT(write_description(description), Not(HasSubstr("  cores")));
    EXPECT_THAT(differences(description.run, run_with(sound_provenance())), IsEmpty());
  }
}

TEST(Cautions, AndProvenanceNameChangedRestartsAndHeats) {
  RunDescription description = settled_description();
  description.run.damaged_heats = 1;
  description.run.damaged_restarts = 2;
  EXPECT_THAT(cautions(description),
              ElementsAre("missing or added: 1 heat", "damaged and left out: 2 restarts"));
  EXPECT_THAT(provenance_line(description.run),
              HasSubstr("missing or added: 1 heat; damaged and left out: 2 restarts"));
}

TEST(Cautions, NameImpossibleValues) {
  RunDescription description = settled_description();
  description.rows.front().cell.damaged = true;
  description.rows.front().cell.impossible = "a time of -5 ns";
  EXPECT_THAT(cautions(description),
              ElementsAre("1 of 1 cells are damaged: their values are impossible, although they "
                          "match their fingerprints (a time of -5 ns)"));
}

TEST(Cautions, NameAClockThatWasSetBack) {
  RunDescription description = settled_description();
  description.run.started_unix_ms = 1'700'000'000'000;
  description.run.finished_unix_ms = description.run.started_unix_ms + 1;
  EXPECT_THAT(cautions(description), IsEmpty());
  description.run.finished_unix_ms -= 2;
  EXPECT_THAT(cautions(description), ElementsAre(HasSubstr("clock was set back")));
}

TEST(Cautions, NameMissingHeatsChangedCeilingsAndRestartsElsewhere) {
  RunDescription description = settled_description();
  description.run.start.heats_planned = 3;
  description.run.heats_done = 1;
  description.run.status = RunStatus::interrupted;
  Ceilings before;
  before.threads = 2;
  before.flop_per_second = 100e9;
  Ceilings after = before;
  after.flop_per_second = 80e9;
  description.ceilings = {before, after};
  json elsewhere = sound_provenance();
  elsewhere["device"]["name"] = "Another CPU";
  description.restarts = {
      {.restarted_unix_ms = 1, .command_line = "", .provenance = elsewhere.dump()}};
  EXPECT_THAT(cautions(description),
              ElementsAre(HasSubstr("1 of 3 heats are finished; the run is interrupted"),
                          HasSubstr("-20 %"), HasSubstr("Another CPU")));
  description.ceilings = {before, before};
  EXPECT_THAT(cautions(description), Not(Contains(HasSubstr("machine changed"))));
}

TEST(Differences, NameMachineSystemBuildAndSettings) {
  json other = sound_provenance();
  other["device"]["name"] = "Another CPU";
  other["device"]["turbo"] = true;
  other["device"]["environment"] = json::object();
  other["build"]["commit"] = "fedcba9876543210";
  other["build"]["dirty"] = true;
  other["build"]["libtorch"] = "2.16.0";
  EXPECT_THAT(
      differences(run_with(sound_provenance()), run_with(other)),
      ElementsAre("processor: Some CPU in A, Another CPU in B", "turbo: off in A, on in B",
                  "LibTorch: 2.15.0 in A, 2.16.0 in B", "commit: 0123456789 in A, fedcba9876 in B",
                  HasSubstr("B was built from modified sources"),
                  "OMP_NUM_THREADS: 4 in A, not set in B"));
}

TEST(Differences, IgnoreLoadFreeMemoryAndValuesThatOneRunLacks) {
  const RunInfo run = run_with(sound_provenance());
  EXPECT_THAT(differences(run, run), IsEmpty());
  EXPECT_THAT(differences(run, run_with(json::object())), IsEmpty());
  RunInfo broken;
  broken.start.provenance = "not json {";
  EXPECT_THAT(differences(broken, run), IsEmpty());
  json other = sound_provenance();
  other["device"]["load"] = "3.00 2.00 1.00 9/100 4712";
  other["device"]["available_bytes"] = 5;
  other["build"]["flags"] = " -O3 ";
  EXPECT_THAT(differences(run, run_with(other)), IsEmpty());
  other["driver"]["compiler"] = "GNU 12.2";
  other["driver"]["flags"] = " -O3";
  EXPECT_THAT(provenance_line(run_with(other)), HasSubstr("GNU 12.2 -O3;"));
}

TEST(RepeatCommand, NamesTheRunTheContenderItsHeatAndABaseline) {
  Table table = test::MeasuredRun().table("full/dense");
  table.run.file = default_database();
  const auto command = repeat_command(table, row_of(table, "sparse/segment/4", 256), std::nullopt);
  EXPECT_EQ(command.text, "attnscope run --again " + table.run.id.uuid +
                              " --only contender=sparse/segment/4,sequence_tokens=256");
  EXPECT_EQ(command.beyond, "");
  const auto with_baseline = [&](std::string_view contender) {
    return repeat_command(table, row_of(table, contender, 64), table.baseline).text;
  };
  EXPECT_THAT(with_baseline("sparse/segment/4"),
              HasSubstr("contender=sparse/segment/4,contender=full/dense,"));
  EXPECT_THAT(with_baseline("full/dense"), Not(HasSubstr("contender=full/dense,contender")));
  table.rows.front().cell.point.batch_max = 7;
  EXPECT_THAT(repeat_command(table, table.rows.front(), std::nullopt).text, HasSubstr("batch=7"));
}

TEST(RepeatCommand, ItsOnlyOption_SelectsExactlyTheCell) {
  const test::MeasuredRun run;
  const Table table = run.table();
  const std::string text =
      repeat_command(table, row_of(table, "sparse/segment/64", 64), std::nullopt).text;
  const std::size_t begin = text.find("--only ") + 7;
  const auto filter = parse_only(text.substr(begin, text.find(' ', begin) - begin));
  ASSERT_TRUE(filter.has_value());
  const auto rows = make_table(run.store(), run.info(), std::nullopt, *filter);
  ASSERT_TRUE(rows.has_value());
  ASSERT_EQ(rows->rows.size(), 1U);
  EXPECT_EQ(rows->rows.front().cell.cell.contender.id(), "sparse/segment/64");
}

TEST(RepeatCommand, NamesAnotherDatabaseQuotedForAShell) {
  Table table = test::MeasuredRun().table();
  const Row& row = table.rows.front();
  const std::string option = " --db '/home/a b/it'\\''s.db'";
  table.run.file = "/home/a b/it's.db";
  EXPECT_THAT(repeat_command(table, row, std::nullopt).text, testing::EndsWith(option));
  EXPECT_THAT(provenance_line(table.run), HasSubstr(option));
  table.run.file = "/x/run.attn";
  EXPECT_THAT(repeat_command(table, row, std::nullopt).text,
              testing::AllOf(HasSubstr("--again /x/run.attn:" + table.run.id.uuid),
                             Not(HasSubstr("--db"))));
}

TEST(RepeatCommand, StatesWhatOnlyCannotExpress) {
  Table table = test::MeasuredRun().table();
  Row& row = table.rows.front();
  row.cell.cell.contender.pattern = "/home/a,b/pattern.json";
  EXPECT_NE(repeat_command(table, row, std::nullopt).beyond, "");
  row = table.rows.back();
  row.cell.point.batch_memory_mb = 1;
  EXPECT_THAT(repeat_command(table, row, std::nullopt).beyond, HasSubstr("batch's memory"));
}

TEST(RepeatCommand, NamesOnlyATrustedWorker) {
  RunInfo run;
  run.id.uuid = "u";
  run.file = default_database();
  const auto command = [&](const char* worker) {
    run.start.provenance = fmt::format(R"({{"worker_command": "{}"}})", worker);
    return command_on(run, "run --again");
  };
  EXPECT_EQ(command("/opt/a/attnscope-worker"),
            "attnscope run --again u --worker /opt/a/attnscope-worker");
  EXPECT_EQ(command("ssh gpu1 attnscope-worker"),
            "attnscope run --again u --worker 'ssh gpu1 attnscope-worker'");
  // A run may come from another person.
  for (const char* other : {"rm -rf /", "ssh -oProxyCommand=evil attnscope-worker",
                            "ssh gpu1 rm; attnscope-worker", "sh -c attnscope-worker"})
    EXPECT_EQ(command(other), "attnscope run --again u --worker WORKER") << other;
}

}  // namespace
}  // namespace attnscope::report
