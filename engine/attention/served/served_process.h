#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A program of somebody else's that computes for this process: its start, and one question at a
// time over a socket (docs/python.md has the words that are spoken there). It ends with this
// process, or when this object does.
//
//   auto process = ServedProcess::start("mine.py", /*threads=*/2);
//   Status greeted = (*process)->greet();
//   auto answer = (*process)->ask({{"request", "prepare"}, ...});
//   auto done = (*process)->call('f');   // null, or the answer of one that has more to say

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/memory_kills.h"
#include "kernels/base/result.h"
#include "kernels/base/spawn.h"

namespace attnscope {

/// The process ended while a request was open.
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
  /// Of `protocol` in its greeting.
  static constexpr int protocol = 2;

  /// `program` is a Python file, one of the package's contenders by its name, or a command for the
  /// shell. It may be greeted later: several that load large libraries do so together.
  [[nodiscard]] static Result<std::unique_ptr<ServedProcess>> start(const std::string& program,
                                                                    int threads);
  /// Waits for what it has to offer; `on_look` is called ten times a second meanwhile. Errors: it
  /// ended, greeted with another version or not within two minutes.
  [[nodiscard]] Status greet(const std::function<void()>& on_look = {});
  ServedProcess(const ServedProcess&) = delete;
  ServedProcess& operator=(const ServedProcess&) = delete;
  ~ServedProcess();

  [[nodiscard]] const nlohmann::json& hello() const { return hello_; }
  [[nodiscard]] int threads() const { return threads_; }
  [[nodiscard]] pid_t pid() const { return pid_; }
  /// Whether it can be asked.
  [[nodiscard]] bool is_there() const { return socket_.is_open(); }
  /// Whether it was ended by SIGKILL while the system's count of kills for memory grew, or while
  /// the system keeps no such count.
  [[nodiscard]] bool was_killed_for_memory() const;

  /// Answers what the process asks before it answers itself.
  using OnQuestion = std::function<nlohmann::json(const nlohmann::json&)>;
  /// The answer's object; its `error`, or how the process ended, is the error. Waits as long as it
  /// takes: whoever looks after this process ends both.
  [[nodiscard]] Result<nlohmann::json> ask(const nlohmann::json& request,
                                           const OnQuestion& on_question = {});
  /// The same for what is asked again and again, a letter each.
  [[nodiscard]] Result<nlohmann::json> call(char request, const OnQuestion& on_question = {});
  /// Stops it and the processes that it has started (SIGSTOP) until the next request. While others
  /// are measured it computes nothing.
  void stop();
  /// Seconds from a question that needs nothing to its answer: the median of `times`.
  [[nodiscard]] Result<double> round_trip(int times);

 private:
  explicit ServedProcess(std::string program, int threads);
  [[nodiscard]] Status begin();
  [[nodiscard]] Status send(std::string_view text);
  /// The next line; what is left out of it is waited for until the process ends or time is up.
  [[nodiscard]] Result<std::string> line(std::optional<int> most_seconds,
                                         const std::function<void()>& on_look);
  [[nodiscard]] Result<nlohmann::json> answer(const OnQuestion& on_question,
                                              std::optional<int> most_seconds = std::nullopt,
                                              const std::function<void()>& on_look = {});
  void go_on();
  /// How it ended, in words; it is ended if it has not.
  [[nodiscard]] std::string end_in_words();
  /// What it printed goes to this process's standard error.
  void pass_errors_on();

  std::string program_;
  int threads_;
  nlohmann::json hello_;
  pid_t pid_ = -1;
  std::optional<int> wait_status_;
  std::vector<pid_t> stopped_;
  std::optional<std::int64_t> kills_at_start_ = memory_kills();
  Descriptor socket_, errors_;
  std::string arrived_;
  std::string error_line_, last_words_;  // the last lines that it printed
};

/// A process and all that descend from it; of a system that does not list children, it alone.
[[nodiscard]] std::vector<pid_t> with_descendants(pid_t process);

}  // namespace attnscope
