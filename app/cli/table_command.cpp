// SPDX-License-Identifier: GPL-3.0-or-later
#include <memory>

#include "app/cli/command_line.h"
#include "engine/report/table.h"

namespace attnscope::cli {

namespace {

struct Arguments : TableArguments {
  std::string format = "text";
  bool growth = false;
};

void table(Session& session, const Arguments& arguments) {
  const auto format = report::parse_table_format(arguments.format);
  if (!format) return session.fail(exit_wrong_use, format.error().message);
  if (arguments.growth && *format == report::TableFormat::latex) {
    return session.fail(
        exit_wrong_use,
        "--growth: a LaTeX table has no such column; write --format text, markdown, "
        "csv or json.");
  }
  if (auto table = open_table(session, arguments)) {
    if (arguments.growth) report::add_growth(*table);
    print_result(session, report::write_table(*table, *format));
  }
}

}  // namespace

void add_table_command(CLI::App& app, Session& session) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand("table", "Print a run as a table");
  command->footer(
      "A cell marked ~ drifted while it was measured, one marked ! was disturbed; a note below the "
      "block says by what. docs/sweeps.md has the rules.");
  add_table_arguments(*command, *arguments);
  command->add_option("--format", arguments->format, "text, markdown, csv, latex or json")
      ->type_name("FORMAT");
  command->add_flag("--growth", arguments->growth,
                    "Time per token, against that of the shortest length");
  command->callback([&session, arguments] { table(session, *arguments); });
}

}  // namespace attnscope::cli
