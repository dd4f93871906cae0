// SPDX-License-Identifier: GPL-3.0-or-later
//
// pause and continue: a run that is being measured waits between heats, and goes on.
#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "app/cli/command_line.h"
#include "engine/sweep/pause.h"

namespace attnscope::cli {

namespace {

struct PauseCommandArguments {
  std::string run = "last";
  std::filesystem::path database;
};

using Ask = Status (*)(const RunInfo&);

void ask(Session& session, const PauseCommandArguments& arguments, Ask ask,
         std::string_view words) {
  auto store = Store::open(arguments.database, Store::Mode::read_only);
  if (!store) return session.fail(exit_store_refused, store.error().message);
  const auto run = store->find_run(arguments.run);
  if (!run) return session.fail(exit_store_refused, run.error().message);
  if (Status asked = ask(*run); !asked) {
    return session.fail(exit_wrong_use, asked.error().message);
  }
  fmt::print(stderr, "run {} {}\n", run->number, words);
}

void add_command(CLI::App& app, Session& session, const std::string& name,
                 const std::string& description, Ask what, const std::string& words) {
  auto arguments = std::make_shared<PauseCommandArguments>();
  CLI::App* command = app.add_subcommand(name, description);
  command->add_option("run", arguments->run, "A number, a UUID or 'last'")
      ->type_name("RUN")
      ->capture_default_str();
  add_database_option(*command, arguments->database);
  command->callback([&session, arguments, what, words] { ask(session, *arguments, what, words); });
}

}  // namespace

void add_pause_commands(CLI::App& app, Session& session) {
  add_command(app, session, "pause",
              "Let a running measurement wait when its heat is done; its memory is free meanwhile",
              &ask_to_pause, "pauses when its heat is done");
  add_command(app, session, "continue", "Let a paused measurement go on", &ask_to_continue,
              "goes on");
}

}  // namespace attnscope::cli
