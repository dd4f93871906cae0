#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Times a stretch of calls on the clock of what computes them.

namespace attnscope::measure {

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

}  // namespace attnscope::measure
