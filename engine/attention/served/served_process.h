#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// An external program that computes for this process: its start, and one request at a time over a
// socket (docs/python.md has the protocol). It ends with this process or when this object is
// destroyed.
//
//   auto process = ServedProcess::start("mine.py", /*threads=*/2);
//   Status greeted = (*process)->greet();
//   auto answer = (*process)->ask({{"request", "prepare"}, ...});
//   auto done = (*process)->call('f');   // null, or an object

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/spawn.h"

namespace attnscope {

/// The process ended during a request.
class ServedProcessEnded : public std::runtime_error {
 public:
  ServedProcessEnded(const std::string& words, bool for_memory)
      : std::runtime_error(words), for_memory_(for_memory) {}
  /// Whether the system killed it because memory ran out.
  [[nodiscard]] bool for_memory() const { return for_memory_; }

 private:
  bool for_memory_;
};

class ServedProcess {
 public:
  /// Version of `protocol` in its greeting.
  static constexpr int protocol = 2;

  /// `program` is a Python file, the name of one of the package's contenders, or a shell command.
  /// It may be greeted later, so that several programs load large libraries at the same time.
  [[nodiscard]] static Result<std::unique_ptr<ServedProcess>> start(const std::string& program,
                                                                    int threads);
  /// Waits for its offers; calls `on_look` ten times a second meanwhile. Errors: it ended, it
  /// greeted with another version, or it did not greet within two minutes.
  [[nodiscard]] Status greet(const std::function<void()>& on_look = {});
  ServedProcess(const ServedProcess&) = delete;
  ServedProcess& operator=(const ServedProcess&) = delete;
  ~ServedProcess();

  [[nodiscard]] const nlohmann::json& hello() const { return hello_; }
  [[nodiscard]] int threads() const { return threads_; }
  [[nodiscard]] pid_t pid() const { return child_.pid(); }
  /// Whether it accepts requests.
  [[nodiscard]] bool is_there() const { return socket_.is_open(); }
  /// Whether it was ended by SIGKILL while the system's count of out-of-memory kills grew, or on a
  /// system without such a count.
  [[nodiscard]] bool was_killed_for_memory() const;

  /// Answers questions that the process sends before its own answer.
  using OnQuestion = std::function<nlohmann::json(const nlohmann::json&)>;
  /// The answer's object; the error is its `error`, or how the process ended. Waits without a time
  /// limit: the supervisor of this process ends both.
  [[nodiscard]] Result<nlohmann::json> ask(const nlohmann::json& request,
                                           const OnQuestion& on_question = {});
  /// The same for frequent requests of one letter each.
  [[nodiscard]] Result<nlohmann::json> call(char request, const OnQuestion& on_question = {});
  /// Stops it and the processes that it has started (SIGSTOP) until the next request, so that it
  /// computes nothing while others are measured.
  void stop();
  /// Seconds from an empty request to its answer: the median of `times`.
  [[nodiscard]] Result<double> round_trip(int times);

 private:
  explicit ServedProcess(std::string program, int threads);
  [[nodiscard]] Status begin();
  [[nodiscard]] Status send(std::string_view text);
  /// The next line; waits for the rest of an incomplete line until the process ends or the time is
  /// up.
  [[nodiscard]] Result<std::string> line(std::optional<int> most_seconds,
                                         const std::function<void()>& on_look);
  [[nodiscard]] Result<nlohmann::json> answer(const OnQuestion& on_question,
                                              std::optional<int> most_seconds = std::nullopt,
                                              const std::function<void()>& on_look = {});
  void go_on();
  /// How it ended, in words; ends it if it is running.
  [[nodiscard]] std::string end_in_words();
  /// Copies its output to this process's standard error.
  void pass_errors_on();

  std::string program_;
  int threads_;
  nlohmann::json hello_;
  ChildProcess child_;
  bool was_killed_ = false;        // by this program
  std::optional<int> end_status_;  // wait status, if it ended by itself
  std::vector<pid_t> stopped_;
  std::optional<std::int64_t> kills_at_start_ = memory_kills();
  Descriptor socket_, errors_;
  std::string arrived_;
  std::string error_line_, last_words_;  // the last lines it printed
};

/// A process and all its descendants; only the process on a system that does not list children.
[[nodiscard]] std::vector<pid_t> with_descendants(pid_t process);

// Memory that another process of this machine can map as well: an unnamed file in memory for each
// block. An address is passed to the other process as a path and an offset in bytes from the start
// of the block.
//
//   void* data = map_shared(bytes);
//   SharedPlace at = *shared_place(data, bytes);   // .file() is "/proc/4711/fd/9"

/// Page-aligned and zero-filled; nullptr if the system refuses. Thread-safe, like the other
/// functions.
[[nodiscard]] void* map_shared(std::size_t bytes);
/// Frees its pages at once, even if another process still has it mapped. Returns false if the
/// address is not the start of such a block.
bool unmap_shared(void* data) noexcept;

struct SharedPlace {
  std::int64_t block = 0;   // unique for every block
  int descriptor = -1;      // of its file, in this process
  std::int64_t offset = 0;  // bytes
  /// The path by which another process opens it while the block exists.
  [[nodiscard]] std::string file() const;
  friend bool operator==(const SharedPlace&, const SharedPlace&) = default;
};

/// The location of these bytes; absent if they are not all in one block.
[[nodiscard]] std::optional<SharedPlace> shared_place(const void* data, std::size_t bytes);

/// A block of the size requested last, owned by this object.
class SharedStage {
 public:
  SharedStage() = default;
  SharedStage(const SharedStage&) = delete;
  SharedStage& operator=(const SharedStage&) = delete;
  ~SharedStage() { unmap_shared(data_); }
  /// nullptr if the system refuses.
  [[nodiscard]] std::byte* of(std::size_t bytes) {
    if (bytes_ != bytes) {
      unmap_shared(data_);
      data_ = map_shared(bytes);
      bytes_ = data_ != nullptr ? bytes : 0;
    }
    return static_cast<std::byte*>(data_);
  }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace attnscope
