#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Under what conditions samples are taken: how fast the hardware was clocked meanwhile, how hot it
// was, whether it was slowed down, what other processes took of its cores. Read between rounds
// only, over windows.
//
//   ConditionsMeter& meter = device.conditions();
//   meter.start();
//   ... a round ...
//   const Conditions conditions = meter.since_start();   // and the next window begins

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

/// The clock of the processor, from the first of these that the system gives: the cycles that the
/// measuring thread ran over the time it ran (a hardware counter, an average over the window), or
/// cpufreq's current frequency of the core it runs on. Throttling from the kernel's counts of
/// thermal events (Intel).
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

/// What the system did with the threads so far that compute here, all of them together: those of
/// this process, and of others that compute for its contenders.
struct OwnTimes {
  std::int64_t involuntary_switches = 0;  // taken off a core against their will; of this process
  double ran_ns = 0;                      // on cores
  std::optional<double> waited_ns = {};   // ready to run while others had the cores
};

/// Reads them; waiting is that of the threads there are when this is made, and absent where the
/// system does not count it.
class OwnTimesMeter {
 public:
  /// `threads` is the folder with one folder a thread, `others` are the processes beside.
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

/// Seconds that the given cores were busy, from the text of /proc/stat.
[[nodiscard]] double busy_seconds(std::string_view proc_stat, const std::vector<int>& cores);

/// Cores kept busy by others on the cores this process may use. The kernel counts in steps of 10
/// ms, so a window lasts at least 100 ms; samples wait for the window they lie in to close.
class LoadMeter {
 public:
  /// `own` are processes beside this one that are no others.
  explicit LoadMeter(std::vector<pid_t> own = {});
  /// The foreign load since the last window closed when that was long enough ago; else negative.
  double try_close();
  /// Closes the window now, however short.
  double close();

 private:
  using Clock = std::chrono::steady_clock;
  struct Reading {
    Clock::time_point at;
    double busy = 0;  // everyone, on our cores
    double own = 0;   // this process, and those that compute for it
  };
  [[nodiscard]] Reading read() const;

  std::vector<int> cores_;
  std::vector<pid_t> own_;
  Reading start_;
  double last_ = 0;
};

/// Numbers of the cores this process may run on.
[[nodiscard]] std::vector<int> allowed_cores();

}  // namespace attnscope::measure
