#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A run's parts as a job array of Slurm: what --slurm says, the scripts that Slurm runs, and the
// commands that submit them. Nothing here starts a process.
//
//   Result<SlurmOptions> options = parse_slurm({"partition=gpu,array=8,time=02:00:00"});
//   write(array.folder / SlurmArray::tasks_file, task_script(array));
//   start(tasks_command(array));             // prints a job's number: job_in(answer)
//   start(merge_command(array, job));

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/base/result.h"

namespace attnscope {

struct SlurmOptions {
  int tasks = 0;                                // array=N
  std::string at_once = {};                     // array=N%M: "%M", of which run at a time
  std::optional<std::filesystem::path> folder;  // dir=FOLDER
  std::optional<int> cores;                     // cpus-per-task=N
  /// Options of sbatch, as it is to have them.
  std::vector<std::pair<std::string, std::string>> others = {};
};

/// KEY=VALUE[,KEY=VALUE...], in one text or several; "\," is a comma within a value and "\\" a
/// backslash. Errors: a key without a value, twice, or one that a run sets itself; no number of
/// tasks, or none of 1 to 10000.
[[nodiscard]] Result<SlurmOptions> parse_slurm(const std::vector<std::string>& texts);

struct SlurmArray {
  SlurmOptions options;
  int tasks = 0;                       // that there are parts for
  int cores = 1;                       // for each
  std::filesystem::path folder;        // absolute, on a file system that all nodes have
  std::string uuid;                    // of the run
  std::filesystem::path program;       // this one
  std::string worker = {};             // of --worker; empty: the program's own
  std::vector<std::string> with = {};  // of --with
  std::filesystem::path database;      // absolute: what the parts are brought into

  static constexpr const char* tasks_file = "tasks.sh";
  static constexpr const char* merge_file = "merge.sh";
  /// The store of a task, within the folder.
  [[nodiscard]] static std::string store_of(int task);
};

/// What each task runs: it goes on where its store stopped, also when Slurm starts it anew.
[[nodiscard]] std::string task_script(const SlurmArray& array);
/// What brings the parts in, once no task runs any more.
[[nodiscard]] std::string merge_script(const SlurmArray& array);

/// sbatch and its arguments; Slurm keeps the outputs in the folder, task-N.txt and merge.txt.
[[nodiscard]] std::vector<std::string> tasks_command(const SlurmArray& array);
[[nodiscard]] std::vector<std::string> merge_command(const SlurmArray& array,
                                                     const std::string& job);

/// The job's number in what sbatch printed: a line "123", "123;cluster" or "Submitted batch job
/// 123 on cluster x" among others, such as a site's banner. A sentence goes before a number with a
/// cluster, and this before a number alone; nothing where lines of one form name several jobs.
[[nodiscard]] std::optional<std::string> job_in(std::string_view answer);

enum class ArrayLimit : std::uint8_t { none, tasks_of_an_array, jobs_of_a_user };
/// The limit that an array was too large for, by what sbatch printed.
[[nodiscard]] ArrayLimit limit_in(std::string_view refusal);
/// The most tasks of an array, from `scontrol show config`.
[[nodiscard]] std::optional<int> most_tasks_in(std::string_view config);

/// A command as a shell takes it.
[[nodiscard]] std::string shell_line(const std::vector<std::string>& words);

}  // namespace attnscope
