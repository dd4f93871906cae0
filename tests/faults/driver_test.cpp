// SPDX-License-Identifier: Apache-2.0
#include "engine/sweep/driver.h"

#include "tests/faults/fault_fixture.h"

namespace attnscope {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using Kind = RunEvent::Kind;

using DriverTest = FaultFixture;

TEST_F(DriverTest, WholeSweep_IsMeasuredAndStored) {
  const Ran ran = measured(sweep_of(R"("full/dense", "sparse/segment/4")", "64, 128"));
  EXPECT_EQ(ran.outcome->status, RunStatus::done);
  EXPECT_EQ(ran.outcome->cells_failed, 0);
  EXPECT_THAT(ran.outcome->failures, IsEmpty());
  ASSERT_THAT(ran.cells, SizeIs(4));
  for (const auto& [key, cell] : ran.cells) {
    EXPECT_EQ(cell.status, CellStatus::ok) << key;
    EXPECT_THAT(cell.samples, SizeIs(6)) << key;
  }
  EXPECT_EQ(ran.info.status, RunStatus::done);
  EXPECT_EQ(ran.info.heats_done, 2);
  EXPECT_EQ(ran.info.start.device, "Fake processor");
  EXPECT_EQ(ran.info.start.heats_planned, 2);
  EXPECT_THAT(ran.info.start.provenance, HasSubstr("\"commit\""));
  EXPECT_THAT(requests(), ElementsAre("hello", "ceilings", "heat 64", "heat 128", "ceilings"));
  const auto ceilings = open_store().ceilings(ran.outcome->run);
  ASSERT_TRUE(ceilings) << ceilings.error().message;
  ASSERT_THAT(*ceilings, SizeIs(2));
  EXPECT_LE((*ceilings)[0].seconds_into_run, (*ceilings)[1].seconds_into_run);
}

TEST_F(DriverTest, SeveralProcesses_EachMeasureTheirPlacementsInAFreshOne) {
  const Ran ran =
      measured(sweep_of(R"("full/dense")", "64, 128", R"("placements": 3, "processes": 2)"));
  std::vector<std::pair<int, int>> places;
  for (const Sample& sample : ran.cells.at("64 full/dense").samples) {
    if (sample.round == 0) places.emplace_back(sample.process, sample.placement);
  }
  using Place = std::pair<int, int>;
  EXPECT_THAT(places, ElementsAre(Place{0, 0}, Place{0, 1}, Place{1, 2}));
  EXPECT_THAT(requests(), ElementsAre("hello", "ceilings", "heat 64", "hello", "heat 64", "hello",
                                      "heat 128", "hello", "heat 128", "hello", "ceilings"));
}

TEST_F(DriverTest, Events_ComeInOrderAndFinishedHeatsAreStoredBefore) {
  Store watcher = open_store();
  std::vector<Kind> kinds;
  std::vector<std::string> phases;
  DriverOptions how = options();
  how.on_event = [&](const RunEvent& event) {
    EXPECT_EQ(event.heats_planned, 1);
    EXPECT_TRUE(event.seconds_left);
    if (event.kind == Kind::contender) phases.push_back(event.text);
    if (event.kind != Kind::progress) kinds.push_back(event.kind);
    if (event.kind != Kind::heat_finished) return;
    EXPECT_EQ(event.heats_done, 1);
    EXPECT_THAT(event.result->cells, SizeIs(2));
    EXPECT_THAT(watcher.cells(event.run, false).value(), SizeIs(2));
  };
  const Ran ran = measured(sweep_of(R"("full/dense", "full/sdpa")", "64"), how);
  EXPECT_THAT(kinds,
              ElementsAre(Kind::started, Kind::ceilings, Kind::heat_started, Kind::contender,
                          Kind::contender, Kind::heat_finished, Kind::ceilings, Kind::finished));
  EXPECT_THAT(phases, ElementsAre("full/dense: time", "full/sdpa: time"));
}

TEST_F(DriverTest, ImpossibleResults_AreNotStored) {
  struct Lie {
    const char* id;
    CellStatus status;
    const char* words;
  };
  const std::string impossible = "reported an impossible result: ";
  const Lie lies[] = {
      {"lie-negative", CellStatus::crashed, "a time of -5 ns"},
      {"lie-days", CellStatus::crashed, "calls of 1e+06 s in total"},
      {"lie-faster", CellStatus::crashed,
       "a time of 6.4e+04 ns, where the machine's rates allow 5e+07 ns"},
      {"lie-idle", CellStatus::crashed, "a time of 2 ns, where the machine's rates allow"},
      {"lie-fewer", CellStatus::crashed, "0 samples of placement 1, where at least 2"},
      {"lie-thin", CellStatus::crashed, "1 sample of placement 1, where at least 2"},
      {"lie-samples", CellStatus::crashed, "6 samples of a cell that is oom"},
      {"lie-placement", CellStatus::crashed, "a sample of process 0 and placement 77"},
      {"lie-process", CellStatus::crashed, "a sample of process 9"},
      {"lie-empty", CellStatus::crashed, "without samples"},
      {"lie-tokens", CellStatus::crashed, "document tokens, where"},
      {"lie-unsupported", CellStatus::crashed, "a batch of 4611686018427387904"},
      {"lie-cancelled", CellStatus::crashed, "a cell that was cancelled"},
      {"lie-wordless", CellStatus::crashed, "a cell that is oom, without a reason"},
      {"lie-error", CellStatus::wrong, "above the bound of 2e-06"},
      {"lie-nan-error", CellStatus::wrong, "an error of nan"},
      {"lie-no-bound", CellStatus::wrong, "without a bound"},
      {"lie-unproven", CellStatus::wrong, "an error that was not reported"},
  };
  std::string contenders = R"("full/dense")";
  for (const Lie& lie : lies) contenders += fmt::format(R"(, "full/{}")", lie.id);
  const Ran ran = measured(sweep_of(contenders, "64"));
  EXPECT_EQ(ran.cells.at("64 full/dense").status, CellStatus::ok);
  for (const Lie& lie : lies) {
    SCOPED_TRACE(lie.id);
    const Cell& cell = ran.cells.at(fmt::format("64 full/{}", lie.id));
    EXPECT_EQ(cell.status, lie.status);
    EXPECT_THAT(cell.reason, HasSubstr(lie.words));
    EXPECT_EQ(cell.reason.find(impossible) != std::string::npos, lie.status == CellStatus::crashed);
    EXPECT_THAT(cell.samples, IsEmpty());
    EXPECT_LE(cell.batch, 1);
  }
}

TEST_F(DriverTest, EndlessProgress_IsATimeout) {
  DriverOptions how = options();
  how.patience = std::chrono::milliseconds(50);
  const Ran ran = measured(sweep_of(R"("full/chatter")", "64"), how);
  EXPECT_EQ(ran.cells.at("64 full/chatter").status, CellStatus::timeout);
  EXPECT_THAT(ran.cells.at("64 full/chatter").reason,
              testing::AnyOf(HasSubstr("had not answered within"), HasSubstr("but no result")));
}

TEST_F(DriverTest, AWorkerThatIsKilledWhileItStarts_IsRestarted) {
  misbehave("killed-five-times");
  DriverOptions how = options();
  how.connection.first_pause = std::chrono::milliseconds(1);
  const Ran ran = measured(sweep_of(R"("full/dense")", "64"), how);
  EXPECT_EQ(ran.outcome->status, RunStatus::done);
  EXPECT_THAT(requests(), ElementsAre("hello", "hello", "hello", "hello", "hello", "hello",
                                      "ceilings", "heat 64", "ceilings"));
}

TEST_F(DriverTest, ImpossibleCeilings_AreNotStored) {
  misbehave("impossible-ceilings");
  const Ran ran = measured(sweep_of(R"("full/dense")", "64"));
  EXPECT_THAT(ran.warnings, testing::Contains(HasSubstr("reported impossible rates")));
  EXPECT_THAT(open_store().ceilings(ran.outcome->run).value(), IsEmpty());
}

TEST_F(DriverTest, AContenderThatFails_LosesOnlyItsOwnCell) {
  struct Fault {
    const char* id;
    CellStatus status;
    int memory_kills;  // that the system counts while the worker dies
    std::size_t warnings;
    std::vector<const char*> words;
  };
  const Fault faults[] = {
      {"crash", CellStatus::crashed, 0, 1, {"SIGSEGV", "about to fall over"}},
      {"exit", CellStatus::crashed, 0, 1, {"exit code 3"}},
      {"kill", CellStatus::crashed, 0, 1, {"SIGKILL"}},
      {"kill", CellStatus::oom, 1, 1, {"memory ran out", "SIGKILL"}},
      {"hang", CellStatus::timeout, 0, 1, {"no sign of life for 0.3 s"}},
      {"wrong", CellStatus::wrong, 0, 0, {"the output differs"}},
  };
  for (const Fault& fault : faults) {
    SCOPED_TRACE(fmt::format("{} is {}", fault.id, name_of(fault.status)));
    DriverOptions how = options();
    if (fault.status == CellStatus::timeout) how.patience = std::chrono::milliseconds(300);
    how.memory_kills = [kills = 3, more = fault.memory_kills]() mutable { return kills += more; };
    const Ran ran = measured(
        sweep_of(fmt::format(R"("full/dense", "full/{}", "full/sdpa")", fault.id), "64"), how);
    EXPECT_EQ(ran.outcome->status, RunStatus::done);
    const Cell& failed = ran.cells.at(fmt::format("64 full/{}", fault.id));
    EXPECT_EQ(failed.status, fault.status);
    for (const char* words : fault.words) EXPECT_THAT(failed.reason, HasSubstr(words));
    EXPECT_EQ(ran.cells.at("64 full/dense").status, CellStatus::ok);
    EXPECT_EQ(ran.cells.at("64 full/sdpa").status, CellStatus::ok);
    EXPECT_THAT(ran.warnings, SizeIs(fault.warnings));
    const int counted = fault.status == CellStatus::oom ? 0 : 1;
    EXPECT_EQ(ran.outcome->cells_failed, counted);
    ASSERT_THAT(ran.outcome->failures, SizeIs(counted));
    for (const std::string& line : ran.outcome->failures)
      EXPECT_THAT(line, AllOf(HasSubstr("64 tokens"), HasSubstr(name_of(fault.status))));
  }
}

TEST_F(DriverTest, CrashInALaterProcess_RepeatsAllProcessesOfTheOthers) {
  const Ran ran = measured(sweep_of(R"("full/dense", "full/crash-later", "full/sdpa")", "64",
                                    R"("placements": 4, "processes": 2)"));
  EXPECT_THAT(ran.cells.at("64 full/dense").samples, SizeIs(12));
  EXPECT_THAT(ran.cells.at("64 full/sdpa").samples, SizeIs(12));
  EXPECT_EQ(ran.cells.at("64 full/crash-later").status, CellStatus::crashed);
  EXPECT_THAT(requests(), ElementsAre("hello", "ceilings", "heat 64", "hello", "heat 64", "hello",
                                      "heat 64", "hello", "heat 64", "hello", "ceilings"));
}

TEST_F(DriverTest, EveryContenderCrashing_StillFinishesTheSweep) {
  const Ran ran = measured(sweep_of(R"("full/crash", "sparse/crash/4")", "64, 128"));
  EXPECT_EQ(ran.outcome->cells_failed, 4);
  EXPECT_EQ(ran.info.heats_done, 2);
}

TEST_F(DriverTest, WorkerThatReportsAnErrorOfAContender_MeasuresTheOthers) {
  const Ran ran = measured(sweep_of(R"("full/refuse", "full/dense")", "64"));
  EXPECT_EQ(ran.cells.at("64 full/refuse").status, CellStatus::crashed);
  EXPECT_THAT(ran.cells.at("64 full/refuse").reason, HasSubstr("beyond me"));
  EXPECT_EQ(ran.cells.at("64 full/dense").status, CellStatus::ok);
  EXPECT_THAT(requests(), ElementsAre("hello", "ceilings", "heat 64", "heat 64", "ceilings"));
}

TEST_F(DriverTest, DeathWhileNoContenderRuns_FindsTheCauseAndMeasuresTheOthersTogether) {
  const Ran ran = measured(sweep_of(R"("full/dense", "full/crash-idle", "full/sdpa")", "64",
                                    R"("placements": 4, "processes": 2)"));
  EXPECT_EQ(ran.outcome->cells_failed, 1);
  EXPECT_EQ(ran.cells.at("64 full/crash-idle").status, CellStatus::crashed);
  EXPECT_THAT(ran.cells.at("64 full/crash-idle").reason, HasSubstr("SIGABRT"));
  for (const char* other : {"64 full/dense", "64 full/sdpa"}) {
    EXPECT_EQ(ran.cells.at(other).status, CellStatus::ok);
    EXPECT_THAT(ran.cells.at(other).samples, SizeIs(12));  // none of those taken alone
  }
  // Two attempts together, three contenders alone, two processes of the others: each in a new
  // worker.
  EXPECT_THAT(requests(), ElementsAre("hello", "ceilings", "heat 64", "hello", "heat 64", "hello",
                                      "heat 64", "hello", "heat 64", "hello", "heat 64", "hello",
                                      "heat 64", "hello", "heat 64", "hello", "ceilings"));
  EXPECT_THAT(ran.warnings,
              ElementsAre(HasSubstr("trying again"), HasSubstr("each contender alone"),
                          HasSubstr("crash-idle")));
}

TEST_F(DriverTest, SeveralCausesOfDeath_AreFoundInOneSearch) {
  const Ran ran =
      measured(sweep_of(R"("full/crash-idle", "full/dense", "sparse/crash-idle/4")", "64"));
  EXPECT_EQ(ran.outcome->cells_failed, 2);
  EXPECT_EQ(ran.cells.at("64 full/dense").status, CellStatus::ok);
}

TEST_F(DriverTest, DeathWithoutACauseAmongTheContenders_FailsTheHeat) {
  const Ran ran = measured(sweep_of(R"("full/crash-together", "full/dense")", "64, 128"));
  EXPECT_EQ(ran.outcome->status, RunStatus::done);
  EXPECT_EQ(ran.outcome->cells_failed, 4);
  for (const auto& [key, cell] : ran.cells) {
    EXPECT_EQ(cell.status, CellStatus::crashed) << key;
    EXPECT_THAT(cell.reason, HasSubstr("not with any of them alone")) << key;
  }
}

TEST_F(DriverTest, CancelDuringTheSearch_EndsTheRunAsCancelled) {
  const Ran ran = measured(sweep_of(R"("full/dense", "full/crash-idle")", "64"),
                           cancelled_at(Kind::warning, "each contender alone"));
  EXPECT_EQ(ran.outcome->status, RunStatus::cancelled);
  EXPECT_THAT(ran.cells, IsEmpty());
}

TEST_F(DriverTest, CancelAfterTheLastHeat_EndsTheRunAsDone) {
  const Ran ran = measured(sweep_of(R"("full/dense")", "64"), cancelled_at(Kind::heat_finished));
  EXPECT_EQ(ran.outcome->status, RunStatus::done);
  EXPECT_EQ(ran.cells.size(), 1U);
}

TEST_F(DriverTest, DeathBeforeAnyContenderRan_IsRetriedThenEachRunsAlone) {
  misbehave("heats-die-before-running");
  const Ran ran = measured(sweep_of(R"("full/dense", "full/sdpa")", "64"));
  EXPECT_EQ(ran.outcome->status, RunStatus::done);
  EXPECT_EQ(ran.outcome->cells_failed, 2);
  EXPECT_EQ(ran.cells.at("64 full/dense").status, CellStatus::crashed);
  EXPECT_THAT(ran.cells.at("64 full/sdpa").reason, HasSubstr("SIGABRT"));
  EXPECT_THAT(requests(), ElementsAre("hello", "ceilings", "heat 64", "hello", "heat 64", "hello",
                                      "heat 64", "hello", "heat 64", "hello", "ceilings"));
}

TEST_F(DriverTest, AnInvalidAnswer_IsACrashWithAReason) {
  for (const auto& [fault, words] :
       {std::pair("garbage-heat", "Intel MKL WARNING"),
        {"other-heat", "sent an invalid answer: it answered for another heat"},
        {"other-index", "sent an invalid answer: it answered for another heat"}}) {
    misbehave(fault);
    const Ran ran = measured(sweep_of(R"("full/dense")", "64"));
    EXPECT_EQ(ran.cells.at("64 full/dense").status, CellStatus::crashed) << fault;
    EXPECT_THAT(ran.cells.at("64 full/dense").reason, HasSubstr(words)) << fault;
  }
}

TEST_F(DriverTest, WithoutCeilings_TheRunContinuesWithAWarning) {
  misbehave("no-ceilings");
  const Ran ran = measured(sweep_of(R"("full/dense")", "64"));
  EXPECT_EQ(ran.outcome->status, RunStatus::done);
  EXPECT_EQ(ran.cells.at("64 full/dense").status, CellStatus::ok);
  EXPECT_THAT(ran.warnings, SizeIs(2));
  EXPECT_THAT(ran.warnings, Each(HasSubstr("no ceilings today")));
}

TEST_F(DriverTest, UnknownImplementation_IsAnErrorBeforeAnythingRuns) {
  const Ran ran = run(sweep_of(R"("full/dense", "full/segmnt")", "64"));
  ASSERT_FALSE(ran.outcome);
  EXPECT_THAT(ran.outcome.error().message,
              AllOf(HasSubstr("'full/segmnt'"), HasSubstr("did you mean 'segment'?")));
  EXPECT_THAT(open_store().runs().value(), IsEmpty());
  EXPECT_THAT(requests(), ElementsAre("hello"));
}

TEST_F(DriverTest, AWorkerOfAnotherVersion_IsUsedWithAWarning) {
  misbehave("old-version");
  const Ran ran = run(sweep_of(R"("full/dense")", "64"));
  ASSERT_TRUE(ran.outcome) << ran.outcome.error().message;
  EXPECT_EQ(ran.cells.at("64 full/dense").status, CellStatus::ok);
  EXPECT_THAT(ran.warnings, Contains(HasSubstr("the worker is of version 0.0.1")));
}

class ReplacedWorker : public DriverTest, public testing::WithParamInterface<const char*> {};

TEST_P(ReplacedWorker, OfAnotherBuild_EndsTheRunAsInterrupted) {
  DriverOptions how = options();
  how.on_event = [](const RunEvent& event) {
    if (event.kind == Kind::heat_finished) misbehave(GetParam());
  };
  Sweep sweep = sweep_of(R"("full/dense")", "64, 128", R"("placements": 2, "processes": 2)");
  const Ran ran = run(sweep, how);
  ASSERT_FALSE(ran.outcome);
  EXPECT_THAT(ran.outcome.error().message, HasSubstr("began with a worker of version"));
  const auto info = open_store().find_run("last");
  EXPECT_EQ(info->status, RunStatus::interrupted);
  EXPECT_EQ(info->heats_done, 1);
}

INSTANTIATE_TEST_SUITE_P(VersionOrCommit, ReplacedWorker,
                         testing::Values("old-version", "other-build"));

TEST_F(DriverTest, UnspecifiedThreads_AreTheWorkersCoresIfTheseArePossible) {
  Sweep sweep = sweep_of(R"("full/dense")", "64");
  sweep.heats[0].point.threads = 0;
  for (const auto& [fault, most] :
       {std::pair("", 2), {"owing-cores", 4096}, {"endless-cores", 4096}}) {
    SCOPED_TRACE(fault);
    misbehave(fault);
    Store store = open_store();
    const auto outcome = run_sweep(sweep, store, options());
    ASSERT_TRUE(outcome) << outcome.error().message;
    const int threads = store.cells(outcome->run, false)->at(0).point.threads;
    EXPECT_THAT(threads, AllOf(testing::Ge(most == 2 ? 2 : 1), testing::Le(most)));
    EXPECT_EQ(outcome->cells_failed, 0);
  }
}

TEST_F(DriverTest, SameThreadsTwice_AreAnError) {
  Sweep sweep = sweep_of(R"("full/dense")", "64");
  sweep.heats.push_back(sweep.heats[0]);
  sweep.heats[0].point.threads = 0;
  sweep.heats[1].point.threads = 2;
  EXPECT_THAT(run(sweep).outcome.error().message, HasSubstr("threads 0 and 2 are the same"));
}

TEST_F(DriverTest, MoreThreadsThanCores_IsAWarning) {
  Sweep sweep = sweep_of(R"("full/dense")", "64");
  sweep.heats[0].point.threads = 64;
  const Ran ran = run(sweep);
  ASSERT_TRUE(ran.outcome) << ran.outcome.error().message;
  EXPECT_THAT(ran.warnings, ElementsAre(HasSubstr("64 threads share 2 cores")));
}

TEST_F(DriverTest, SuspendDuringAHeat_MeasuresItAgain) {
  DriverOptions how = options();
  auto slept = std::chrono::nanoseconds(0);
  int begun = 0;
  how.time_asleep = [&] { return slept; };
  how.on_event = [&](const RunEvent& event) {
    if (event.kind == Kind::contender && ++begun == 1) slept += std::chrono::seconds(90);
  };
  const Ran ran = measured(sweep_of(R"("full/dense")", "64, 128"), how);
  EXPECT_THAT(ran.warnings, ElementsAre(HasSubstr("slept for 90.0 s while 64 tokens")));
  EXPECT_THAT(ran.cells, SizeIs(2));
  EXPECT_THAT(requests(),
              ElementsAre("hello", "ceilings", "heat 64", "heat 64", "heat 128", "ceilings"));
}

TEST_F(DriverTest, ASuspendInEveryHeat_KeepsTheTimes) {
  DriverOptions how = options();
  auto slept = std::chrono::nanoseconds(0);
  how.time_asleep = [&] { return slept += std::chrono::seconds(1); };
  const Ran ran = measured(sweep_of(R"("full/dense")", "64"), how);
  EXPECT_EQ(ran.outcome->status, RunStatus::done);
  EXPECT_THAT(ran.warnings.back(), HasSubstr("the measured times are kept"));
}

TEST(TimeAsleep, DoesNotGrowWhileTheMachineIsAwake) {
  const auto before = time_asleep();
  EXPECT_GE(before.count(), -1'000'000'000);
  EXPECT_LT(time_asleep() - before, least_suspend);
}

TEST(LongestSeconds, CountsEveryCell) {
  const auto sweep = parse_sweep(R"({"contenders": ["full/dense", "full/sdpa"],
      "sequence_tokens": [64, 128, 256], "stop": {"max_seconds": 2}})",
                                 "s.json");
  EXPECT_DOUBLE_EQ(longest_seconds(*sweep), 12);
}

}  // namespace
}  // namespace attnscope
