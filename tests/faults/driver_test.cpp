// SPDX-License-Identifier: Apache-2.0
#include "engine/sweep/driver.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <map>

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

class DriverTest : public FaultFixture {
 protected:
  struct Ran {
    Result<RunOutcome> outcome;
    std::map<std::string, Cell> cells;  // "sequence_tokens contender"
    std::vector<std::string> warnings;
    RunInfo info;
  };

  // Runs the sweep to its end and reads back what is stored.
  Ran run(const Sweep& sweep, DriverOptions how = options()) {
    Store store = open_store();
    Ran ran{.outcome = fail("not run"), .cells = {}, .warnings = {}, .info = {}};
    const auto listener = how.on_event;
    how.on_event = [&](const RunEvent& event) {
      if (event.kind == Kind::warning) ran.warnings.push_back(event.text);
      if (listener) listener(event);
    };
    ran.outcome = run_sweep(sweep, store, how);
    if (ran.outcome) {
      ran.cells = stored_cells(store, ran.outcome->run);
      ran.info = *store.find_run("last");
    }
    return ran;
  }

  static std::map<std::string, Cell> stored_cells(const Store& store, const RunId& run) {
    std::map<std::string, Cell> cells;
    const auto stored = store.cells(run, /*with_samples=*/true);
    if (!stored) throw std::runtime_error(stored.error().message);
    for (const StoredCell& one : *stored) {
      cells[fmt::format("{} {}", one.point.sequence_tokens, one.cell.contender.id())] = one.cell;
    }
    return cells;
  }
};

TEST_F(DriverTest, WholeSweep_IsMeasuredAndStored) {
  const Ran ran = run(sweep_of(R"("full/dense", "sparse/segment/4")", "64, 128"));
  ASSERT_TRUE(ran.outcome) << ran.outcome.error().message;
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
  const Ran ran = run(sweep_of(R"("full/dense")", "64, 128", R"("placements": 3, "processes": 2)"));
  ASSERT_TRUE(ran.outcome) << ran.outcome.error().message;
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
      case Kind::heat_finished:
        events.push_back("finished");
        EXPECT_EQ(event.heats_done, 1);
        EXPECT_THAT(event.result->cells, SizeIs(2));
        EXPECT_THAT(watcher.cells(event.run, false).value(), SizeIs(2));
        break;
      case Kind::warning:
        events.push_back("warning");
        break;
      case Kind::finished:
        events.push_back("done");
        break;
    }
    EXPECT_EQ(event.heats_planned, 1);
    EXPECT_TRUE(event.seconds_left);
  };
  const Ran ran = run(sweep_of(R"("full/dense", "full/sdpa")", "64"), how);
  ASSERT_TRUE(ran.outcome) << ran.outcome.error().message;
  EXPECT_THAT(events, ElementsAre("started", "ceilings", "heat", "full/dense: time",
                                  "full/sdpa: time", "finished", "ceilings", "done"));
}

TEST_F(DriverTest, Crash_CostsOneContender) {
  const Ran ran = run(sweep_of(R"("full/dense", "full/crash", "full/sdpa")", "64"));
  ASSERT_TRUE(ran.outcome) << ran.outcome.error().message;
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
  const Ran ran = run(sweep_of(R"("full/dense", "full/crash-later", "full/sdpa")", "64",
                               R"("placements": 4, "processes": 2)"));
  ASSERT_TRUE(ran.outcome) << ran.outcome.error().message;
  EXPECT_THAT(ran.cells.at("64 full/dense").samples, SizeIs(12));
  EXPECT_THAT(ran.cells.at("64 full/sdpa").samples, SizeIs(12));
  EXPECT_EQ(ran.cells.at("64 full/crash-later").status, CellStatus::crashed);
  EXPECT_THAT(requests(), ElementsAre("hello", "ceilings", "heat 64", "hello", "heat 64", "hello",
                                      "heat 64", "hello", "heat 64", "hello", "ceilings"));
}

TEST_F(DriverTest, EveryContenderCrashing_StillFinishesTheSweep) {
  const Ran ran = run(sweep_of(R"("full/crash", "sparse/crash/4")", "64, 128"));
  ASSERT_TRUE(ran.outcome) << ran.outcome.error().message;
  EXPECT_EQ(ran.outcome->cells_failed, 4);
  EXPECT_EQ(ran.info.heats_done, 2);
}

TEST_F(DriverTest, KilledByTheSystem_IsOutOfMemory) {
  const Ran ran = run(sweep_of(R"("full/kill", "full/dense")", "64"));
  ASSERT_TRUE(ran.outcome) << ran.outcome.error().message;
  const Cell& killed = ran.cells.at("64 full/kill");
  EXPECT_EQ(killed.status, CellStatus::oom);
  EXPECT_THAT(killed.reason, AllOf(HasSubstr("memory ran out"), HasSubstr("SIGKILL")));
  EXPECT_EQ(ran.cells.at("64 full/dense").status, CellStatus::ok);
  EXPECT_EQ(ran.outcome->cells_failed, 0);
}

TEST_F(DriverTest, SilentExit_IsACrashWithItsCode) {
  const Ran ran = run(sweep_of(R"("full/exit", "full/dense")", "64"));
  ASSERT_TRUE(ran.outcome) << ran.outcome.error().message;
  EXPECT_EQ(ran.cells.at("64 full/exit").status, CellStatus::crashed);
  EXPECT_THAT(ran.cells.at("64 full/exit").reason, HasSubstr("exit code 3"));
}

TEST_F(DriverTest, Hang_IsATimeoutAndCostsOneContender) {
  DriverOptions how = options();
  how.patience = std::chrono::milliseconds(300);
  const Ran ran = run(sweep_of(R"("full/dense", "full/hang", "full/sdpa")", "64"), how);
  ASSERT_TRUE(ran.outcome) << ran.outcome.error().message;
  EXPECT_EQ(ran.cells.at("64 full/hang").status, CellStatus::timeout);
  EXPECT_THAT(ran.cells.at("64 full/hang").reason, HasSubstr("no sign of life for 0.3 s"));
  EXPECT_EQ(ran.cells.at("64 full/dense").status, CellStatus::ok);
  EXPECT_EQ(ran.cells.at("64 full/sdpa").status, CellStatus::ok);
  EXPECT_EQ(ran.outcome->cells_failed, 1);
}

TEST_F(DriverTest, WorkerThatGivesUpOnAContender_GoesOnWithTheOthers) {
  const Ran ran = run(sweep_of(R"("full/refuse", "full/dense")", "64"));
  ASSERT_TRUE(ran.outcome) << ran.outcome.error().message;
  EXPECT_EQ(ran.cells.at("64 full/refuse").status, CellStatus::crashed);
  EXPECT_THAT(ran.cells.at("64 full/refuse").reason, HasSubstr("beyond me"));
  EXPECT_EQ(ran.cells.at("64 full/dense").status, CellStatus::ok);
  EXPECT_THAT(requests(), ElementsAre("hello", "ceilings", "heat 64", "heat 64", "ceilings"));
}

TEST_F(DriverTest, WrongOutput_CountsAsFailed) {
  const Ran ran = run(sweep_of(R"("full/wrong", "full/dense")", "64"));
  ASSERT_TRUE(ran.outcome) << ran.outcome.error().message;
  EXPECT_EQ(ran.outcome->cells_failed, 1);
  EXPECT_THAT(ran.outcome->failures[0], HasSubstr("wrong: the output differs"));
}

TEST_F(DriverTest, DeathWhileNothingRan_IsTriedOnceMoreThenTheHeatIsLost) {
  misbehave("heats-die-before-running");
  const Ran ran = run(sweep_of(R"("full/dense", "full/sdpa")", "64"));
  ASSERT_TRUE(ran.outcome) << ran.outcome.error().message;
  EXPECT_EQ(ran.outcome->status, RunStatus::done);
  EXPECT_EQ(ran.outcome->cells_failed, 2);
  EXPECT_EQ(ran.cells.at("64 full/dense").status, CellStatus::crashed);
  EXPECT_THAT(ran.cells.at("64 full/sdpa").reason, HasSubstr("SIGABRT"));
  EXPECT_THAT(requests(),
              ElementsAre("hello", "ceilings", "heat 64", "hello", "heat 64", "hello", "ceilings"));
}

TEST_F(DriverTest, GarbageInsteadOfAnAnswer_IsQuoted) {
  misbehave("garbage-heat");
  const Ran ran = run(sweep_of(R"("full/dense")", "64"));
  ASSERT_TRUE(ran.outcome) << ran.outcome.error().message;
  EXPECT_EQ(ran.cells.at("64 full/dense").status, CellStatus::crashed);
  EXPECT_THAT(ran.cells.at("64 full/dense").reason, HasSubstr("Intel MKL WARNING"));
}

TEST_F(DriverTest, AnswerToAnotherHeat_IsNotTaken) {
  misbehave("other-heat");
  const Ran ran = run(sweep_of(R"("full/dense")", "64"));
  ASSERT_TRUE(ran.outcome) << ran.outcome.error().message;
  EXPECT_EQ(ran.cells.at("64 full/dense").status, CellStatus::crashed);
  EXPECT_THAT(ran.cells.at("64 full/dense").reason, HasSubstr("another heat"));
}

TEST_F(DriverTest, WithoutCeilings_TheRunGoesOnWithAWarning) {
  misbehave("no-ceilings");
  const Ran ran = run(sweep_of(R"("full/dense")", "64"));
  ASSERT_TRUE(ran.outcome) << ran.outcome.error().message;
  EXPECT_EQ(ran.outcome->status, RunStatus::done);
  EXPECT_EQ(ran.cells.at("64 full/dense").status, CellStatus::ok);
  EXPECT_THAT(ran.warnings, SizeIs(2));
  EXPECT_THAT(ran.warnings, Each(HasSubstr("no ceilings today")));
}

TEST_F(DriverTest, Ceilings_AreStoredBeforeAndAfter) {
  const Ran ran = run(sweep_of(R"("full/dense")", "64"));
  ASSERT_TRUE(ran.outcome) << ran.outcome.error().message;
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

TEST_F(DriverTest, WorkerReplacedByAnotherVersion_EndsTheRunAsInterrupted) {
  DriverOptions how = options();
  how.on_event = [](const RunEvent& event) {
    if (event.kind == Kind::heat_finished) misbehave("old-version");
  };
  Sweep sweep = sweep_of(R"("full/dense")", "64, 128", R"("placements": 2, "processes": 2)");
  const Ran ran = run(sweep, how);
  ASSERT_FALSE(ran.outcome);
  EXPECT_THAT(ran.outcome.error().message, HasSubstr("version 0.0.1"));
  const auto info = open_store().find_run("last");
  EXPECT_EQ(info->status, RunStatus::interrupted);
  EXPECT_EQ(info->heats_done, 1);
}

TEST_F(DriverTest, ThreadsOfTheSweep_AreSettledByTheWorkersCores) {
  Sweep sweep = sweep_of(R"("full/dense")", "64");
  sweep.heats[0].point.threads = 0;
  Store store = open_store();
  const auto outcome = run_sweep(sweep, store, options());
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(store.cells(outcome->run, false)->at(0).point.threads, 2);
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

TEST_F(DriverTest, Cancel_KeepsFinishedHeatsAndDropsTheInterruptedOne) {
  std::atomic<int> cancel = 0;
  DriverOptions how = options();
  how.cancel = &cancel;
  how.on_event = [&](const RunEvent& event) {
    if (event.kind == Kind::contender && event.text == "full/endless: time") cancel = 1;
  };
  Sweep sweep = sweep_of(R"("full/dense")", "64, 128, 256");
  sweep.heats[1].contenders[0].implementation = "endless";
  const Ran ran = run(sweep, how);
  ASSERT_TRUE(ran.outcome) << ran.outcome.error().message;
  EXPECT_EQ(ran.outcome->status, RunStatus::cancelled);
  EXPECT_EQ(ran.info.status, RunStatus::cancelled);
  ASSERT_THAT(ran.cells, SizeIs(1));
  EXPECT_EQ(ran.cells.begin()->first, "64 full/dense");
  EXPECT_THAT(requests(), ElementsAre("hello", "ceilings", "heat 64", "heat 128"));
}

TEST_F(DriverTest, CancelOfAWorkerThatDoesNotListen_KillsIt) {
  std::atomic<int> cancel = 0;
  DriverOptions how = options();
  how.cancel = &cancel;
  how.on_event = [&](const RunEvent& event) {
    if (event.kind == Kind::contender) cancel = 1;
  };
  const Ran ran = run(sweep_of(R"("full/hang")", "64"), how);
  ASSERT_TRUE(ran.outcome) << ran.outcome.error().message;
  EXPECT_EQ(ran.outcome->status, RunStatus::cancelled);
  EXPECT_THAT(ran.cells, IsEmpty());
}

TEST_F(DriverTest, CancelBeforeTheFirstHeat_MeasuresNothing) {
  const std::atomic<int> cancel = 2;
  DriverOptions how = options();
  how.cancel = &cancel;
  const Ran ran = run(sweep_of(R"("full/dense")", "64"), how);
  ASSERT_TRUE(ran.outcome) << ran.outcome.error().message;
  EXPECT_EQ(ran.outcome->status, RunStatus::cancelled);
  EXPECT_THAT(ran.cells, IsEmpty());
}

TEST_F(DriverTest, CancelledRun_GoesOnWithTheRest) {
  std::atomic<int> cancel = 0;
  DriverOptions how = options();
  how.cancel = &cancel;
  how.on_event = [&](const RunEvent& event) {
    if (event.kind == Kind::heat_finished) cancel = 1;
  };
  ASSERT_EQ(run(sweep_of(R"("full/dense", "full/wrong")", "64, 128, 256"), how).outcome->status,
            RunStatus::cancelled);
  static_cast<void>(requests());

  Store store = open_store();
  const auto resumed = resume_run(*store.find_run("last"), store, options());
  ASSERT_TRUE(resumed) << resumed.error().message;
  EXPECT_EQ(resumed->status, RunStatus::done);
  EXPECT_THAT(stored_cells(store, resumed->run), SizeIs(6));
  EXPECT_EQ(resumed->cells_failed, 3);  // the one from before counts again
  EXPECT_THAT(resumed->failures, SizeIs(3));
  EXPECT_THAT(requests(), ElementsAre("hello", "ceilings", "heat 128", "heat 256", "ceilings"));
  const RunInfo info = *store.find_run("last");
  EXPECT_EQ(info.status, RunStatus::done);
  EXPECT_EQ(info.heats_done, 3);
}

TEST_F(DriverTest, Only_HoldsOnResumeAndNoFileIsNeeded) {
  std::atomic<int> cancel = 0;
  DriverOptions how = options();
  how.cancel = &cancel;
  how.on_event = [&](const RunEvent& event) {
    if (event.kind == Kind::heat_finished) cancel = 1;
  };
  const Sweep whole = sweep_of(R"("full/dense", "full/sdpa")", "64, 128, 256");
  Sweep kept =
      *only(whole, *parse_only("implementation=sdpa,sequence_tokens=64,sequence_tokens=256"));
  // A pattern file that is gone by now.
  for (Heat& heat : kept.heats) heat.contenders[0].pattern = "gone.json";
  ASSERT_TRUE(run(kept, how).outcome);

  Store store = open_store();
  ASSERT_TRUE(resume_run(*store.find_run("last"), store, options()));
  const auto cells = stored_cells(store, store.find_run("last")->id);
  ASSERT_THAT(cells, SizeIs(2));
  EXPECT_EQ(cells.at("256 gone.json/sdpa").contender.pattern_json,
            kept.heats[0].contenders[0].pattern_json);
}

TEST_F(DriverTest, FinishedRun_IsNotResumed) {
  ASSERT_TRUE(run(sweep_of(R"("full/dense")", "64")).outcome);
  Store store = open_store();
  const auto resumed = resume_run(*store.find_run("last"), store, options());
  ASSERT_FALSE(resumed);
  EXPECT_THAT(resumed.error().message, HasSubstr("is done"));
}

TEST_F(DriverTest, RunningRun_IsNotResumed) {
  DriverOptions how = options();
  std::string message;
  how.on_event = [&](const RunEvent& event) {
    if (event.kind != Kind::heat_started) return;
    Store store = open_store();
    const auto resumed = resume_run(*store.find_run("last"), store, options());
    message = resumed ? "no error" : resumed.error().message;
  };
  ASSERT_TRUE(run(sweep_of(R"("full/dense")", "64"), how).outcome);
  EXPECT_THAT(message, HasSubstr("still running"));
}

// Runs the sweep in a child process that kills itself the hard way while the third heat is
// measured. Returns the lengths of the heats it had announced as finished.
std::vector<std::int64_t> run_until_killed(const Sweep& sweep,
                                           const std::filesystem::path& database,
                                           DriverOptions how) {
  std::array<int, 2> announcements{};
  if (pipe(announcements.data()) != 0) throw std::runtime_error("no pipe");
  const pid_t child = fork();
  if (child == 0) {
    int heats_begun = 0;
    how.on_event = [&](const RunEvent& event) {
      if (event.kind == Kind::heat_started) ++heats_begun;
      if (event.kind == Kind::heat_finished &&
          write(announcements[1], &event.result->point.sequence_tokens, sizeof(std::int64_t)) < 0) {
        _exit(1);
      }
      if (event.kind == Kind::contender && heats_begun == 3) raise(SIGKILL);
    };
    auto store = Store::open(database, Store::Mode::read_write);
    if (store) static_cast<void>(run_sweep(sweep, *store, how));
    _exit(1);
  }
  close(announcements[1]);
  std::vector<std::int64_t> announced;
  std::int64_t tokens = 0;
  while (read(announcements[0], &tokens, sizeof tokens) == sizeof tokens)
    announced.push_back(tokens);
  close(announcements[0]);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  return announced;
}

TEST_F(DriverTest, KilledDriver_LosesNoAnnouncedHeatAndResumesOnlyTheRest) {
  const Sweep sweep = sweep_of(R"("full/dense", "full/sdpa")", "64, 128, 256, 512");
  const auto announced = run_until_killed(sweep, database(), options());
  EXPECT_THAT(announced, ElementsAre(64, 128));
  static_cast<void>(requests());

  Store store = open_store();
  const RunInfo killed = *store.find_run("last");
  EXPECT_EQ(killed.status, RunStatus::interrupted);
  const auto before = stored_cells(store, killed.id);
  ASSERT_THAT(before, SizeIs(4));
  for (const auto& [key, cell] : before) EXPECT_THAT(cell.samples, SizeIs(6)) << key;

  const auto resumed = resume_run(killed, store, options());
  ASSERT_TRUE(resumed) << resumed.error().message;
  EXPECT_EQ(resumed->status, RunStatus::done);
  EXPECT_THAT(stored_cells(store, killed.id), SizeIs(8));
  EXPECT_THAT(requests(), ElementsAre("hello", "ceilings", "heat 256", "heat 512", "ceilings"));
}

// As a full disk does: no file of this process may grow beyond `bytes`.
void limit_file_size(rlim_t bytes) {
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  getrlimit(RLIMIT_FSIZE, &limit);
  limit.rlim_cur = std::min(bytes, limit.rlim_max);
  setrlimit(RLIMIT_FSIZE, &limit);
}

TEST_F(DriverTest, FullDisk_StopsTheRunAndKeepsEarlierHeats) {
  DriverOptions how = options();
  how.on_event = [&](const RunEvent& event) {
    if (event.kind == Kind::contender && event.heat->index == 1) {
      limit_file_size(std::filesystem::file_size(database().string() + "-wal"));
    }
  };
  Result<RunOutcome> outcome;
  {
    Store store = open_store();
    outcome = run_sweep(sweep_of(R"("full/dense")", "64, 128, 256"), store, how);
    limit_file_size(RLIM_INFINITY);
  }
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->status, RunStatus::interrupted);
  EXPECT_NE(outcome->store_refusal, "");
  EXPECT_THAT(requests(), ElementsAre("hello", "ceilings", "heat 64", "heat 128"));
  const auto cells = stored_cells(open_store(), outcome->run);
  ASSERT_THAT(cells, SizeIs(1));
  EXPECT_THAT(cells.at("64 full/dense").samples, SizeIs(6));
}

TEST(LongestSeconds, CountsEveryCell) {
  const auto sweep = parse_sweep(R"({"contenders": ["full/dense", "full/sdpa"],
      "sequence_tokens": [64, 128, 256], "stop": {"max_seconds": 2}})",
                                 "s.json");
  EXPECT_DOUBLE_EQ(longest_seconds(*sweep), 12);
}

}  // namespace
}  // namespace attnscope
