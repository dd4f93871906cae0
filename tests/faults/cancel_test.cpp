// SPDX-License-Identifier: Apache-2.0
//
// Ctrl-C at `attnscope run`: reported at once, effective within the current iteration, and within
// two seconds if the worker does not respond. Cancelled runs are resumed with the rest.
#include <csignal>

#include "tests/faults/live_program.h"

namespace attnscope {
namespace {

using testing::Contains;
using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using Kind = RunEvent::Kind;

using CancelTest = ProgramFixture;

TEST_F(CancelTest, FirstInterrupt_IsReportedAndEndsWithExitCode130) {
  LiveProgram program(run_of(R"("full/endless")", "64, 128"), errors(), "contender");
  program.send(SIGINT);
  ASSERT_TRUE(program.read_until("cancelling"));
  EXPECT_EQ(program.read_to_the_end(), 130);
  EXPECT_EQ(program.seen().back().at("text"), "cancelled");
  EXPECT_THAT(warnings(), HasSubstr("cancelling after the current iteration"));
  EXPECT_THAT(warnings(), HasSubstr("press Ctrl-C again to end immediately"));
  EXPECT_THAT(warnings(), ContainsRegex("attnscope run --resume .* --db .* measures the rest"));
  EXPECT_EQ(last().status, RunStatus::cancelled);
  EXPECT_THAT(requests(), Not(Contains("heat 128")));
}

TEST_F(CancelTest, AHangup_CancelsTheRunUnlessItIgnoresHangups) {
  for (const bool outlives : {false, true}) {
    hold_on();
    const auto before = std::signal(SIGHUP, outlives ? SIG_IGN : SIG_DFL);
    LiveProgram program(run_of(R"("full/held")", "64"), errors());
    std::signal(SIGHUP, before);
    ASSERT_TRUE(program.read_until("contender"));
    program.send(SIGHUP);
    EXPECT_TRUE(outlives || program.read_until("cancelling"));
    let_go();
    EXPECT_EQ(program.read_to_the_end(), outlives ? 0 : 130);
    EXPECT_EQ(last().status, outlives ? RunStatus::done : RunStatus::cancelled);
  }
}

TEST_F(CancelTest, ALimitOnFileSizes_IsAnErrorAndNoSignal) {
  limit_file_size(512);
  const auto before = std::signal(SIGXFSZ, SIG_DFL);
  LiveProgram program(run_of(R"("full/dense")", "64"), "/dev/null");
  const int ended = program.read_to_the_end();
  std::signal(SIGXFSZ, before);
  limit_file_size(RLIM_INFINITY);
  EXPECT_EQ(ended, 3);
}

TEST_F(CancelTest, WorkerThatDoesNotRespond_IsKilledAndTheRunIsCancelled) {
  LiveProgram program(run_of(R"("full/hang")", "64, 128"), errors(), "contender");
  program.send(SIGTERM);
  EXPECT_EQ(program.read_to_the_end(), 130);
  EXPECT_THAT(program.kinds(), Contains("cancelling"));
  EXPECT_THAT(stored_cells(open_store(), last().id), IsEmpty());
}

TEST_F(CancelTest, WhileTheWorkerStarts_NothingIsStored) {
  misbehave("mute");
  LiveProgram program(run_of(R"("full/dense")", "64, 128"), errors());
  wait_for_request("hello");
  program.send(SIGINT);
  EXPECT_EQ(program.read_to_the_end(), 130);
  EXPECT_THAT(warnings(), HasSubstr("cancelled while the measuring process"));
  EXPECT_THAT(open_store().runs().value(), IsEmpty());
}

TEST_F(CancelTest, FirstInterrupt_IsStoredAndTheSecondEndsAtOnce) {
  LiveProgram program(run_of(R"("full/hang")", "64, 128"), errors(), "contender");
  program.send(SIGINT);
  ASSERT_TRUE(program.read_until("cancelling"));
  const Store store = open_store();
  const RunId run = store.find_run("last")->id;
  const auto is_stored = [&] {
    const auto progress = store.progress(run);
    return progress && *progress && (*progress)->current.starts_with("cancelling");
  };
  // The event comes first, and the run may end within two seconds.
  while (!is_stored() && store.find_run("last")->status == RunStatus::running) {
  }
  EXPECT_TRUE(is_stored());
  program.send(SIGINT);
  EXPECT_EQ(program.read_to_the_end(), 130);
}

using ResumeTest = FaultFixture;

TEST_F(ResumeTest, Cancel_KeepsFinishedHeatsAndDropsTheInterruptedOne) {
  Sweep sweep = sweep_of(R"("full/dense")", "64, 128, 256");
  sweep.heats[1].contenders[0].implementation = "endless";
  const Ran ran = measured(sweep, cancelled_at(Kind::contender, "full/endless: time"));
  EXPECT_EQ(ran.outcome->status, RunStatus::cancelled);
  EXPECT_EQ(ran.info.status, RunStatus::cancelled);
  ASSERT_THAT(ran.cells, SizeIs(1));
  EXPECT_EQ(ran.cells.begin()->first, "64 full/dense");
  EXPECT_THAT(requests(), ElementsAre("hello", "ceilings", "heat 64", "heat 128"));
}

TEST_F(ResumeTest, CancelBeforeTheFirstHeat_MeasuresNothing) {
  const Ran ran =
      measured(sweep_of(R"("full/dense")", "64"), cancelled_at(Kind::started, "", /*level=*/2));
  EXPECT_EQ(ran.outcome->status, RunStatus::cancelled);
  EXPECT_THAT(ran.cells, IsEmpty());
}

TEST_F(ResumeTest, ACancelledRun_IsResumedWithTheRest) {
  ASSERT_EQ(run(sweep_of(R"("full/dense", "full/wrong")", "64, 128, 256"),
                cancelled_at(Kind::heat_finished))
                .outcome->status,
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

TEST_F(ResumeTest, OnlySelection_AppliesToAResumeWithoutThePatternFile) {
  const Sweep whole = sweep_of(R"("full/dense", "full/sdpa")", "64, 128, 256");
  Sweep kept =
      *only(whole, *parse_only("implementation=sdpa,sequence_tokens=64,sequence_tokens=256"));
  for (Heat& heat : kept.heats) heat.contenders[0].pattern = "gone.json";
  ASSERT_TRUE(run(kept, cancelled_at(Kind::heat_finished)).outcome);

  Store store = open_store();
  ASSERT_TRUE(resume_run(*store.find_run("last"), store, options()));
  const auto cells = stored_cells(store, store.find_run("last")->id);
  ASSERT_THAT(cells, SizeIs(2));
  EXPECT_EQ(cells.at("256 gone.json/sdpa").contender.pattern_json,
            kept.heats[0].contenders[0].pattern_json);
}

TEST_F(ResumeTest, FinishedRun_IsNotResumed) {
  ASSERT_TRUE(run(sweep_of(R"("full/dense")", "64")).outcome);
  Store store = open_store();
  const auto resumed = resume_run(*store.find_run("last"), store, options());
  ASSERT_FALSE(resumed);
  EXPECT_THAT(resumed.error().message, HasSubstr("is done"));
}

TEST_F(ResumeTest, AnotherDeviceBuildOrInstructionSet_IsRefusedByName) {
  ASSERT_TRUE(
      run(sweep_of(R"("full/dense")", "64, 128"), cancelled_at(Kind::heat_finished)).outcome);
  Store store = open_store();
  for (const auto& [fault, words] : {std::pair("other-device", "the device 'Fake processor'"),
                                     {"other-build", "the worker commit 'none'"},
                                     {"other-set", "the instruction set 'avx2'"}}) {
    misbehave(fault);
    const auto resumed = resume_run(*store.find_run("last"), store, options());
    ASSERT_FALSE(resumed) << fault;
    EXPECT_THAT(resumed.error().message, HasSubstr(words));
    EXPECT_THAT(resumed.error().message, HasSubstr("'another'"));
    EXPECT_THAT(resumed.error().message, HasSubstr("run --again 1"));
    EXPECT_EQ(store.find_run("last")->status, RunStatus::cancelled);
  }
  misbehave("");
  EXPECT_TRUE(resume_run(*store.find_run("last"), store, options()));
}

TEST_F(ResumeTest, RunningRun_IsNotResumed) {
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

}  // namespace
}  // namespace attnscope
