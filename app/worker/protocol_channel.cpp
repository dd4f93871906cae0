// SPDX-License-Identifier: Apache-2.0
#include "app/worker/protocol_channel.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>
#include <system_error>

#include "engine/worker/machine_messages.h"

namespace attnscope::worker {
namespace {

constexpr int lowest_private_descriptor = 100;  // for code that assumes 0, 1, 2

}  // namespace

ProtocolChannel::ProtocolChannel()
    : descriptor_(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, lowest_private_descriptor)) {
  // The limit on open files may be lower.
  if (descriptor_ < 0) descriptor_ = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (descriptor_ < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
    throw std::system_error(errno, std::generic_category(), "stdout cannot be moved");
  // Redirected output should appear line by line, as stderr does.
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
}

void ProtocolChannel::send(const nlohmann::json& event) {
  const std::string line = protocol::write_line(event);
  write_all(line);
}

void ProtocolChannel::send_sign_of_life() {
  write_all(" ");
}

void ProtocolChannel::write_all(const std::string& text) {
  const std::lock_guard lock(writing_);
  for (std::size_t written = 0; written < text.size();) {
    const ssize_t count = write(descriptor_, text.data() + written, text.size() - written);
    if (count >= 0) {
      written += static_cast<std::size_t>(count);
    } else if (errno != EINTR) {
      _exit(0);  // the driver has exited
    }
  }
}

void ProtocolChannel::send_error(const std::string& message) {
  send(protocol::as_event(protocol::RequestFailed{.message = message, .contender = {}}));
}

void ProtocolChannel::end_process(int exit_code) {
  const std::lock_guard lock(writing_);
  _exit(exit_code);
}

}  // namespace attnscope::worker
