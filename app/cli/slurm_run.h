#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// run --slurm: a sweep's heats as a job array of Slurm, a store a task, brought together by a job
// that depends on it; and again only the heats that a task has lost.

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
  std::filesystem::path database;  // what the tasks' stores are brought into
};

/// A new run: `folder` is where its files are put unless dir= says otherwise.
void send_to_slurm(Session& session, const SlurmArguments& arguments, const Sweep& sweep,
                   const std::filesystem::path& folder);
/// What a run that was sent lacks, once its stores have been brought in.
void send_rest_to_slurm(Session& session, const SlurmArguments& arguments, const std::string& run);

/// Whether the run was sent to Slurm.
[[nodiscard]] bool was_sent_to_slurm(const RunInfo& run);
/// Brings in what the tasks of such a run have measured. False, and the session has the reason,
/// where one of its jobs goes on or the store refuses.
[[nodiscard]] bool bring_in_from_slurm(Session& session, Store& store, const RunInfo& run);

/// Brings files into a run, says what it then lacks, and leaves the exit code: 1 where heats are
/// missing, 2 where a file was left out.
void bring_in(Session& session, Store& store, const RunInfo& run,
              const std::vector<std::filesystem::path>& files);

}  // namespace attnscope::cli
