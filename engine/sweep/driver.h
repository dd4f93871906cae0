#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The driver: takes a sweep's heats through worker processes and into the store. It computes
// nothing itself. When a worker dies, the running contender fails and a new worker measures the
// rest.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/spawn.h"
#include "engine/heat/time_asleep.h"
#include "engine/store/store.h"
#include "engine/sweep/sweep.h"
#include "engine/worker/machine_messages.h"
#include "engine/worker/worker_pool.h"

namespace attnscope {

/// Events for followers (terminal, --events, tests), sent in order from the driver's thread.
struct RunEvent {
  enum class Kind : std::uint8_t {
    started,
    waiting,
    ceilings,
    heat_started,
    contender,
    progress,
    heat_finished,
    warning,
    cancelling,
    paused,
    continued,
    finished
  };
  Kind kind = Kind::started;
  RunId run;
  int heats_done = 0, heats_planned = 0;
  const Heat* heat = nullptr;          // heat_started, contender, heat_finished
  const HeatResult* result = nullptr;  // heat_finished; stored before this is sent
  // The measurement that the run waits for, contender and phase (contender, progress), a warning,
  // or the closing message.
  std::string text;
  std::optional<double> seconds_left;
};

struct DriverOptions {
  std::string worker_command;       // empty: attnscope-worker next to this program
  std::vector<std::string> with;    // programs with additional implementations
  std::string command_line;         // provenance
  std::optional<RunInfo> again_of;  // the run that this one repeats; provenance
  std::function<void(const RunEvent&)> on_event;
  /// Set by a signal handler: 1 cancels after the current iteration, 2 at once.
  const std::atomic<int>* cancel = nullptr;
  /// Do not wait for another measurement on that machine; cells of both runs record it.
  bool now = false;
  /// Measure even where one item does not fit in the machine's memory, which is otherwise refused.
  bool oversize = false;
  /// While true, no further heat begins; the current heat is finished first.
  const std::atomic<bool>* pause = nullptr;
  /// A worker that shows no sign of life for this long is ended, and the running contender becomes
  /// `timeout`. Absent: 60 s, or 20 times the stop rule's max_seconds if that is longer.
  std::optional<std::chrono::milliseconds> patience;
  /// For workers on other machines.
  ConnectionRule connection = {};
  /// How long the end of the run waits for a database that does not accept the results.
  std::chrono::milliseconds store_patience = std::chrono::minutes(10);
  /// How long this machine has been suspended so far; a heat during which this grows is measured
  /// again.
  std::function<std::chrono::nanoseconds()> time_asleep = attnscope::time_asleep;
  /// Counter of out-of-memory kills. If it is unchanged when a local worker was killed, the system
  /// did not kill that worker.
  WorkerPool::MemoryKills memory_kills = attnscope::memory_kills;
};

struct RunOutcome {
  RunId run;
  RunStatus status = RunStatus::done;
  int cells_failed = 0;               // wrong, crashed, timeout: exit code 1
  std::vector<std::string> failures;  // one line each
  /// The reason why the store accepted no more results, and the file that contains the missing
  /// ones; empty if it accepted all. Earlier heats are intact.
  std::string store_refusal;
};

/// A run that can begin: its contenders' TREC runs are evaluated, its worker is there.
struct PreparedRun {
  Sweep sweep;
  std::vector<Heat> heats;  // with threads as they are on the worker's machine
  WorkerPool pool;
};
/// Errors: a TREC run that cannot be read (with its line), no worker, an implementation that it
/// does not know, an item beyond the machine's memory.
[[nodiscard]] Result<PreparedRun> prepare_run(Sweep sweep, const DriverOptions& options);
/// Measures all heats as a new run. Errors: a worker that cannot be started again.
[[nodiscard]] Result<RunOutcome> run_sweep(PreparedRun run, Store& store,
                                           const DriverOptions& options);
/// Both.
[[nodiscard]] Result<RunOutcome> run_sweep(const Sweep& sweep, Store& store,
                                           const DriverOptions& options);
/// Goes on with an interrupted or cancelled run: only what is not finished. The heats come from the
/// store, not from files, so --only and the patterns of the first start hold. Cells that failed
/// before count in the outcome. Errors besides those of run_sweep: another device, build or
/// instruction set than the run began with, since times of the two do not compare.
[[nodiscard]] Result<RunOutcome> resume_run(const RunInfo& run, Store& store,
                                            const DriverOptions& options);

/// The record of a run whose heats are measured in parts by other processes on any machine: with
/// the whole plan, but without machine, build or process. Threads 0 become `cores`, and the TREC
/// runs of its contenders are evaluated. Errors: a TREC run that cannot be evaluated, or two heats
/// that then are the same point.
[[nodiscard]] Result<NewRun> record_of(const Sweep& sweep, int cores,
                                       const std::string& command_line);

/// Checks that the worker's greeting lists every implementation of the heats; otherwise the error
/// names the program that provided it in an earlier run.
[[nodiscard]] Status check_implementations(const std::vector<Heat>& heats,
                                           const protocol::Hello& hello,
                                           const RunInfo* earlier = nullptr);

/// Starts the first worker of a run; errors as in check_implementations, and no worker.
[[nodiscard]] Result<WorkerPool> start_pool(const std::vector<Heat>& heats,
                                            const DriverOptions& options,
                                            const RunInfo* earlier = nullptr);

/// The requests `ceilings` (docs/protocol.md) of a run of these heats: one for each number of
/// threads, and one for a device.
[[nodiscard]] std::vector<protocol::CeilingsRequest> ceilings_requests(
    const std::vector<Heat>& heats);
[[nodiscard]] std::set<DeviceKind> devices_of(const std::vector<Heat>& heats);

/// Upper bound of a sweep's duration from its stop rules; disturbed rounds may double it.
[[nodiscard]] double longest_seconds(const Sweep& sweep);

}  // namespace attnscope
