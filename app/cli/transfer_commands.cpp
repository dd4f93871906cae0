// SPDX-License-Identifier: GPL-3.0-or-later
//
// export and import: runs travel as .attn files.
#include <fmt/format.h>

#include <memory>
#include <vector>

#include "app/cli/command_line.h"

namespace attnscope::cli {

namespace {

struct ExportArguments {
  std::vector<std::string> runs;
  std::filesystem::path file, database;
};

void export_runs(Session& session, const ExportArguments& arguments) {
  auto store = Store::open(arguments.database, Store::Mode::read_only);
  if (!store) return session.fail(exit_store_refused, store.error().message);
  std::vector<RunId> ids;
  for (const std::string& text : arguments.runs) {
    auto run = store->find_run(text);
    if (!run) return session.fail(exit_wrong_use, run.error().message);
    ids.push_back(run->id);
  }
  if (Status done = store->export_runs(ids, arguments.file); !done) {
    return session.fail(exit_store_refused, done.error().message);
  }
  fmt::print(stderr, "{} run{} written to {}\n", ids.size(), ids.size() == 1 ? "" : "s",
             arguments.file.string());
}

struct ImportArguments {
  std::filesystem::path file, database;
};

void import_runs(Session& session, const ImportArguments& arguments) {
  auto store = Store::open(arguments.database, Store::Mode::read_write);
  if (!store) return session.fail(exit_store_refused, store.error().message);
  const auto imported = store->import_file(arguments.file);
  if (!imported) return session.fail(exit_store_refused, imported.error().message);
  const std::string from_trash =
      imported->taken_from_trash == 0
          ? ""
          : fmt::format(", {} of them taken out of the trash", imported->taken_from_trash);
  fmt::print(stderr, "{} imported, {} already there{}{}\n", imported->added,
             imported->already_there, from_trash,
             imported->heats_added == 0
                 ? ""
                 : fmt::format(", {} heat{} added to {}", imported->heats_added,
                               imported->heats_added == 1 ? "" : "s",
                               imported->already_there == 1 ? "it" : "them"));
}

}  // namespace

void add_export_command(CLI::App& app, Session& session) {
  auto arguments = std::make_shared<ExportArguments>();
  CLI::App* command = app.add_subcommand("export", "Write runs into a file that travels");
  command->add_option("runs", arguments->runs, "Numbers, UUIDs or 'last'")
      ->type_name("RUN")
      ->required();
  command->add_option("-o,--output", arguments->file, "File to write")
      ->type_name("F.attn")
      ->required();
  add_database_option(*command, arguments->database);
  command->callback([&session, arguments] { export_runs(session, *arguments); });
}

void add_import_command(CLI::App& app, Session& session) {
  auto arguments = std::make_shared<ImportArguments>();
  CLI::App* command = app.add_subcommand("import", "Take the runs of a file into the database");
  command->add_option("file", arguments->file, "File from 'attnscope export'")
      ->type_name("F.attn")
      ->required();
  add_database_option(*command, arguments->database);
  command->callback([&session, arguments] { import_runs(session, *arguments); });
}

}  // namespace attnscope::cli
