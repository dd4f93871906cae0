#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// How a worker reports its state on any machine. During a measurement it reports every few seconds
// which contender is running (`alive`); when it dies, the process that watches it reports how, and
// which contender was running (`ended`); and it replaces a worker to which the same driver has lost
// its connection.
//
//   if (const auto exit_code = become_watched_worker()) return *exit_code;   // first thing in main
//   take_over_from(driver);                                                  // at the greeting
//   const std::jthread alive = report_alive(alive_interval, send);           // while it measures
//   beacon().calling(2);                                                     // before each call

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>

namespace attnscope {

/// The contender that is running. Updated with plain stores and no system call, so that it adds no
/// cost to a timed round.
class Beacon {
 public:
  /// Before each call into a contender, by its place in the heat.
  void calling(int contender) {
    contender_.store(contender, std::memory_order_relaxed);
    calls_.fetch_add(1, std::memory_order_relaxed);
  }
  /// No contender is running.
  void idle() { contender_.store(-1, std::memory_order_relaxed); }
  /// -1 if none is running.
  [[nodiscard]] int contender() const { return contender_.load(std::memory_order_relaxed); }
  /// Increases with every call into a contender.
  [[nodiscard]] std::uint32_t calls() const { return calls_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::int32_t> contender_ = -1;
  std::atomic<std::uint32_t> calls_ = 0;
};

/// Makes this process watch the worker. A worker that dies cannot report it, and to a remote driver
/// its death looks like a lost connection. The process that was started therefore only watches: the
/// worker is its child, and when the child ends, the process reports how in a last event, with the
/// contender that was running, and ends the same way. Returns only in the child: nothing, or the
/// exit code to end with if no process could be created. Call it while the process has one thread.
[[nodiscard]] std::optional<int> become_watched_worker();

/// The beacon that the watching process reads after the worker has died.
[[nodiscard]] Beacon& beacon();

/// Sends the event `alive` at once and then at every interval, until the thread is destroyed; it
/// sends no event afterwards.
[[nodiscard]] std::jthread report_alive(std::chrono::milliseconds interval,
                                        std::function<void(const nlohmann::json&)> send);
inline constexpr std::chrono::milliseconds alive_interval{2'000};

/// Ends the previous worker of the same driver. If a connection is lost without notice, the worker
/// at its far end continues to measure and would share the machine with the next worker. This
/// function therefore ends the process that called it before for the same driver, if it still runs
/// and belongs to the same user, and waits for its end. The claim lasts until this process ends and
/// leaves no file.
void take_over_from(const std::string& driver);

}  // namespace attnscope
