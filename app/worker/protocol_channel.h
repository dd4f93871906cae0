#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The way out for events. Libraries print to stdout as they please, so the protocol takes the
// original stdout for itself and what they print goes to stderr.

#include <mutex>
#include <nlohmann/json.hpp>
#include <string>

namespace attnscope::worker {

class ProtocolChannel {
 public:
  /// Moves stdout away. Throws std::system_error when descriptors run out.
  ProtocolChannel();

  /// Writes one whole line; ends the process when nobody reads any more.
  void send(const nlohmann::json& event);
  void send_error(const std::string& message);
  /// A blank of the next line: whoever waits for it sees that it is on its way.
  void send_sign_of_life();

  /// Ends the process at once, whatever other threads do, but never in the middle of a line.
  [[noreturn]] void end_process(int exit_code);

 private:
  void write_all(const std::string& text);

  int descriptor_ = -1;
  std::mutex writing_;
};

}  // namespace attnscope::worker
