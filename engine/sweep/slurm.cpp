// SPDX-License-Identifier: Apache-2.0
#include "engine/sweep/slurm.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <span>

#include "base/sentences.h"
#include "base/spawn.h"

namespace attnscope {
namespace {

constexpr int most_tasks = 10'000;
constexpr int most_cores = 100'000;

/// Options that the run's own files, or its continuation after a requeue, depend on.
constexpr std::array<std::string_view, 12> own_keys{
    "chdir",   "output",     "error", "input",     "open-mode", "parsable",
    "requeue", "no-requeue", "wrap",  "test-only", "wait",      "dependency"};

/// Options of both jobs: where a job may run, rather than on which resources.
constexpr std::array<std::string_view, 6> keys_of_both{"account", "clusters",    "partition",
                                                       "qos",     "reservation", "time"};

bool is_one_of(std::string_view key, std::span<const std::string_view> keys) {
  return std::ranges::find(keys, key) != keys.end();
}

/// sbatch accepts an abbreviated option name: an abbreviation would bypass the checks of options
/// that are not passed on. Returns the full name; empty if the key is not an abbreviation of an
/// option handled here.
std::string_view cut_short(std::string_view key) {
  constexpr std::array<std::string_view, 2> read_here{"array", "cpus-per-task"};
  for (const std::span<const std::string_view> keys :
       {std::span<const std::string_view>(read_here), std::span<const std::string_view>(own_keys),
        std::span<const std::string_view>(keys_of_both)}) {
    if (is_one_of(key, keys)) return {};
    const auto whole =
        std::ranges::find_if(keys, [key](std::string_view one) { return one.starts_with(key); });
    if (whole != keys.end()) return *whole;
  }
  return {};
}

/// Splits at commas without a preceding backslash.
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
    return fail("--slurm: array={} is not a number of tasks; give a number from 1 to {}",
                in_a_sentence(value), most_tasks);
  }
  options.tasks = *tasks;
  if (limits) options.at_once = value.substr(mark);
  return {};
}

Status read_cores(const std::string& value, SlurmOptions& options) {
  options.cores = number_from_one(value, most_cores);
  if (options.cores) return {};
  return fail("--slurm: cpus-per-task={} is not a number of cores; give a number from 1 to {}",
              in_a_sentence(value), most_cores);
}

Status read_pair(const std::string& key, const std::string& value, SlurmOptions& options) {
  if (is_one_of(key, own_keys)) {
    return fail("--slurm: {} is set by AttnScope, because the run's files depend on it; remove it",
                key);
  }
  if (const std::string_view whole = cut_short(key); !whole.empty())
    return fail("--slurm: {} is short for {}; write the full name", key, whole);
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

/// Options that the run sets for both jobs; the last ones take precedence.
void add_own(const SlurmArray& array, const std::string& output, const char* script,
             std::vector<std::string>& command) {
  command.push_back("--open-mode=append");
  command.push_back(option_of("chdir", array.folder.string()));
  command.push_back(option_of("output", output));
  command.push_back((array.folder / script).string());
}

/// The folder must exist: a node without it would begin with an empty store elsewhere.
std::string begin_script(const SlurmArray& array, std::string_view says) {
  return fmt::format("#!/bin/sh\n# {}\ncd {} || exit 2\n", says, shell_word(array.folder.string()));
}

/// Possible forms of a line in sbatch's answer, the most reliable first.
enum class Form : std::uint8_t { sentence, with_cluster, number };

constexpr std::string_view digits = "0123456789";

/// Its leading digits; "" if they are not a Slurm job number.
std::string_view job_number(std::string_view text) {
  constexpr std::size_t most_digits = 10;  // Slurm's numbers have 32 bits
  const std::string_view number = text.substr(0, text.find_first_not_of(digits));
  return number.size() <= most_digits && !number.starts_with('0') ? number : std::string_view();
}

/// Removes color escape sequences, and blanks and the CR of a CR LF at the ends.
std::string without_colors(std::string_view line) {
  std::string text;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line.substr(i).starts_with("\x1b[")) {
      i = line.find_first_not_of("0123456789;", i + 2);
      if (i == std::string_view::npos) break;
    } else {
      text += line[i];
    }
  }
  constexpr std::string_view blanks = " \t\r\v\f";
  text.erase(text.find_last_not_of(blanks) + 1);
  return text.substr(std::min(text.find_first_not_of(blanks), text.size()));
}

/// The job that a line names; "" if it names none.
std::pair<Form, std::string> named_in(std::string_view line) {
  constexpr std::string_view sentence = "Submitted batch job ";
  const std::size_t at = line.find(sentence);
  const bool is_sentence = at != std::string_view::npos;
  if (is_sentence) line.remove_prefix(at + sentence.size());
  const std::string_view number = job_number(line), rest = line.substr(number.size());
  if (is_sentence && (rest.empty() || rest.starts_with(' ') || rest == "."))
    return {Form::sentence, std::string(number)};
  if (!is_sentence && rest.empty()) return {Form::number, std::string(number)};
  const bool names_cluster =
      rest.size() > 1 && rest.front() == ';' && rest.find_first_of(" ;", 1) == std::string::npos;
  return {Form::with_cluster, names_cluster ? std::string(number) : std::string()};
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
            "--slurm: '{}' is not a key; write KEY=VALUE with a long option of sbatch without its "
            "dashes, dir or array",
            in_a_sentence(key));
      }
      if (std::ranges::find(seen, key) != seen.end())
        return fail("--slurm: {} is given twice; remove one", key);
      if (Status read = read_pair(key, piece.substr(equals + 1), options); !read)
        return tl::unexpected(read.error());
      seen.push_back(key);
    }
  }
  if (options.tasks == 0) return fail("--slurm: the number of tasks is missing; add array=N");
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
      begin_script(
          array, "Measures one part of a run; continues where it stopped if it is started again."),
      shell_word(array.program.string()), array.uuid, worker);
}

std::string merge_script(const SlurmArray& array) {
  return fmt::format(
      "{}exec {} import . --into {} --db {}\n", begin_script(array, "Combines the parts of a run."),
      shell_word(array.program.string()), array.uuid, shell_word(array.database.string()));
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
  std::map<Form, std::set<std::string>> jobs;
  while (!answer.empty()) {
    const std::size_t end = std::min(answer.find('\n'), answer.size());
    const auto [form, job] = named_in(without_colors(answer.substr(0, end)));
    if (!job.empty()) jobs[form].insert(job);
    answer.remove_prefix(std::min(end + 1, answer.size()));
  }
  if (jobs.empty() || jobs.begin()->second.size() > 1) return std::nullopt;
  return *jobs.begin()->second.begin();
}

ArrayLimit limit_in(std::string_view refusal) {
  std::string words(refusal);
  for (char& c : words) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  if (words.find("maxsubmit") != std::string::npos) return ArrayLimit::jobs_of_a_user;
  return words.find("job array") != std::string::npos ||
                 words.find("array size") != std::string::npos ||
                 words.find("arraysize") != std::string::npos
             ? ArrayLimit::tasks_of_an_array
             : ArrayLimit::none;
}

std::optional<int> most_tasks_in(std::string_view config) {
  std::optional<int> most;
  for (const std::string_view key : {"MaxArraySize", "max_array_tasks"}) {
    std::size_t at = config.find(key);
    if (at == std::string_view::npos) continue;
    at = config.find_first_not_of(" =", at + key.size());
    const std::string_view value = config.substr(std::min(at, config.size()));
    const auto number = number_from_one(value.substr(0, value.find_first_not_of(digits)),
                                        std::numeric_limits<int>::max());
    if (number) most = std::min(most.value_or(*number), *number);
  }
  return most;
}

std::string shell_line(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words)
    line.append(line.empty() ? "" : " ").append(shell_word(word));
  return line;
}

}  // namespace attnscope
