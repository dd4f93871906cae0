// SPDX-License-Identifier: Apache-2.0
//
// A run pauses between heats and is then continued, cancelled or interrupted.
#include "engine/sweep/pause.h"

#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>

#include "tests/faults/live_program.h"

namespace attnscope {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;
using Kind = RunEvent::Kind;

/// The driver in this process: a flag requests the pause, as the program's signal handler does.
class PauseTest : public FaultFixture {
 protected:
  std::atomic<bool> pause{false};
  std::vector<Kind> kinds;

  [[nodiscard]] Sweep two_heats() const { return sweep_of(R"("full/dense")", "64, 128"); }
  [[nodiscard]] DriverOptions pausing_options(std::function<void(const RunEvent&)> react) {
    DriverOptions how = options();
    how.pause = &pause;
    how.cancel = &cancel_;
    how.on_event = [this, react = std::move(react)](const RunEvent& event) {
      kinds.push_back(event.kind);
      react(event);
    };
    return how;
  }
  [[nodiscard]] std::optional<Progress> progress_of(const RunId& run) const {
    const auto progress = open_store().progress(run);
    return progress ? *progress : std::nullopt;
  }
};

TEST_F(PauseTest, ARequest_PausesAfterTheHeatAndContinuesWithANewWorker) {
  bool paused_in_store = false, pausing_in_store = false;
  int heats_when_paused = -1;
  const Ran ran = measured(two_heats(), pausing_options([&](const RunEvent& event) {
                             const auto progress = progress_of(event.run);
                             if (event.kind == Kind::heat_started && event.heats_done == 0)
                               pause = true;
                             if (event.kind == Kind::heat_finished && event.heats_done == 1)
                               pausing_in_store = progress && !is_paused(*progress);
                             if (event.kind != Kind::paused) return;
                             heats_when_paused = event.heats_done;
                             paused_in_store = progress && is_paused(*progress);
                             static_cast<void>(requests());
                             pause = false;
                           }));
  EXPECT_EQ(ran.outcome->status, RunStatus::done);
  EXPECT_EQ(heats_when_paused, 1);
  EXPECT_TRUE(pausing_in_store);
  EXPECT_TRUE(paused_in_store);
  EXPECT_THAT(kinds, Contains(Kind::continued));
  EXPECT_THAT(ran.cells, SizeIs(2));
  EXPECT_THAT(requests(), Contains("hello"));
}

TEST_F(PauseTest, CancelWhilePaused_EndsTheRunAndKeepsItsHeats) {
  const Ran ran = measured(two_heats(), pausing_options([&](const RunEvent& event) {
                             if (event.kind == Kind::heat_finished) pause = true;
                             if (event.kind == Kind::paused) cancel_ = 1;
                           }));
  EXPECT_EQ(ran.outcome->status, RunStatus::cancelled);
  EXPECT_EQ(ran.info.heats_done, 1);
  EXPECT_THAT(kinds, Not(Contains(Kind::continued)));
}

TEST_F(PauseTest, ARequestDuringTheLastHeat_DoesNotPause) {
  const Ran ran =
      measured(sweep_of(R"("full/dense")", "64"), pausing_options([&](const RunEvent& event) {
                 if (event.kind == Kind::heat_finished) pause = true;
               }));
  EXPECT_EQ(ran.outcome->status, RunStatus::done);
  EXPECT_THAT(kinds, Not(Contains(Kind::paused)));
}

/// The same with the program, which receives requests from outside while its first heat is held.
class PausedProgramTest : public ProgramFixture {
 protected:
  PausedProgramTest() { hold_on(); }

  [[nodiscard]] std::vector<std::string> held_run() const {
    return run_of(R"("full/held")", "64, 128");
  }
  void pause_after_its_heat(LiveProgram& program) const {
    EXPECT_TRUE(request_pause(last()));
    let_go();
    ASSERT_TRUE(program.read_until("paused"));
  }
  /// The output and the errors of `attnscope ARGUMENTS --db DATABASE`.
  [[nodiscard]] std::string say(const std::string& arguments) const {
    const std::string command =
        fmt::format("'{}' {} --db '{}' 2>&1", ATTNSCOPE_PROGRAM, arguments, database().string());
    FILE* pipe = popen(command.c_str(), "r");
    if (pipe == nullptr) throw std::runtime_error("cannot start " + command);
    std::string text;
    std::array<char, 4096> part;
    while (fgets(part.data(), part.size(), pipe) != nullptr) text += part.data();
    pclose(pipe);
    return text;
  }
};

TEST_F(PausedProgramTest, PauseAndContinue_FromTheCommandLine) {
  LiveProgram program(held_run(), errors(), "started");
  EXPECT_THAT(say("pause last"), HasSubstr("pauses after the current heat"));
  let_go();
  ASSERT_TRUE(program.read_until("paused"));
  EXPECT_THAT(say("list runs"), HasSubstr("paused"));
  EXPECT_THAT(say("continue last"), HasSubstr("continues"));
  ASSERT_TRUE(program.read_until("continued"));
  EXPECT_EQ(program.read_to_the_end(), 0);
  EXPECT_EQ(last().status, RunStatus::done);
  EXPECT_EQ(last().heats_done, 2);
}

TEST_F(PausedProgramTest, OfSeveralRequests_TheLastCounts) {
  LiveProgram program(held_run(), errors(), "started");
  program.send(SIGSTOP);
  EXPECT_TRUE(request_pause(last()));
  EXPECT_TRUE(request_continue(last()));
  EXPECT_TRUE(request_pause(last()));
  program.send(SIGCONT);
  let_go();
  ASSERT_TRUE(program.read_until("paused"));
  EXPECT_TRUE(request_continue(last()));
  EXPECT_EQ(program.read_to_the_end(), 0);
}

TEST_F(PausedProgramTest, APausedRunWhoseDriverIsKilled_IsInterruptedAndResumed) {
  LiveProgram program(held_run(), errors(), "started");
  pause_after_its_heat(program);
  program.send(SIGKILL);
  EXPECT_EQ(program.wait(), -SIGKILL);
  EXPECT_EQ(last().status, RunStatus::interrupted);
  EXPECT_THAT(say("list runs"), HasSubstr("interrupted"));
  EXPECT_THAT(say("continue last"), HasSubstr("--resume"));
  Store store = open_store();
  const auto outcome = resume_run(last(), store, options());
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(last().heats_done, 2);
}

TEST_F(PausedProgramTest, ARequestToAProcessWithoutAHandler_IsRefusedAndSendsNoSignal) {
  // This process has no handler, and the signal would end it.
  RunInfo run;
  run.number = 7;
  run.start.process_id = getpid();
  run.start.process_start_ticks = own_process_start_ticks();
  const Status requested = request_pause(run);
  ASSERT_FALSE(requested);
  EXPECT_THAT(requested.error().message, HasSubstr("does not support pausing"));
}

}  // namespace
}  // namespace attnscope
