// SPDX-License-Identifier: Apache-2.0
#include "engine/worker/worker_process.h"

#include <csignal>
#include <initializer_list>
#include <string>

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
  static WorkerProcess started() {
    auto worker = WorkerProcess::start(FAKE_WORKER_PROGRAM);
    if (!worker) throw std::runtime_error(worker.error().message);
    return std::move(*worker);
  }
  static bool exists(int pid) { return kill(pid, 0) == 0; }
};

TEST_F(WorkerProcessTest, Handshake_DescribesTheWorker) {
  WorkerProcess worker = started();
  EXPECT_EQ(worker.hello().device.at("name"), "Fake processor");
}

TEST_F(WorkerProcessTest, Start_SucceedsOrReportsTheReason) {
  const std::string missing = "/nowhere/attnscope-worker";
  const std::string large_greeting =
      R"(printf '{"event":"hello","x":"'; head -c 2000000 /dev/zero | tr '\0' x; echo '"}'; cat)";
  const auto expect = [](const char* fault, const std::string& command,
                         std::initializer_list<std::string> words) {
    misbehave(fault);
    const std::string error = error_of(command);
    for (const std::string& each : words) EXPECT_THAT(error, HasSubstr(each)) << fault << command;
  };
  expect("", fmt::format("env A=b {}", FAKE_WORKER_PROGRAM), {"no error"});
  expect("", missing, {"'" + missing + "' was not found", "scripts/setup", "ATTNSCOPE_WORKER"});
  expect("", missing + " --fast", {"did not start", "127", missing});
  const std::string text_file = folder_ / "attnscope-worker";
  std::ofstream(text_file) << "not a program";
  expect("", text_file, {text_file, "not an executable", "scripts/setup"});
  expect("", "tr '\\0' x < /dev/zero", {"a line of more than 64 MiB"});
  expect("", large_greeting, {"a greeting of more than 1 MiB"});
  for (const char* command : {R"(echo '{"event": 5}'; cat)", "echo {}", "cat -"})
    expect("", command, {"does not follow the protocol"});
  expect("garbage-hello", FAKE_WORKER_PROGRAM, {"Welcome to gpubox!"});
  expect("refuses", FAKE_WORKER_PROGRAM, {"more than one OpenMP runtime"});
  expect("silent-exit", FAKE_WORKER_PROGRAM, {"exit code 5", "fake worker here"});
  expect("old-version", FAKE_WORKER_PROGRAM, {"no error"});
  const std::string own = "protocol " + std::to_string(protocol::version) + ": build";
  for (const auto& [fault, spoken] : {std::pair("old-protocol", protocol::oldest_version - 1),
                                      std::pair("new-protocol", protocol::version + 1)}) {
    expect(fault, FAKE_WORKER_PROGRAM, {"speaks protocol " + std::to_string(spoken), own});
  }
  const auto greeting = [](const std::string& fields) {
    return R"(echo '{"event":"hello",)" + fields + "}'; cat";
  };
  const std::string right = fmt::format(R"("protocol":{})", protocol::version);
  for (const char* fields : {R"("version":"1")", R"("protocol":"8","version":"1")"})
    expect("", greeting(fields), {"does not state its protocol as a whole number"});
  expect("", greeting(right + R"(,"version":"")"), {"'version' is empty"});
  for (const char* field : {"build", "device"}) {
    expect("", greeting(fmt::format(R"({},"version":"1","{}":[7])", right, field)),
           {fmt::format("'{}' must be an object {{...}} or null, not [7]", field)});
  }
  expect("", greeting(right + R"(,"version":"1","devices":[7])"), {"'devices' must be a list"});
  const std::string of_long_version =
      R"(printf '{"event":"hello","protocol":99,"version":"'; head -c 100000 /dev/zero | tr '\0' x;)"
      R"( echo '"}'; cat)";
  EXPECT_LT(error_of(of_long_version).size(), 1000U);
}

TEST_F(WorkerProcessTest, AFileNameWithSpaces_IsNotAShellCommand) {
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

TEST_F(WorkerProcessTest, AStartWithoutAnAnswer_EndsWithATimeout) {
  misbehave("mute");
  for (const char* command :
       {FAKE_WORKER_PROGRAM, "yes ''", "yes nothing >&2", "while sleep 0.01; do printf x; done",
        "while :; do echo; echo nothing >&2; done"}) {
    EXPECT_THAT(error_of(command, std::chrono::milliseconds(100)),
                HasSubstr("no answer within 0.1 s"))
        << command;
  }
}

TEST_F(WorkerProcessTest, WholeLines_AreNotPending) {
  WorkerProcess worker = started();
  ASSERT_TRUE(worker.send({{"request", "ceilings"}, {"threads", 1}}));
  ASSERT_TRUE(worker.send({{"request", "ceilings"}, {"threads", 1}}));
  ASSERT_EQ(worker.read(seconds(60)).wait, WorkerProcess::Wait::event);
  EXPECT_EQ(worker.pending_bytes(), 0U);
}

TEST_F(WorkerProcessTest, AVeryLongRefusal_IsShortened) {
  misbehave("endless-refusal");
  const std::string error = error_of(FAKE_WORKER_PROGRAM);
  EXPECT_THAT(error, HasSubstr("xxx"));
  EXPECT_LT(error.size(), 3 * longest_words);
}

TEST_F(WorkerProcessTest, AKilledWorker_ReportsTheSignal) {
  WorkerProcess worker = started();
  ASSERT_EQ(kill(worker.pid(), SIGKILL), 0);
  const auto read = worker.read(seconds(60));
  ASSERT_EQ(read.wait, WorkerProcess::Wait::ended);
  EXPECT_EQ(read.ended.signal, SIGKILL);
  EXPECT_THAT(read.ended.words,
              AllOf(HasSubstr("signal 9 (SIGKILL)"), HasSubstr("fake worker here")));
  EXPECT_EQ(worker.read(seconds(60)).wait, WorkerProcess::Wait::ended);
}

TEST_F(WorkerProcessTest, RequestToADeadWorker_IsAnErrorAndNoSignal) {
  WorkerProcess worker = started();
  worker.kill();
  EXPECT_FALSE(worker.send({{"request", "describe"}}));
  EXPECT_FALSE(worker.send({{"request", "describe"}}));
}

TEST_F(WorkerProcessTest, ARequestThatIsNotRead_DoesNotBlock) {
  auto worker = WorkerProcess::start(fmt::format(
      "echo '{}'; exec true",
      nlohmann::json(
          {{"event", "hello"}, {"protocol", protocol::version}, {"version", ATTNSCOPE_VERSION}})
          .dump()));
  ASSERT_TRUE(worker) << worker.error().message;
  EXPECT_FALSE(worker->send({{"request", std::string(1 << 20, 'x')}}));
}

TEST_F(WorkerProcessTest, LargeRequest_ArrivesWhole) {
  WorkerProcess worker = started();
  ASSERT_TRUE(worker.send(
      {{"request", "ceilings"}, {"threads", 3}, {"ballast", std::string(1 << 20, 'x')}}));
  const auto read = worker.read(seconds(60));
  ASSERT_EQ(read.wait, WorkerProcess::Wait::event);
  EXPECT_EQ(read.event.at("ceilings").at("threads"), 3);
}

TEST_F(WorkerProcessTest, NothingToRead_IsATimeout) {
  WorkerProcess worker = started();
  EXPECT_EQ(worker.read(std::chrono::milliseconds(1)).wait, WorkerProcess::Wait::timeout);
}

TEST_F(WorkerProcessTest, Destructor_LeavesNoProcess) {
  for (const char* fault : {"", "deaf"}) {
    misbehave(fault);
    int pid = 0;
    {
      WorkerProcess worker = started();
      pid = worker.pid();
      EXPECT_TRUE(exists(pid));
    }
    EXPECT_FALSE(exists(pid)) << fault;  // neither running nor a zombie
  }
}

}  // namespace
}  // namespace attnscope
