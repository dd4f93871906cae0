// SPDX-License-Identifier: Apache-2.0
#include "engine/worker/sign_of_life.h"

#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <string_view>
#include <utility>

#include "engine/worker/machine_messages.h"

namespace attnscope {
namespace {

constexpr int exit_wrong_use = 2;
constexpr int ending_ms = 5'000;

Beacon* watched_beacon = nullptr;

Beacon* make_beacon() {
  void* page =
      mmap(nullptr, sizeof(Beacon), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return page == MAP_FAILED ? nullptr : new (page) Beacon;
}

void write_all(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(STDOUT_FILENO, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return;  // the driver is gone
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

// The line feed before it ends a line that the worker may have left incomplete.
void report_end(int status) {
  protocol::WorkerEnded ended{.contender = watched_beacon->contender()};
  (WIFSIGNALED(status) ? ended.signal : ended.exit_code) =
      WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
  write_all("\n");
  write_all(protocol::write_line(protocol::as_event(ended)));
}

[[noreturn]] void end_like(int status) {
  if (WIFSIGNALED(status)) {
    const int number = WTERMSIG(status);
    const rlimit no_core{};  // the worker has written its own core dump
    setrlimit(RLIMIT_CORE, &no_core);
    std::signal(number, SIG_DFL);
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, number);
    sigprocmask(SIG_UNBLOCK, &only, nullptr);
    raise(number);
  }
  _exit(WEXITSTATUS(status));
}

[[noreturn]] void watch(pid_t worker) {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGINT, SIG_IGN);  // from a terminal; the worker gets it, too, and decides
  close(STDIN_FILENO);           // the worker reads the requests
  int status = 0;
  while (waitpid(worker, &status, 0) < 0 && errno == EINTR) {
  }
  report_end(status);
  end_like(status);
}

// An abstract socket name in the kernel, not in a file system: it disappears with its process.
struct Name {
  sockaddr_un address{};
  socklen_t length = 0;
};

Name name_of(const std::string& driver) {
  const std::string text = "attnscope-worker-" + driver;
  Name name;
  name.address.sun_family = AF_UNIX;
  const std::size_t shown = std::min(text.size(), sizeof name.address.sun_path - 1);
  std::copy_n(text.begin(), shown, name.address.sun_path + 1);
  name.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + shown);
  return name;
}

void end_predecessor(const Name& name) {
  const int line = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (line < 0) return;
  ucred holder{};
  socklen_t size = sizeof holder;
  const bool held =
      connect(line, reinterpret_cast<const sockaddr*>(&name.address), name.length) == 0 &&
      getsockopt(line, SOL_SOCKET, SO_PEERCRED, &holder, &size) == 0;
  if (held && holder.uid == getuid() && holder.pid > 0 && holder.pid != getpid() &&
      kill(holder.pid, SIGKILL) == 0) {
    pollfd ended{line, 0, 0};  // hung up when the process ends
    poll(&ended, 1, ending_ms);
  }
  close(line);
}

}  // namespace

std::optional<int> become_watched_worker() {
  watched_beacon = make_beacon();
  const pid_t watcher = getpid();
  const pid_t worker = watched_beacon == nullptr ? -1 : fork();
  if (worker < 0) {
    std::fprintf(stderr, "the measuring process could not be started: %s\n", std::strerror(errno));
    return exit_wrong_use;
  }
  if (worker > 0) watch(worker);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != watcher) _exit(0);  // the watcher was killed before the worker was bound to it
  return std::nullopt;
}

Beacon& beacon() {
  return *watched_beacon;
}

std::jthread report_alive(std::chrono::milliseconds interval,
                          std::function<void(const nlohmann::json&)> send) {
  return std::jthread([interval, send = std::move(send)](const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any ends;
    // Guards no data: the interruptible wait requires a lock.
    // cppcheck-suppress localMutex
    std::unique_lock lock(mutex);
    while (!stop.stop_requested()) {
      send(protocol::as_event(
          protocol::Alive{.contender = beacon().contender(), .calls = beacon().calls()}));
      ends.wait_for(lock, stop, interval, [] { return false; });
    }
  });
}

void take_over_from(const std::string& driver) {
  if (driver.empty()) return;
  const Name name = name_of(driver);
  end_predecessor(name);
  const int held = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (held < 0) return;
  // Kept open until the process ends. If the name is unavailable, there is only no worker to take
  // over from.
  static_cast<void>(bind(held, reinterpret_cast<const sockaddr*>(&name.address), name.length));
  static_cast<void>(listen(held, 1));
}

}  // namespace attnscope
