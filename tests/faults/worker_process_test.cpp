// SPDX-License-Identifier: Apache-2.0
#include "engine/worker/worker_process.h"

#include <sys/stat.h>

#include <csignal>

#include "attnscope/build_info.h"
#include "engine/worker/protocol.h"
#include "tests/faults/fault_fixture.h"

namespace attnscope {
namespace {

using std::chrono::seconds;
using testing::AllOf;
using testing::HasSubstr;

class WorkerProcessTest : public FaultFixture {
 protected:
  static std::string error_of(const std::string& command,
                              std::chrono::milliseconds patience = seconds(60)) {
    auto worker = WorkerProcess::start(command, {.patience = patience});
    return worker ? "no error" : worker.error().message;
  }
  static bool exists(int pid) { return kill(pid, 0) == 0; }
};

TEST_F(WorkerProcessTest, Handshake_TellsOfTheWorker) {
  auto worker = WorkerProcess::start(FAKE_WORKER_PROGRAM);
  ASSERT_TRUE(worker) << worker.error().message;
  EXPECT_EQ(worker->hello().device.at("name"), "Fake processor");
}

TEST_F(WorkerProcessTest, CommandWithArguments_GoesThroughTheShell) {
  auto worker = WorkerProcess::start(fmt::format("env A=b {}", FAKE_WORKER_PROGRAM));
  ASSERT_TRUE(worker) << worker.error().message;
}

TEST_F(WorkerProcessTest, FileWithSpacesInItsName_IsNoShellCommand) {
  const auto link = folder_ / "a worker";
  std::filesystem::create_symlink(FAKE_WORKER_PROGRAM, link);
  EXPECT_EQ(error_of(link.string()), "no error");
}

TEST_F(WorkerProcessTest, Environment_NamesTheDefaultWorker) {
  setenv("ATTNSCOPE_WORKER", FAKE_WORKER_PROGRAM, 1);
  EXPECT_EQ(error_of(""), "no error");
  setenv("ATTNSCOPE_WORKER", "", 1);
  EXPECT_TRUE(default_worker().ends_with("/tests/attnscope-worker")) << default_worker();
  unsetenv("ATTNSCOPE_WORKER");
}

TEST_F(WorkerProcessTest, LineWithoutEnd_IsGivenUpBeforeItFillsTheMemory) {
  EXPECT_THAT(error_of("tr '\\0' x < /dev/zero"), HasSubstr("a line of more than 64 MiB"));
}

TEST_F(WorkerProcessTest, WhoeverTellsNothingWithoutEndIsGivenUp) {
  const auto patience = std::chrono::milliseconds(100);
  for (const char* endless : {"yes ''", "yes nothing >&2", "while sleep 0.01; do printf x; done",
                              "while :; do echo; echo nothing >&2; done"}) {
    EXPECT_THAT(error_of(endless, patience), HasSubstr("no answer within 0.1 s")) << endless;
  }
}

TEST_F(WorkerProcessTest, LinesThatAreWholeArePendingNoMore) {
  auto worker = WorkerProcess::start(FAKE_WORKER_PROGRAM);
  ASSERT_TRUE(worker) << worker.error().message;
  ASSERT_TRUE(worker->send({{"request", "ceilings"}, {"threads", 1}}));
  ASSERT_TRUE(worker->send({{"request", "ceilings"}, {"threads", 1}}));
  ASSERT_EQ(worker->read(seconds(60)).wait, WorkerProcess::Wait::event);
  EXPECT_EQ(worker->pending_bytes(), 0U);
}

TEST_F(WorkerProcessTest, AnEventWithoutANameIsNotOfTheProtocol) {
  EXPECT_THAT(error_of(R"(echo '{"event": 5}'; cat)"), HasSubstr("does not follow the protocol"));
}

TEST_F(WorkerProcessTest, AGreetingThatWouldFillTheStoreIsRefused) {
  EXPECT_THAT(
      error_of(
          R"(printf '{"event":"hello","x":"'; head -c 2000000 /dev/zero | tr '\0' x; echo '"}'; cat)"),
      HasSubstr("a greeting of more than 1 MiB"));
}

TEST_F(WorkerProcessTest, MissingProgram_NamesPathAndMend) {
  EXPECT_THAT(error_of("/nowhere/attnscope-worker"),
              AllOf(HasSubstr("'/nowhere/attnscope-worker' was not found"),
                    HasSubstr("scripts/setup"), HasSubstr("ATTNSCOPE_WORKER")));
}

TEST_F(WorkerProcessTest, MissingProgramInAShellCommand_IsQuotedFromTheShell) {
  EXPECT_THAT(
      error_of("/nowhere/attnscope-worker --fast"),
      AllOf(HasSubstr("did not start"), HasSubstr("127"), HasSubstr("/nowhere/attnscope-worker")));
}

TEST_F(WorkerProcessTest, FileThatIsNoProgram_NamesPathAndMend) {
  const auto file = folder_ / "attnscope-worker";
  std::ofstream(file) << "not a program";
  EXPECT_THAT(
      error_of(file.string()),
      AllOf(HasSubstr(file.string()), HasSubstr("not an executable"), HasSubstr("scripts/setup")));
}

TEST_F(WorkerProcessTest, AcceptsAnotherVersionOfTheSameProtocol) {
  misbehave("old-version");
  const auto worker = WorkerProcess::start(FAKE_WORKER_PROGRAM);
  ASSERT_TRUE(worker) << worker.error().message;
  EXPECT_EQ(worker->hello().version, "0.0.1");
}

TEST_F(WorkerProcessTest, RefusesAnOlderAndANewerProtocol) {
  const std::string own = "protocol " + std::to_string(protocol::version);
  for (const auto& [fault, spoken] : {std::pair("old-protocol", protocol::oldest_version - 1),
                                      std::pair("new-protocol", protocol::version + 1)}) {
    misbehave(fault);
    EXPECT_THAT(
        error_of(FAKE_WORKER_PROGRAM),
        AllOf(HasSubstr("speaks protocol " + std::to_string(spoken)), HasSubstr(own + ": build")));
  }
}

TEST_F(WorkerProcessTest, NoAnswer_EndsTheWaiting) {
  misbehave("mute");
  EXPECT_THAT(error_of(FAKE_WORKER_PROGRAM, std::chrono::milliseconds(200)),
              HasSubstr("no answer within 0.2 s"));
}

TEST_F(WorkerProcessTest, EndBeforeTheHandshake_IsTold) {
  misbehave("silent-exit");
  EXPECT_THAT(error_of(FAKE_WORKER_PROGRAM),
              AllOf(HasSubstr("exit code 5"), HasSubstr("fake worker here")));
}

TEST_F(WorkerProcessTest, Refusal_IsQuoted) {
  misbehave("refuses");
  EXPECT_THAT(error_of(FAKE_WORKER_PROGRAM), HasSubstr("more than one OpenMP runtime"));
}

TEST_F(WorkerProcessTest, RefusalWithoutEnd_IsCut) {
  misbehave("endless-refusal");
  const std::string error = error_of(FAKE_WORKER_PROGRAM);
  EXPECT_THAT(error, HasSubstr("xxx"));
  EXPECT_LT(error.size(), 3 * longest_words);
}

TEST_F(WorkerProcessTest, ProgramThatIsNoWorker_IsQuoted) {
  misbehave("garbage-hello");
  EXPECT_THAT(error_of(FAKE_WORKER_PROGRAM), HasSubstr("Welcome to gpubox!"));
  EXPECT_THAT(error_of("echo {}"), HasSubstr("does not follow the protocol"));
  EXPECT_THAT(error_of("cat -"), HasSubstr("does not follow the protocol"));
}

TEST_F(WorkerProcessTest, KilledFromOutside_TellsTheSignal) {
  auto worker = WorkerProcess::start(FAKE_WORKER_PROGRAM);
  ASSERT_TRUE(worker) << worker.error().message;
  ASSERT_EQ(kill(worker->pid(), SIGKILL), 0);
  const auto read = worker->read(seconds(60));
  ASSERT_EQ(read.wait, WorkerProcess::Wait::ended);
  EXPECT_EQ(read.ended.signal, SIGKILL);
  EXPECT_THAT(read.ended.words,
              AllOf(HasSubstr("signal 9 (SIGKILL)"), HasSubstr("fake worker here")));
  EXPECT_EQ(worker->read(seconds(60)).wait, WorkerProcess::Wait::ended);
}

TEST_F(WorkerProcessTest, RequestToADeadWorker_IsAnErrorAndNoSignal) {
  auto worker = WorkerProcess::start(FAKE_WORKER_PROGRAM);
  ASSERT_TRUE(worker) << worker.error().message;
  worker->kill();
  EXPECT_FALSE(worker->send({{"request", "describe"}}));
  EXPECT_FALSE(worker->send({{"request", "describe"}}));
}

TEST_F(WorkerProcessTest, RequestNobodyReads_IsGivenUpWithoutBlocking) {
  misbehave("garbage-hello");  // it reads nothing more after its greeting
  auto worker = WorkerProcess::start(fmt::format(
      "echo '{}'; exec true",
      nlohmann::json(
          {{"event", "hello"}, {"protocol", protocol::version}, {"version", ATTNSCOPE_VERSION}})
          .dump()));
  ASSERT_TRUE(worker) << worker.error().message;
  EXPECT_FALSE(worker->send({{"request", std::string(1 << 20, 'x')}}));
}

TEST_F(WorkerProcessTest, LargeRequest_ArrivesWhole) {
  auto worker = WorkerProcess::start(FAKE_WORKER_PROGRAM);
  ASSERT_TRUE(worker) << worker.error().message;
  ASSERT_TRUE(worker->send(
      {{"request", "ceilings"}, {"threads", 3}, {"ballast", std::string(1 << 20, 'x')}}));
  const auto read = worker->read(seconds(60));
  ASSERT_EQ(read.wait, WorkerProcess::Wait::event);
  EXPECT_EQ(read.event.at("ceilings").at("threads"), 3);
}

TEST_F(WorkerProcessTest, NothingToRead_IsATimeout) {
  auto worker = WorkerProcess::start(FAKE_WORKER_PROGRAM);
  ASSERT_TRUE(worker) << worker.error().message;
  EXPECT_EQ(worker->read(std::chrono::milliseconds(1)).wait, WorkerProcess::Wait::timeout);
}

TEST_F(WorkerProcessTest, Destructor_LeavesNoProcess) {
  int pid = 0;
  {
    auto worker = WorkerProcess::start(FAKE_WORKER_PROGRAM);
    ASSERT_TRUE(worker) << worker.error().message;
    pid = worker->pid();
    EXPECT_TRUE(exists(pid));
  }
  EXPECT_FALSE(exists(pid));  // neither running nor a zombie
}

TEST_F(WorkerProcessTest, WorkerThatWillNotQuit_IsKilled) {
  misbehave("deaf");
  int pid = 0;
  {
    auto worker = WorkerProcess::start(FAKE_WORKER_PROGRAM);
    ASSERT_TRUE(worker) << worker.error().message;
    pid = worker->pid();
  }
  EXPECT_FALSE(exists(pid));
}

TEST_F(WorkerProcessTest, MovedWorker_StillAnswers) {
  auto started = WorkerProcess::start(FAKE_WORKER_PROGRAM);
  ASSERT_TRUE(started) << started.error().message;
  WorkerProcess worker = std::move(*started);
  ASSERT_TRUE(worker.send({{"request", "ceilings"}, {"threads", 1}}));
  EXPECT_EQ(worker.read(seconds(60)).wait, WorkerProcess::Wait::event);
}

}  // namespace
}  // namespace attnscope
