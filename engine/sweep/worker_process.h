#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// One worker process seen from the driver: started with its own pipes, spoken to in JSON Lines,
// killed when it does not answer. Used by the driver and by the commands that ask for one thing
// (list, attend, check).

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "kernels/base/result.h"

namespace attnscope {

inline constexpr std::size_t longest_words = 500;  // bytes, of what a worker says of itself

/// Why a worker could not be had.
struct StartFailure : Error {
  bool may_pass = false;  // nobody answered: a line may be down for now. Else it answered wrongly
  bool cancelled = false;
  bool was_killed = false;  // by a signal, as any process may be: by the system, by a person
};

struct StartOptions {
  /// Without a byte from it; LibTorch's first load from a cold disk takes seconds.
  std::chrono::milliseconds patience = std::chrono::minutes(1);
  /// A driver's own number: a worker that it has lost is ended by the next one.
  std::string driver = {};
  /// Programs whose implementations it has besides its own (engine/attention/served).
  std::vector<std::string> with = {};
  /// Above 0: the start is given up.
  const std::atomic<int>* cancel = nullptr;
};

class WorkerProcess {
 public:
  /// Starts `command` (empty: default_worker()) and shakes hands. A command with spaces is a shell
  /// command unless a file has that name. It leads a process group of its own: a Ctrl-C at the
  /// terminal reaches the driver alone, and a kill whatever the worker has started (a shell's or
  /// ssh's children). Errors: not found, not executable, another protocol or program version (both
  /// named), no answer.
  [[nodiscard]] static tl::expected<WorkerProcess, StartFailure> start(
      const std::string& command, const StartOptions& how = {});
  /// The same without a greeting: hello() is null.
  [[nodiscard]] static Result<WorkerProcess> start_ungreeted(const std::string& command);
  WorkerProcess(WorkerProcess&&) noexcept;
  WorkerProcess& operator=(WorkerProcess&&) noexcept;
  ~WorkerProcess();  // asks it to quit, kills it after 2 s

  /// Its handshake: build, device, implementations.
  [[nodiscard]] const nlohmann::json& hello() const { return hello_; }
  [[nodiscard]] Status send(const nlohmann::json& request);

  struct Ended {
    int signal = 0;
    std::string words;     // "killed by signal 9 (SIGKILL)", with the last line it printed
    bool is_lost = false;  // without the event that tells its end: the line to it was cut
    std::optional<int> contender = {};  // the one that ran, from that event
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
  class Child;
  explicit WorkerProcess(std::unique_ptr<Child> child);
  [[nodiscard]] Read read_greeting(const StartOptions& how);
  [[nodiscard]] Read end(const std::string& before = {});

  std::unique_ptr<Child> child_;
  nlohmann::json hello_;
  nlohmann::json last_event_;   // "ended", once it has come
  std::optional<Ended> ended_;  // an end that is already known
};

/// Path of the worker that belongs to this program: $ATTNSCOPE_WORKER, else beside the executable.
[[nodiscard]] std::string default_worker();

/// Whether the worker of this greeting computes on this machine. One that does not tell does.
[[nodiscard]] bool is_this_machine(const nlohmann::json& hello);
/// Cores the worker may use, from its greeting; else those of this process.
[[nodiscard]] int worker_cores(const nlohmann::json& hello);

/// A text of a message, or an empty one.
[[nodiscard]] std::string text_field(const nlohmann::json& message, const char* field);
/// A whole number of a message that an int holds.
[[nodiscard]] std::optional<int> int_field(const nlohmann::json& message, const char* field);

}  // namespace attnscope
