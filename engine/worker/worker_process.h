#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// One worker process, as the driver uses it: started with its own pipes, addressed in JSON Lines,
// killed when it does not answer. Used by the driver and by the commands with a single request
// (list, attend, check).

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/worker/machine_messages.h"

namespace attnscope {

inline constexpr std::size_t longest_words = 500;  // bytes of a worker's own messages

/// Why a worker could not be started.
struct StartFailure : Error {
  bool may_pass = false;  // true: no answer, so the connection may be down; false: a wrong answer
  bool cancelled = false;
  bool was_killed = false;  // by a signal, from the system or a user
};

struct StartOptions {
  /// Limit without a byte from the worker; LibTorch's first load from a cold disk takes seconds.
  std::chrono::milliseconds patience = std::chrono::minutes(1);
  /// A number that identifies the driver. If the driver lost the connection to a worker, the next
  /// worker with this number ends that one.
  std::string driver = {};
  /// Programs with additional implementations (engine/attention/served).
  std::vector<std::string> with = {};
  /// A value above 0 cancels the start.
  const std::atomic<int>* cancel = nullptr;
};

class WorkerProcess {
 public:
  /// Starts `command` (empty: default_worker()) and performs the handshake. A command with spaces
  /// is a shell command unless a file has that name. It runs in its own process group: a Ctrl-C at
  /// the terminal reaches only the driver, and kill() also reaches all child processes of the
  /// worker (of a shell or of ssh). Errors: not found, not executable, an unknown
  /// protocol (the error states both), no answer. The program's version may differ.
  [[nodiscard]] static tl::expected<WorkerProcess, StartFailure> start(
      const std::string& command, const StartOptions& how = {});
  /// The same without a greeting: hello() is empty.
  [[nodiscard]] static Result<WorkerProcess> start_ungreeted(const std::string& command);
  WorkerProcess(WorkerProcess&&) noexcept;
  WorkerProcess& operator=(WorkerProcess&&) noexcept;
  ~WorkerProcess();  // asks it to quit, kills it after 2 s

  /// Its greeting: build, device, implementations.
  [[nodiscard]] const protocol::Hello& hello() const { return hello_; }
  [[nodiscard]] Status send(const nlohmann::json& request);

  struct Ended {
    int signal = 0;
    std::string words;     // "killed by signal 9 (SIGKILL)", with the last line it printed
    bool is_lost = false;  // no event reported the end: the connection was lost
    std::optional<int> contender = {};  // the contender that ran, from that event
  };
  enum class Wait : std::uint8_t { event, timeout, ended };
  struct Read {
    Wait wait = Wait::timeout;
    nlohmann::json event;
    Ended ended;
  };
  /// The next event, or the end of the process, or neither within `patience`. A line that violates
  /// the protocol ends the process, with a message that quotes it.
  [[nodiscard]] Read read(std::chrono::milliseconds patience);
  /// Bytes of a partly received event, over a slow connection.
  [[nodiscard]] std::size_t pending_bytes() const;
  /// Kills the process and all its children, and waits for its end.
  void kill();
  [[nodiscard]] int pid() const;

 private:
  class Child;
  explicit WorkerProcess(std::unique_ptr<Child> child);
  [[nodiscard]] Read read_greeting(const StartOptions& how);
  [[nodiscard]] Read end(const std::string& before = {});

  std::unique_ptr<Child> child_;
  protocol::Hello hello_;
  std::optional<protocol::WorkerEnded> last_event_;  // once it has arrived
  std::optional<Ended> ended_;                       // set once the end is known
};

/// Path of the worker of this program: $ATTNSCOPE_WORKER, otherwise next to the executable.
[[nodiscard]] std::string default_worker();

/// Whether the worker with this greeting computes on this machine; true if the greeting does not
/// state it.
[[nodiscard]] bool is_this_machine(const protocol::Hello& hello);
/// Number of cores that the worker may use, from its greeting; otherwise that of this process.
[[nodiscard]] int worker_cores(const protocol::Hello& hello);

/// A text field of a message; empty if missing.
[[nodiscard]] std::string text_field(const nlohmann::json& message, const char* field);
/// An integer field of a message, if it fits in an int.
[[nodiscard]] std::optional<int> int_field(const nlohmann::json& message, const char* field);

}  // namespace attnscope
