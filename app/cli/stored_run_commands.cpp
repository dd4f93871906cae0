// SPDX-License-Identifier: GPL-3.0-or-later
//
// Commands for stored runs: name, tags and note; moving to the trash, and permanent removal only on
// explicit request; export to and import from files; checks of every stored value; pause and
// continuation of a run between heats.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "app/cli/command_line.h"
#include "app/cli/slurm_run.h"
#include "base/sentences.h"
#include "engine/store/location.h"
#include "engine/sweep/job_array.h"
#include "engine/sweep/pause.h"

namespace attnscope::cli {

namespace {

/// The runs with these names; nothing if one is unknown, and the session has the error.
std::optional<std::vector<RunInfo>> find_runs(Session& session, const Store& store,
                                              const std::vector<std::string>& texts,
                                              ExitCode code) {
  std::vector<RunInfo> runs;
  for (const std::string& text : texts) {
    auto run = store.find_run(text);
    if (!run) {
      session.fail(code, run.error().message);
      return std::nullopt;
    }
    runs.push_back(std::move(*run));
  }
  return runs;
}

std::vector<RunId> ids_of(const std::vector<RunInfo>& runs) {
  std::vector<RunId> ids;
  ids.reserve(runs.size());
  for (const RunInfo& run : runs) ids.push_back(run.id);
  return ids;
}

struct DescribeCommand {
  std::vector<std::string> runs, tags, untags;
  std::optional<std::string> name, note;
  std::filesystem::path database;
};

std::string changed_tags(const RunInfo& run, const DescribeCommand& arguments) {
  std::vector<std::string> words = tag_words(run.tag);
  for (const std::string& tag : arguments.untags) {
    for (const std::string& word : tag_words(tag)) std::erase(words, word);
  }
  std::string tag = tag_of(words);
  for (const std::string& added : arguments.tags) tag += " " + added;
  return tag_of(tag_words(tag));
}

void describe(Session& session, const DescribeCommand& arguments) {
  const bool tags = !arguments.tags.empty() || !arguments.untags.empty();
  if (!arguments.name && !arguments.note && !tags) {
    return session.fail(exit_wrong_use,
                        "there is nothing to change; add --name, --tag, --untag or --note");
  }
  for (const std::vector<std::string>& given : {arguments.tags, arguments.untags}) {
    for (const std::string& tag : given) {
      if (tag_words(tag).size() == 1) continue;
      return session.fail(exit_wrong_use,
                          fmt::format("'{}' is not a tag, because a tag is one word; give --tag or "
                                      "--untag once for each tag",
                                      in_a_sentence(tag)));
    }
  }
  if (has_control_character(arguments.name.value_or("")) ||
      has_control_character(arguments.note.value_or(""), "\n\t")) {
    return session.fail(exit_wrong_use,
                        "--name must be one line without control characters, and --note may "
                        "contain only line breaks and tabs; remove other control characters");
  }
  constexpr std::size_t longest_note = 10'000;  // as in the GUI
  if (arguments.note && arguments.note->size() > longest_note) {
    return session.fail(
        exit_wrong_use,
        fmt::format(
            "the note has {} bytes, but at most {} are allowed; write the text to a separate file",
            arguments.note->size(), longest_note));
  }
  if (arguments.name && arguments.runs.size() > 1) {
    return session.fail(exit_wrong_use,
                        "--name sets the name of one run; name several runs one after the other");
  }
  auto store = Store::open(arguments.database, Store::Mode::existing);
  if (!store) return session.fail(exit_store_refused, store.error().message);
  const auto runs = find_runs(session, *store, arguments.runs, exit_store_refused);
  if (!runs) return;
  for (const RunInfo& run : *runs) {
    RunWords words{.name = arguments.name, .note = arguments.note};
    if (tags) words.tag = changed_tags(run, arguments);
    if (Status done = store->describe_run(run.id, words); !done) {
      return session.fail(exit_store_refused, done.error().message);
    }
  }
}

struct TrashCommand {
  std::vector<std::string> runs;
  bool restore = false, remove = false, empty = false, yes = false;
  std::filesystem::path database;
};

/// Asks for confirmation on a terminal; without a terminal, --yes is required.
bool is_meant(Session& session, const TrashCommand& arguments, std::size_t runs) {
  if (arguments.yes) return true;
  if (isatty(STDIN_FILENO) == 0) {
    session.fail(exit_wrong_use,
                 fmt::format("this would delete {} permanently; add --yes to confirm",
                             counted(runs, "run")));
    return false;
  }
  print_to_terminal(
      fmt::format("Delete {} permanently? This cannot be undone. [y/N] ", counted(runs, "run")));
  const int answer = std::getchar();
  return answer == 'y' || answer == 'Y';
}

void empty_trash(Session& session, const TrashCommand& arguments, Store& store) {
  const auto trash = store.run_list(RunsOf::trash);
  if (!trash) return session.fail(exit_store_refused, trash.error().message);
  if (!trash->empty() && !is_meant(session, arguments, trash->size())) return;
  const auto removed = store.empty_trash();
  if (!removed) return session.fail(exit_store_refused, removed.error().message);
  print_status("{} deleted permanently", counted(static_cast<std::size_t>(*removed), "run"));
}

void remove_for_good(Session& session, const TrashCommand& arguments, Store& store,
                     const std::vector<RunInfo>& runs) {
  for (const RunInfo& run : runs) {
    if (is_in_trash(run)) continue;
    return session.fail(exit_wrong_use, fmt::format("run {} is not in the trash; {} moves it there",
                                                    run.number, command_on(run, "trash")));
  }
  if (!is_meant(session, arguments, runs.size())) return;
  for (const RunInfo& run : runs) {
    if (Status done = store.remove_run(run.id); !done) {
      return session.fail(exit_store_refused, done.error().message);
    }
  }
  print_status("{} deleted permanently", counted(runs.size(), "run"));
}

void change(Session& session, const TrashCommand& arguments) {
  if (arguments.empty != arguments.runs.empty()) {
    return session.fail(
        exit_wrong_use,
        "give either runs or --empty; 'attnscope list runs --trash' lists the runs in the trash");
  }
  auto store = Store::open(arguments.database, Store::Mode::existing);
  if (!store) return session.fail(exit_store_refused, store.error().message);
  if (arguments.empty) return empty_trash(session, arguments, *store);
  const auto runs = find_runs(session, *store, arguments.runs, exit_store_refused);
  if (!runs) return;
  if (arguments.remove) return remove_for_good(session, arguments, *store, *runs);
  for (const RunInfo& run : *runs) {
    if (is_in_trash(run) == arguments.restore) continue;
    return session.fail(exit_wrong_use,
                        fmt::format("run {} {} in the trash; nothing is changed", run.number,
                                    arguments.restore ? "is not" : "is already"));
  }
  const std::vector<RunId> ids = ids_of(*runs);
  const Status done = arguments.restore ? store->take_from_trash(ids) : store->put_in_trash(ids);
  if (!done) return session.fail(exit_store_refused, done.error().message);
  print_status("{} {}", counted(ids.size(), "run"),
               arguments.restore ? "restored from the trash" : "moved to the trash");
}

struct PauseCommand {
  std::string run = "last";
  std::filesystem::path database;
};

using PauseRequester = Status (*)(const RunInfo&);

void send_request(Session& session, const PauseCommand& arguments, PauseRequester request,
                  std::string_view words) {
  auto store = Store::open(arguments.database, Store::Mode::read_only);
  if (!store) return session.fail(exit_store_refused, store.error().message);
  const auto run = store->find_run(arguments.run);
  if (!run) return session.fail(exit_store_refused, run.error().message);
  if (Status requested = request(*run); !requested) return session.fail(requested.error());
  print_status("run {} {}", run->number, words);
}

void add_pause_command(CLI::App& app, Session& session, const std::string& name,
                       const std::string& description, PauseRequester request,
                       const std::string& words) {
  auto arguments = std::make_shared<PauseCommand>();
  CLI::App* command = app.add_subcommand(name, description);
  add_option(*command, "run", arguments->run, "RUN", "Run: number, UUID, name or 'last'")
      ->capture_default_str();
  add_database_option(*command, arguments->database);
  command->callback(
      [&session, arguments, request, words] { send_request(session, *arguments, request, words); });
}

struct ExportCommand {
  std::vector<std::string> runs;
  std::filesystem::path file, database;
  bool force = false;
};

/// Replaces an earlier export once the new file is complete. Databases are not replaced.
Status replace_export(const Store& store, const std::vector<RunId>& runs,
                      const std::filesystem::path& file, const std::filesystem::path& database) {
  std::error_code unknown;
  const bool is_export =
      store::is_exported(file) &&
      std::filesystem::is_regular_file(std::filesystem::symlink_status(file, unknown));
  if (!is_export || std::filesystem::equivalent(file, database, unknown)) {
    return fail(
        "{} is not an exported file, and --force replaces only exported files; give another file",
        file.string());
  }
  const std::filesystem::path fresh = file.parent_path() / (".new-" + file.filename().string());
  std::filesystem::remove(fresh, unknown);  // left by a killed process
  if (Status done = store.export_runs(runs, fresh); !done) return done;
  std::error_code failed;
  std::filesystem::rename(fresh, file, failed);
  if (!failed) return {};
  std::filesystem::remove(fresh, unknown);
  return fail("{}: cannot be written: {}; give a file in another folder", file.string(),
              failed.message());
}

void export_runs(Session& session, const ExportCommand& arguments) {
  auto store = Store::open(arguments.database, Store::Mode::read_only);
  if (!store) return session.fail(exit_store_refused, store.error().message);
  const auto runs = find_runs(session, *store, arguments.runs, exit_wrong_use);
  if (!runs) return;
  // SQLite needs a regular file.
  std::error_code unknown;
  const auto what = std::filesystem::status(arguments.file, unknown);
  if (arguments.file == "-" || std::filesystem::is_character_file(what) ||
      std::filesystem::is_fifo(what)) {
    return session.fail(exit_wrong_use,
                        fmt::format("-o {}: an export is a database, which SQLite cannot write to "
                                    "a stream or a device; give a file",
                                    arguments.file.string()));
  }
  const bool replaces = arguments.force && std::filesystem::exists(what);
  const std::vector<RunId> ids = ids_of(*runs);
  const Status done = replaces ? replace_export(*store, ids, arguments.file, arguments.database)
                               : store->export_runs(ids, arguments.file);
  if (!done) {
    return session.fail(exit_store_refused,
                        !arguments.force && std::filesystem::exists(what)
                            ? fmt::format("{}; --force replaces it", done.error().message)
                            : done.error().message);
  }
  print_status("{} written to {}", counted(runs->size(), "run"), arguments.file.string());
}

struct ImportCommand {
  std::vector<std::filesystem::path> files;  // or, with --into, folders of files
  std::string into;
  std::filesystem::path database;
};

/// Files, and the files in folders.
Result<std::vector<std::filesystem::path>> stores_of(
    const std::vector<std::filesystem::path>& names) {
  std::vector<std::filesystem::path> files;
  std::error_code none;
  for (const std::filesystem::path& name : names) {
    if (!std::filesystem::is_directory(name, none)) {
      files.push_back(name);
      continue;
    }
    std::vector<std::filesystem::path> in_it = stores_in(name);
    if (in_it.empty()) {
      return fail(
          "the folder {} contains no file that ends in .db, .attn or .attn.gz; give another folder",
          name.string());
    }
    std::ranges::move(in_it, std::back_inserter(files));
  }
  return files;
}

void import_into(Session& session, const ImportCommand& arguments) {
  std::error_code none;
  if (!std::filesystem::exists(arguments.database, none)) {
    return session.fail(exit_store_refused,
                        fmt::format("the database {} does not exist, so it has no run {}; give the "
                                    "database of the run with --db",
                                    arguments.database.string(), in_a_sentence(arguments.into)));
  }
  const auto files = stores_of(arguments.files);
  if (!files) return session.fail(files.error());
  auto store = Store::open(arguments.database, Store::Mode::existing);
  if (!store) return session.fail(exit_store_refused, store.error().message);
  const auto run = store->find_run(arguments.into);
  if (!run) return session.fail(run.error());
  bring_in(session, *store, *run, *files);
}

/// Refuses a part of a run, which would be taken for the whole run.
Status check_whole(const Store& store, const std::filesystem::path& file) {
  const auto source = Store::open(file, Store::Mode::read_only);
  const auto runs = source ? source->runs(RunsOf::both) : tl::unexpected(source.error());
  if (!runs) return {};  // import reports the error
  for (const RunInfo& run : *runs) {
    if (!is_part(run) || store.find_run(run.id.uuid)) continue;
    return fail(
        "{} contains a part of run {}, but {} does not contain that run; import the run.attn of "
        "its folder first, or give the database that the run was submitted from with --db",
        file.string(), run.id.uuid, store.file().string());
  }
  return {};
}

void import_runs(Session& session, const ImportCommand& arguments) {
  if (!arguments.into.empty()) return import_into(session, arguments);
  // A failed import must not leave an empty database.
  if (std::error_code none; !std::filesystem::exists(arguments.database, none)) {
    for (const std::filesystem::path& file : arguments.files) {
      if (const auto source = Store::open(file, Store::Mode::read_only); !source)
        return session.fail(exit_store_refused, source.error().message);
    }
  }
  auto store = Store::open(arguments.database, Store::Mode::read_write);
  if (!store) return session.fail(exit_store_refused, store.error().message);
  Store::Imported all;
  for (const std::filesystem::path& file : arguments.files) {
    if (Status whole = check_whole(*store, file); !whole) return session.fail(whole.error());
    const auto imported = store->import_file(file);
    if (!imported) return session.fail(exit_store_refused, imported.error().message);
    all.added += imported->added;
    all.already_there += imported->already_there;
    all.taken_from_trash += imported->taken_from_trash;
    all.heats_added += imported->heats_added;
  }
  const std::string from_trash =
      all.taken_from_trash == 0
          ? ""
          : fmt::format(", {} of them restored from the trash", all.taken_from_trash);
  print_status("{} imported, {} already present{}{}", all.added, all.already_there, from_trash,
               all.heats_added == 0 ? ""
                                    : fmt::format(", {} heat{} added to {}", all.heats_added,
                                                  all.heats_added == 1 ? "" : "s",
                                                  all.already_there == 1 ? "it" : "them"));
}

void check_store(Session& session, const std::filesystem::path& database) {
  const auto store = Store::open(database, Store::Mode::read_only);
  if (!store) return session.fail(exit_store_refused, store.error().message);
  if (const Status sound = store->check_integrity(); !sound) {
    return session.fail(exit_store_refused, sound.error().message);
  }
  const auto runs = store->run_list(RunsOf::both);
  if (!runs) return session.fail(exit_store_refused, runs.error().message);
  print_result(session, fmt::format("{}: {}, all stored values are intact\n", database.string(),
                                    counted(runs->size(), "run")));
}

}  // namespace

void add_describe_command(CLI::App& app, Session& session) {
  auto arguments = std::make_shared<DescribeCommand>();
  CLI::App* command = app.add_subcommand("describe", "Set the name, tags and note of runs");
  add_option(*command, "runs", arguments->runs, "RUN", "Runs: number, UUID, name or 'last'")
      ->required();
  add_option(*command, "--name", arguments->name, "NAME",
             "Name of the run; '' restores the sweep's name");
  add_option(*command, "--tag", arguments->tags, "TAG", "Add a tag (one word); may be repeated")
      ->expected(1)
      ->take_all();
  add_option(*command, "--untag", arguments->untags, "TAG", "Remove a tag; may be repeated")
      ->expected(1)
      ->take_all();
  add_option(*command, "--note", arguments->note, "TEXT",
             "Note about the runs, replacing the old note");
  add_database_option(*command, arguments->database);
  command->callback([&session, arguments] { describe(session, *arguments); });
}

void add_trash_command(CLI::App& app, Session& session) {
  auto arguments = std::make_shared<TrashCommand>();
  CLI::App* command = app.add_subcommand(
      "trash", "Move runs to the trash, restore them, or delete them permanently");
  add_option(*command, "runs", arguments->runs, "RUN", "Runs: number, UUID, name or 'last'");
  auto* restore = command->add_flag("--restore", arguments->restore, "Restore runs from the trash");
  auto* remove = command->add_flag("--delete", arguments->remove,
                                   "Delete runs permanently that are in the trash");
  auto* empty =
      command->add_flag("--empty", arguments->empty, "Delete all runs in the trash permanently");
  restore->excludes(remove);
  empty->excludes(restore)->excludes(remove);
  command->add_flag("--yes", arguments->yes, "Delete without confirmation");
  add_database_option(*command, arguments->database);
  command->callback([&session, arguments] { change(session, *arguments); });
}

void add_pause_commands(CLI::App& app, Session& session) {
  add_pause_command(app, session, "pause",
                    "Pause a run after the current heat; a paused run uses no memory",
                    &request_pause, "pauses after the current heat");
  add_pause_command(app, session, "continue", "Continue a paused run", &request_continue,
                    "continues");
}

void add_export_command(CLI::App& app, Session& session) {
  auto arguments = std::make_shared<ExportCommand>();
  CLI::App* command = app.add_subcommand("export", "Export runs to a file that can be shared");
  add_option(*command, "runs", arguments->runs, "RUN", "Runs: number, UUID, name or 'last'")
      ->required();
  add_option(*command, "-o,--output", arguments->file, "FILE.attn",
             "File to write; compressed if its name ends in .gz")
      ->required();
  command->add_flag("--force", arguments->force, "Replace an existing export");
  add_database_option(*command, arguments->database);
  command->callback([&session, arguments] { export_runs(session, *arguments); });
}

void add_import_command(CLI::App& app, Session& session) {
  auto arguments = std::make_shared<ImportCommand>();
  CLI::App* command = app.add_subcommand("import", "Import runs from files into the database");
  add_option(*command, "files", arguments->files, "FILE.attn",
             "Exported files (.attn, .attn.gz) or databases; with --into also folders")
      ->required();
  add_option(*command, "--into", arguments->into, "RUN",
             "Import only heats of this run, from files or folders, and report the missing ones");
  add_database_option(*command, arguments->database);
  command->callback([&session, arguments] { import_runs(session, *arguments); });
}

void add_check_store_command(CLI::App& app, Session& session) {
  auto database = std::make_shared<std::filesystem::path>();
  CLI::App* command = app.add_subcommand(
      "check-store", "Check every stored value for damage, and list damaged runs");
  add_database_option(*command, *database);
  command->callback([&session, database] { check_store(session, *database); });
}

}  // namespace attnscope::cli
