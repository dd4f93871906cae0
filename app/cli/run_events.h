#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later

#include <string>

#include "engine/sweep/driver.h"

namespace attnscope::cli {

/// A run event as one JSON line, the form that `run --events` prints.
[[nodiscard]] std::string event_line(const RunEvent& event);
/// Returns false if stdout does not accept the line.
bool print_event(const RunEvent& event);

}  // namespace attnscope::cli
