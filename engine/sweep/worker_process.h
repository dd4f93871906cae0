#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// One worker process seen from the driver: started with its own pipes, spoken to in JSON Lines,
// killed when it does not answer. Used by the driver and by the commands that ask for one thing
// (list, attend, check).

#include <chrono>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "kernels/plan/result.h"

namespace attnscope {

class WorkerProcess {
 public:
  /// Starts `command` (empty: default_worker()) and shakes hands. A command with spaces is a shell
  /// command unless a file has that name. Errors: not found, not executable, another protocol or
  /// program version (both named), no answer within `patience` (LibTorch's first load from a cold
  /// disk takes seconds).
  [[nodiscard]] static Result<WorkerProcess> start(
      const std::string& command, std::chrono::milliseconds patience = std::chrono::minutes(1));
  WorkerProcess(WorkerProcess&&) noexcept;
  WorkerProcess& operator=(WorkerProcess&&) noexcept;
  ~WorkerProcess();  // asks it to quit, kills it after 2 s

  [[nodiscard]] const nlohmann::json& hello()
      const;  // its handshake: build, device, implementations
  [[nodiscard]] Status send(const nlohmann::json& request);

  struct Ended {
    int exit_code = -1;
    int signal = 0;
    std::string words;  // "killed by signal 9 (SIGKILL)", with the last line it printed
  };
  enum class Wait : std::uint8_t { event, timeout, ended };
  struct Read {
    Wait wait = Wait::timeout;
    nlohmann::json event;
    Ended ended;
  };
  /// The next event, or the end of the process, or neither within `patience`. A
  /// line that is not of the protocol ends the process, with words that quote it.
  [[nodiscard]] Read read(std::chrono::milliseconds patience);
  /// Kills the process and all it started, and waits for its end.
  void kill();
  [[nodiscard]] int pid() const;

 private:
  struct State;
  explicit WorkerProcess(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Path of the worker that belongs to this program: $ATTNSCOPE_WORKER, else beside the executable.
[[nodiscard]] std::string default_worker();

}  // namespace attnscope
