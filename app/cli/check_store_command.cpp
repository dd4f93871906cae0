// SPDX-License-Identifier: GPL-3.0-or-later
#include <fmt/format.h>

#include <memory>

#include "app/cli/command_line.h"

namespace attnscope::cli {

namespace {

void check_store(Session& session, const std::filesystem::path& database) {
  const auto store = Store::open(database, Store::Mode::read_only);
  if (!store) return session.fail(exit_store_refused, store.error().message);
  if (const Status sound = store->check_integrity(); !sound) {
    return session.fail(exit_store_refused, sound.error().message);
  }
  const auto runs = store->run_list(RunsOf::both);
  if (!runs) return session.fail(exit_store_refused, runs.error().message);
  print_result(session, fmt::format("{}: {} run{}, every value as it was stored\n",
                                    database.string(), runs->size(), runs->size() == 1 ? "" : "s"));
}

}  // namespace

void add_check_store_command(CLI::App& app, Session& session) {
  auto database = std::make_shared<std::filesystem::path>();
  CLI::App* command = app.add_subcommand(
      "check-store",
      "Look at every stored value for damage; names the damaged runs and the way out");
  add_database_option(*command, *database);
  command->callback([&session, database] { check_store(session, *database); });
}

}  // namespace attnscope::cli
