#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A real sshd on a port of its own, run by this user with a throw-away key, all of it in one
// folder; gone with the object.

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace attnscope {

class SshServer {
 public:
  /// Why there can be none here.
  [[nodiscard]] static std::optional<std::string> missing();
  /// Throws std::runtime_error with sshd's words when it does not come up.
  explicit SshServer(std::filesystem::path folder);
  SshServer(const SshServer&) = delete;
  SshServer& operator=(const SshServer&) = delete;
  ~SshServer();

  /// The shell command that runs `remote` there.
  [[nodiscard]] std::string command(const std::string& remote) const;
  /// Kills every session, as a cut line does; the server itself goes on.
  void cut_connections() const;
  void stop();

 private:
  [[nodiscard]] std::vector<pid_t> sessions() const;
  std::filesystem::path folder_;
  int port_ = 0;
  pid_t server_ = -1;
};

}  // namespace attnscope
