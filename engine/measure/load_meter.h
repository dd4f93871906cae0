#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What disturbed a measurement: other processes' load on our cores and involuntary switches.

#include <chrono>
#include <cstdint>
#include <string_view>
#include <vector>

namespace attnscope::measure {

/// Times this process was taken off a core against its will, so far.
[[nodiscard]] std::int64_t involuntary_switches();

/// Seconds that the given cores were busy, from the text of /proc/stat.
[[nodiscard]] double busy_seconds(std::string_view proc_stat, const std::vector<int>& cores);

/// Cores kept busy by others on the cores this process may use. The kernel counts in steps of 10
/// ms, so a window lasts at least 100 ms; samples wait for the window they lie in to close.
class LoadMeter {
 public:
  LoadMeter();
  /// The foreign load since the last window closed when that was long enough ago; else negative.
  double try_close();
  /// Closes the window now, however short.
  double close();

 private:
  using Clock = std::chrono::steady_clock;
  struct Reading {
    Clock::time_point at;
    double busy = 0;  // everyone, on our cores
    double own = 0;   // this process
  };
  [[nodiscard]] Reading read() const;

  std::vector<int> cores_;
  Reading start_;
  double last_ = 0;
};

/// Numbers of the cores this process may run on.
[[nodiscard]] std::vector<int> allowed_cores();

}  // namespace attnscope::measure
