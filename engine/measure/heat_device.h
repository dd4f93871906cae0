#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The device that a heat is measured on, the processor or a CUDA device: its memory, its stopwatch,
// its conditions, and whether it still works.
//
//   HeatDevice& device = heat_device(point.device);
//   device.stopwatch().start();
//   call();                                            // may only be queued
//   const double ns = device.stopwatch().stop_ns();    // waits; an error of the call surfaces here

#include "engine/measure/conditions.h"
#include "engine/measure/heat_memory.h"
#include "engine/pattern/axes.h"

namespace attnscope::measure {

/// Measures elapsed time on the clock of the device that computes the calls.
class Stopwatch {
 public:
  Stopwatch() = default;
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;
  virtual ~Stopwatch() = default;
  virtual void start() = 0;
  /// Nanoseconds since start(), after all calls in between have completed.
  [[nodiscard]] virtual double stop_ns() = 0;
};

/// For calls that are complete when they return.
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

/// The device of this kind, or the processor if the device cannot be used: cuda::usable() gives the
/// reason, and every contender is then unsupported before anything is measured.
[[nodiscard]] HeatDevice& heat_device(DeviceKind kind);

/// The current CUDA device; requires cuda::usable().
[[nodiscard]] HeatDevice& cuda_heat_device();

}  // namespace attnscope::measure
