// SPDX-License-Identifier: Apache-2.0
#include "tests/faults/ssh_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

namespace attnscope {
namespace {

constexpr const char* server_program = "/usr/sbin/sshd";
const std::string privilege_separation = "/run/sshd";

sockaddr_in local(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

int free_port() {
  const int probe = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = local(0);
  socklen_t size = sizeof address;
  const bool bound = bind(probe, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
                     getsockname(probe, reinterpret_cast<sockaddr*>(&address), &size) == 0;
  close(probe);
  if (!bound) throw std::runtime_error("no port is free");
  return ntohs(address.sin_port);
}

bool answers(int port) {
  const int probe = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = local(port);
  const bool open =
      connect(probe, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  close(probe);
  return open;
}

void make_key(const std::filesystem::path& file) {
  const std::string command = fmt::format("ssh-keygen -q -t ed25519 -N '' -f '{}'", file.string());
  if (std::system(command.c_str()) != 0) throw std::runtime_error("ssh-keygen made no key");
}

std::string text_of(const std::filesystem::path& file) {
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

struct Process {
  pid_t pid = 0, parent = 0;
  std::string name;
};

std::vector<Process> processes() {
  std::vector<Process> all;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    const std::string stat = text_of(entry.path() / "stat");
    const auto open = stat.find('('), close = stat.rfind(')');
    if (open == std::string::npos || close == std::string::npos) continue;
    Process process;
    process.name = stat.substr(open + 1, close - open - 1);
    char state = 0;
    std::istringstream(stat.substr(0, open)) >> process.pid;
    std::istringstream(stat.substr(close + 1)) >> state >> process.parent;
    all.push_back(process);
  }
  return all;
}

}  // namespace

std::optional<std::string> SshServer::missing() {
  if (access(server_program, X_OK) != 0) return "there is no /usr/sbin/sshd (openssh-server)";
  if (std::system("command -v ssh ssh-keygen >/dev/null 2>&1") != 0)
    return "there is no ssh (openssh-client)";
  return std::nullopt;
}

SshServer::SshServer(std::filesystem::path folder)
    : folder_(std::move(folder)), port_(free_port()) {
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
  // Compiled into sshd, which wants it when it runs as root. Its service makes it where that runs;
  // a container has none, and may not even have /run.
  if (getuid() == 0) {
    std::error_code failed;
    std::filesystem::create_directories(privilege_separation, failed);
    std::filesystem::permissions(privilege_separation, std::filesystem::perms(0755), failed);
    if (failed) throw std::runtime_error(privilege_separation + (": " + failed.message()));
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
  while (!answers(port_)) {
    if (waitpid(server_, nullptr, WNOHANG) != 0 || std::chrono::steady_clock::now() > deadline)
      throw std::runtime_error("sshd did not come up: " + text_of(folder_ / "sshd.log"));
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // between looks
  }
  // One that listens may still let nobody in: an account that is locked, a container without
  // chroot.
  if (std::system((command("true") + " 2>/dev/null").c_str()) != 0)
    throw std::runtime_error("sshd lets nobody in: " + text_of(folder_ / "sshd.log"));
}

SshServer::~SshServer() {
  stop();
}

void SshServer::stop() {
  if (server_ <= 0) return;
  cut_connections();
  kill(server_, SIGKILL);
  waitpid(server_, nullptr, 0);
  server_ = -1;
}

std::string SshServer::command(const std::string& remote) const {
  return fmt::format(
      "ssh -F none -p {} -i '{}' -o IdentitiesOnly=yes -o BatchMode=yes -o LogLevel=ERROR "
      "-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null 127.0.0.1 '{}'",
      port_, (folder_ / "key").string(), remote);
}

std::vector<pid_t> SshServer::sessions() const {
  std::vector<pid_t> found = {server_};
  const std::vector<Process> all = processes();
  for (std::size_t i = 0; i < found.size(); ++i) {
    for (const Process& process : all) {
      if (process.parent == found[i] && process.name.starts_with("sshd"))
        found.push_back(process.pid);
    }
  }
  found.erase(found.begin());
  return found;
}

void SshServer::cut_connections() const {
  for (const pid_t session : sessions()) kill(session, SIGKILL);
}

}  // namespace attnscope
