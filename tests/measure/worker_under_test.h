#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The worker program, connected by pipes; requests and events are lines.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace attnscope::worker {

class WorkerUnderTest {
 public:
  /// Starts the program with `arguments` and with `environment` ("A=B") in addition to that of this
  /// process.
  explicit WorkerUnderTest(const std::vector<std::string>& arguments = {},
                           const std::vector<std::string>& environment = {});
  WorkerUnderTest(const WorkerUnderTest&) = delete;
  WorkerUnderTest& operator=(const WorkerUnderTest&) = delete;
  ~WorkerUnderTest();

  void send(const nlohmann::json& request) { send_text(request.dump() + "\n"); }
  void send_text(const std::string& text);
  void close_input();
  void close_output();

  /// The next line of its original stdout; empty at the end or after a minute of silence.
  [[nodiscard]] std::string read_line();
  [[nodiscard]] nlohmann::json read_event();
  /// Events up to and including the first of that kind, or an empty list when it does not come.
  [[nodiscard]] std::vector<nlohmann::json> read_until(const std::string& kind);
  /// Waits for its end; the exit code, or minus the signal.
  [[nodiscard]] int wait_for_end();

 private:
  int input_ = -1;
  int output_ = -1;
  int pid_ = -1;
  std::string pending_;
};

}  // namespace attnscope::worker
