// SPDX-License-Identifier: GPL-3.0-or-later
#include <memory>

#include "app/cli/command_line.h"
#include "engine/report/run_description.h"

namespace attnscope::cli {

namespace {

struct ShowCommandArguments {
  std::string run = "last";
  bool as_json = false;
  std::filesystem::path database;
};

void show(Session& session, const ShowCommandArguments& arguments) {
  auto open = open_run(arguments.run, arguments.database);
  if (!open) return session.fail(exit_store_refused, open.error().message);
  const auto description = report::describe(open->store, open->run);
  if (!description) return session.fail(exit_store_refused, description.error().message);
  print_result(session, arguments.as_json ? report::write_description_json(*description)
                                          : report::write_description(*description));
}

}  // namespace

void add_show_command(CLI::App& app, Session& session) {
  auto arguments = std::make_shared<ShowCommandArguments>();
  CLI::App* command = app.add_subcommand(
      "show", "How a run was measured: machine, build, restarts, what speaks against its numbers");
  command->add_option("run", arguments->run, "Number, UUID, 'last', or FILE.attn:RUN")
      ->type_name("RUN");
  command->add_flag("--json", arguments->as_json, "All of it as a JSON object");
  add_database_option(*command, arguments->database);
  command->callback([&session, arguments] { show(session, *arguments); });
}

}  // namespace attnscope::cli
