#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Starts child processes of this program, and owns the descriptors that lead to them.

#include <sys/types.h>

#include <span>
#include <string>
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
  /// Takes ownership, under a number from 4 up that children do not inherit by default: passing one
  /// to a child as 0 to 3 then never overwrites another, however this process was started.
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

/// The child starts with no blocked signals and default handlers. Returns 0, or an errno.
[[nodiscard]] int spawn(const Spawn& what, pid_t& pid);

/// A command as typed: words parsed by a shell, unless the whole text names a file.
[[nodiscard]] std::vector<std::string> command_arguments(const std::string& command);

/// "signal 11 (SIGSEGV)".
[[nodiscard]] std::string signal_name(int number);

}  // namespace attnscope
