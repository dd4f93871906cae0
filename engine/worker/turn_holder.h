#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The driver's side of turns (engine/worker/turn.h): a worker process that measures nothing and
// holds the turn on the worker's machine for the whole run, because measuring workers are replaced
// within a run.
//
//   TurnHolder turn({.worker_command = command, .devices = {DeviceKind::cpu}, .what = "run 'a'"});
//   if (!turn.hold(listener)) return cancelled();   // reports the current holder
//   ...                                             // measures
//   show(turn.others(is_given_up));                 // who has measured at the same time

#include <chrono>
#include <functional>
#include <optional>
#include <set>
#include <string>

#include "engine/pattern/axes.h"
#include "engine/worker/worker_process.h"

namespace attnscope {

class TurnHolder {
 public:
  struct Measuring {
    std::string worker_command;  // empty: default_worker()
    std::set<DeviceKind> devices;
    std::string what;  // for those who wait: "run 'mine'"
    bool now = false;  // without waiting
  };
  explicit TurnHolder(Measuring measuring);

  struct Listener {
    /// Called with the current holder of the turn, "run 'other' (process 1234, since 14:02)",
    /// whenever that changes.
    std::function<void(const std::string&)> on_waiting;
    std::function<void(const std::string&)> on_warning;
    /// Called several times a second while it waits.
    std::function<bool()> is_given_up;
  };
  /// Waits for the turn, without a time limit; returns at once if it is already held. False: given
  /// up. If locking is impossible, it warns and returns true without a turn.
  [[nodiscard]] bool hold(const Listener& listener);
  /// Other measurements since the turn was taken or since the last call, as text; usually empty,
  /// and empty after giving up. If the holder process has died, hold() takes the turn again.
  [[nodiscard]] std::string others(const std::function<bool()>& is_given_up);
  /// The next hold() queues again at the end.
  void release() { worker_.reset(); }

 private:
  enum class Ending : std::uint8_t { held, given_up, ended, not_possible };
  [[nodiscard]] Ending ask(const Listener& listener);
  [[nodiscard]] Ending wait(const Listener& listener);

  Measuring measuring_;
  std::string driver_;  // number that lets the next holder end a lost one
  std::optional<WorkerProcess> worker_;
  bool has_answered_ = false;  // a worker has answered since hold() began
  bool is_possible_ = true;
  bool warned_ = false;
  std::string words_;  // description of a problem
};

/// A random number that identifies this driver.
[[nodiscard]] std::string new_driver_number();

}  // namespace attnscope
