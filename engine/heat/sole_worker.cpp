// SPDX-License-Identifier: Apache-2.0
#include "engine/heat/sole_worker.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstddef>

namespace attnscope {
namespace {

constexpr int ending_ms = 5'000;

// A name of the kernel's, not of a file system: it goes with the process that holds it.
struct Name {
  sockaddr_un address{};
  socklen_t length = 0;
};

Name name_of(const std::string& nonce) {
  const std::string text = "attnscope-worker-" + nonce;
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
    pollfd ended{line, 0, 0};  // hung up by its end
    poll(&ended, 1, ending_ms);
  }
  close(line);
}

}  // namespace

void be_the_sole_worker(const std::string& nonce) {
  if (nonce.empty()) return;
  const Name name = name_of(nonce);
  end_predecessor(name);
  const int held = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (held < 0) return;
  // Kept open for good: where it cannot be had, there is only no one to take over from.
  static_cast<void>(bind(held, reinterpret_cast<const sockaddr*>(&name.address), name.length));
  static_cast<void>(listen(held, 1));
}

}  // namespace attnscope
