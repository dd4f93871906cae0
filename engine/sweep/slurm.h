#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A run's parts as a Slurm job array: the options of --slurm, the scripts that Slurm runs, and the
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

#include "base/result.h"

namespace attnscope {

struct SlurmOptions {
  int tasks = 0;                                // array=N
  std::string at_once = {};                     // array=N%M: "%M", of which run at a time
  std::optional<std::filesystem::path> folder;  // dir=FOLDER
  std::optional<int> cores;                     // cpus-per-task=N
  /// Options that are passed to sbatch unchanged.
  std::vector<std::pair<std::string, std::string>> others = {};
};

/// KEY=VALUE[,KEY=VALUE...], in one text or several; "\," is a comma within a value and "\\" a
/// backslash. Errors: a key without a value, a repeated key or one that a run sets itself; a
/// missing number of tasks, or one outside 1 to 10000.
[[nodiscard]] Result<SlurmOptions> parse_slurm(const std::vector<std::string>& texts);

struct SlurmArray {
  SlurmOptions options;
  int tasks = 0;                       // number of parts
  int cores = 1;                       // per task
  std::filesystem::path folder;        // absolute, on a file system that all nodes share
  std::string uuid;                    // the run's UUID
  std::filesystem::path program;       // this program
  std::string worker = {};             // value of --worker; empty: the program's default
  std::vector<std::string> with = {};  // values of --with
  std::filesystem::path database;      // absolute: the database that the parts are merged into

  static constexpr const char* tasks_file = "tasks.sh";
  static constexpr const char* merge_file = "merge.sh";
  /// Path of a task's store within the folder.
  [[nodiscard]] static std::string store_of(int task);
};

/// Script of each task: it continues where its store stopped, also when Slurm restarts it.
[[nodiscard]] std::string task_script(const SlurmArray& array);
/// Script that merges the parts once no task is running.
[[nodiscard]] std::string merge_script(const SlurmArray& array);

/// sbatch and its arguments; Slurm writes the outputs to the folder, as task-N.txt and merge.txt.
[[nodiscard]] std::vector<std::string> tasks_command(const SlurmArray& array);
[[nodiscard]] std::vector<std::string> merge_command(const SlurmArray& array,
                                                     const std::string& job);

/// The job's number in the output of sbatch: a line "123", "123;cluster" or "Submitted batch job
/// 123 on cluster x", among other lines such as a site's banner. The sentence has precedence over a
/// number with a cluster, and that over a number alone; nothing if lines of one form name several
/// jobs.
[[nodiscard]] std::optional<std::string> job_in(std::string_view answer);

enum class ArrayLimit : std::uint8_t { none, tasks_of_an_array, jobs_of_a_user };
/// The limit that the array exceeded, from the output of sbatch.
[[nodiscard]] ArrayLimit limit_in(std::string_view refusal);
/// The maximum number of tasks of an array, from `scontrol show config`.
[[nodiscard]] std::optional<int> most_tasks_in(std::string_view config);

/// A command quoted for the shell.
[[nodiscard]] std::string shell_line(const std::vector<std::string>& words);

}  // namespace attnscope
