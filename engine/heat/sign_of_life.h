#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What a worker gives to be known by, wherever it runs. While it measures it tells every few
// seconds which contender runs (`alive`); when it dies, the process that watches it tells how and
// who ran then (`ended`); and it takes the place of a worker that the same driver has lost.
//
//   if (const auto exit_code = become_watched_worker()) return *exit_code;   // first thing in main
//   take_over_from(driver);                                                  // at the greeting
//   const std::jthread alive = tell_alive(alive_interval, send);             // while it measures
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

/// Which contender runs now. Kept current by plain stores, without a system call, so that it costs
/// nothing in a timed round.
class Beacon {
 public:
  /// Before each call into a contender, by its place in the heat.
  void calling(int contender) {
    contender_.store(contender, std::memory_order_relaxed);
    calls_.fetch_add(1, std::memory_order_relaxed);
  }
  /// Nobody runs.
  void idle() { contender_.store(-1, std::memory_order_relaxed); }
  /// -1: none.
  [[nodiscard]] int contender() const { return contender_.load(std::memory_order_relaxed); }
  /// Grows with every call into a contender.
  [[nodiscard]] std::uint32_t calls() const { return calls_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::int32_t> contender_ = -1;
  std::atomic<std::uint32_t> calls_ = 0;
};

/// A worker that dies cannot say so, and from elsewhere its death looks like a lost connection. So
/// the process that is started only watches: the worker is its child, and when that ends it says
/// how in a last event, with the contender that ran, and ends the same way. Returns in the child
/// only: nothing, or the exit code to end with when no process could be made. Call it while the
/// process has one thread.
[[nodiscard]] std::optional<int> become_watched_worker();

/// The one that the watching process reads when this one has died.
[[nodiscard]] Beacon& beacon();

/// Sends the event `alive` at once and then at every interval, until the thread goes: no event
/// comes afterwards.
[[nodiscard]] std::jthread tell_alive(std::chrono::milliseconds interval,
                                      std::function<void(const nlohmann::json&)> send);
inline constexpr std::chrono::milliseconds alive_interval{2'000};

/// When a line is cut without a word, the worker at its far end measures on for nobody, and the one
/// that is reached next would share the machine with it. So this ends the process that has called
/// it before for the same driver, if it still runs and is of the same user, and waits for its end.
/// Holds until this process ends; leaves no file.
void take_over_from(const std::string& driver);

}  // namespace attnscope
