#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Measuring conditions of samples: clock frequency, temperature, throttling of the hardware, and
// the load of other processes on its cores. They are read only between rounds, over windows.
//
//   ConditionsMeter& meter = device.conditions();
//   meter.start();
//   ... a round ...
//   const Conditions conditions = meter.since_start();   // and the next window begins

#include <sys/types.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attnscope::measure {

struct Conditions {
  std::optional<double> clock_mhz = {};
  std::optional<double> temperature_c = {};
  std::optional<double> power_w = {};
  bool throttled = false;  // by heat or power limits; also false when unknown
};

class ConditionsMeter {
 public:
  ConditionsMeter() = default;
  ConditionsMeter(const ConditionsMeter&) = delete;
  ConditionsMeter& operator=(const ConditionsMeter&) = delete;
  virtual ~ConditionsMeter() = default;

  /// Starts a window.
  void start();
  /// The conditions since the window began. A call within `shortest_window` of the last reading
  /// returns that reading again, because a reading takes time, up to a millisecond for a device
  /// driver.
  [[nodiscard]] Conditions since_start();

  static constexpr std::chrono::milliseconds shortest_window{100};

 protected:
  /// The conditions since the last call.
  [[nodiscard]] virtual Conditions read() = 0;

 private:
  using Clock = std::chrono::steady_clock;
  std::optional<Clock::time_point> answered_;
  Conditions last_;
};

/// A meter without any readings.
[[nodiscard]] ConditionsMeter& unknown_conditions();

/// Cycles of the calling thread in user mode.
class CycleCounter {
 public:
  CycleCounter();
  CycleCounter(const CycleCounter&) = delete;
  CycleCounter& operator=(const CycleCounter&) = delete;
  ~CycleCounter();
  /// Empty when it counts, otherwise the reason why it does not.
  [[nodiscard]] const std::string& refusal() const { return refusal_; }
  /// Mean clock frequency since the last call; absent when the thread did not run in between.
  [[nodiscard]] std::optional<double> megahertz();

 private:
  int descriptor_ = -1;
  std::string refusal_;
  std::uint64_t cycles_ = 0, running_ns_ = 0;
};

/// The processor's clock frequency from the first available source: the cycles of the measuring
/// thread divided by its running time (a hardware counter, an average over the window), or
/// cpufreq's current frequency of the core it runs on. Throttling is read from the kernel's counts
/// of thermal events (Intel).
class ProcessorConditions final : public ConditionsMeter {
 public:
  /// `cores` is the folder that contains cpu0, cpu1, ...; `counter` may be null.
  ProcessorConditions(std::filesystem::path cores, CycleCounter* counter);

  /// Source of the clock frequency, for the provenance: "cycle counter", "cpufreq" or "none: ..."
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

/// The meter of the first thread that calls this, which must be the measuring thread.
[[nodiscard]] ProcessorConditions& processor_conditions();

/// Scheduling totals of all threads that compute here: those of this process and of other processes
/// that compute for its contenders.
struct OwnTimes {
  std::int64_t involuntary_switches = 0;  // preemptions of threads of this process
  double ran_ns = 0;                      // running time
  std::optional<double> waited_ns = {};   // time ready to run while other threads had the cores
};

/// Reads these totals. Waiting time covers the threads that exist at construction, and is absent
/// where the system does not count it.
class OwnTimesMeter {
 public:
  /// `threads` is the folder with one subfolder per thread, `others` are the additional processes.
  explicit OwnTimesMeter(const std::filesystem::path& threads = "/proc/self/task",
                         std::vector<pid_t> others = {});
  OwnTimesMeter(const OwnTimesMeter&) = delete;
  OwnTimesMeter& operator=(const OwnTimesMeter&) = delete;
  ~OwnTimesMeter();
  [[nodiscard]] OwnTimes read() const;

 private:
  void add_threads(const std::filesystem::path& folder);

  std::vector<int> schedstats_;
  std::vector<pid_t> others_;
};

/// Busy time of the given cores in seconds, from the text of /proc/stat.
[[nodiscard]] double busy_seconds(std::string_view proc_stat, const std::vector<int>& cores);

/// Number of this process's allowed cores that other processes keep busy. The kernel counts in
/// steps of 10 ms, so a window lasts at least 100 ms; samples wait until their window closes.
class LoadMeter {
 public:
  /// `own` lists processes that do not count as others, in addition to this one.
  explicit LoadMeter(std::vector<pid_t> own = {});
  /// The foreign load since the last window, if that closed long enough ago; otherwise negative.
  double try_close();
  /// Closes the window now, even if it is short.
  double close();

 private:
  using Clock = std::chrono::steady_clock;
  struct Reading {
    Clock::time_point at;
    double busy = 0;  // all processes, on our cores
    double own = 0;   // this process and those that compute for it
  };
  [[nodiscard]] Reading read() const;

  std::vector<int> cores_;
  std::vector<pid_t> own_;
  Reading start_;
  double last_ = 0;
};

/// Numbers of the cores that this process may run on.
[[nodiscard]] std::vector<int> allowed_cores();

/// Temperature, clock, power draw and throttling of a CUDA device, from its driver's management
/// library (NVML). The library is loaded at run time, so that builds do not depend on it.
///
///   NvmlConditions sensors("libnvidia-ml.so.1", "0000:65:00.0");
///   if (!sensors.refusal().empty()) explain(sensors.refusal());
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
