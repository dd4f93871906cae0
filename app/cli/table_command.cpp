// SPDX-License-Identifier: GPL-3.0-or-later
#include <memory>

#include "app/cli/command_line.h"
#include "engine/report/table.h"

namespace attnscope::cli {

namespace {

struct Arguments {
  std::string run = "last", baseline, only, format = "text";
  std::filesystem::path database;
};

void table(Session& session, const Arguments& arguments) {
  const auto format = report::parse_table_format(arguments.format);
  if (!format) return session.fail(exit_wrong_use, format.error().message);
  const auto filter = read_only_option(arguments.only);
  if (!filter) return session.fail(exit_wrong_use, filter.error().message);
  auto open = open_run(arguments.run, arguments.database);
  if (!open) return session.fail(exit_store_refused, open.error().message);
  std::optional<std::string_view> baseline;
  if (!arguments.baseline.empty()) baseline = arguments.baseline;
  const auto table = report::make_table(open->store, open->run, baseline, *filter);
  if (!table) return session.fail(exit_wrong_use, table.error().message);
  print_result(session, report::write_table(*table, *format));
}

}  // namespace

void add_table_command(CLI::App& app, Session& session) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand("table", "Print a run as a table");
  command->add_option("run", arguments->run, "Number, UUID, 'last', or FILE.attn:RUN")
      ->type_name("RUN");
  command->add_option("--baseline", arguments->baseline, "Contender the others are set against")
      ->type_name("CONTENDER");
  command->add_option("--only", arguments->only, "Only rows with these values")
      ->type_name("KEY=VALUE,...");
  command->add_option("--format", arguments->format, "text, markdown, csv, latex or json")
      ->type_name("FORMAT");
  add_database_option(*command, arguments->database);
  command->callback([&session, arguments] { table(session, *arguments); });
}

}  // namespace attnscope::cli
