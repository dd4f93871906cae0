#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Child processes of this program: how they are started, waited for and ended, and the descriptors
// that lead to them.
//
//   ChildProcess child;
//   if (const int error = child.start({.arguments = {"sbatch", "job.sh"}}); error != 0) ...
//   std::optional<int> status = child.wait(std::chrono::minutes(5));   // nothing: it is running

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace attnscope {

/// A descriptor that is closed at the end of its scope.
class Descriptor {
 public:
  Descriptor() = default;
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close(); }
  [[nodiscard]] int get() const { return number_; }
  [[nodiscard]] bool is_open() const { return number_ >= 0; }
  void close();
  /// Takes ownership of the descriptor and moves it to a number of at least 4, which children do
  /// not inherit by default. Passing it to a child as 0 to 3 then never overwrites another
  /// descriptor, however this process was started. Returns false, with errno set, if `number` is
  /// -1, the result of a failed call, or if no descriptor is free.
  [[nodiscard]] bool take(int number);

 private:
  int number_ = -1;
};

struct Spawn {
  std::vector<std::string> arguments;              // the first is the program, found as by a shell
  std::vector<std::pair<int, int>> descriptors{};  // number in this process, number in the child
  std::vector<std::string> environment{};          // "NAME=value", overrides this process's
  bool own_group = false;  // a separate process group, which Ctrl-C does not reach
};

/// A process that this program has started. The destructor does not end it.
class ChildProcess {
 public:
  ChildProcess() = default;
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  /// The child starts with no blocked signals and default signal handlers. Returns 0, or an errno.
  [[nodiscard]] int start(const Spawn& what);
  /// -1 if it was not started.
  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] bool is_running() { return pid_ > 0 && !status(); }
  /// The wait status (as of waitpid) once the process has ended; never blocks. It is 0 if the
  /// system does not report it; wait_error() then has the reason.
  std::optional<int> status();
  /// Waits for the end, at most `patience`, and calls `meanwhile` every few milliseconds.
  std::optional<int> wait(std::chrono::milliseconds patience,
                          const std::function<void()>& meanwhile = {});
  /// Kills the process, or its process group if it has its own. Only a process that is stuck in the
  /// kernel survives this: after 5 s it is left to the system.
  void kill();
  /// The errno of waitpid, or 0: ECHILD if this program was started with SIGCHLD ignored, so that
  /// the system discards the status of its children.
  [[nodiscard]] int wait_error() const { return wait_error_; }

 private:
  pid_t pid_ = -1;
  bool owns_group_ = false;
  std::optional<int> status_;
  int wait_error_ = 0;
};

/// A command as typed: words parsed by a shell, unless the whole text names a file.
[[nodiscard]] std::vector<std::string> command_arguments(const std::string& command);

/// The text as one word for a shell, unquoted if it has no special characters.
[[nodiscard]] std::string shell_word(const std::string& text);

/// "signal 11 (SIGSEGV)".
[[nodiscard]] std::string signal_name(int number);

/// The number of processes that the system has killed since boot because memory ran out; nothing if
/// the system does not report it. It distinguishes such a kill from one by a user: both are a
/// SIGKILL.
[[nodiscard]] std::optional<std::int64_t> memory_kills();

}  // namespace attnscope
