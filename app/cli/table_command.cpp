// SPDX-License-Identifier: GPL-3.0-or-later
#include <memory>

#include "app/cli/command_line.h"
#include "engine/report/table.h"

namespace attnscope::cli {

namespace {

struct Arguments : TableArguments {
  std::string format = "text";
};

void table(Session& session, const Arguments& arguments) {
  const auto format = report::parse_table_format(arguments.format);
  if (!format) return session.fail(exit_wrong_use, format.error().message);
  if (const auto table = open_table(session, arguments)) {
    print_result(session, report::write_table(*table, *format));
  }
}

}  // namespace

void add_table_command(CLI::App& app, Session& session) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand("table", "Print a run as a table");
  add_table_arguments(*command, *arguments);
  command->add_option("--format", arguments->format, "text, markdown, csv, latex or json")
      ->type_name("FORMAT");
  command->callback([&session, arguments] { table(session, *arguments); });
}

}  // namespace attnscope::cli
