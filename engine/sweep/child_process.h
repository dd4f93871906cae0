#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A child process with three pipes, in a process group of its own: a Ctrl-C at the terminal reaches
// the driver alone, and a kill reaches whatever the child has started (a shell's or ssh's
// children).

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "kernels/base/result.h"

namespace attnscope {

class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int number) : number_(number) {}
  FileDescriptor(FileDescriptor&& other) noexcept : number_(other.release()) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept;
  ~FileDescriptor() { close(); }
  [[nodiscard]] int get() const { return number_; }
  [[nodiscard]] bool is_open() const { return number_ >= 0; }
  void close();

 private:
  int release();
  int number_ = -1;
};

class ChildProcess {
 public:
  /// Errors: not found, not executable, with the mend.
  [[nodiscard]] static Result<ChildProcess> start(const std::string& command);
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&&) = delete;
  ~ChildProcess();  // kills what still runs

  /// Writes all of `text`, reading meanwhile what the child prints; false when it reads no more, or
  /// not a byte for `patience`: a slow line may take its time.
  [[nodiscard]] bool write(std::string_view text, std::chrono::milliseconds patience);
  void close_input() { input_.close(); }

  /// Waits until output or errors arrive, the child ends, a signal comes or `patience` is over.
  void wait_for_news(std::chrono::milliseconds patience);
  /// The next whole line of its output.
  [[nodiscard]] std::optional<std::string> take_line();
  /// More than any line of the protocol has come, and no end of it.
  [[nodiscard]] bool is_overlong() const {
    return output_text_.size() > most_pending && !has_line();
  }
  [[nodiscard]] bool has_line() const { return output_text_.find('\n') != std::string::npos; }
  /// Bytes of a line that is still arriving.
  [[nodiscard]] std::size_t pending_bytes() const { return output_text_.size(); }
  /// Its output is closed and read to the end.
  [[nodiscard]] bool output_ended() const { return !output_.is_open(); }
  /// The line its errors end with, for messages.
  [[nodiscard]] const std::string& last_error_line() const { return last_error_line_; }

  /// Its wait status once it has ended; never blocks.
  [[nodiscard]] std::optional<int> end();
  /// Waits for the end at most `patience`, reading what it prints.
  std::optional<int> wait_for_end(std::chrono::milliseconds patience);
  void kill();
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  ChildProcess(pid_t pid, FileDescriptor input, FileDescriptor output, FileDescriptor errors);
  void read_output();
  void read_errors();

  pid_t pid_ = -1;
  std::optional<int> wait_status_;
  FileDescriptor input_, output_, errors_;
  static constexpr std::size_t most_pending = std::size_t{256} << 20;  // bytes
  std::string output_text_;                                            // not yet taken
  std::size_t searched_ = 0;  // bytes of it known to hold no line feed
  std::string error_line_, last_error_line_;
};

}  // namespace attnscope
