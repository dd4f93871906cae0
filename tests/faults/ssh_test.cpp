// SPDX-License-Identifier: Apache-2.0
//
// --worker 'ssh host attnscope-worker' against a real sshd on this machine.
#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cctype>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/faults/live_program.h"

namespace attnscope {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;
using Kind = RunEvent::Kind;

constexpr const char* server_program = "/usr/sbin/sshd";

int free_port() {
  const int probe = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  const bool bound = bind(probe, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
                     getsockname(probe, reinterpret_cast<sockaddr*>(&address), &size) == 0;
  close(probe);
  if (!bound) throw std::runtime_error("no port is free");
  return ntohs(address.sin_port);
}

void make_key(const std::filesystem::path& file) {
  const std::string command = fmt::format("ssh-keygen -q -t ed25519 -N '' -f '{}'", file.string());
  if (std::system(command.c_str()) != 0) throw std::runtime_error("ssh-keygen made no key");
}

/// Kills all descendants of the server that are an sshd.
void kill_sessions(pid_t server) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    if (std::isdigit(static_cast<unsigned char>(entry.path().filename().c_str()[0])) == 0) continue;
    std::istringstream stat(text_of(entry.path() / "stat"));  // "PID (NAME) STATE PARENT ..."
    pid_t pid = 0, parent = 0;
    std::string name, state;
    if (!(stat >> pid >> name >> state >> parent)) continue;
    if (parent != server || !name.starts_with("(sshd")) continue;
    kill_sessions(pid);
    kill(pid, SIGKILL);
  }
}

/// A real sshd on a separate port, run by this user with a temporary key. All its files are in one
/// folder; the destructor stops it.
class SshServer {
 public:
  /// The reason why sshd cannot run here; nothing if it can.
  [[nodiscard]] static std::optional<std::string> missing() {
    if (access(server_program, X_OK) != 0) return "there is no /usr/sbin/sshd (openssh-server)";
    if (std::system("command -v ssh ssh-keygen >/dev/null 2>&1") != 0)
      return "there is no ssh (openssh-client)";
    return std::nullopt;
  }

  /// Throws std::runtime_error with sshd's output if nobody can log in.
  explicit SshServer(std::filesystem::path folder) : folder_(std::move(folder)) {
    std::filesystem::create_directories(folder_);
    make_key(folder_ / "host_key");
    make_key(folder_ / "key");
    std::filesystem::copy_file(folder_ / "key.pub", folder_ / "authorized_keys");
    std::ofstream(folder_ / "config") << fmt::format(
        "Port {1}\nListenAddress 127.0.0.1\nHostKey {0}/host_key\nAuthorizedKeysFile "
        "{0}/authorized_keys\nPidFile none\nStrictModes no\nUsePAM no\n"
        "PasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitRootLogin "
        "prohibit-password\nMaxStartups 100\n",
        folder_.string(), port_);
    // As root, sshd needs this folder. Its service creates it, but a container has no such service.
    if (getuid() == 0) {
      std::filesystem::create_directories("/run/sshd");
      std::filesystem::permissions("/run/sshd", std::filesystem::perms(0755));
    }
    const std::string config = folder_ / "config", log = folder_ / "sshd.log";
    server_ = fork();
    if (server_ == 0) {
      setsid();
      const int nothing = open("/dev/null", O_RDWR);
      for (const int standard : {0, 1, 2}) dup2(nothing, standard);
      execl(server_program, server_program, "-D", "-f", config.c_str(), "-E", log.c_str(), nullptr);
      _exit(127);
    }
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (std::system((command("true") + " 2>/dev/null").c_str()) != 0) {
      if (waitpid(server_, nullptr, WNOHANG) != 0 || std::chrono::steady_clock::now() > deadline)
        throw std::runtime_error("sshd admits nobody: " + text_of(log));
    }
  }
  SshServer(const SshServer&) = delete;
  SshServer& operator=(const SshServer&) = delete;
  ~SshServer() { stop(); }

  /// The shell command that runs `remote` on the server.
  [[nodiscard]] std::string command(const std::string& remote) const {
    return fmt::format(
        "ssh -F none -p {} -i '{}' -o IdentitiesOnly=yes -o BatchMode=yes -o LogLevel=ERROR "
        "-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null 127.0.0.1 '{}'",
        port_, (folder_ / "key").string(), remote);
  }
  /// Kills every session, which looks like a lost connection; the server keeps running.
  void cut_connections() const { kill_sessions(server_); }
  void stop() {
    if (server_ <= 0) return;
    cut_connections();
    kill(server_, SIGKILL);
    waitpid(server_, nullptr, 0);
    server_ = -1;
  }

 private:
  std::filesystem::path folder_;
  int port_ = free_port();
  pid_t server_ = -1;
};

class SshTest : public ProgramFixture {
 protected:
  void SetUp() override {
    if (const auto reason = SshServer::missing()) GTEST_SKIP() << *reason;
    server_.emplace(folder_ / "ssh");
    // The environment is not transferred: the far end has a script with its own.
    std::ofstream(script()) << fmt::format(
        "export FAKE_WORKER=elsewhere FAKE_WORKER_LOG='{}' FAKE_WORKER_HOLD='{}' "
        "FAKE_WORKER_PIDS='{}' ATTNSCOPE_LOCKS='{}'\nexec '{}'\n",
        (folder_ / "log").string(), hold().string(), (folder_ / "pids").string(), folder_.string(),
        FAKE_WORKER_PROGRAM);
  }
  void TearDown() override { server_.reset(); }

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

TEST_F(SshTest, AConnectionKilledInAHeat_EndsTheWorkerAndRepeatsTheHeat) {
  hold_on();
  DriverOptions how = over_ssh();
  std::vector<pid_t> cut_off;
  how.on_event = [&](const RunEvent& event) {
    if (event.kind != Kind::contender || event.text != "full/held: time" || !cut_off.empty())
      return;
    cut_off = workers();
    server_->cut_connections();
    for (const pid_t pid : cut_off) EXPECT_TRUE(is_gone(pid)) << pid;
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
  EXPECT_THAT(ran.info.start.provenance, HasSubstr(R"("host":"fakebox")"));
  EXPECT_THAT(ran.warnings, ElementsAre(AllOf(HasSubstr("connection to the worker was lost"),
                                              HasSubstr("connecting again"))));
  EXPECT_THAT(requests(), ElementsAre("hello", "ceilings", "heat 64", "hello", "heat 64",
                                      "heat 128", "ceilings"));
}

TEST_F(SshTest, AStoppedServer_KeepsTheRunForResume) {
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

TEST_F(SshTest, CrashesAtTheFarEnd_LoseTheContendersThatRan) {
  const Ran ran = run(sweep_of(R"("full/dense", "full/crash", "full/kill")", "64"), over_ssh());
  ASSERT_TRUE(ran.outcome) << ran.outcome.error().message;
  EXPECT_EQ(ran.cells.at("64 full/dense").status, CellStatus::ok);
  EXPECT_EQ(ran.cells.at("64 full/crash").status, CellStatus::crashed);
  EXPECT_THAT(ran.cells.at("64 full/crash").reason, HasSubstr("SIGSEGV"));
  EXPECT_EQ(ran.cells.at("64 full/kill").status, CellStatus::oom);
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
