// SPDX-License-Identifier: Apache-2.0
#include "engine/measure/heat_device.h"

#include <chrono>

#include "engine/attention/cuda_runtime.h"
#include "engine/measure/block_cache.h"
#include "engine/measure/conditions.h"

namespace attnscope::measure {
namespace {

class WallClock final : public Stopwatch {
 public:
  void start() override { start_ = Clock::now(); }
  double stop_ns() override {
    return std::chrono::duration<double, std::nano>(Clock::now() - start_).count();
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_;
};

class Processor final : public HeatDevice {
 public:
  DeviceKind kind() const override { return DeviceKind::cpu; }
  HeatMemory& memory() override { return process_memory(); }
  Stopwatch& stopwatch() override { return wall_clock(); }
  ConditionsMeter& conditions() override { return processor_conditions(); }
};

}  // namespace

Stopwatch& wall_clock() {
  static WallClock clock;
  return clock;
}

HeatDevice& heat_device(DeviceKind kind) {
  static Processor processor;
  if (kind == DeviceKind::cuda && cuda::usable()) return cuda_heat_device();
  return processor;
}

}  // namespace attnscope::measure
