#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Under what conditions samples are taken: how fast the hardware was clocked meanwhile, how hot it
// was, whether it was slowed down. Read between rounds only, over windows as LoadMeter's.
//
//   ConditionsMeter& meter = device.conditions();
//   meter.start();
//   ... a round ...
//   const Conditions conditions = meter.since_start();   // and the next window begins

#include <chrono>
#include <optional>

namespace attnscope::measure {

struct Conditions {
  std::optional<double> clock_mhz = {};
  std::optional<double> temperature_c = {};
  bool throttled = false;  // for heat or power; false also where nobody tells
};

class ConditionsMeter {
 public:
  ConditionsMeter() = default;
  ConditionsMeter(const ConditionsMeter&) = delete;
  ConditionsMeter& operator=(const ConditionsMeter&) = delete;
  virtual ~ConditionsMeter() = default;

  /// A window begins.
  void start();
  /// The conditions since the window began. Asking sooner than `shortest_window` after the last
  /// answer gives that answer again: asking costs time, of a device's driver up to a millisecond.
  [[nodiscard]] Conditions since_start();

  static constexpr std::chrono::milliseconds shortest_window{100};

 protected:
  /// What happened since the last call of this.
  [[nodiscard]] virtual Conditions read() = 0;

 private:
  using Clock = std::chrono::steady_clock;
  std::optional<Clock::time_point> answered_;
  Conditions last_;
};

/// Knows nothing.
[[nodiscard]] ConditionsMeter& unknown_conditions();

}  // namespace attnscope::measure
