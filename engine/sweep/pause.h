#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Pauses a run between heats. Any process of the same user requests it with a signal: the first
// real-time signal, with the request as its value. Such signals queue, so the last request is valid
// even if the driver reads it late. The measuring driver keeps the pause state, so neither a killed
// window nor a locked database can leave a run stopped without a way to continue. The run's
// progress shows the state.
//
//   if (Status sent = request_pause(run); !sent) show(sent.error().message);
//   if (is_paused(progress)) show("paused");

#include <csignal>
#include <optional>
#include <string>
#include <string_view>

#include "engine/store/store.h"

namespace attnscope {

/// The C library determines the number at run time.
[[nodiscard]] inline int pause_signal() {
  return SIGRTMIN;
}
enum class PauseRequest : int { resume = 1, pause = 2 };
/// The request of a received signal; nothing for a signal without a value.
[[nodiscard]] inline std::optional<PauseRequest> pause_request(const siginfo_t& signal) {
  if (signal.si_code != SI_QUEUE) return std::nullopt;
  return static_cast<PauseRequest>(signal.si_value.sival_int);
}

/// Errors: the run is not being measured, or is measured by a program too old to pause or by
/// another user.
[[nodiscard]] Status request_pause(const RunInfo& run);
/// The errors are the same. Has no effect on a run that is not paused.
[[nodiscard]] Status request_continue(const RunInfo& run);

/// Progress::current of a paused driver.
inline constexpr std::string_view paused_words = "paused";
/// Appended to Progress::current by a driver that pauses after its current heat.
inline constexpr std::string_view pausing_words = ", then a pause";

/// Prefix of Progress::current of a driver that waits for another measurement.
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
