#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The clock of the processor, from the first of these that the system gives: the cycles that the
// measuring thread ran over the time it ran (a hardware counter, an average over the window), or
// cpufreq's current frequency of the core it runs on. Throttling from the kernel's counts of
// thermal events (Intel).

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "engine/measure/conditions.h"

namespace attnscope::measure {

/// Cycles of the calling thread in user mode.
class CycleCounter {
 public:
  CycleCounter();
  CycleCounter(const CycleCounter&) = delete;
  CycleCounter& operator=(const CycleCounter&) = delete;
  ~CycleCounter();
  /// "" when it counts, else why it does not.
  [[nodiscard]] const std::string& refusal() const { return refusal_; }
  /// Mean clock since the last call; absent when the thread did not run meanwhile.
  [[nodiscard]] std::optional<double> megahertz();

 private:
  int descriptor_ = -1;
  std::string refusal_;
  std::uint64_t cycles_ = 0, running_ns_ = 0;
};

class ProcessorConditions final : public ConditionsMeter {
 public:
  /// `cores` is the folder with cpu0, cpu1, ...; `counter` may be null.
  ProcessorConditions(std::filesystem::path cores, CycleCounter* counter);

  /// What the clock is read from, for the provenance: "cycle counter", "cpufreq" or "none: ..."
  /// with the reasons.
  [[nodiscard]] std::string clock_source() const;

 private:
  [[nodiscard]] Conditions read() override;
  [[nodiscard]] std::optional<double> clock_mhz();
  [[nodiscard]] std::int64_t throttle_events() const;

  std::filesystem::path cores_;
  CycleCounter* counter_;
  std::vector<std::filesystem::path> throttle_files_;
  std::int64_t throttle_events_ = 0;
};

/// Of the thread that calls it first, which has to be the one that measures.
[[nodiscard]] ProcessorConditions& processor_conditions();

}  // namespace attnscope::measure
