#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Temperature, clock and throttling of a CUDA device, from its driver's management library (NVML),
// which is looked for when the program runs: builds need nothing of it.
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
  /// Never throws: without the library, or without the device in it, nothing is known.
  NvmlConditions(const std::string& library, const std::string& pci_bus_id);
  ~NvmlConditions() override;
  /// "" when the device is known, else one sentence why not.
  [[nodiscard]] const std::string& refusal() const { return refusal_; }
  /// "580.95.05"; "" when nobody tells.
  [[nodiscard]] std::string driver_version() const;

 private:
  struct Library;
  [[nodiscard]] Conditions read() override;
  [[nodiscard]] bool throttled_since_last();

  std::unique_ptr<Library> nvml_;
  std::string refusal_;
  // Nanoseconds that the device spent below its clocks for power and for heat, up to the last look.
  std::array<std::uint64_t, 2> violation_ns_{};
};

}  // namespace attnscope::measure
