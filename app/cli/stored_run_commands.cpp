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
                        "nothing is said of the run; add --name, --tag, --untag or --note");
  }
  for (const std::vector<std::string>& given : {arguments.tags, arguments.untags}) {
    for (const std::string& tag : given) {
      if (tag_words(tag).size() == 1) continue;
      return session.fail(exit_wrong_use,
                          fmt::format("'{}' is not one word, as a tag is; give --tag or --untag "
                                      "once for each",
                                      in_a_sentence(tag)));
    }
  }
  if (has_control_character(arguments.name.value_or("")) ||
      has_control_character(arguments.note.value_or(""), "\n\t")) {
    return session.fail(exit_wrong_use,
                        "a name is one line without control characters, and a note has none but "
                        "line breaks and tabs; leave them out");
  }
  constexpr std::size_t longest_note = 10'000;  // as in the GUI
  if (arguments.note && arguments.note->size() > longest_note) {
    return session.fail(exit_wrong_use,
                        fmt::format("the note has {} bytes, and a note has at most {}; put the "
                                    "text into a file of its own",
                                    arguments.note->size(), longest_note));
  }
  if (arguments.name && arguments.runs.size() > 1) {
    return session.fail(exit_wrong_use,
                        "--name is for one run; name several runs one after the other");
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
                 fmt::format("this would remove {} for good; add --yes if that is meant",
                             counted(runs, "run")));
    return false;
  }
  print_to_terminal(
      fmt::format("Remove {} for good? This cannot be undone. [y/N] ", counted(runs, "run")));
  const int answer = std::getchar();
  return answer == 'y' || answer == 'Y';
}

void empty_trash(Session& session, const TrashCommand& arguments, Store& store) {
  const auto trash = store.run_list(RunsOf::trash);
  if (!trash) return session.fail(exit_store_refused, trash.error().message);
  if (!trash->empty() && !is_meant(session, arguments, trash->size())) return;
  const auto removed = store.empty_trash();
  if (!removed) return session.fail(exit_store_refused, removed.error().message);
  say("{} removed for good", counted(static_cast<std::size_t>(*removed), "run"));
}

void remove_for_good(Session& session, const TrashCommand& arguments, Store& store,
                     const std::vector<RunInfo>& runs) {
  for (const RunInfo& run : runs) {
    if (is_in_trash(run)) continue;
    return session.fail(exit_wrong_use, fmt::format("run {} is not in the trash; {} puts it there",
                                                    run.number, command_on(run, "trash")));
  }
  if (!is_meant(session, arguments, runs.size())) return;
  for (const RunInfo& run : runs) {
    if (Status done = store.remove_run(run.id); !done) {
      return session.fail(exit_store_refused, done.error().message);
    }
  }
  say("{} removed for good", counted(runs.size(), "run"));
}

void change(Session& session, const TrashCommand& arguments) {
  if (arguments.empty != arguments.runs.empty()) {
    return session.fail(exit_wrong_use,
                        "name the runs, or --empty without any; attnscope list runs --trash shows "
                        "what is in the trash");
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
                                    arguments.restore ? "does not lie" : "lies already"));
  }
  const std::vector<RunId> ids = ids_of(*runs);
  const Status done = arguments.restore ? store->take_from_trash(ids) : store->put_in_trash(ids);
  if (!done) return session.fail(exit_store_refused, done.error().message);
  say("{} {}", counted(ids.size(), "run"),
      arguments.restore ? "taken out of the trash" : "put in the trash");
}

struct PauseCommand {
  std::string run = "last";
  std::filesystem::path database;
};

using Ask = Status (*)(const RunInfo&);

void ask(Session& session, const PauseCommand& arguments, Ask ask, std::string_view words) {
  auto store = Store::open(arguments.database, Store::Mode::read_only);
  if (!store) return session.fail(exit_store_refused, store.error().message);
  const auto run = store->find_run(arguments.run);
  if (!run) return session.fail(exit_store_refused, run.error().message);
  if (Status requested = ask(*run); !requested) {
    return session.fail(exit_wrong_use, requested.error().message);
  }
  say("run {} {}", run->number, words);
}

void add_pause_command(CLI::App& app, Session& session, const std::string& name,
                       const std::string& description, Ask what, const std::string& words) {
  auto arguments = std::make_shared<PauseCommand>();
  CLI::App* command = app.add_subcommand(name, description);
  command->add_option("run", arguments->run, "Run number, UUID or 'last'")
      ->type_name("RUN")
      ->capture_default_str();
  add_database_option(*command, arguments->database);
  command->callback([&session, arguments, what, words] { ask(session, *arguments, what, words); });
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
    return fail("{} is no file of an export, which alone --force replaces; name another file",
                file.string());
  }
  const std::filesystem::path fresh = file.parent_path() / (".new-" + file.filename().string());
  std::filesystem::remove(fresh, unknown);  // left by a killed process
  if (Status done = store.export_runs(runs, fresh); !done) return done;
  std::error_code failed;
  std::filesystem::rename(fresh, file, failed);
  if (!failed) return {};
  std::filesystem::remove(fresh, unknown);
  return fail("{}: cannot be written: {}; name a file elsewhere", file.string(), failed.message());
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
    return session.fail(
        exit_wrong_use,
        fmt::format("-o {}: an export is a database, which SQLite does not write to "
                    "a stream or a device; name a file",
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
  say("{} written to {}", counted(runs->size(), "run"), arguments.file.string());
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
      return fail("the folder {} has no file that ends in .db, .attn or .attn.gz; name another one",
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
                        fmt::format("there is no database {}, and so no run {} in it; name the one "
                                    "that has the run with --db",
                                    arguments.database.string(), in_a_sentence(arguments.into)));
  }
  const auto files = stores_of(arguments.files);
  if (!files) return session.fail(exit_wrong_use, files.error().message);
  auto store = Store::open(arguments.database, Store::Mode::existing);
  if (!store) return session.fail(exit_store_refused, store.error().message);
  const auto run = store->find_run(arguments.into);
  if (!run) return session.fail(exit_wrong_use, run.error().message);
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
        "{} holds a part of run {}, which {} does not have; import the run.attn of its folder "
        "first, or name the database that it was sent from with --db",
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
    if (Status whole = check_whole(*store, file); !whole)
      return session.fail(exit_wrong_use, whole.error().message);
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
          : fmt::format(", {} of them taken out of the trash", all.taken_from_trash);
  say("{} imported, {} already there{}{}", all.added, all.already_there, from_trash,
      all.heats_added == 0
          ? ""
          : fmt::format(", {} heat{} added to {}", all.heats_added, all.heats_added == 1 ? "" : "s",
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
  print_result(session, fmt::format("{}: {}, every value as it was stored\n", database.string(),
                                    counted(runs->size(), "run")));
}

}  // namespace

void add_describe_command(CLI::App& app, Session& session) {
  auto arguments = std::make_shared<DescribeCommand>();
  CLI::App* command = app.add_subcommand("describe", "Set the name, tags and note of runs");
  command->add_option("runs", arguments->runs, "Run numbers, UUIDs, names or 'last'")
      ->type_name("RUN")
      ->required();
  command->add_option("--name", arguments->name, "New name; '' restores the sweep's name")
      ->type_name("NAME");
  command->add_option("--tag", arguments->tags, "Add a tag (one word); may be repeated")
      ->type_name("TAG")
      ->expected(1)
      ->take_all();
  command->add_option("--untag", arguments->untags, "Remove a tag; may be repeated")
      ->type_name("TAG")
      ->expected(1)
      ->take_all();
  command->add_option("--note", arguments->note, "New note, replacing the old one")
      ->type_name("TEXT");
  add_database_option(*command, arguments->database);
  command->callback([&session, arguments] { describe(session, *arguments); });
}

void add_trash_command(CLI::App& app, Session& session) {
  auto arguments = std::make_shared<TrashCommand>();
  CLI::App* command =
      app.add_subcommand("trash", "Move runs to the trash, restore them, or delete them");
  command->add_option("runs", arguments->runs, "Run numbers, UUIDs, names or 'last'")
      ->type_name("RUN");
  auto* restore = command->add_flag("--restore", arguments->restore, "Restore runs from the trash");
  auto* remove =
      command->add_flag("--delete", arguments->remove, "Delete runs that are in the trash");
  auto* empty = command->add_flag("--empty", arguments->empty, "Delete every run in the trash");
  restore->excludes(remove);
  empty->excludes(restore)->excludes(remove);
  command->add_flag("--yes", arguments->yes, "Delete without confirmation");
  add_database_option(*command, arguments->database);
  command->callback([&session, arguments] { change(session, *arguments); });
}

void add_pause_commands(CLI::App& app, Session& session) {
  add_pause_command(app, session, "pause",
                    "Pause a run after the current heat; it holds no memory while it is paused",
                    &ask_to_pause, "pauses when its heat is done");
  add_pause_command(app, session, "continue", "Continue a paused run", &ask_to_continue, "goes on");
}

void add_export_command(CLI::App& app, Session& session) {
  auto arguments = std::make_shared<ExportCommand>();
  CLI::App* command = app.add_subcommand("export", "Write runs to a file that can be shared");
  command->add_option("runs", arguments->runs, "Numbers, UUIDs or 'last'")
      ->type_name("RUN")
      ->required();
  command
      ->add_option("-o,--output", arguments->file,
                   "File to write; compressed if its name ends in .gz")
      ->type_name("F.attn")
      ->required();
  command->add_flag("--force", arguments->force, "Replace an existing export");
  add_database_option(*command, arguments->database);
  command->callback([&session, arguments] { export_runs(session, *arguments); });
}

void add_import_command(CLI::App& app, Session& session) {
  auto arguments = std::make_shared<ImportCommand>();
  CLI::App* command = app.add_subcommand("import", "Import runs from files into the database");
  command->add_option("files", arguments->files, "Exported files (.attn, .attn.gz) or databases")
      ->type_name("F.attn")
      ->required();
  command
      ->add_option(
          "--into", arguments->into,
          "Import only heats of this run, from files or folders, and report which are missing")
      ->type_name("RUN");
  add_database_option(*command, arguments->database);
  command->callback([&session, arguments] { import_runs(session, *arguments); });
}

void add_check_store_command(CLI::App& app, Session& session) {
  auto database = std::make_shared<std::filesystem::path>();
  CLI::App* command = app.add_subcommand(
      "check-store", "Check every stored value for damage and list damaged runs");
  add_database_option(*command, *database);
  command->callback([&session, database] { check_store(session, *database); });
}

}  // namespace attnscope::cli
