#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The workers of a run, one at a time: asked, watched for signs of life, replaced when they end,
// and reached again when the line to one was cut.

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "engine/sweep/worker_process.h"

namespace attnscope {

/// What is done about a lost connection.
struct ConnectionRule {
  /// Not a byte from a worker on another machine for so long while it measures: the line is cut. It
  /// tells that it lives every alive_interval.
  std::chrono::milliseconds silence = std::chrono::seconds(30);
  /// Between attempts to reach it again, doubled each time up to the longest, ...
  std::chrono::milliseconds first_pause = std::chrono::seconds(1);
  std::chrono::milliseconds longest_pause = std::chrono::seconds(30);
  /// ... until no attempt has worked for so long, ...
  std::chrono::milliseconds patience = std::chrono::minutes(5);
  /// ... or the connection was lost more often than this without anything measured in between.
  int most_losses = 5;
};

class WorkerPool {
 public:
  using Milliseconds = std::chrono::milliseconds;

  /// How a request ended.
  struct Answer {
    enum class Kind : std::uint8_t { answered, refused, died, hung, lost, cancelled, no_worker };
    Kind kind = Kind::answered;
    nlohmann::json event = {};          // answered
    std::string words = {};             // of what went wrong
    std::optional<int> contender = {};  // refused, died, hung: the one that ran
    bool killed_by_system = false;      // for want of memory, or by nobody knows whom
  };

  /// Counts processes of this machine that were killed for want of memory; nothing: unknown.
  using MemoryKills = std::function<std::optional<std::int64_t>()>;

  /// Starts the first worker; all of them measure with these programs, too.
  [[nodiscard]] static Result<WorkerPool> start(const std::string& command,
                                                const std::vector<std::string>& with,
                                                const ConnectionRule& connection,
                                                const std::atomic<int>* cancel,
                                                MemoryKills memory_kills);

  /// What the first worker said of itself.
  [[nodiscard]] const nlohmann::json& hello() const { return hello_; }
  /// The worker computes on this machine.
  [[nodiscard]] bool is_here() const { return is_here_; }
  /// Called when an attempt to reach a worker has failed, once when a cancel has been passed on,
  /// and several times a second while something is waited for.
  void listen(std::function<void(const std::string&)> on_warning,
              std::function<void()> on_cancelling, std::function<void()> on_look);

  /// How long an answer is waited for.
  struct Patience {
    Milliseconds silence;  // without a call of a contender or other news
    Milliseconds whole;    // whatever it tells meanwhile
  };
  /// Sends `request` (starting a worker if none is there) and waits for the event `awaited`; others
  /// go to `on_event`. A worker that tries the patience, or tells more than any would, is killed.
  [[nodiscard]] Answer ask(const nlohmann::json& request, std::string_view awaited,
                           const Patience& patience,
                           const std::function<void(const nlohmann::json&)>& on_event);
  /// Sends the current worker home: the next request begins in a fresh process.
  void dismiss() { worker_.reset(); }
  /// Waits; any signal that comes meanwhile ends it early.
  void pause(Milliseconds length) const;
  [[nodiscard]] bool is_cancelled() const { return cancel_level() > 0; }

 private:
  WorkerPool(std::string command, std::vector<std::string> with, const ConnectionRule& connection,
             const std::atomic<int>* cancel, MemoryKills memory_kills);
  [[nodiscard]] int cancel_level() const;
  [[nodiscard]] tl::expected<WorkerProcess, StartFailure> start_worker() const;
  [[nodiscard]] std::optional<Answer> provide_worker();
  [[nodiscard]] std::optional<Answer> no_worker_after(const StartFailure& failure,
                                                      std::chrono::steady_clock::time_point began);
  [[nodiscard]] std::string why_not_the_same(const nlohmann::json& hello) const;
  void end_worker();
  [[nodiscard]] Answer ended(const WorkerProcess::Ended& end,
                             std::optional<std::int64_t> kills_before);
  [[nodiscard]] Answer lost(std::string words);

  std::string command_;
  std::vector<std::string> with_;
  ConnectionRule connection_;
  const std::atomic<int>* cancel_;
  MemoryKills memory_kills_;
  std::string driver_;  // this one's number
  std::optional<WorkerProcess> worker_;
  nlohmann::json hello_;
  bool is_here_ = true;
  bool over_a_line_ = false;  // one that may be cut: elsewhere, or by ssh to this very machine
  int losses_ = 0;
  bool told_cancelling_ = false;
  std::function<void(const std::string&)> on_warning_ = [](const std::string&) {};
  std::function<void()> on_cancelling_ = [] {};
  std::function<void()> on_look_ = [] {};
};

}  // namespace attnscope
