#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// A progress line on the terminal that is rewritten during a run; silent if stderr is not a
// terminal.

#include <chrono>
#include <optional>
#include <string>

#include "engine/sweep/driver.h"

namespace attnscope::cli {

class ProgressLine {
 public:
  explicit ProgressLine(bool visible) : visible_(visible) {}
  void show(const RunEvent& event);
  void clear();

 private:
  bool visible_;
  bool drawn_ = false;
};

/// A progress line for any counted item: "1200 of 5000 documents, 95.1 a second, 40 s left"; silent
/// if stderr is not a terminal.
class CountLine {
 public:
  explicit CountLine(bool visible) : visible_(visible) {}
  /// `share`: completed fraction of the work, from 0 to 1, if known.
  void show(const std::string& counted, double done, std::optional<double> share);
  void clear();

 private:
  bool visible_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// "1 min 20 s", "45 s".
[[nodiscard]] std::string format_seconds(double seconds);

}  // namespace attnscope::cli
