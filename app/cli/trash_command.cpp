// SPDX-License-Identifier: GPL-3.0-or-later
//
// trash: runs are put away, put back, and removed for good only when that is asked for by name.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <vector>

#include "app/cli/command_line.h"

namespace attnscope::cli {

namespace {

struct TrashCommandArguments {
  std::vector<std::string> runs;
  bool restore = false, remove = false, empty = false, yes = false;
  std::filesystem::path database;
};

std::string counted_runs(std::size_t runs) {
  return fmt::format("{} run{}", runs, runs == 1 ? "" : "s");
}

/// Whether the person means it: asked on a terminal, else --yes has to say it.
bool is_meant(Session& session, const TrashCommandArguments& arguments, std::size_t runs) {
  if (arguments.yes) return true;
  if (isatty(STDIN_FILENO) == 0) {
    session.fail(exit_wrong_use,
                 fmt::format("this would remove {} for good; add --yes if that is meant",
                             counted_runs(runs)));
    return false;
  }
  fmt::print(stderr, "Remove {} for good? This cannot be undone. [y/N] ", counted_runs(runs));
  const int answer = std::getchar();
  return answer == 'y' || answer == 'Y';
}

void empty_trash(Session& session, const TrashCommandArguments& arguments, Store& store) {
  const auto trash = store.run_list(RunsOf::trash);
  if (!trash) return session.fail(exit_store_refused, trash.error().message);
  if (!trash->empty() && !is_meant(session, arguments, trash->size())) return;
  const auto removed = store.empty_trash();
  if (!removed) return session.fail(exit_store_refused, removed.error().message);
  fmt::print(stderr, "{} removed for good\n", counted_runs(static_cast<std::size_t>(*removed)));
}

void remove_for_good(Session& session, const TrashCommandArguments& arguments, Store& store,
                     const std::vector<RunInfo>& runs) {
  for (const RunInfo& run : runs) {
    if (is_in_trash(run)) continue;
    return session.fail(exit_wrong_use,
                        fmt::format("run {} is not in the trash; attnscope trash {} puts it there",
                                    run.number, run.number));
  }
  if (!is_meant(session, arguments, runs.size())) return;
  for (const RunInfo& run : runs) {
    if (Status done = store.remove_run(run.id); !done) {
      return session.fail(exit_store_refused, done.error().message);
    }
  }
  fmt::print(stderr, "{} removed for good\n", counted_runs(runs.size()));
}

void change(Session& session, const TrashCommandArguments& arguments) {
  if (arguments.empty != arguments.runs.empty()) {
    return session.fail(exit_wrong_use,
                        "name the runs, or --empty without any; attnscope list runs --trash shows "
                        "what lies in the trash");
  }
  auto store = Store::open(arguments.database, Store::Mode::read_write);
  if (!store) return session.fail(exit_store_refused, store.error().message);
  if (arguments.empty) return empty_trash(session, arguments, *store);
  std::vector<RunInfo> runs;
  std::vector<RunId> ids;
  for (const std::string& text : arguments.runs) {
    auto run = store->find_run(text);
    if (!run) return session.fail(exit_store_refused, run.error().message);
    ids.push_back(run->id);
    runs.push_back(std::move(*run));
  }
  if (arguments.remove) return remove_for_good(session, arguments, *store, runs);
  const Status done = arguments.restore ? store->take_from_trash(ids) : store->put_in_trash(ids);
  if (!done) return session.fail(exit_store_refused, done.error().message);
  fmt::print(stderr, "{} {}\n", counted_runs(ids.size()),
             arguments.restore ? "taken out of the trash" : "put in the trash");
}

}  // namespace

void add_trash_command(CLI::App& app, Session& session) {
  auto arguments = std::make_shared<TrashCommandArguments>();
  CLI::App* command = app.add_subcommand(
      "trash", "Put runs in the trash, take them out of it, or remove them for good");
  command->add_option("runs", arguments->runs, "Numbers, UUIDs, own names or 'last'")
      ->type_name("RUN");
  auto* restore = command->add_flag("--restore", arguments->restore, "Take them out of it again");
  auto* remove =
      command->add_flag("--delete", arguments->remove, "Remove them, which lie in it, for good");
  auto* empty = command->add_flag("--empty", arguments->empty, "Remove for good all that is in it");
  restore->excludes(remove);
  empty->excludes(restore)->excludes(remove);
  command->add_flag("--yes", arguments->yes, "Remove without asking");
  add_database_option(*command, arguments->database);
  command->callback([&session, arguments] { change(session, *arguments); });
}

}  // namespace attnscope::cli
