#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A run pauses between heats. It is asked by signal, from any process of the same user: SIGUSR1
// pauses, SIGUSR2 goes on. So the driver that measures holds the pause, and neither a window that
// was killed nor a locked database can leave a run stopped with nobody to wake it. What it does
// stands in its progress.
//
//   if (Status asked = ask_to_pause(run); !asked) show(asked.error().message);
//   if (is_paused(progress)) show("paused");

#include <csignal>
#include <string>
#include <string_view>

#include "engine/store/store.h"

namespace attnscope {

inline constexpr int pause_signal = SIGUSR1;
inline constexpr int continue_signal = SIGUSR2;

/// Errors: the run is not being measured, by a program too old to pause, or by another user.
[[nodiscard]] Status ask_to_pause(const RunInfo& run);
/// The same errors. A run that is not paused goes on as it does.
[[nodiscard]] Status ask_to_continue(const RunInfo& run);

/// What a paused driver puts in Progress::current.
inline constexpr std::string_view paused_words = "paused";
/// What a driver adds there that will pause when its heat is done.
inline constexpr std::string_view pausing_words = ", then a pause";

[[nodiscard]] inline bool is_paused(const Progress& progress) {
  return progress.current == paused_words;
}
[[nodiscard]] inline bool is_pausing(const Progress& progress) {
  return progress.current.ends_with(pausing_words);
}

}  // namespace attnscope
