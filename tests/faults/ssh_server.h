#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A real sshd on a separate port, run by this user with a temporary key. All its files are in one
// folder; the destructor stops it.

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace attnscope {

class SshServer {
 public:
  /// The reason why sshd cannot run here; nothing if it can.
  [[nodiscard]] static std::optional<std::string> missing();
  /// Throws std::runtime_error with sshd's output if it does not start.
  explicit SshServer(std::filesystem::path folder);
  SshServer(const SshServer&) = delete;
  SshServer& operator=(const SshServer&) = delete;
  ~SshServer();

  /// The shell command that runs `remote` on the server.
  [[nodiscard]] std::string command(const std::string& remote) const;
  /// Kills every session, which looks like a lost connection; the server keeps running.
  void cut_connections() const;
  void stop();

 private:
  [[nodiscard]] std::vector<pid_t> sessions() const;
  std::filesystem::path folder_;
  int port_ = 0;
  pid_t server_ = -1;
};

}  // namespace attnscope
