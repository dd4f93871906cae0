#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What a heat is measured on: the processor, or a CUDA device. Its memory, its clock, and whether
// it still works.
//
//   HeatDevice& device = heat_device(point.device);
//   device.stopwatch().start();
//   call();                                            // may only be queued
//   const double ns = device.stopwatch().stop_ns();    // waits; an error of the call surfaces here

#include "engine/measure/conditions.h"
#include "engine/measure/heat_memory.h"
#include "engine/pattern/axes.h"

namespace attnscope::measure {

/// Times a stretch of calls on the clock of what computes them.
class Stopwatch {
 public:
  Stopwatch() = default;
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;
  virtual ~Stopwatch() = default;
  virtual void start() = 0;
  /// Nanoseconds since start(), once everything called in between is done.
  [[nodiscard]] virtual double stop_ns() = 0;
};

/// For calls that are done when they return.
[[nodiscard]] Stopwatch& wall_clock();

class HeatDevice {
 public:
  HeatDevice() = default;
  HeatDevice(const HeatDevice&) = delete;
  HeatDevice& operator=(const HeatDevice&) = delete;
  virtual ~HeatDevice() = default;
  [[nodiscard]] virtual DeviceKind kind() const = 0;
  [[nodiscard]] virtual HeatMemory& memory() = 0;
  [[nodiscard]] virtual Stopwatch& stopwatch() = 0;
  [[nodiscard]] virtual ConditionsMeter& conditions() = 0;
};

/// The device of that kind, or the processor where it cannot be used: cuda::usable() says why, and
/// every contender is then unsupported before anything is measured.
[[nodiscard]] HeatDevice& heat_device(DeviceKind kind);

/// The current CUDA device; only once cuda::usable().
[[nodiscard]] HeatDevice& cuda_heat_device();

}  // namespace attnscope::measure
