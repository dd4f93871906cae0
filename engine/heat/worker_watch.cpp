// SPDX-License-Identifier: Apache-2.0
#include "engine/heat/worker_watch.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string_view>

namespace attnscope {
namespace {

using protocol::Beacon;

constexpr int exit_wrong_use = 2;

Beacon* shared_beacon = nullptr;

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

// The line feed before it ends what the worker may have left unfinished.
void tell_end(int status) {
  nlohmann::json event = {{"event", "ended"},
                          {"contender", std::atomic_ref(shared_beacon->contender).load()}};
  if (WIFSIGNALED(status)) {
    event["signal"] = WTERMSIG(status);
  } else {
    event["exit_code"] = WEXITSTATUS(status);
  }
  write_all("\n");
  write_all(protocol::write_line(event));
}

[[noreturn]] void end_like(int status) {
  if (WIFSIGNALED(status)) {
    const int number = WTERMSIG(status);
    const rlimit no_core{};  // the worker has left its own
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
  std::signal(SIGINT, SIG_IGN);  // of a terminal; the worker gets it, too, and decides
  close(STDIN_FILENO);           // the requests are the worker's
  int status = 0;
  while (waitpid(worker, &status, 0) < 0 && errno == EINTR) {
  }
  tell_end(status);
  end_like(status);
}

}  // namespace

std::optional<int> become_watched_worker() {
  shared_beacon = make_beacon();
  const pid_t watcher = getpid();
  const pid_t worker = shared_beacon == nullptr ? -1 : fork();
  if (worker < 0) {
    std::fprintf(stderr, "the measuring process could not be started: %s\n", std::strerror(errno));
    return exit_wrong_use;
  }
  if (worker > 0) watch(worker);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != watcher) _exit(0);  // it was killed before it could be bound to this one
  return std::nullopt;
}

Beacon* watched_beacon() {
  return shared_beacon;
}

}  // namespace attnscope
