#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Child processes of this program: how one is started, and the descriptors that lead to it.

#include <sys/types.h>

#include <span>
#include <string>
#include <utility>
#include <vector>

namespace attnscope {

/// A descriptor that is closed with its scope.
class Descriptor {
 public:
  Descriptor() = default;
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close(); }
  [[nodiscard]] int get() const { return number_; }
  [[nodiscard]] bool is_open() const { return number_ >= 0; }
  void close();
  /// Takes it over, under a number from 4 up that no child inherits by itself: giving one to a
  /// child as 0 to 3 never overwrites another, however this process was started.
  [[nodiscard]] bool take(int number);

 private:
  int number_ = -1;
};

struct Spawn {
  std::vector<std::string> arguments;  // the first is the program, looked for as a shell does
  std::vector<std::pair<int, int>> descriptors{};  // of this process, and their number in the child
  std::vector<std::string> environment{};          // "NAME=value", in place of this process's
  bool own_group = false;  // a process group of its own, which Ctrl-C does not reach
};

/// Signals are as in a fresh program, whatever this one blocks or ignores. 0, or an errno.
[[nodiscard]] int spawn(const Spawn& what, pid_t& pid);

/// A command as typed: words through a shell, unless all of it names a file.
[[nodiscard]] std::vector<std::string> command_arguments(const std::string& command);

/// "signal 11 (SIGSEGV)".
[[nodiscard]] std::string signal_name(int number);

}  // namespace attnscope
