#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// One line on the terminal that is rewritten as a run goes on; silent when it is not a terminal.

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

/// One line on the terminal for whatever is counted: "1200 of 5000 documents, 95.1 a second, 40 s
/// left"; silent when it is not a terminal.
class CountLine {
 public:
  explicit CountLine(bool visible) : visible_(visible) {}
  /// `share` from 0 to 1 of all that is to be done, where it is known.
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
