#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Progress of a command: a line on the terminal that is rewritten, silent if stderr is not a
// terminal; and the events of a run as JSON lines.

#include <chrono>
#include <optional>
#include <string>

#include "engine/sweep/driver.h"

namespace attnscope::cli {

/// A line on the terminal that is rewritten.
class TerminalLine {
 public:
  /// `wanted`: false prints nothing on a terminal either.
  explicit TerminalLine(bool wanted = true);
  void clear();

 protected:
  [[nodiscard]] bool is_visible() const { return visible_; }
  void draw(const std::string& text);

 private:
  bool visible_;
  bool drawn_ = false;
};

/// The progress of a run: "heat 3 of 12, 2 min 10 s left: sparse/segment/4".
class ProgressLine : public TerminalLine {
 public:
  using TerminalLine::TerminalLine;
  void show(const RunEvent& event);
};

/// The progress of any counted item: "1200 of 5000 documents, 95.1 a second, 40 s left".
class CountLine : public TerminalLine {
 public:
  using TerminalLine::TerminalLine;
  /// `share`: completed fraction of the work, from 0 to 1, if known.
  void show(const std::string& counted, double done, std::optional<double> share);

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// "1 min 20 s", "45 s".
[[nodiscard]] std::string format_seconds(double seconds);

/// Prints an event as one JSON line on stdout, the form of `run --events`; returns false if stdout
/// does not accept it.
bool print_event(const RunEvent& event);

}  // namespace attnscope::cli
