#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The measuring process (worker) of a command: the options that choose it, requests whose answer a
// command prints, and the machine-wide lock for commands that time computations. Progress of a
// command: a line on the terminal that is rewritten, silent if stderr is not a terminal; and the
// events of a run as JSON lines.

#include <CLI/CLI.hpp>
#include <atomic>
#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/sweep/driver.h"
#include "engine/worker/ask.h"
#include "engine/worker/turn_holder.h"
#include "engine/worker/worker_process.h"

namespace attnscope::cli {

/// How to start a worker, and the programs of --with.
struct WorkerChoice {
  std::string command;
  std::vector<std::string> with;
};
/// Adds --worker and --with.
void add_worker_options(CLI::App& command, WorkerChoice& choice);
[[nodiscard]] Result<WorkerProcess> start(const WorkerChoice& choice,
                                          const std::atomic<int>* cancel = nullptr);

/// Adds --now.
void add_now_option(CLI::App& command, bool& now);
/// Appended to the message that names the measurement a command waits for.
inline constexpr std::string_view other_ways_than_waiting =
    "Ctrl-C cancels, --now measures at the same time";
/// Waits until no other measurement runs on the worker's machine, and reports on stderr which
/// measurement it waits for. `what` describes this measurement to other waiting processes, "latency
/// of MODEL". Errors: interrupted.
[[nodiscard]] Result<TurnHolder> wait_for_turn(const WorkerChoice& worker,
                                               std::set<DeviceKind> devices, std::string what,
                                               bool now);
/// "another measurement ran at the same time: ..."; empty if none did.
[[nodiscard]] std::string note_on_others(TurnHolder& turn);

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
