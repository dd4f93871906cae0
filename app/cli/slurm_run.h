#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// run --slurm: runs the heats of a sweep as a Slurm job array with one store per task, merged by a
// dependent job; reruns only the heats that a task has lost.

#include <filesystem>
#include <string>
#include <vector>

#include "app/cli/command_line.h"
#include "app/cli/worker_requests.h"
#include "engine/sweep/sweep.h"

namespace attnscope::cli {

struct SlurmArguments {
  std::vector<std::string> options;  // of --slurm; none: the run is not for Slurm
  bool dry_run = false, quiet = false;
  WorkerChoice worker;
  std::filesystem::path database;  // the tasks' stores are merged into it
};

/// Submits a new run; `folder` holds its files unless dir= sets another folder.
void send_to_slurm(Session& session, const SlurmArguments& arguments, const Sweep& sweep,
                   const std::filesystem::path& folder);
/// Submits the missing heats of a submitted run, after its stores are merged.
void send_rest_to_slurm(Session& session, const SlurmArguments& arguments, const std::string& run);

/// Whether the run was sent to Slurm.
[[nodiscard]] bool was_sent_to_slurm(const RunInfo& run);
/// Merges the results of such a run's tasks. Returns false, and sets the error in the session, if
/// one of its jobs is still running or the store refuses.
[[nodiscard]] bool bring_in_from_slurm(Session& session, Store& store, const RunInfo& run);

/// Merges files into a run, reports what is then missing, and sets the exit code: 1 if heats are
/// missing, 2 if a file was left out.
void bring_in(Session& session, Store& store, const RunInfo& run,
              const std::vector<std::filesystem::path>& files);

}  // namespace attnscope::cli
