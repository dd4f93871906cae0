// SPDX-License-Identifier: Apache-2.0
#include "engine/sweep/pause.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdint>
#include <fstream>

namespace attnscope {
namespace {

/// Whether the process handles the signal; otherwise the signal would end it.
bool takes(std::int64_t process_id, int signal) {
  std::ifstream status(fmt::format("/proc/{}/status", process_id));
  std::uint64_t taken = 0;
  for (std::string line; std::getline(status, line);) {
    // A blocked signal stays pending until it is fetched, which is equivalent to a handler.
    if (line.starts_with("SigCgt:") || line.starts_with("SigBlk:"))
      taken |= std::strtoull(line.c_str() + 7, nullptr, 16);
  }
  return (taken >> (signal - 1) & 1U) != 0;
}

Status send(const RunInfo& run, PauseRequest request, std::string_view what) {
  if (run.status == RunStatus::interrupted || run.status == RunStatus::cancelled) {
    return fail("run {} is {} and cannot be {}; {} measures the rest", run.number,
                name_of(run.status), what, command_on(run, "run --resume"));
  }
  if (run.status != RunStatus::running) {
    return fail("run {} is done and cannot be {}", run.number, what);
  }
  const std::int64_t process = run.start.process_id;
  // Numbers of 0 and below address process groups.
  if (process <= 0 || !is_alive(process, run.start.process_start_ticks)) {
    return fail("the process of run {} no longer exists; {} measures the rest", run.number,
                command_on(run, "run --resume"));
  }
  if (!takes(process, pause_signal())) {
    return fail(
        "process {}, which measures run {}, does not support pausing; cancel the run and resume it "
        "later",
        process, run.number);
  }
  sigval value{};
  value.sival_int = static_cast<int>(request);
  if (::sigqueue(static_cast<pid_t>(process), pause_signal(), value) != 0) {
    if (errno == EAGAIN) {
      return fail("run {} has too many pending requests; try again later", run.number);
    }
    return fail("run {} belongs to another user and cannot be {} from here", run.number, what);
  }
  return {};
}

}  // namespace

Status request_pause(const RunInfo& run) {
  return send(run, PauseRequest::pause, "paused");
}

Status request_continue(const RunInfo& run) {
  return send(run, PauseRequest::resume, "continued");
}

}  // namespace attnscope
