// SPDX-License-Identifier: Apache-2.0
//
// attnscope-worker: the measuring process. Reads requests as JSON Lines on stdin and writes events
// to its original stdout (engine/worker/protocol.h); all other output goes to stderr.
#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <string_view>

#include "app/worker/protocol_channel.h"
#include "app/worker/requests.h"
#include "attnscope/build_info.h"
#include "engine/measure/heat_device.h"
#include "engine/measure/machine.h"
#include "engine/worker/sign_of_life.h"
#include "engine/worker/waiting_policy.h"
#include "kernels/cpu/instruction_set.h"

namespace attnscope::worker {
namespace {

constexpr int exit_wrong_use = 2;

/// Ok, or why this process must not measure.
Status fit_to_measure() {
  // Two runtimes mean two thread pools on the same cores, which falsifies every time.
  const auto runtimes = measure::mapped_openmp_runtimes();
  if (runtimes.size() > 1) {
    return fail(
        "more than one OpenMP runtime is loaded ({}); unset LD_PRELOAD, or build with LibTorch's "
        "own.",
        fmt::join(runtimes, ", "));
  }
  if (const auto limit = measure::memory_limit_bytes(); !limit)
    return tl::unexpected(limit.error());
  if (const auto set = cpu::selected_set(); !set) return tl::unexpected(set.error());
  return {};
}

/// The OpenMP runtime reads its environment before main: a new setting requires a restart. A worker
/// started by a driver on this machine has the setting already.
void choose_waiting_policy(char** argv) {
  if (has_waiting_policy()) return;
  setenv(spin_count_name, spin_count, /*overwrite=*/0);
  execv("/proc/self/exe", argv);  // returns only on failure; then threads keep their default policy
}

int serve() {
  std::signal(SIGPIPE, SIG_IGN);  // a missing driver results in a failed write
  const bool is_interactive = isatty(STDIN_FILENO) == 1;
  ProtocolChannel channel;
  if (is_interactive) {
    fmt::print(stderr,
               "attnscope-worker measures for 'attnscope run' and expects one JSON request per "
               "line, such as {{\"request\":\"describe\"}}; Ctrl-D ends it.\n");
  }
  if (const Status fit = fit_to_measure(); !fit) {
    channel.send_error(fit.error().message);
    fmt::print(stderr, "attnscope-worker: {}\n", fit.error().message);
    return exit_wrong_use;
  }
  static_cast<void>(measure::process_memory());  // before LibTorch allocates its first tensor
  RequestReader reader(channel);
  Answers answers;
  while (const auto request = reader.next()) answers.answer(*request, channel);
  // Other threads may be in any state; there is nothing left to clean up.
  channel.end_process(0);
}

}  // namespace
}  // namespace attnscope::worker

int main(int argc, char** argv) {
  using attnscope::worker::exit_wrong_use;
  // Exceeding the file size limit is then a write error with a message instead of a fatal signal.
  std::signal(SIGXFSZ, SIG_IGN);
  if (argc == 2 && std::string_view(argv[1]) == "--version") {
    fmt::print("attnscope-worker {}\n", ATTNSCOPE_VERSION);
    return 0;
  }
  if (argc > 1) {
    fmt::print(stderr,
               "attnscope-worker supports only the argument --version, not '{}'; it is started by "
               "'attnscope run' and reads its requests from stdin.\n",
               argv[1]);
    return exit_wrong_use;
  }
  attnscope::worker::choose_waiting_policy(argv);
  if (const auto exit_code = attnscope::become_watched_worker()) return *exit_code;
  try {
    return attnscope::worker::serve();
  } catch (const std::exception& error) {
    fmt::print(stderr, "attnscope-worker: {}\n", error.what());
    return exit_wrong_use;
  }
}
