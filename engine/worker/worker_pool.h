#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The workers of a run, one at a time: sends requests, watches for signs of life, replaces workers
// that end, and reconnects when a connection was lost.

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "engine/worker/worker_process.h"

namespace attnscope {

/// Policy for a lost connection.
struct ConnectionRule {
  /// A worker on another machine that sends no byte for this long while it measures counts as
  /// disconnected. It sends a sign of life every alive_interval.
  std::chrono::milliseconds silence = std::chrono::seconds(30);
  /// Pause between attempts to reconnect, doubled each time up to longest_pause, ...
  std::chrono::milliseconds first_pause = std::chrono::seconds(1);
  std::chrono::milliseconds longest_pause = std::chrono::seconds(30);
  /// ... until attempts have failed for this long, ...
  std::chrono::milliseconds patience = std::chrono::minutes(5);
  /// ... or the connection was lost more often than this without a new measurement in between.
  int most_losses = 5;
};

class WorkerPool {
 public:
  using Milliseconds = std::chrono::milliseconds;

  /// Result of a request.
  struct Answer {
    enum class Kind : std::uint8_t {
      answered,
      refused,
      invalid,  // set by callers that read the event
      died,
      hung,
      lost,
      cancelled,
      no_worker
    };
    Kind kind = Kind::answered;
    nlohmann::json event = {};          // answered
    std::string words = {};             // error message
    std::optional<int> contender = {};  // refused, died, hung: the contender that ran
    bool killed_by_system = false;      // out of memory, or by an unknown process
  };

  /// Counts processes of this machine that were killed for lack of memory; nothing: unknown.
  using MemoryKills = std::function<std::optional<std::int64_t>()>;

  /// Starts the first worker; all workers also measure with these programs.
  [[nodiscard]] static Result<WorkerPool> start(const std::string& command,
                                                const std::vector<std::string>& with,
                                                const ConnectionRule& connection,
                                                const std::atomic<int>* cancel,
                                                MemoryKills memory_kills);

  /// The greeting of the first worker.
  [[nodiscard]] const protocol::Hello& hello() const { return hello_; }
  /// Whether the worker computes on this machine.
  [[nodiscard]] bool is_here() const { return is_here_; }
  /// Called after each failed attempt to reach a worker, once when a cancel has been passed on, and
  /// several times a second while waiting.
  void listen(std::function<void(const std::string&)> on_warning,
              std::function<void()> on_cancelling, std::function<void()> on_look);

  /// Time limits for an answer.
  struct Patience {
    Milliseconds silence;  // without a contender's call or other events
    Milliseconds whole;    // regardless of events
  };
  /// Sends the request (starting a worker if there is none) and waits for its answer, whose event
  /// is read_message<Request::Answer>'s; other events go to `on_event`. A worker that exceeds the
  /// patience, or sends more events than plausible, is killed.
  template <typename Request>
  [[nodiscard]] Answer ask(
      const Request& request, const Patience& patience,
      const std::function<void(const nlohmann::json&)>& on_event = [](const nlohmann::json&) {}) {
    return ask(protocol::as_request(request), Request::Answer::name, patience, on_event);
  }
  /// Ends the current worker: the next request uses a new process.
  void dismiss() { worker_.reset(); }
  /// A heat is complete: earlier losses of the connection no longer count. An answer alone would
  /// not do: a heat of several processes that loses one of them each time would be repeated
  /// forever.
  void forget_losses() { losses_ = 0; }
  /// Waits; any signal ends the wait early.
  void pause(Milliseconds length) const;
  [[nodiscard]] bool is_cancelled() const { return cancel_level() > 0; }

 private:
  [[nodiscard]] Answer ask(const nlohmann::json& request, std::string_view awaited,
                           const Patience& patience,
                           const std::function<void(const nlohmann::json&)>& on_event);
  WorkerPool(std::string command, std::vector<std::string> with, const ConnectionRule& connection,
             const std::atomic<int>* cancel, MemoryKills memory_kills);
  [[nodiscard]] int cancel_level() const;
  [[nodiscard]] tl::expected<WorkerProcess, StartFailure> start_worker() const;
  [[nodiscard]] std::optional<Answer> provide_worker();
  [[nodiscard]] std::optional<Answer> no_worker_after(const StartFailure& failure,
                                                      std::chrono::steady_clock::time_point began);
  [[nodiscard]] std::string why_not_the_same(const protocol::Hello& hello) const;
  void end_worker();
  [[nodiscard]] Answer ended(const WorkerProcess::Ended& end,
                             std::optional<std::int64_t> kills_before);
  [[nodiscard]] Answer lost(std::string words);

  std::string command_;
  std::vector<std::string> with_;
  ConnectionRule connection_;
  const std::atomic<int>* cancel_;
  MemoryKills memory_kills_;
  std::string driver_;  // number of this driver
  std::optional<WorkerProcess> worker_;
  protocol::Hello hello_;
  bool is_here_ = true;
  bool over_a_line_ = false;  // the connection may be lost: another machine, or ssh to this one
  int losses_ = 0;            // since forget_losses()
  bool reported_cancelling_ = false;
  std::function<void(const std::string&)> on_warning_ = [](const std::string&) {};
  std::function<void()> on_cancelling_ = [] {};
  std::function<void()> on_look_ = [] {};
};

}  // namespace attnscope
