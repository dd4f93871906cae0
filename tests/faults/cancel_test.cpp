// SPDX-License-Identifier: Apache-2.0
//
// Ctrl-C at `attnscope run`: told at once, over within the current iteration, and within two
// seconds when the worker does not listen.
#include <csignal>
#include <sstream>

#include "tests/faults/live_program.h"

namespace attnscope {
namespace {

using testing::Contains;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class CancelTest : public ProgramFixture {
 protected:
  [[nodiscard]] std::string warnings() const {
    std::stringstream text;
    text << std::ifstream(errors()).rdbuf();
    return text.str();
  }
};

TEST_F(CancelTest, FirstInterrupt_IsAnsweredAndEndsWithExitCode130) {
  LiveProgram program(run_of(R"("full/endless")", "64, 128"), errors());
  ASSERT_TRUE(program.read_until("contender"));
  program.send(SIGINT);
  ASSERT_TRUE(program.read_until("cancelling"));
  program.read_all();
  EXPECT_EQ(program.wait(), 130);
  EXPECT_EQ(program.seen().back().at("text"), "cancelled");
  EXPECT_THAT(warnings(), HasSubstr("cancelling after the current iteration"));
  EXPECT_THAT(warnings(), HasSubstr("press Ctrl-C again to end immediately"));
  EXPECT_THAT(warnings(), ContainsRegex("attnscope run --resume .* --db .* measures the rest"));
  EXPECT_EQ(last().status, RunStatus::cancelled);
  EXPECT_THAT(requests(), Not(Contains("heat 128")));
}

TEST_F(CancelTest, AHangupEndsTheRun_ButNotOneThatWasStartedToOutliveIt) {
  for (const bool outlives : {false, true}) {
    hold_on();
    const auto before = std::signal(SIGHUP, outlives ? SIG_IGN : SIG_DFL);
    LiveProgram program(run_of(R"("full/held")", "64"), errors());
    std::signal(SIGHUP, before);
    ASSERT_TRUE(program.read_until("contender"));
    program.send(SIGHUP);
    EXPECT_TRUE(outlives || program.read_until("cancelling"));
    let_go();
    program.read_all();
    EXPECT_EQ(program.wait(), outlives ? 0 : 130);
    EXPECT_EQ(last().status, outlives ? RunStatus::done : RunStatus::cancelled);
  }
}

TEST_F(CancelTest, AFileThatMayNotGrow_IsASentenceAndNoDeath) {
  limit_file_size(512);
  const auto before = std::signal(SIGXFSZ, SIG_DFL);
  LiveProgram program(run_of(R"("full/dense")", "64"), "/dev/null");
  program.read_all();
  const int ended = program.wait();
  std::signal(SIGXFSZ, before);
  limit_file_size(RLIM_INFINITY);
  EXPECT_EQ(ended, 3);
}

TEST_F(CancelTest, WorkerThatDoesNotListen_IsEndedAndTheRunIsCancelled) {
  LiveProgram program(run_of(R"("full/hang")", "64, 128"), errors());
  ASSERT_TRUE(program.read_until("contender"));
  program.send(SIGTERM);
  program.read_all();
  EXPECT_EQ(program.wait(), 130);
  EXPECT_THAT(program.kinds(), Contains("cancelling"));
  EXPECT_THAT(stored_cells(open_store(), last().id), IsEmpty());
}

TEST_F(CancelTest, SecondInterrupt_EndsAtOnce) {
  LiveProgram program(run_of(R"("full/hang")", "64, 128"), errors());
  ASSERT_TRUE(program.read_until("contender"));
  program.send(SIGINT);
  ASSERT_TRUE(program.read_until("cancelling"));
  program.send(SIGINT);
  program.read_all();
  EXPECT_EQ(program.wait(), 130);
}

TEST_F(CancelTest, WhileTheWorkerStarts_NothingIsStored) {
  misbehave("mute");
  LiveProgram program(run_of(R"("full/dense")", "64, 128"), errors());
  wait_for_request("hello");
  program.send(SIGINT);
  program.read_all();
  EXPECT_EQ(program.wait(), 130);
  EXPECT_THAT(warnings(), HasSubstr("cancelled while the measuring process"));
  EXPECT_THAT(open_store().runs().value(), IsEmpty());
}

TEST_F(CancelTest, ToldInTheStore_ForWhoeverFollowsTheRun) {
  LiveProgram program(run_of(R"("full/hang")", "64, 128"), errors());
  ASSERT_TRUE(program.read_until("contender"));
  program.send(SIGINT);
  ASSERT_TRUE(program.read_until("cancelling"));
  const Store store = open_store();
  const RunId run = store.find_run("last")->id;
  const auto is_reported = [&] {
    const auto progress = store.progress(run);
    return progress && *progress && (*progress)->current.starts_with("cancelling");
  };
  // It is written right after it is told, and may be over within two seconds.
  while (!is_reported() && store.find_run("last")->status == RunStatus::running) {
  }
  EXPECT_TRUE(is_reported());
  program.send(SIGINT);
  program.read_all();
  EXPECT_EQ(program.wait(), 130);
}

}  // namespace
}  // namespace attnscope
