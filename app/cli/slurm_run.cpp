// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/slurm_run.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>

#include "base/json.h"
#include "base/open_file.h"
#include "base/sentences.h"
#include "base/spawn.h"
#include "base/written_file.h"
#include "engine/report/number_text.h"
#include "engine/sweep/driver.h"
#include "engine/sweep/job_array.h"
#include "engine/sweep/run_plan.h"
#include "engine/sweep/slurm.h"
#include "engine/worker/worker_process.h"

namespace attnscope::cli {

namespace {

using nlohmann::json;

constexpr std::size_t longest_answer = 400;  // of another program's output, in a message
/// In an array's folder: the number of its job, or the job's name after `name_mark` if sbatch did
/// not print the number.
constexpr const char* job_file = "job";
constexpr std::string_view name_mark = "name=";
/// In the parent of the arrays' folders: the run without heats. If the database is lost, the run
/// can be restored from this file and the tasks' stores.
constexpr const char* whole_file = "run.attn";

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

std::string content_of(std::FILE* file) {
  std::string text;
  std::rewind(file);
  std::array<char, 4096> buffer{};
  for (std::size_t count = 0; (count = std::fread(buffer.data(), 1, buffer.size(), file)) > 0;)
    text.append(buffer.data(), count);
  return text;
}

struct Answer {
  std::optional<int> exit_code;
  std::string no_exit_code;  // the reason: "was ended by signal 9 (SIGKILL)"
  std::string out, err;
};

// A busy controller may take a minute or two to answer.
constexpr std::chrono::minutes patience{5};

/// Runs a program to its end, without a shell.
Result<Answer> answer_of(const std::vector<std::string>& command) {
  const File out(std::tmpfile()), err(std::tmpfile());
  if (!out || !err) {
    return fail("{} cannot be started: no temporary file can be created: {}", command[0],
                system_reason(errno));
  }
  Descriptor input;
  if (!input.take(open("/dev/null", O_RDONLY | O_CLOEXEC)))
    return fail("/dev/null cannot be read: {}", system_reason(errno));
  ChildProcess process;
  const int failed = process.start({.arguments = command,
                                    .descriptors = {{input.get(), STDIN_FILENO},
                                                    {fileno(out.get()), STDOUT_FILENO},
                                                    {fileno(err.get()), STDERR_FILENO}}});
  if (failed != 0) return fail("{} cannot be started: {}", command[0], system_reason(failed));
  const std::optional<int> status = process.wait(patience);
  Answer answer;
  if (!status) {
    process.kill();
    answer.no_exit_code = fmt::format("did not end within {} min and was killed", patience.count());
  } else if (process.wait_error() != 0) {
    answer.no_exit_code = fmt::format("ended, but its exit code is unknown ({})",
                                      system_reason(process.wait_error()));
  } else if (WIFSIGNALED(*status)) {
    answer.no_exit_code = "was ended by " + signal_name(WTERMSIG(*status));
  } else {
    answer.exit_code = WEXITSTATUS(*status);
  }
  answer.out = content_of(out.get());
  answer.err = content_of(err.get());
  return answer;
}

bool is_on_path(const std::string& program) {
  const char* path = std::getenv("PATH");
  std::string folders = path == nullptr ? "" : path;
  for (std::size_t begin = 0; begin <= folders.size();) {
    const std::size_t end = std::min(folders.find(':', begin), folders.size());
    const std::filesystem::path folder = folders.substr(begin, end - begin);
    if (!folder.empty() && access((folder / program).c_str(), X_OK) == 0) return true;
    begin = end + 1;
  }
  return false;
}

Status check_sbatch() {
  if (is_on_path("sbatch")) return {};
  return fail(
      "--slurm: sbatch is not in PATH; run this on a machine with Slurm's commands, or add "
      "--slurm-dry-run to print what would be submitted");
}

/// The words of `first`, or of `other` if it is empty.
std::string words_of(const std::string& first, const std::string& other) {
  const auto in_words = [](const std::string& text) {
    const std::size_t end = text.find_last_not_of(" \t\r\n") + 1;
    return in_a_sentence(report::one_line(text.substr(0, end)), longest_answer);
  };
  const std::string words = in_words(first);
  return words.empty() ? in_words(other) : words;
}

/// "sbatch: error: invalid partition specified: gpx"
std::string in_its_words(const Answer& answer) {
  const std::string words = words_of(answer.err, answer.out);
  return words.empty() ? fmt::format("exit code {}", answer.exit_code.value_or(-1)) : words;
}

/// "; the array has 2000 tasks, ...": advice if the array is too large, else "".
std::string advice_on(const Answer& refusal, int tasks) {
  const ArrayLimit limit = limit_in(refusal.err + refusal.out);
  if (limit == ArrayLimit::none || tasks == 0) return "";
  const std::string size =
      fmt::format("; the array has {}", counted(static_cast<std::size_t>(tasks), "task"));
  constexpr std::string_view fewer =
      "give a smaller array=N, so that each task measures more heats";
  if (limit == ArrayLimit::jobs_of_a_user) {
    return fmt::format(
        "{}, each of which counts towards your limit of jobs (sacctmgr show qos "
        "format=name,maxsubmitjobsperuser shows it); {}",
        size, fewer);
  }
  std::optional<int> most;
  if (is_on_path("scontrol")) {
    const auto config = answer_of({"scontrol", "show", "config"});
    if (config && config->exit_code == 0) most = most_tasks_in(config->out);
  }
  return most ? fmt::format(
                    "{}, and this Slurm allows {} (MaxArraySize and max_array_tasks in "
                    "scontrol show config); {}",
                    size, *most, fewer)
              : fmt::format("{}, and Slurm allows fewer (MaxArraySize in scontrol show config); {}",
                            size, fewer);
}

/// Result of sbatch: the job's number, or why it is unknown whether there is a job.
struct Submission {
  std::optional<std::string> job = std::nullopt;
  std::string doubt = {};
};

/// An error if there is no job. `tasks`: number of tasks in the job's array, or 0.
Result<Submission> submit(const std::vector<std::string>& command, int tasks) {
  const auto answer = answer_of(command);
  if (!answer) return tl::unexpected(answer.error());
  const auto job = job_in(answer->out);
  if (answer->exit_code == 0 && job) return Submission{.job = job};
  if (answer->exit_code && *answer->exit_code != 0 && !job)
    return fail("sbatch refused the job: {}{}", in_its_words(*answer), advice_on(*answer, tasks));
  const std::string words = words_of(answer->out, answer->err);
  std::string doubt =
      words.empty() ? "sbatch printed nothing" : fmt::format("sbatch answered '{}'", words);
  if (!answer->exit_code) {
    doubt += " and " + answer->no_exit_code;
  } else if (*answer->exit_code != 0) {
    doubt += fmt::format(" and ended with exit code {}", *answer->exit_code);
  }
  if (!words.empty() && !job) doubt += ", which does not name exactly one job";
  return Submission{.doubt = std::move(doubt)};
}

/// The effective value of sbatch's --job-name: the last one.
std::string job_name(const std::vector<std::string>& command) {
  constexpr std::string_view option = "--job-name=";
  const auto last = std::find_if(command.rbegin(), command.rend(),
                                 [&](const std::string& word) { return word.starts_with(option); });
  return last == command.rend() ? "" : last->substr(option.size());
}

std::string heats_in_words(std::size_t count) {
  return counted(count, "heat");
}

/// "attnscope-1c0ffee5" in `within`.
std::filesystem::path folder_of(const RunInfo& run, const std::filesystem::path& within) {
  return within / fmt::format("attnscope-{:.8}", run.id.uuid);
}

std::filesystem::path reported_folder(const RunInfo& run) {
  const json provenance = parse_json(run.start.provenance);
  const json::json_pointer place("/slurm/dir");
  if (!provenance.is_object() || !provenance.contains(place) || !provenance.at(place).is_string())
    return {};
  return provenance.at(place).get<std::string>();
}

/// The folders of the arrays submitted for a run so far, in order of submission.
std::vector<std::filesystem::path> rounds_in(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> rounds;
  std::error_code none;
  for (int round = 1;; ++round) {
    std::filesystem::path next = folder / std::to_string(round);
    if (!std::filesystem::is_directory(next, none)) return rounds;
    rounds.push_back(std::move(next));
  }
}

/// The pending or running job of a round, if there is one.
std::optional<std::string> living_job(const std::vector<std::filesystem::path>& rounds) {
  if (!is_on_path("squeue")) return std::nullopt;
  for (const std::filesystem::path& round : rounds) {
    const auto kept = read_text_file(round / job_file, "job's number", longest_answer);
    if (!kept) continue;
    const std::string line = kept->substr(0, kept->find('\n'));
    const bool is_named = line.starts_with(name_mark);
    const auto job = is_named ? std::nullopt : job_in(line);
    if (!is_named && !job) continue;
    const auto answer = answer_of(
        {"squeue", "--noheader", "--format=%i", is_named ? "--" + line : "--jobs=" + *job});
    if (!answer || answer->exit_code != 0) continue;
    const std::string& out = answer->out;
    if (const std::size_t begin = out.find_first_not_of(" \r\n"); begin != std::string::npos)
      return job ? job : out.substr(begin, out.find_first_of("_ \r\n", begin) - begin);
  }
  return std::nullopt;
}

Status check_folder(const std::filesystem::path& folder) {
  std::error_code none;
  if (std::filesystem::is_directory(folder, none)) return {};
  return fail("--slurm: the folder {} does not exist; create it, or name another with dir=FOLDER",
              folder.string());
}

/// Makes paths absolute: a task runs in another folder.
std::vector<std::string> programs_for_tasks(std::vector<std::string> programs) {
  std::error_code none;
  for (std::string& program : programs) {
    if (std::filesystem::is_regular_file(program, none))
      program = std::filesystem::absolute(program, none).string();
  }
  return programs;
}

/// A task inherits the environment, but a relative path of the worker would refer to another file.
std::string worker_for_tasks(const std::string& worker) {
  std::error_code none;
  if (worker.empty()) {
    const char* named = std::getenv("ATTNSCOPE_WORKER");
    return named == nullptr || *named == '\0' ? "" : worker_for_tasks(named);
  }
  return std::filesystem::exists(worker, none) ? std::filesystem::absolute(worker, none).string()
                                               : worker;
}

/// The number of cores at which the threads of every heat run in parallel.
int cores_for(const SlurmOptions& options, const std::vector<Heat>& heats) {
  int threads = 1;
  for (const Heat& heat : heats) threads = std::max(threads, heat.point.threads);
  return options.cores.value_or(threads);
}

/// Reports unknown implementations before any task waits in a queue; a dry run continues without a
/// worker's list of implementations.
Status check_heats(const std::vector<Heat>& heats, const WorkerChoice& worker, bool dry_run) {
  auto process = start(worker);
  if (!process && dry_run && worker.with.empty()) return {};
  if (!process) {
    return fail(
        "{} (the worker is started here to check the implementations before tasks are submitted)",
        process.error().message);
  }
  return check_implementations(heats, process->hello());
}

SlurmArray array_of(const SlurmArguments& arguments, const SlurmOptions& options,
                    const RunInfo& run, const std::vector<RunPart>& parts,
                    const std::vector<Heat>& heats, std::filesystem::path folder) {
  std::error_code failed;
  return {.options = options,
          .tasks = static_cast<int>(parts.size()),
          .cores = cores_for(options, heats),
          .folder = std::move(folder),
          .uuid = run.id.uuid,
          .program = std::filesystem::read_symlink("/proc/self/exe", failed),
          .worker = worker_for_tasks(arguments.worker.command),
          .with = programs_for_tasks(arguments.worker.with),
          .database = std::filesystem::absolute(arguments.database)};
}

/// "3 heats (0, 4, 8), at most 120 s"
std::string part_in_words(const RunPart& part) {
  constexpr std::size_t most = 12;
  std::string places;
  for (std::size_t i = 0; i < std::min(part.heats.size(), most); ++i)
    places += fmt::format("{}{}", i == 0 ? "" : ", ", part.heats[i].index);
  return fmt::format("{} ({}{}), at most {:.0f} s", heats_in_words(part.heats.size()), places,
                     part.heats.size() > most ? ", ..." : "", part.seconds);
}

std::string dry_run_text(const SlurmArray& array, const std::vector<RunPart>& parts) {
  std::string text = fmt::format(
      "# Nothing is submitted. {}\n",
      array.uuid == "RUN" ? "RUN is the run's UUID, which is assigned when it is submitted."
                          : "This would be submitted.");
  for (std::size_t task = 0; task < parts.size(); ++task)
    text += fmt::format("# task {}: {}\n", task, part_in_words(parts[task]));
  text += fmt::format("\n# {}\n{}", SlurmArray::tasks_file, task_script(array));
  text += fmt::format("\n# {}\n{}", SlurmArray::merge_file, merge_script(array));
  text += fmt::format("\n# submitted by\n{}\n{}\n", shell_line(tasks_command(array)),
                      shell_line(merge_command(array, "JOB")));
  return text;
}

Status write_parts(const SlurmArray& array, const RunInfo& run, const std::vector<RunPart>& parts) {
  for (std::size_t task = 0; task < parts.size(); ++task) {
    const auto store =
        Store::create_with(array.folder / SlurmArray::store_of(static_cast<int>(task)),
                           part_of(run, parts[task].heats));
    if (!store) return tl::unexpected(store.error());
  }
  const std::string tasks = task_script(array), merge = merge_script(array);
  const std::array<FileText, 2> scripts{
      {{.path = array.folder / SlurmArray::tasks_file, .text = tasks},
       {.path = array.folder / SlurmArray::merge_file, .text = merge}}};
  return write_files(scripts);
}

/// The command line that is equivalent to the second job.
std::string import_in_words(const SlurmArray& array) {
  return fmt::format("attnscope import {} --into {} --db {}", shell_line({array.folder.string()}),
                     array.uuid, shell_line({array.database.string()}));
}

/// Writes the tasks' inputs and submits both jobs. False if no task was submitted: the session has
/// the error, and the array's folder is removed.
bool send(Session& session, const SlurmArguments& arguments, const SlurmArray& array,
          const RunInfo& run, const std::vector<RunPart>& parts) {
  std::error_code failed;
  std::filesystem::create_directories(array.folder, failed);
  Status done = failed ? Status(fail("the folder {} cannot be created: {}", array.folder.string(),
                                     failed.message()))
                       : write_parts(array, run, parts);
  Result<Submission> sent = fail("not sent");
  const std::vector<std::string> command = tasks_command(array);
  if (done) sent = submit(command, array.tasks);
  if (!done || !sent) {
    std::filesystem::remove_all(array.folder, failed);
    session.fail(exit_wrong_use, done ? sent.error().message : done.error().message);
    return false;
  }
  const std::string name = job_name(command);
  const std::string by_hand = import_in_words(array);
  const std::string known = sent->job ? *sent->job : fmt::format("{}{}", name_mark, name);
  if (Status kept = write_file(array.folder / job_file, known + "\n"); !kept)
    print_status("attnscope: warning: {}", kept.error().message);
  if (!sent->job) {
    session.fail(exit_wrong_use,
                 fmt::format("{}; its tasks may have been submitted, so run {} and its folder are "
                             "kept: {} shows whether there is a job; if there is one, {} collects "
                             "its tasks' heats after it has ended; if not, {} submits them again",
                             sent->doubt, run.number, shell_line({"squeue", "--name=" + name}),
                             by_hand, command_on(run, "run --resume", "--slurm array=N,...")));
    return true;
  }
  const std::string& job = *sent->job;
  double longest = 0;
  std::size_t heats = 0;
  for (const RunPart& part : parts) {
    longest = std::max(longest, part.seconds);
    heats += part.heats.size();
  }
  if (!arguments.quiet) {
    print_status(
        "run {} is submitted as Slurm job {}: {} in {}, each at most {:.0f} s plus set-up and "
        "checks; their files are in {}",
        run.number, job, heats_in_words(heats), counted(parts.size(), "task"), longest,
        report::one_line(array.folder.string()));
  }
  print_result(session, job + "\n");
  const auto merge = submit(merge_command(array, job), /*tasks=*/0);
  if (!merge || !merge->job) {
    session.fail(exit_wrong_use,
                 fmt::format("the tasks are submitted, but {} the job that collects their results: "
                             "{}; after the tasks have ended, {} collects the results",
                             merge ? "perhaps not" : "not",
                             merge ? merge->doubt : merge.error().message, by_hand));
  } else if (!arguments.quiet) {
    print_status("job {} collects their results into {} after all of them have ended", *merge->job,
                 report::one_line(array.database.string()));
  }
  return true;
}

void note_unused_tasks(const SlurmOptions& options, const std::vector<RunPart>& parts) {
  if (parts.size() < static_cast<std::size_t>(options.tasks)) {
    print_status("attnscope: note: there are only {} for {} tasks; the array has {}",
                 heats_in_words(parts.size()), options.tasks, counted(parts.size(), "task"));
  }
}

/// "heat 5, 256 tokens (task-2.db)"
std::string heat_in_words(const MergedParts::Missing& missing) {
  return fmt::format(
      "heat {}, {} tokens{}", missing.heat.index, missing.heat.point.sequence_tokens,
      missing.part.empty() ? "" : fmt::format(" ({})", missing.part.filename().string()));
}

std::string missing_in_words(const std::vector<MergedParts::Missing>& missing) {
  constexpr std::size_t most = 12;
  std::string text;
  for (std::size_t i = 0; i < std::min(missing.size(), most); ++i)
    text.append(i == 0 ? "" : "; ").append(heat_in_words(missing[i]));
  if (missing.size() > most) text += fmt::format("; and {} more", missing.size() - most);
  return text;
}

/// Merges the tasks' results and returns what is missing; nothing if the session has an error.
std::optional<MergedParts> merge_rounds(Session& session, Store& store, const RunInfo& run,
                                        const std::filesystem::path& folder) {
  const std::vector<std::filesystem::path> rounds = rounds_in(folder);
  if (const auto job = living_job(rounds)) {
    session.fail(exit_wrong_use, fmt::format("run {} is submitted as Slurm job {}, which has not "
                                             "ended; wait for it, or cancel it with scancel {}",
                                             run.number, *job, *job));
    return std::nullopt;
  }
  std::vector<std::filesystem::path> files;
  for (const std::filesystem::path& round : rounds)
    std::ranges::move(stores_in(round), std::back_inserter(files));
  auto merged = merge_parts(store, run.id, files);
  if (!merged) {
    session.fail(exit_store_refused, merged.error().message);
    return std::nullopt;
  }
  for (const std::string& sentence : merged->skipped)
    print_status("attnscope: warning: {}", sentence);
  return std::move(*merged);
}

/// Another merge may hold the database while it adds a store.
constexpr auto merging_patience = std::chrono::minutes(2);

}  // namespace

bool was_sent_to_slurm(const RunInfo& run) {
  // A part of a run, which a task measures, stores the command line of the whole run.
  return !is_part(run) && !reported_folder(run).empty();
}

void send_to_slurm(Session& session, const SlurmArguments& arguments, const Sweep& sweep,
                   const std::filesystem::path& folder) {
  const auto refuse = [&](const Error& error) { session.fail(exit_wrong_use, error.message); };
  const auto options = parse_slurm(arguments.options);
  if (!options) return refuse(options.error());
  if (Status there = arguments.dry_run ? Status() : check_sbatch(); !there)
    return refuse(there.error());
  const std::filesystem::path within =
      std::filesystem::absolute(options->folder.value_or(folder)).lexically_normal();
  if (Status there = check_folder(within); !there) return refuse(there.error());
  auto record = record_of(sweep, options->cores.value_or(1), session.command_line);
  if (!record) return refuse(record.error());
  RunInfo run;
  run.id.uuid = "RUN";
  run.start = std::move(*record);
  const auto heats = stored_heats(run);
  if (!heats) return refuse(heats.error());
  const std::vector<RunPart> parts = divide_heats(*heats, options->tasks);
  note_unused_tasks(*options, parts);
  run.start.device = fmt::format("Slurm, {}", counted(parts.size(), "task"));
  if (Status known = check_heats(*heats, arguments.worker, arguments.dry_run); !known)
    return refuse(known.error());
  json provenance = parse_json(run.start.provenance);
  provenance["slurm"] = {{"dir", within.string()}};
  run.start.provenance = provenance.dump(-1, ' ', false, json::error_handler_t::replace);
  if (arguments.dry_run) {
    return print_result(session, dry_run_text(array_of(arguments, *options, run, parts, *heats,
                                                       folder_of(run, within) / "1"),
                                              parts));
  }
  auto store = Store::open(arguments.database, Store::Mode::read_write);
  if (!store) return session.fail(exit_store_refused, store.error().message);
  if (!store->warning().empty()) print_status("attnscope: warning: {}", store->warning());
  const auto id = store->begin_run(run.start);
  if (!id) return session.fail(exit_store_refused, id.error().message);
  const auto begun = store->find_run(id->uuid);
  if (!begun) return session.fail(exit_store_refused, begun.error().message);
  const SlurmArray array =
      array_of(arguments, *options, *begun, parts, *heats, folder_of(*begun, within) / "1");
  if (send(session, arguments, array, *begun, parts)) {
    if (auto whole = Store::create_with(array.folder.parent_path() / whole_file, *begun); !whole)
      print_status("attnscope: warning: {}", whole.error().message);
    return;
  }
  // Nothing was measured, and no task is left to measure.
  std::error_code ignored;
  std::filesystem::remove(array.folder.parent_path(), ignored);
  if (Status removed = store->remove_run(*id); !removed)
    print_status("attnscope: warning: {}", removed.error().message);
}

void send_rest_to_slurm(Session& session, const SlurmArguments& arguments,
                        const std::string& name) {
  const auto refuse = [&](const Error& error) { session.fail(exit_wrong_use, error.message); };
  const auto options = parse_slurm(arguments.options);
  if (!options) return refuse(options.error());
  if (Status there = arguments.dry_run ? Status() : check_sbatch(); !there)
    return refuse(there.error());
  auto store = Store::open(arguments.database, Store::Mode::existing);
  if (!store) return session.fail(exit_store_refused, store.error().message);
  store->set_busy_timeout(merging_patience);
  const auto run = store->find_run(name);
  if (!run) return refuse(run.error());
  if (!was_sent_to_slurm(*run)) {
    return session.fail(exit_wrong_use,
                        fmt::format("run {} was started without --slurm; {} resumes it",
                                    run->number, command_on(*run, "run --resume")));
  }
  const std::filesystem::path within =
      std::filesystem::absolute(options->folder.value_or(reported_folder(*run))).lexically_normal();
  if (Status there = check_folder(within); !there) return refuse(there.error());
  const std::filesystem::path folder = folder_of(*run, within);
  const auto merged = merge_rounds(session, *store, *run, folder);
  if (!merged) return;
  if (merged->missing.empty()) {
    print_status("run {} already has its {}; nothing is submitted", run->number,
                 heats_in_words(static_cast<std::size_t>(run->start.heats_planned)));
    return;
  }
  std::vector<Heat> heats;
  heats.reserve(merged->missing.size());
  for (const MergedParts::Missing& missing : merged->missing) heats.push_back(missing.heat);
  const std::vector<RunPart> parts = divide_heats(heats, options->tasks);
  note_unused_tasks(*options, parts);
  const std::string round = std::to_string(rounds_in(folder).size() + 1);
  const SlurmArray array = array_of(arguments, *options, *run, parts, heats, folder / round);
  if (arguments.dry_run) return print_result(session, dry_run_text(array, parts));
  static_cast<void>(send(session, arguments, array, *run, parts));
}

bool bring_in_from_slurm(Session& session, Store& store, const RunInfo& run) {
  store.set_busy_timeout(merging_patience);
  return merge_rounds(session, store, run, folder_of(run, reported_folder(run))).has_value();
}

void bring_in(Session& session, Store& store, const RunInfo& run,
              const std::vector<std::filesystem::path>& files) {
  store.set_busy_timeout(merging_patience);
  const auto merged = merge_parts(store, run.id, files);
  if (!merged) return session.fail(exit_store_refused, merged.error().message);
  for (const std::string& sentence : merged->skipped) session.fail(exit_wrong_use, sentence);
  const std::string added =
      fmt::format("{} added to run {}",
                  heats_in_words(static_cast<std::size_t>(merged->heats_added)), run.number);
  if (merged->missing.empty()) {
    print_status("{}, which now has all {}", added, run.start.heats_planned);
    return;
  }
  if (session.exit_code == exit_done) session.exit_code = exit_cells_failed;
  print_status("{}, which lacks {} of {}: {}; {} submits only the missing heats", added,
               merged->missing.size(), run.start.heats_planned, missing_in_words(merged->missing),
               was_sent_to_slurm(run) ? command_on(run, "run --resume", "--slurm array=N,...")
                                      : command_on(run, "run --resume"));
}

}  // namespace attnscope::cli
