#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// One line on the terminal that is rewritten as a run goes on; silent when it is not a terminal.

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

/// "1 min 20 s", "45 s".
[[nodiscard]] std::string format_seconds(double seconds);

}  // namespace attnscope::cli
