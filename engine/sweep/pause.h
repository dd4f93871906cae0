#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A run pauses between heats. It is asked by signal, from any process of the same user: the first
// real-time signal with the request as its value. Such signals queue, so what was asked last counts
// however late the driver looks. So the driver that measures holds the pause, and neither a window
// that was killed nor a locked database can leave a run stopped with nobody to wake it. What it
// does stands in its progress.
//
//   if (Status asked = ask_to_pause(run); !asked) show(asked.error().message);
//   if (is_paused(progress)) show("paused");

#include <csignal>
#include <optional>
#include <string>
#include <string_view>

#include "engine/store/store.h"

namespace attnscope {

/// The number is the C library's to tell, when the program runs.
[[nodiscard]] inline int pause_signal() {
  return SIGRTMIN;
}
enum class PauseRequest : int { go_on = 1, pause = 2 };
/// What a signal that came asks for; nothing, where someone sent one without a value.
[[nodiscard]] inline std::optional<PauseRequest> pause_request(const siginfo_t& signal) {
  if (signal.si_code != SI_QUEUE) return std::nullopt;
  return static_cast<PauseRequest>(signal.si_value.sival_int);
}

/// Errors: the run is not being measured, by a program too old to pause, or by another user.
[[nodiscard]] Status ask_to_pause(const RunInfo& run);
/// The same errors. A run that is not paused goes on as it does.
[[nodiscard]] Status ask_to_continue(const RunInfo& run);

/// What a paused driver puts in Progress::current.
inline constexpr std::string_view paused_words = "paused";
/// What a driver adds there that will pause when its heat is done.
inline constexpr std::string_view pausing_words = ", then a pause";

/// What a driver's begins with that waits for another measurement.
inline constexpr std::string_view waiting_words = "waiting for ";

[[nodiscard]] inline bool is_waiting(const Progress& progress) {
  return progress.current.starts_with(waiting_words);
}
[[nodiscard]] inline bool is_paused(const Progress& progress) {
  return progress.current == paused_words;
}
[[nodiscard]] inline bool is_pausing(const Progress& progress) {
  return progress.current.ends_with(pausing_words);
}

}  // namespace attnscope
