// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/progress_line.h"

#include <fmt/format.h>

#include <cmath>

#include "app/cli/command_line.h"
#include "base/sentences.h"

namespace attnscope::cli {

std::string format_seconds(double seconds) {
  const auto whole = static_cast<long>(std::lround(std::fmax(seconds, 0.0)));
  if (whole >= 3600) return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
  if (whole >= 60) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} s", whole);
}

void CountLine::show(const std::string& counted, double done, std::optional<double> share) {
  if (!visible_) return;
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start_;
  const double seconds = elapsed.count();
  std::string line = fmt::format("{}, {:.1f} a second", counted, done / seconds);
  if (share && *share > 0) {
    line += fmt::format(", {:.0f} %, {} left", 100 * *share,
                        format_seconds(seconds * (1 - *share) / *share));
  }
  print_to_terminal("\r\x1b[2K" + line);
  drawn_ = true;
}

void CountLine::clear() {
  if (drawn_) print_to_terminal("\r\x1b[2K");
  drawn_ = false;
}

void ProgressLine::show(const RunEvent& event) {
  if (!visible_ || event.kind == RunEvent::Kind::warning) return;
  if (event.kind == RunEvent::Kind::waiting) return clear();  // printed in full on a separate line
  const std::string left =
      event.seconds_left ? fmt::format(", {} left", format_seconds(*event.seconds_left)) : "";
  const std::string line = in_a_sentence(
      fmt::format("heat {} of {}{}: {}", event.heats_done, event.heats_planned, left, event.text),
      100);
  print_to_terminal("\r\x1b[2K" + line);
  drawn_ = true;
}

void ProgressLine::clear() {
  if (drawn_) print_to_terminal("\r\x1b[2K");
  drawn_ = false;
}

}  // namespace attnscope::cli
