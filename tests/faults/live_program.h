#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The built `attnscope`, started by a test that reads its --events line by line and kills or
// interrupts it in between.

#include <sys/types.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tests/faults/fault_fixture.h"

namespace attnscope {

class LiveProgram {
 public:
  enum class Parent : std::uint8_t {
    test,    // a child of this process
    window,  // started detached by a process of its own, as the window does
  };
  /// Standard error goes to the file `errors`.
  LiveProgram(const std::vector<std::string>& arguments, const std::string& errors,
              Parent parent = Parent::test);
  /// Reads until the event `wanted` has come; throws std::runtime_error if it does not.
  LiveProgram(const std::vector<std::string>& arguments, const std::string& errors,
              const std::string& wanted);
  LiveProgram(const LiveProgram&) = delete;
  LiveProgram& operator=(const LiveProgram&) = delete;
  ~LiveProgram();  // kills what still runs

  /// The next event; none once the program and all that hold its output have ended. Throws
  /// std::runtime_error when nothing comes for a minute.
  [[nodiscard]] std::optional<nlohmann::json> next();
  /// Reads until `wanted` has come; false when the program ends before.
  bool read_until(const std::string& wanted);
  /// Reads `count` events, or as many as there are.
  void read(int count);
  void read_all();
  [[nodiscard]] const std::vector<nlohmann::json>& seen() const { return seen_; }
  [[nodiscard]] std::vector<std::string> kinds() const;

  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] pid_t window() const { return window_; }
  void send(int signal) const;
  void kill_window();
  /// Waits for the end of a child of the test: its exit code, or minus the signal.
  int wait();
  /// The same after reading all events.
  int read_to_the_end();

 private:
  pid_t pid_ = -1, window_ = -1;
  bool ended_ = false;
  int output_ = -1;
  std::string pending_;
  std::vector<nlohmann::json> seen_;
};

/// Its commands, in the folder of the fixture.
class ProgramFixture : public FaultFixture {
 protected:
  [[nodiscard]] std::vector<std::string> run_of(
      const std::string& contenders, const std::string& lengths,
      const std::string& worker = FAKE_WORKER_PROGRAM) const {
    std::ofstream(folder_ / "sweep.json") << sweep_text(contenders, lengths);
    return {"run",      (folder_ / "sweep.json").string(),
            "--db",     database().string(),
            "--events", "--worker",
            worker};
  }
  [[nodiscard]] std::string errors() const { return (folder_ / "errors").string(); }
  [[nodiscard]] std::string warnings() const { return text_of(errors()); }
};

/// Waits until no such process runs any more; false after half a minute.
[[nodiscard]] bool is_gone(pid_t pid);

}  // namespace attnscope
