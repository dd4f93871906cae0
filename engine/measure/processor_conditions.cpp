// SPDX-License-Identifier: Apache-2.0
#include "engine/measure/processor_conditions.h"

#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

#include "engine/measure/load_meter.h"

namespace attnscope::measure {
namespace {

std::optional<std::int64_t> number_in(const std::filesystem::path& file) {
  std::int64_t number = 0;
  if (std::ifstream(file) >> number) return number;
  return std::nullopt;
}

std::filesystem::path core_folder(const std::filesystem::path& cores, int core) {
  return cores / fmt::format("cpu{}", core);
}

std::filesystem::path frequency_file(const std::filesystem::path& cores) {
  return core_folder(cores, std::max(sched_getcpu(), 0)) / "cpufreq/scaling_cur_freq";
}

}  // namespace

CycleCounter::CycleCounter() {
  perf_event_attr wanted{};
  wanted.type = PERF_TYPE_HARDWARE;
  wanted.size = sizeof wanted;
  wanted.config = PERF_COUNT_HW_CPU_CYCLES;
  wanted.exclude_kernel = 1;  // allowed to everybody up to kernel.perf_event_paranoid = 2
  wanted.exclude_hv = 1;
  wanted.read_format = PERF_FORMAT_TOTAL_TIME_RUNNING;
  constexpr int this_thread = 0, any_core = -1, no_group = -1;
  descriptor_ = static_cast<int>(
      syscall(SYS_perf_event_open, &wanted, this_thread, any_core, no_group, PERF_FLAG_FD_CLOEXEC));
  if (descriptor_ < 0) refusal_ = std::strerror(errno);
}

CycleCounter::~CycleCounter() {
  if (descriptor_ >= 0) close(descriptor_);
}

std::optional<double> CycleCounter::megahertz() {
  struct {
    std::uint64_t cycles, running_ns;
  } now{};
  if (descriptor_ < 0 || ::read(descriptor_, &now, sizeof now) != sizeof now) return std::nullopt;
  const std::uint64_t cycles = now.cycles - std::exchange(cycles_, now.cycles);
  const std::uint64_t running = now.running_ns - std::exchange(running_ns_, now.running_ns);
  if (cycles == 0 || running == 0) return std::nullopt;
  return static_cast<double>(cycles) / static_cast<double>(running) * 1000;
}

ProcessorConditions::ProcessorConditions(std::filesystem::path cores, CycleCounter* counter)
    : cores_(std::move(cores)), counter_(counter) {
  for (const int core : allowed_cores()) {
    for (const char* scope : {"core_throttle_count", "package_throttle_count"}) {
      auto file = core_folder(cores_, core) / "thermal_throttle" / scope;
      if (std::filesystem::exists(file)) throttle_files_.push_back(std::move(file));
    }
  }
  throttle_events_ = throttle_events();
}

std::string ProcessorConditions::clock_source() const {
  if (counter_ != nullptr && counter_->refusal().empty()) return "cycle counter";
  if (number_in(frequency_file(cores_))) return "cpufreq";
  return fmt::format("none: no cycle counter ({}) and no cpufreq",
                     counter_ == nullptr ? "not asked" : counter_->refusal());
}

std::optional<double> ProcessorConditions::clock_mhz() {
  if (counter_ != nullptr && counter_->refusal().empty()) return counter_->megahertz();
  const auto kilohertz = number_in(frequency_file(cores_));
  if (!kilohertz) return std::nullopt;
  return static_cast<double>(*kilohertz) / 1000;
}

std::int64_t ProcessorConditions::throttle_events() const {
  std::int64_t events = 0;
  for (const auto& file : throttle_files_) events += number_in(file).value_or(0);
  return events;
}

Conditions ProcessorConditions::read() {
  const std::int64_t events = throttle_events();
  return {.clock_mhz = clock_mhz(),
          .temperature_c = {},
          .throttled = events > std::exchange(throttle_events_, events)};
}

ProcessorConditions& processor_conditions() {
  static CycleCounter counter;
  static ProcessorConditions conditions("/sys/devices/system/cpu", &counter);
  return conditions;
}

}  // namespace attnscope::measure
