// SPDX-License-Identifier: Apache-2.0
#include "engine/sweep/driver.h"

#include <algorithm>

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
  std::vector<std::string> events;
  DriverOptions how = options();
  how.on_event = [&](const RunEvent& event) {
    switch (event.kind) {
      case Kind::started:
        events.push_back("started");
        break;
      case Kind::ceilings:
        events.push_back("ceilings");
        break;
      case Kind::heat_started:
        events.push_back("heat");
        break;
      case Kind::contender:
        events.push_back(event.text);
        break;
      case Kind::progress:  // as often as it takes
        break;
      case Kind::heat_finished:
        events.push_back("finished");
        EXPECT_EQ(event.heats_done, 1);
        EXPECT_THAT(event.result->cells, SizeIs(2));
        EXPECT_THAT(watcher.cells(event.run, false).value(), SizeIs(2));
        break;
      case Kind::warning:
        events.push_back("warning");
        break;
      case Kind::cancelling:
        events.push_back("cancelling");
        break;
      case Kind::waiting:
      case Kind::paused:
      case Kind::continued:
        events.push_back("wait");
        break;
      case Kind::finished:
        events.push_back("done");
        break;
    }
    EXPECT_EQ(event.heats_planned, 1);
    EXPECT_TRUE(event.seconds_left);
  };
  const Ran ran = measured(sweep_of(R"("full/dense", "full/sdpa")", "64"), how);
  EXPECT_THAT(events, ElementsAre("started", "ceilings", "heat", "full/dense: time",
                                  "full/sdpa: time", "finished", "ceilings", "done"));
}

TEST_F(DriverTest, WhatCannotBeIsNotBelieved) {
  const std::pair<const char*, const char*> lies[] = {
      {"lie-negative", "a time of -5 ns"},
      {"lie-zero", "a time of 0 ns"},
      {"lie-nan", "a time of nan ns"},
      {"lie-years", "a time of 1e+18 ns"},
      {"lie-days", "calls of 1e+06 s in total"},
      {"lie-fast", "a time of 0.5 ns for a work of 1e+09"},
      {"lie-faster", "a time of 6.4e+04 ns, where the machine's rates allow 5e+07 ns"},
      {"lie-idle", "a time of 2 ns, where the machine's rates allow"},
      {"lie-fewer", "0 samples of placement 1, where at least 2"},
      {"lie-thin", "1 sample of placement 1, where at least 2"},
      {"lie-samples", "6 samples of a cell that is oom"},
      {"lie-placement", "a sample of process 0 and placement 77"},
      {"lie-process", "a sample of process 9"},
      {"lie-twice", "round 0 of placement 0 twice"},
      {"lie-empty", "without samples"},
      {"lie-batch", "a batch of 4611686018427387904"},
      {"lie-tokens", "document tokens, where"},
      {"lie-memory", "an impossible memory size"},
      {"lie-work", "a work of "},
      {"lie-load", "impossible conditions of a sample"},
      {"lie-unsupported", "a batch of 4611686018427387904"},
      {"lie-cancelled", "a cell that was cancelled"},
      {"lie-wordless", "a cell that is oom, without a reason"},
      {"lie-bound", "with a bound of 1e+300"},
      {"lie-below", "an error of -1"},
  };
  std::string contenders = R"("full/dense")";
  for (const auto& [id, words] : lies) contenders += fmt::format(R"(, "full/{}")", id);
  for (const char* id : {"lie-error", "lie-nan-error", "lie-no-bound", "lie-unproven"})
    contenders += fmt::format(R"(, "full/{}")", id);
  const Ran ran = measured(sweep_of(contenders, "64"));
  EXPECT_EQ(ran.cells.at("64 full/dense").status, CellStatus::ok);
  for (const auto& [id, words] : lies) {
    const Cell& cell = ran.cells.at(fmt::format("64 full/{}", id));
    EXPECT_EQ(cell.status, CellStatus::crashed) << id;
    EXPECT_THAT(cell.reason, AllOf(HasSubstr("reported an impossible result"), HasSubstr(words)));
    EXPECT_THAT(cell.samples, IsEmpty());
    EXPECT_LE(cell.batch, 1);
  }
  for (const auto& [id, words] : {std::pair("lie-error", "above the bound of 2e-06"),
                                  {"lie-nan-error", "an error of nan"},
                                  {"lie-no-bound", "without a bound"},
                                  {"lie-unproven", "without a bound"}}) {
    const Cell& cell = ran.cells.at(fmt::format("64 full/{}", id));
    EXPECT_EQ(cell.status, CellStatus::wrong) << id;
    EXPECT_THAT(cell.reason, HasSubstr(words));
    EXPECT_THAT(cell.samples, IsEmpty());
  }
}

TEST_F(DriverTest, WhoeverTellsItsProgressWithoutEnd_IsATimeout) {
  DriverOptions how = options();
  how.patience = std::chrono::milliseconds(50);
  const Ran ran = measured(sweep_of(R"("full/chatter")", "64"), how);
  EXPECT_EQ(ran.cells.at("64 full/chatter").status, CellStatus::timeout);
  EXPECT_THAT(ran.cells.at("64 full/chatter").reason,
              testing::AnyOf(HasSubstr("had not answered within"), HasSubstr("but no result")));
}

TEST_F(DriverTest, AWorkerThatIsKilledWhileItStartsIsStartedAgain) {
  misbehave("killed-five-times");
  DriverOptions how = options();
  how.connection.first_pause = std::chrono::milliseconds(1);
  const Ran ran = measured(sweep_of(R"("full/dense")", "64"), how);
  EXPECT_EQ(ran.outcome->status, RunStatus::done);
  EXPECT_THAT(requests(), ElementsAre("hello", "hello", "hello", "hello", "hello", "hello",
                                      "ceilings", "heat 64", "ceilings"));
}

TEST_F(DriverTest, ImpossibleCeilingsAreNotKept) {
  misbehave("impossible-ceilings");
  const Ran ran = measured(sweep_of(R"("full/dense")", "64"));
  EXPECT_THAT(ran.warnings, testing::Contains(HasSubstr("reported impossible rates")));
  EXPECT_THAT(open_store().ceilings(ran.outcome->run).value(), IsEmpty());
}

TEST_F(DriverTest, Crash_CostsOneContender) {
  const Ran ran = measured(sweep_of(R"("full/dense", "full/crash", "full/sdpa")", "64"));
  EXPECT_EQ(ran.outcome->status, RunStatus::done);
  EXPECT_EQ(ran.outcome->cells_failed, 1);
  ASSERT_THAT(ran.outcome->failures, SizeIs(1));
  EXPECT_THAT(ran.outcome->failures[0], AllOf(HasSubstr("64 tokens"), HasSubstr("crashed")));
  const Cell& crashed = ran.cells.at("64 full/crash");
  EXPECT_EQ(crashed.status, CellStatus::crashed);
  EXPECT_THAT(crashed.reason, AllOf(HasSubstr("SIGSEGV"), HasSubstr("about to fall over")));
  EXPECT_EQ(ran.cells.at("64 full/dense").status, CellStatus::ok);
  EXPECT_EQ(ran.cells.at("64 full/sdpa").status, CellStatus::ok);
  EXPECT_THAT(ran.warnings, SizeIs(1));
}

TEST_F(DriverTest, CrashInALaterProcess_MeasuresTheOthersAgainWhole) {
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

TEST_F(DriverTest, KilledByTheSystem_IsOutOfMemory) {
  DriverOptions how = options();
  how.memory_kills = [kills = 0]() mutable { return kills++; };
  const Ran ran = measured(sweep_of(R"("full/kill", "full/dense")", "64"), how);
  const Cell& killed = ran.cells.at("64 full/kill");
  EXPECT_EQ(killed.status, CellStatus::oom);
  EXPECT_THAT(killed.reason, AllOf(HasSubstr("memory ran out"), HasSubstr("SIGKILL")));
  EXPECT_EQ(ran.cells.at("64 full/dense").status, CellStatus::ok);
  EXPECT_EQ(ran.outcome->cells_failed, 0);
}

TEST_F(DriverTest, KilledByAPerson_IsACrash) {
  DriverOptions how = options();
  how.memory_kills = [] { return 3; };
  const Ran ran = measured(sweep_of(R"("full/kill", "full/dense")", "64"), how);
  EXPECT_EQ(ran.cells.at("64 full/kill").status, CellStatus::crashed);
  EXPECT_THAT(ran.cells.at("64 full/kill").reason, HasSubstr("SIGKILL"));
  EXPECT_EQ(ran.cells.at("64 full/dense").status, CellStatus::ok);
}

TEST_F(DriverTest, SilentExit_IsACrashWithItsCode) {
  const Ran ran = measured(sweep_of(R"("full/exit", "full/dense")", "64"));
  EXPECT_EQ(ran.cells.at("64 full/exit").status, CellStatus::crashed);
  EXPECT_THAT(ran.cells.at("64 full/exit").reason, HasSubstr("exit code 3"));
}

TEST_F(DriverTest, Hang_IsATimeoutAndCostsOneContender) {
  DriverOptions how = options();
  how.patience = std::chrono::milliseconds(300);
  const Ran ran = measured(sweep_of(R"("full/dense", "full/hang", "full/sdpa")", "64"), how);
  EXPECT_EQ(ran.cells.at("64 full/hang").status, CellStatus::timeout);
  EXPECT_THAT(ran.cells.at("64 full/hang").reason, HasSubstr("no sign of life for 0.3 s"));
  EXPECT_EQ(ran.cells.at("64 full/dense").status, CellStatus::ok);
  EXPECT_EQ(ran.cells.at("64 full/sdpa").status, CellStatus::ok);
  EXPECT_EQ(ran.outcome->cells_failed, 1);
}

TEST_F(DriverTest, WorkerThatGivesUpOnAContender_GoesOnWithTheOthers) {
  const Ran ran = measured(sweep_of(R"("full/refuse", "full/dense")", "64"));
  EXPECT_EQ(ran.cells.at("64 full/refuse").status, CellStatus::crashed);
  EXPECT_THAT(ran.cells.at("64 full/refuse").reason, HasSubstr("beyond me"));
  EXPECT_EQ(ran.cells.at("64 full/dense").status, CellStatus::ok);
  EXPECT_THAT(requests(), ElementsAre("hello", "ceilings", "heat 64", "heat 64", "ceilings"));
}

TEST_F(DriverTest, WrongOutput_CountsAsFailed) {
  const Ran ran = measured(sweep_of(R"("full/wrong", "full/dense")", "64"));
  EXPECT_EQ(ran.outcome->cells_failed, 1);
  EXPECT_THAT(ran.outcome->failures[0], HasSubstr("wrong: the output differs"));
}

TEST_F(DriverTest, DeathNobodyCanBeBlamedFor_FindsItAloneAndMeasuresTheOthersTogether) {
  const Ran ran = measured(sweep_of(R"("full/dense", "full/crash-idle", "full/sdpa")", "64",
                                    R"("placements": 4, "processes": 2)"));
  EXPECT_EQ(ran.outcome->cells_failed, 1);
  EXPECT_EQ(ran.cells.at("64 full/crash-idle").status, CellStatus::crashed);
  EXPECT_THAT(ran.cells.at("64 full/crash-idle").reason, HasSubstr("SIGABRT"));
  for (const char* other : {"64 full/dense", "64 full/sdpa"}) {
    EXPECT_EQ(ran.cells.at(other).status, CellStatus::ok);
    EXPECT_THAT(ran.cells.at(other).samples, SizeIs(12));  // none of those taken alone
  }
  // Twice together, three times alone, and the two processes of the others: each a fresh one.
  EXPECT_THAT(requests(), ElementsAre("hello", "ceilings", "heat 64", "hello", "heat 64", "hello",
                                      "heat 64", "hello", "heat 64", "hello", "heat 64", "hello",
                                      "heat 64", "hello", "heat 64", "hello", "ceilings"));
  EXPECT_THAT(ran.warnings,
              ElementsAre(HasSubstr("trying again"), HasSubstr("each contender alone"),
                          HasSubstr("crash-idle")));
}

TEST_F(DriverTest, SeveralOfThem_AreAllFoundInOneSearch) {
  const Ran ran =
      measured(sweep_of(R"("full/crash-idle", "full/dense", "sparse/crash-idle/4")", "64"));
  EXPECT_EQ(ran.outcome->cells_failed, 2);
  EXPECT_EQ(ran.cells.at("64 full/dense").status, CellStatus::ok);
}

TEST_F(DriverTest, DeathOfAllTogetherAndNoneAlone_LosesTheHeatAndSaysSo) {
  const Ran ran = measured(sweep_of(R"("full/crash-together", "full/dense")", "64, 128"));
  EXPECT_EQ(ran.outcome->status, RunStatus::done);
  EXPECT_EQ(ran.outcome->cells_failed, 4);
  for (const auto& [key, cell] : ran.cells) {
    EXPECT_EQ(cell.status, CellStatus::crashed) << key;
    EXPECT_THAT(cell.reason, HasSubstr("not with any of them alone")) << key;
  }
}

TEST_F(DriverTest, CancelDuringTheSearch_EndsTheRunAsCancelled) {
  std::atomic<int> cancel = 0;
  DriverOptions how = options();
  how.cancel = &cancel;
  how.on_event = [&](const RunEvent& event) {
    if (event.kind == Kind::warning && event.text.find("each contender alone") != std::string::npos)
      cancel = 1;
  };
  const Ran ran = measured(sweep_of(R"("full/dense", "full/crash-idle")", "64"), how);
  EXPECT_EQ(ran.outcome->status, RunStatus::cancelled);
  EXPECT_THAT(ran.cells, IsEmpty());
}

TEST_F(DriverTest, CancelBehindTheLastHeat_FindsTheRunDone) {
  std::atomic<int> cancel = 0;
  DriverOptions how = options();
  how.cancel = &cancel;
  how.on_event = [&](const RunEvent& event) {
    if (event.kind == Kind::heat_finished) cancel = 1;
  };
  const Ran ran = measured(sweep_of(R"("full/dense")", "64"), how);
  EXPECT_EQ(ran.outcome->status, RunStatus::done);
  EXPECT_EQ(ran.cells.size(), 1U);
}

TEST_F(DriverTest, DeathWhileNothingRan_IsTriedOnceMoreThenAlone) {
  misbehave("heats-die-before-running");
  const Ran ran = measured(sweep_of(R"("full/dense", "full/sdpa")", "64"));
  EXPECT_EQ(ran.outcome->status, RunStatus::done);
  EXPECT_EQ(ran.outcome->cells_failed, 2);
  EXPECT_EQ(ran.cells.at("64 full/dense").status, CellStatus::crashed);
  EXPECT_THAT(ran.cells.at("64 full/sdpa").reason, HasSubstr("SIGABRT"));
  EXPECT_THAT(requests(), ElementsAre("hello", "ceilings", "heat 64", "hello", "heat 64", "hello",
                                      "heat 64", "hello", "heat 64", "hello", "ceilings"));
}

TEST_F(DriverTest, GarbageInsteadOfAnAnswer_IsQuoted) {
  misbehave("garbage-heat");
  const Ran ran = measured(sweep_of(R"("full/dense")", "64"));
  EXPECT_EQ(ran.cells.at("64 full/dense").status, CellStatus::crashed);
  EXPECT_THAT(ran.cells.at("64 full/dense").reason, HasSubstr("Intel MKL WARNING"));
}

TEST_F(DriverTest, AnswerToAnotherHeat_IsNotTaken) {
  misbehave("other-heat");
  const Ran ran = measured(sweep_of(R"("full/dense")", "64"));
  EXPECT_EQ(ran.cells.at("64 full/dense").status, CellStatus::crashed);
  EXPECT_THAT(ran.cells.at("64 full/dense").reason, HasSubstr("another heat"));
}

TEST_F(DriverTest, WithoutCeilings_TheRunGoesOnWithAWarning) {
  misbehave("no-ceilings");
  const Ran ran = measured(sweep_of(R"("full/dense")", "64"));
  EXPECT_EQ(ran.outcome->status, RunStatus::done);
  EXPECT_EQ(ran.cells.at("64 full/dense").status, CellStatus::ok);
  EXPECT_THAT(ran.warnings, SizeIs(2));
  EXPECT_THAT(ran.warnings, Each(HasSubstr("no ceilings today")));
}

TEST_F(DriverTest, Ceilings_AreStoredBeforeAndAfter) {
  const Ran ran = measured(sweep_of(R"("full/dense")", "64"));
  const auto ceilings = open_store().ceilings(ran.outcome->run);
  ASSERT_TRUE(ceilings) << ceilings.error().message;
  ASSERT_THAT(*ceilings, SizeIs(2));
  EXPECT_LE((*ceilings)[0].seconds_into_run, (*ceilings)[1].seconds_into_run);
}

TEST_F(DriverTest, UnknownImplementation_IsAnErrorBeforeAnythingRuns) {
  const Ran ran = run(sweep_of(R"("full/dense", "full/segmnt")", "64"));
  ASSERT_FALSE(ran.outcome);
  EXPECT_THAT(ran.outcome.error().message,
              AllOf(HasSubstr("'full/segmnt'"), HasSubstr("did you mean 'segment'?")));
  EXPECT_THAT(open_store().runs().value(), IsEmpty());
  EXPECT_THAT(requests(), ElementsAre("hello"));
}

TEST_F(DriverTest, MissingWorker_IsAnErrorAndNoRun) {
  DriverOptions how = options();
  how.worker_command = "/nowhere/attnscope-worker";
  const Ran ran = run(sweep_of(R"("full/dense")", "64"), how);
  ASSERT_FALSE(ran.outcome);
  EXPECT_THAT(ran.outcome.error().message, HasSubstr("was not found"));
  EXPECT_THAT(open_store().runs().value(), IsEmpty());
}

TEST_F(DriverTest, MeasuresWithAWorkerOfAnotherVersionAndWarns) {
  misbehave("old-version");
  const Ran ran = run(sweep_of(R"("full/dense")", "64"));
  ASSERT_TRUE(ran.outcome) << ran.outcome.error().message;
  EXPECT_EQ(ran.cells.at("64 full/dense").status, CellStatus::ok);
  EXPECT_THAT(ran.warnings, Contains(HasSubstr("the worker is of version 0.0.1")));
}

class ReplacedWorker : public DriverTest, public testing::WithParamInterface<const char*> {};

TEST_P(ReplacedWorker, OfAnotherBuildEndsTheRunAsInterrupted) {
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

TEST_F(DriverTest, ThreadsOfTheSweep_AreSettledByTheWorkersCores) {
  Sweep sweep = sweep_of(R"("full/dense")", "64");
  sweep.heats[0].point.threads = 0;
  Store store = open_store();
  const auto outcome = run_sweep(sweep, store, options());
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(store.cells(outcome->run, false)->at(0).point.threads, 2);
}

TEST_F(DriverTest, CoresThatNoMachineHas_AreNotBelieved) {
  Sweep sweep = sweep_of(R"("full/dense")", "64");
  sweep.heats[0].point.threads = 0;
  for (const char* fault : {"owing-cores", "endless-cores"}) {
    misbehave(fault);
    Store store = open_store();
    const auto outcome = run_sweep(sweep, store, options());
    ASSERT_TRUE(outcome) << outcome.error().message;
    const int threads = store.cells(outcome->run, false)->at(0).point.threads;
    EXPECT_THAT(threads, AllOf(testing::Ge(1), testing::Le(4096))) << fault;
    EXPECT_EQ(outcome->cells_failed, 0) << fault;
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

TEST_F(DriverTest, MachineThatSleepsInEveryHeat_IsNotMeasuredForever) {
  DriverOptions how = options();
  auto slept = std::chrono::nanoseconds(0);
  how.time_asleep = [&] { return slept += std::chrono::seconds(1); };
  const Ran ran = measured(sweep_of(R"("full/dense")", "64"), how);
  EXPECT_EQ(ran.outcome->status, RunStatus::done);
  EXPECT_THAT(ran.warnings.back(), HasSubstr("the measured times are kept"));
}

TEST(TimeAsleep, StandsStillWhileTheMachineIsAwake) {
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
