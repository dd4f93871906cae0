#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The output channel for events. Libraries print to stdout, so the protocol takes the original
// stdout for itself and redirects their output to stderr.

#include <mutex>
#include <nlohmann/json.hpp>
#include <string>

namespace attnscope::worker {

class ProtocolChannel {
 public:
  /// Redirects stdout. Throws std::system_error if no file descriptors are left.
  ProtocolChannel();

  /// Writes one whole line; ends the process if the pipe has no reader.
  void send(const nlohmann::json& event);
  void send_error(const std::string& message);
  /// Writes a blank that precedes the next line: it shows a waiting reader that an answer is
  /// coming.
  void send_sign_of_life();

  /// Ends the process at once, independent of other threads, but never in the middle of a line.
  [[noreturn]] void end_process(int exit_code);

 private:
  void write_all(const std::string& text);

  int descriptor_ = -1;
  std::mutex writing_;
};

}  // namespace attnscope::worker
