#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The driver's side of turns (engine/heat/turn.h): a worker process that measures nothing and holds
// the turn on the worker's machine, because those that measure come and go within a run.
//
//   TurnHolder turn({.worker_command = command, .devices = {DeviceKind::cpu}, .what = "run 'a'"});
//   if (!turn.hold(listener)) return cancelled();   // says meanwhile who is waited for
//   ...                                             // measures
//   show(turn.others(is_given_up));                 // who has measured at the same time

#include <chrono>
#include <functional>
#include <optional>
#include <set>
#include <string>

#include "engine/pattern/axes.h"
#include "engine/sweep/worker_process.h"

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
    /// Whom is waited for, "run 'other' (process 1234, since 14:02)"; whenever that changes.
    std::function<void(const std::string&)> on_waiting;
    std::function<void(const std::string&)> on_warning;
    /// Asked several times a second while it waits.
    std::function<bool()> is_given_up;
  };
  /// Waits for the turn, however long that takes; at once where it is held. False: given up. What
  /// cannot be locked is measured without, after a warning.
  [[nodiscard]] bool hold(const Listener& listener);
  /// Who has measured at the same time since the turn was taken or since the last call, in words;
  /// mostly empty, as once it is given up. A holder that has died is found out, and hold() takes
  /// the turn again.
  [[nodiscard]] std::string others(const std::function<bool()>& is_given_up);
  /// The next hold() waits again, as the last in the queue.
  void release() { worker_.reset(); }

 private:
  enum class Ending : std::uint8_t { held, given_up, ended, not_possible };
  [[nodiscard]] Ending ask(const Listener& listener);
  [[nodiscard]] Status send_request();
  [[nodiscard]] Ending wait(const Listener& listener);

  Measuring measuring_;
  std::string driver_;  // a number by which a holder that was lost is ended by the next
  std::optional<WorkerProcess> worker_;
  bool has_answered_ = false;  // a worker, since hold() began
  bool is_possible_ = true;
  bool warned_ = false;
  std::string words_;  // of a problem
};

/// A number that no other driver has drawn.
[[nodiscard]] std::string new_driver_number();

}  // namespace attnscope
