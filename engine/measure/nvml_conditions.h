#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Temperature, clock and throttling of a CUDA device, from its driver's management library (NVML).
// The library is loaded at run time, so that builds do not depend on it.
//
//   NvmlConditions sensors("libnvidia-ml.so.1", "0000:65:00.0");
//   if (!sensors.refusal().empty()) explain(sensors.refusal());

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "engine/measure/conditions.h"

namespace attnscope::measure {

class NvmlConditions final : public ConditionsMeter {
 public:
  /// Never throws: without the library, or if the library does not list the device, all readings
  /// are absent.
  NvmlConditions(const std::string& library, const std::string& pci_bus_id);
  ~NvmlConditions() override;
  /// Empty when the device is found, otherwise one sentence with the reason.
  [[nodiscard]] const std::string& refusal() const { return refusal_; }
  /// "580.95.05"; empty when unknown.
  [[nodiscard]] std::string driver_version() const;

 private:
  struct Library;
  [[nodiscard]] Conditions read() override;
  [[nodiscard]] bool throttled_since_last();

  std::unique_ptr<Library> nvml_;
  std::string refusal_;
  // Nanoseconds for which power and thermal limits reduced the clocks, as of the last reading.
  std::array<std::uint64_t, 2> violation_ns_{};
};

}  // namespace attnscope::measure
