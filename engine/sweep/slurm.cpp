// SPDX-License-Identifier: Apache-2.0
#include "engine/sweep/slurm.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <span>

#include "kernels/base/sentences.h"
#include "kernels/base/shell_word.h"

namespace attnscope {
namespace {

constexpr int most_tasks = 10'000;
constexpr int most_cores = 100'000;

/// What the run's own files, or its going on after a requeue, hang on.
constexpr std::array<std::string_view, 12> own_keys{
    "chdir",   "output",     "error", "input",     "open-mode", "parsable",
    "requeue", "no-requeue", "wrap",  "test-only", "wait",      "dependency"};

/// What says where a job may run at all, rather than on what.
constexpr std::array<std::string_view, 6> keys_of_both{"account", "clusters",    "partition",
                                                       "qos",     "reservation", "time"};

bool is_one_of(std::string_view key, std::span<const std::string_view> keys) {
  return std::ranges::find(keys, key) != keys.end();
}

/// At commas that no backslash stands before.
std::vector<std::string> pieces_of(std::string_view text) {
  std::vector<std::string> pieces(1);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escapes =
        text[i] == '\\' && i + 1 < text.size() && (text[i + 1] == ',' || text[i + 1] == '\\');
    if (escapes) {
      pieces.back() += text[++i];
    } else if (text[i] == ',') {
      pieces.emplace_back();
    } else {
      pieces.back() += text[i];
    }
  }
  return pieces;
}

std::optional<int> number_from_one(std::string_view text, int most) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_number = error == std::errc() && end == text.data() + text.size();
  return is_number && number >= 1 && number <= most ? std::optional(number) : std::nullopt;
}

/// "8", or "8%2": two at a time.
Status read_tasks(const std::string& value, SlurmOptions& options) {
  const std::size_t mark = value.find('%');
  const auto tasks = number_from_one(std::string_view(value).substr(0, mark), most_tasks);
  const bool limits = mark != std::string::npos;
  if (!tasks ||
      (limits && !number_from_one(std::string_view(value).substr(mark + 1), most_tasks))) {
    return fail("--slurm: array={} is no number of tasks; give one from 1 to {}",
                in_a_sentence(value), most_tasks);
  }
  options.tasks = *tasks;
  if (limits) options.at_once = value.substr(mark);
  return {};
}

Status read_cores(const std::string& value, SlurmOptions& options) {
  options.cores = number_from_one(value, most_cores);
  if (options.cores) return {};
  return fail("--slurm: cpus-per-task={} is no number of cores; give one from 1 to {}",
              in_a_sentence(value), most_cores);
}

Status read_pair(const std::string& key, const std::string& value, SlurmOptions& options) {
  if (is_one_of(key, own_keys)) {
    return fail("--slurm: {} is set by AttnScope, since the run's files hang on it; leave it out",
                key);
  }
  if (key == "array") return read_tasks(value, options);
  if (key == "cpus-per-task") return read_cores(value, options);
  if (key == "dir") {
    options.folder = value;
  } else {
    options.others.emplace_back(key, value);
  }
  return {};
}

bool is_key(std::string_view key) {
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz0123456789-";
  return !key.empty() && key.front() != '-' &&
         key.find_first_not_of(letters) == std::string_view::npos;
}

std::string option_of(std::string_view key, std::string_view value) {
  return fmt::format("--{}={}", key, value);
}

/// Both jobs' options that are the run's own; given last, they hold.
void add_own(const SlurmArray& array, const std::string& output, const char* script,
             std::vector<std::string>& command) {
  command.push_back("--open-mode=append");
  command.push_back(option_of("chdir", array.folder.string()));
  command.push_back(option_of("output", output));
  command.push_back((array.folder / script).string());
}

/// The folder must be there: a node that lacks it would begin with an empty store elsewhere.
std::string begin_script(const SlurmArray& array, std::string_view says) {
  return fmt::format("#!/bin/sh\n# {}\ncd {} || exit 2\n", says, shell_word(array.folder.string()));
}

}  // namespace

Result<SlurmOptions> parse_slurm(const std::vector<std::string>& texts) {
  SlurmOptions options;
  std::vector<std::string> seen;
  for (const std::string& text : texts) {
    for (const std::string& piece : pieces_of(text)) {
      const std::size_t equals = piece.find('=');
      const std::string key = piece.substr(0, equals);
      if (equals == std::string::npos || equals + 1 == piece.size()) {
        return fail("--slurm: '{}' has no value; write KEY=VALUE, and \\, for a comma in a value",
                    in_a_sentence(key));
      }
      if (!is_key(key)) {
        return fail(
            "--slurm: '{}' is no key; write KEY=VALUE with a long option of sbatch without its "
            "dashes, dir or array",
            in_a_sentence(key));
      }
      if (std::ranges::find(seen, key) != seen.end())
        return fail("--slurm: {} stands twice; leave one out", key);
      if (Status read = read_pair(key, piece.substr(equals + 1), options); !read)
        return tl::unexpected(read.error());
      seen.push_back(key);
    }
  }
  if (options.tasks == 0) return fail("--slurm: over how many tasks is not said; add array=N");
  return options;
}

std::string SlurmArray::store_of(int task) {
  return fmt::format("task-{}.db", task);
}

std::string task_script(const SlurmArray& array) {
  std::string worker;
  if (!array.worker.empty()) worker += fmt::format(" --worker {}", shell_word(array.worker));
  for (const std::string& program : array.with)
    worker += fmt::format(" --with {}", shell_word(program));
  return fmt::format(
      "{}exec {} run --resume {} --db \"task-$SLURM_ARRAY_TASK_ID.db\" --quiet{}\n",
      begin_script(array, "Measures one part of a run; started anew, it goes on where it stopped."),
      shell_word(array.program.string()), array.uuid, worker);
}

std::string merge_script(const SlurmArray& array) {
  return fmt::format("{}exec {} import . --into {} --db {}\n",
                     begin_script(array, "Brings the parts of a run together."),
                     shell_word(array.program.string()), array.uuid,
                     shell_word(array.database.string()));
}

std::vector<std::string> tasks_command(const SlurmArray& array) {
  std::vector<std::string> command{
      "sbatch", "--parsable", "--requeue",
      option_of("job-name", fmt::format("attnscope-{:.8}", array.uuid))};
  for (const auto& [key, value] : array.options.others) command.push_back(option_of(key, value));
  command.push_back(fmt::format("--array=0-{}{}", array.tasks - 1, array.options.at_once));
  command.push_back(fmt::format("--cpus-per-task={}", array.cores));
  add_own(array, "task-%a.txt", SlurmArray::tasks_file, command);
  return command;
}

std::vector<std::string> merge_command(const SlurmArray& array, const std::string& job) {
  std::vector<std::string> command{"sbatch", "--parsable", "--requeue"};
  for (const auto& [key, value] : array.options.others) {
    if (is_one_of(key, keys_of_both)) command.push_back(option_of(key, value));
  }
  command.push_back(option_of("job-name", fmt::format("attnscope-merge-{:.8}", array.uuid)));
  command.push_back(option_of("dependency", "afterany:" + job));
  add_own(array, "merge.txt", SlurmArray::merge_file, command);
  return command;
}

std::optional<std::string> job_in(std::string_view answer) {
  const std::string_view number = answer.substr(0, answer.find_first_not_of("0123456789"));
  const std::string_view rest = answer.substr(number.size());
  const bool ends = rest.empty() || rest.front() == ';' || rest.front() == '\n';
  constexpr std::size_t most_digits = 10;  // Slurm's numbers have 32 bits
  return !number.empty() && number.size() <= most_digits && ends
             ? std::optional(std::string(number))
             : std::nullopt;
}

std::string shell_line(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words)
    line.append(line.empty() ? "" : " ").append(shell_word(word));
  return line;
}

}  // namespace attnscope
