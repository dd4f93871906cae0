// SPDX-License-Identifier: Apache-2.0
//
// --worker 'ssh host attnscope-worker' against a real sshd on this machine.
#include <csignal>

#include "attnscope/build_info.h"
#include "tests/faults/live_program.h"
#include "tests/faults/ssh_server.h"

namespace attnscope {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using Kind = RunEvent::Kind;

class SshTest : public ProgramFixture {
 protected:
  void SetUp() override {
    if (const auto reason = SshServer::missing()) GTEST_SKIP() << *reason;
    server_.emplace(folder_ / "ssh");
    far_end("elsewhere");
  }
  void TearDown() override { server_.reset(); }

  /// Nothing of this environment crosses the line: the far end has a script with its own.
  void far_end(const std::string& faults) const {
    std::ofstream(script()) << fmt::format(
        "export FAKE_WORKER='{}' FAKE_WORKER_LOG='{}' FAKE_WORKER_HOLD='{}' "
        "FAKE_WORKER_PIDS='{}'\nexec '{}'\n",
        faults, (folder_ / "log").string(), hold().string(), (folder_ / "pids").string(),
        FAKE_WORKER_PROGRAM);
  }
  [[nodiscard]] std::filesystem::path script() const { return folder_ / "worker.sh"; }
  [[nodiscard]] std::string worker() const { return server_->command("sh " + script().string()); }
  [[nodiscard]] DriverOptions over_ssh() const {
    DriverOptions how = options();
    how.worker_command = worker();
    how.connection.first_pause = std::chrono::milliseconds(1);
    return how;
  }
  std::optional<SshServer> server_;
};

TEST_F(SshTest, WholeSweep_IsMeasuredThereAndKeptHere) {
  const Ran ran = measured(sweep_of(R"("full/dense", "full/sdpa")", "64, 128"), over_ssh());
  EXPECT_EQ(ran.outcome->status, RunStatus::done);
  EXPECT_THAT(ran.cells, SizeIs(4));
  EXPECT_THAT(ran.warnings, IsEmpty());
  EXPECT_THAT(ran.info.start.provenance, HasSubstr(R"("host":"fakebox")"));
}

TEST_F(SshTest, ConnectionKilledInAHeat_MeasuresItAgainWhole) {
  hold_on();
  DriverOptions how = over_ssh();
  std::vector<pid_t> cut_off;
  how.on_event = [&](const RunEvent& event) {
    if (event.kind != Kind::contender || event.text != "full/held: time" || !cut_off.empty())
      return;
    cut_off = workers();
    server_->cut_connections();
    for (const pid_t pid : cut_off) EXPECT_TRUE(is_gone(pid)) << pid;  // with its connection
    let_go();
  };
  const Ran ran = measured(sweep_of(R"("full/dense", "full/held")", "64, 128"), how);
  EXPECT_EQ(ran.outcome->status, RunStatus::done);
  EXPECT_THAT(cut_off, SizeIs(2));
  ASSERT_THAT(ran.cells, SizeIs(4));
  for (const auto& [key, cell] : ran.cells) {
    EXPECT_EQ(cell.status, CellStatus::ok) << key;
    EXPECT_THAT(cell.samples, SizeIs(6)) << key;
  }
  EXPECT_THAT(ran.warnings, ElementsAre(AllOf(HasSubstr("connection to the worker was lost"),
                                              HasSubstr("connecting again"))));
  EXPECT_THAT(requests(), ElementsAre("hello", "ceilings", "heat 64", "hello", "heat 64",
                                      "heat 128", "ceilings"));
}

TEST_F(SshTest, ServerGone_KeepsTheRunForResume) {
  hold_on();
  DriverOptions how = over_ssh();
  how.connection.patience = std::chrono::milliseconds(20);
  how.on_event = [&](const RunEvent& event) {
    if (event.kind == Kind::contender && event.text == "full/held: time") server_->stop();
  };
  const Ran ran = run(sweep_of(R"("full/held")", "64"), how);
  ASSERT_FALSE(ran.outcome);
  EXPECT_THAT(ran.outcome.error().message,
              AllOf(HasSubstr("no new connection"), HasSubstr("refused"),
                    HasSubstr("attnscope run --resume ")));
  EXPECT_EQ(last().status, RunStatus::interrupted);
}

TEST_F(SshTest, CrashAndKillAtTheFarEnd_CostTheContendersThatRan) {
  const Ran ran = run(sweep_of(R"("full/dense", "full/crash", "full/kill")", "64"), over_ssh());
  ASSERT_TRUE(ran.outcome) << ran.outcome.error().message;
  EXPECT_EQ(ran.cells.at("64 full/dense").status, CellStatus::ok);
  EXPECT_EQ(ran.cells.at("64 full/crash").status, CellStatus::crashed);
  EXPECT_THAT(ran.cells.at("64 full/crash").reason, HasSubstr("SIGSEGV"));
  EXPECT_EQ(ran.cells.at("64 full/kill").status, CellStatus::oom);
}

TEST_F(SshTest, RefusesAnotherProtocolAtTheFarEnd) {
  far_end("elsewhere old-protocol");
  const Ran ran = run(sweep_of(R"("full/dense")", "64"), over_ssh());
  ASSERT_FALSE(ran.outcome);
  EXPECT_THAT(ran.outcome.error().message,
              AllOf(HasSubstr("speaks protocol " + std::to_string(protocol::oldest_version - 1)),
                    HasSubstr("protocol " + std::to_string(protocol::version))));
  EXPECT_THAT(open_store().runs().value(), IsEmpty());
}

TEST_F(SshTest, KilledDriver_LeavesNoWorkerAtTheFarEnd) {
  hold_on();
  LiveProgram program(run_of(R"("full/held")", "64", worker()), errors());
  ASSERT_TRUE(program.read_until("contender"));
  ASSERT_THAT(workers(), SizeIs(2));
  program.send(SIGKILL);
  EXPECT_EQ(program.wait(), -SIGKILL);
  for (const pid_t pid : workers()) EXPECT_TRUE(is_gone(pid)) << pid;
  EXPECT_EQ(last().status, RunStatus::interrupted);
}

#ifdef ATTNSCOPE_WORKER_PROGRAM
TEST_F(SshTest, TheRealWorker_MeasuresOverSsh) {
  DriverOptions how = over_ssh();
  how.worker_command = server_->command(ATTNSCOPE_WORKER_PROGRAM);
  const Ran ran = run(sweep_of(R"("full/dense", "sparse/segment/4")", "64",
                               R"("max_seconds": 0.1, "placements": 1, "processes": 1)"),
                      how);
  ASSERT_TRUE(ran.outcome) << ran.outcome.error().message;
  EXPECT_EQ(ran.cells.at("64 full/dense").status, CellStatus::ok);
  EXPECT_EQ(ran.cells.at("64 sparse/segment/4").status, CellStatus::ok);
}
#endif

}  // namespace
}  // namespace attnscope
