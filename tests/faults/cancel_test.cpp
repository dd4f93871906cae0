// SPDX-License-Identifier: Apache-2.0
//
// Ctrl-C at `attnscope run`: told at once, over within the current iteration, and within two
// seconds when the worker does not listen.
#include <csignal>
#include <sstream>

#include "tests/faults/fault_fixture.h"
#include "tests/faults/live_program.h"

namespace attnscope {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class CancelTest : public FaultFixture {
 protected:
  [[nodiscard]] std::vector<std::string> run_of(const std::string& contender) const {
    std::ofstream(folder_ / "sweep.json")
        << fmt::format(R"({{"name": "cancel", "threads": 1, "contenders": ["{}"],
            "sequence_tokens": [64, 128], "stop": {{"min_samples": 3, "placements": 1, "processes": 1}}}})",
                       contender);
    return {"run",
            (folder_ / "sweep.json").string(),
            "--db",
            database().string(),
            "--events",
            "--worker",
            FAKE_WORKER_PROGRAM};
  }
  [[nodiscard]] std::string errors() const { return (folder_ / "errors").string(); }
  [[nodiscard]] std::string said() const {
    std::stringstream text;
    text << std::ifstream(errors()).rdbuf();
    return text.str();
  }
};

TEST_F(CancelTest, FirstInterrupt_IsAnsweredAndEndsWithExitCode130) {
  LiveProgram program(run_of("full/endless"), errors());
  ASSERT_TRUE(program.read_until("contender"));
  program.send(SIGINT);
  ASSERT_TRUE(program.read_until("cancelling"));
  program.read_all();
  EXPECT_EQ(program.wait(), 130);
  EXPECT_EQ(program.seen().back().at("text"), "cancelled");
  EXPECT_THAT(said(), HasSubstr("cancelling: the current iteration ends first"));
  EXPECT_THAT(said(), HasSubstr("Ctrl-C again ends at once"));
  EXPECT_EQ(open_store().find_run("last")->status, RunStatus::cancelled);
  EXPECT_THAT(requests(), Not(Contains("heat 128")));
}

TEST_F(CancelTest, WorkerThatDoesNotListen_IsEndedAndTheRunIsCancelled) {
  LiveProgram program(run_of("full/hang"), errors());
  ASSERT_TRUE(program.read_until("contender"));
  program.send(SIGTERM);
  program.read_all();
  EXPECT_EQ(program.wait(), 130);
  EXPECT_THAT(program.kinds(), Contains("cancelling"));
  EXPECT_THAT(stored_cells(open_store(), open_store().find_run("last")->id), IsEmpty());
}

TEST_F(CancelTest, SecondInterrupt_EndsAtOnce) {
  LiveProgram program(run_of("full/hang"), errors());
  ASSERT_TRUE(program.read_until("contender"));
  program.send(SIGINT);
  ASSERT_TRUE(program.read_until("cancelling"));
  program.send(SIGINT);
  program.read_all();
  EXPECT_EQ(program.wait(), 130);
}

TEST_F(CancelTest, WhileTheWorkerStarts_NothingIsStored) {
  misbehave("mute");
  LiveProgram program(run_of("full/dense"), errors());
  wait_for_request("hello");
  program.send(SIGINT);
  program.read_all();
  EXPECT_EQ(program.wait(), 130);
  EXPECT_THAT(said(), HasSubstr("cancelled while the measuring process"));
  EXPECT_THAT(open_store().runs().value(), IsEmpty());
}

TEST_F(CancelTest, ToldInTheStore_ForWhoeverFollowsTheRun) {
  LiveProgram program(run_of("full/hang"), errors());
  ASSERT_TRUE(program.read_until("contender"));
  program.send(SIGINT);
  ASSERT_TRUE(program.read_until("cancelling"));
  const Store store = open_store();
  const RunId run = store.find_run("last")->id;
  const auto is_told = [&] {
    const auto progress = store.progress(run);
    return progress && *progress && (*progress)->current.starts_with("cancelling");
  };
  // It is written right after it is told, and may be over within two seconds.
  while (!is_told() && store.find_run("last")->status == RunStatus::running) {
  }
  EXPECT_TRUE(is_told());
  program.send(SIGINT);
  program.read_all();
  EXPECT_EQ(program.wait(), 130);
}

}  // namespace
}  // namespace attnscope
