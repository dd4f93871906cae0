// SPDX-License-Identifier: Apache-2.0
//
// A worker on another machine, which is watched by its heartbeat and reached again after the
// connection was lost. Here it is a local one that reports another start of the machine.
#include "attnscope/build_info.h"
#include "tests/faults/fault_fixture.h"

namespace attnscope {
namespace {

using std::chrono::milliseconds;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using Kind = RunEvent::Kind;

class RemoteTest : public FaultFixture {
 protected:
  RemoteTest() { misbehave("elsewhere"); }

  static DriverOptions options() {
    DriverOptions how = FaultFixture::options();
    how.connection = {.silence = std::chrono::seconds(30),
                      .first_pause = milliseconds(1),
                      .longest_pause = milliseconds(4),
                      .patience = milliseconds(50),
                      .most_losses = 2};
    return how;
  }
  [[nodiscard]] std::filesystem::path cut() const { return folder_ / "cut"; }

  /// Exits with 255, as ssh does, while the file cut() exists.
  [[nodiscard]] DriverOptions over_a_line() const {
    std::ofstream(folder_ / "line") << fmt::format(
        "#!/bin/sh\n"
        "exec 3<&0\n"
        "[ -e '{0}' ] && {{ echo 'no route to host' >&2; exit 255; }}\n"
        "'{1}' <&3 &\n"
        "worker=$!\n"
        "while kill -0 $worker 2>/dev/null; do\n"
        "  [ -e '{0}' ] && {{ kill -9 $worker; echo 'broken pipe' >&2; exit 255; }}\n"
        "  sleep 0.01\n"
        "done\n"
        "wait $worker\n",
        cut().string(), FAKE_WORKER_PROGRAM);
    std::filesystem::permissions(folder_ / "line", std::filesystem::perms::owner_all);
    DriverOptions how = options();
    how.worker_command = (folder_ / "line").string();
    return how;
  }

  /// The second heat needs a new process.
  void expect_refused_afterwards(const char* other,
                                 const testing::Matcher<std::string>& in_its_words) {
    DriverOptions how = options();
    how.on_event = [&](const RunEvent& event) {
      if (event.kind == Kind::heat_finished) misbehave(other);
    };
    const Ran ran =
        run(sweep_of(R"("full/dense")", "64, 128", R"("placements": 2, "processes": 2)"), how);
    ASSERT_FALSE(ran.outcome);
    EXPECT_THAT(ran.outcome.error().message, in_its_words);
    EXPECT_THAT(ran.outcome.error().message, HasSubstr("--resume"));
    EXPECT_EQ(last().heats_done, 1);
    EXPECT_THAT(requests(),
                ElementsAre("hello", "ceilings", "heat 64", "hello", "heat 64", "hello"));
  }

  void expect_whole(const DriverOptions& how, int samples) {
    const Ran ran = measured(
        sweep_of(R"("full/dense", "full/sdpa")", "64",
                 fmt::format(R"("min_samples": {}, "placements": 1, "processes": 1)", samples)),
        how);
    EXPECT_EQ(ran.outcome->status, RunStatus::done);
    EXPECT_THAT(ran.warnings, IsEmpty());
    for (const auto& [key, cell] : ran.cells)
      EXPECT_THAT(cell.samples, SizeIs(static_cast<std::size_t>(samples))) << key;
    EXPECT_THAT(requests(), ElementsAre("hello", "ceilings", "heat 64", "ceilings"));
  }
};

TEST_F(RemoteTest, WholeSweep_NamesTheMachineAndIgnoresASuspendOfThisOne) {
  DriverOptions how = options();
  auto slept = std::chrono::nanoseconds(0);
  how.time_asleep = [&] { return slept += std::chrono::hours(1); };
  const Ran ran = measured(sweep_of(R"("full/dense", "full/sdpa")", "64, 128"), how);
  EXPECT_EQ(ran.outcome->status, RunStatus::done);
  EXPECT_THAT(ran.cells, SizeIs(4));
  EXPECT_THAT(ran.warnings, IsEmpty());
  EXPECT_THAT(ran.info.start.provenance,
              AllOf(HasSubstr(R"("host":"fakebox")"), HasSubstr(R"("elsewhere":true)")));
  EXPECT_THAT(requests(), ElementsAre("hello", "ceilings", "heat 64", "heat 128", "ceilings"));
}

TEST_F(RemoteTest, AConnectionLostInAHeat_RepeatsTheWholeHeatWithoutFailures) {
  hold_on();
  DriverOptions how = over_a_line();
  how.connection.patience = std::chrono::minutes(1);
  int begun = 0, refused = 0;
  how.on_event = [&](const RunEvent& event) {
    if (event.kind == Kind::contender && event.text == "full/held: time" && ++begun == 1) {
      std::ofstream(cut()) << "";
    }
    if (event.kind == Kind::warning && event.text.find("was lost") != std::string::npos) let_go();
    // Reached again at the third attempt.
    const bool again = event.text.find("trying again") != std::string::npos;
    if (event.kind == Kind::warning && again && ++refused == 2) std::filesystem::remove(cut());
  };
  const Ran ran = measured(sweep_of(R"("full/dense", "full/held")", "64, 128"), how);
  EXPECT_EQ(ran.outcome->status, RunStatus::done);
  ASSERT_THAT(ran.cells, SizeIs(4));
  for (const auto& [key, cell] : ran.cells) {
    EXPECT_EQ(cell.status, CellStatus::ok) << key;
    EXPECT_THAT(cell.samples, SizeIs(6)) << key;
  }
  EXPECT_THAT(ran.warnings[0], AllOf(HasSubstr("connection to the worker was lost"),
                                     HasSubstr("broken pipe"), HasSubstr("connecting again")));
  EXPECT_THAT(ran.warnings[1], AllOf(HasSubstr("no route to host"), HasSubstr("0.001 s")));
  EXPECT_THAT(ran.warnings[2], HasSubstr("0.002 s"));  // growing pauses
  EXPECT_THAT(requests(), ElementsAre("hello", "ceilings", "heat 64", "hello", "heat 64",
                                      "heat 128", "ceilings"));
}

TEST_F(RemoteTest, AnUnreachableMachine_KeepsTheRunAndExplainsHowToResume) {
  hold_on();
  DriverOptions how = over_a_line();
  how.on_event = [&](const RunEvent& event) {
    if (event.kind == Kind::heat_started && event.heat->index == 1) std::ofstream(cut()) << "";
  };
  Sweep sweep = sweep_of(R"("full/dense")", "64, 128");
  sweep.heats[1].contenders[0].implementation = "held";
  const Ran ran = run(sweep, how);
  ASSERT_FALSE(ran.outcome);
  EXPECT_THAT(ran.outcome.error().message,
              AllOf(HasSubstr("no new connection"), HasSubstr("no route to host"),
                    HasSubstr("attnscope run --resume ")));
  EXPECT_EQ(last().status, RunStatus::interrupted);
  EXPECT_EQ(last().heats_done, 1);

  let_go();
  std::filesystem::remove(cut());
  Store store = open_store();
  const auto resumed = resume_run(*store.find_run("last"), store, over_a_line());
  ASSERT_TRUE(resumed) << resumed.error().message;
  EXPECT_EQ(resumed->status, RunStatus::done);
  EXPECT_THAT(stored_cells(store, resumed->run), SizeIs(2));
}

TEST_F(RemoteTest, SilenceInAHeat_IsALostConnectionAndEndsTheRun) {
  misbehave("elsewhere no-heartbeat");
  DriverOptions how = options();
  how.connection.silence = milliseconds(100);
  const Ran ran = run(sweep_of(R"("full/hang")", "64"), how);
  ASSERT_FALSE(ran.outcome);
  EXPECT_THAT(ran.outcome.error().message,
              AllOf(HasSubstr("lost 3 times in a row"), HasSubstr("it sent nothing"),
                    HasSubstr("--resume")));
  EXPECT_EQ(last().status, RunStatus::interrupted);
  EXPECT_THAT(stored_cells(open_store(), last().id), IsEmpty());
}

TEST_F(RemoteTest, AHeatThatLosesAProcessEveryTime_EndsTheRun) {
  misbehave("elsewhere second-lost");
  DriverOptions how = over_a_line();
  how.connection.patience = std::chrono::minutes(1);
  const Ran ran = run(sweep_of(R"("full/dense")", "64", R"("placements": 2, "processes": 2)"), how);
  ASSERT_FALSE(ran.outcome);
  EXPECT_THAT(ran.outcome.error().message, HasSubstr("--resume"));
}

TEST_F(RemoteTest, ARestartedMachineOrAnotherVersion_IsRefusedAfterAHeat) {
  expect_refused_afterwards("elsewhere restarted",
                            AllOf(HasSubstr("'fakebox'"), HasSubstr("restarted")));
  misbehave("elsewhere");
  expect_refused_afterwards(
      "elsewhere old-version",
      AllOf(HasSubstr("version 0.0.1"), HasSubstr(std::string("version ") + ATTNSCOPE_VERSION)));
}

TEST_F(RemoteTest, AnswersInSingleBytes_AreReadWhole) {
  misbehave("elsewhere single-bytes");
  expect_whole(options(), /*samples=*/500);
}

// Transferring the answer takes longer than a worker may be silent.
TEST_F(RemoteTest, ASlowAnswer_IsASignOfLife) {
  misbehave("elsewhere no-heartbeat slow-output");
  DriverOptions how = options();
  how.patience = std::chrono::seconds(2);
  how.connection.silence = std::chrono::seconds(2);
  expect_whole(how, /*samples=*/1500);
}

// After a lost connection, the old worker may still be running.
TEST_F(RemoteTest, TheNextWorkerOfARun_ReplacesTheOldOne) {
  misbehave("elsewhere deaf");
  const StartOptions run_of_one{.driver = "0123456789abcdef"};
  auto left_over = WorkerProcess::start(FAKE_WORKER_PROGRAM, run_of_one);
  ASSERT_TRUE(left_over) << left_over.error().message;
  auto other_run = WorkerProcess::start(FAKE_WORKER_PROGRAM, {.driver = "fedcba9876543210"});
  ASSERT_TRUE(other_run) << other_run.error().message;
  auto next = WorkerProcess::start(FAKE_WORKER_PROGRAM, run_of_one);
  ASSERT_TRUE(next) << next.error().message;
  EXPECT_EQ(left_over->read(std::chrono::minutes(1)).wait, WorkerProcess::Wait::ended);
  EXPECT_EQ(other_run->read(milliseconds(1)).wait, WorkerProcess::Wait::timeout);
  EXPECT_EQ(next->read(milliseconds(1)).wait, WorkerProcess::Wait::timeout);
}

}  // namespace
}  // namespace attnscope
