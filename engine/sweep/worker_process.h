#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// One worker process seen from the driver: started with its own pipes, spoken to in JSON Lines,
// killed when it does not answer. Used by the driver and by the commands that ask for one thing
// (list, attend, check).

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "kernels/base/result.h"

namespace attnscope {

/// Why a worker could not be had.
struct StartFailure {
  std::string message;
  bool may_pass = false;  // nobody answered: a line may be down for now. Else it answered wrongly
  bool cancelled = false;
};

struct StartOptions {
  /// Without a byte from it; LibTorch's first load from a cold disk takes seconds.
  std::chrono::milliseconds patience = std::chrono::minutes(1);
  /// The driver's beacon, which the worker looks for.
  std::string beacon = {}, beacon_nonce = {};
  /// Above 0: the start is given up.
  const std::atomic<int>* cancel = nullptr;
};

class WorkerProcess {
 public:
  /// Starts `command` (empty: default_worker()) and shakes hands. A command with spaces is a shell
  /// command unless a file has that name. Errors: not found, not executable, another protocol or
  /// program version (both named), no answer within `patience` (LibTorch's first load from a cold
  /// disk takes seconds).
  [[nodiscard]] static Result<WorkerProcess> start(
      const std::string& command, std::chrono::milliseconds patience = std::chrono::minutes(1));
  [[nodiscard]] static tl::expected<WorkerProcess, StartFailure> start(const std::string& command,
                                                                       const StartOptions& how);
  WorkerProcess(WorkerProcess&&) noexcept;
  WorkerProcess& operator=(WorkerProcess&&) noexcept;
  ~WorkerProcess();  // asks it to quit, kills it after 2 s

  [[nodiscard]] const nlohmann::json& hello()
      const;  // its handshake: build, device, implementations
  /// It sees the beacon named in the greeting, so it is on this machine. One that does not say is.
  [[nodiscard]] bool shares_beacon() const;
  /// It ends with an event that says how; without one, the line to it was cut.
  [[nodiscard]] bool tells_end() const;
  [[nodiscard]] Status send(const nlohmann::json& request);

  struct Ended {
    int exit_code = -1;
    int signal = 0;
    std::string words;  // "killed by signal 9 (SIGKILL)", with the last line it printed
    bool told = false;  // by its own last event
    std::optional<int> contender = {};  // told: the one that ran
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
  /// Bytes of an event that is still arriving, over a line that is slow.
  [[nodiscard]] std::size_t pending_bytes() const;
  /// Kills the process and all it started, and waits for its end.
  void kill();
  [[nodiscard]] int pid() const;

 private:
  struct State;
  explicit WorkerProcess(std::unique_ptr<State> state);
  [[nodiscard]] Read read_greeting(std::chrono::milliseconds patience,
                                   const std::function<bool()>& cancelled);
  std::unique_ptr<State> state_;
};

/// Path of the worker that belongs to this program: $ATTNSCOPE_WORKER, else beside the executable.
[[nodiscard]] std::string default_worker();

}  // namespace attnscope
