// SPDX-License-Identifier: GPL-3.0-or-later
#include <memory>

#include "app/cli/command_line.h"
#include "engine/report/compare.h"

namespace attnscope::cli {

namespace {

struct CompareCommandArguments {
  std::string a, b;
  bool as_json = false;
  std::string format = "text";
  std::filesystem::path database;
};

void compare(Session& session, const CompareCommandArguments& arguments) {
  const auto format = report::parse_table_format(arguments.as_json ? "json" : arguments.format);
  if (!format) return session.fail(exit_wrong_use, format.error().message);
  auto a = open_run(arguments.a, arguments.database);
  if (!a) return session.fail(exit_store_refused, a.error().message);
  auto b = open_run(arguments.b, arguments.database);
  if (!b) return session.fail(exit_store_refused, b.error().message);
  const auto comparison = report::compare_runs(a->store, a->run, b->store, b->run);
  if (!comparison) return session.fail(exit_wrong_use, comparison.error().message);
  print_result(session, report::write_comparison(*comparison, *format));
}

}  // namespace

void add_compare_command(CLI::App& app, Session& session) {
  auto arguments = std::make_shared<CompareCommandArguments>();
  CLI::App* command =
      app.add_subcommand("compare", "Set two runs side by side, with a verdict per cell");
  command->add_option("run_a", arguments->a, "Number, UUID, 'last', or FILE.attn:RUN")
      ->type_name("RUN_A")
      ->required();
  command->add_option("run_b", arguments->b, "The run whose times are divided by RUN_A's")
      ->type_name("RUN_B")
      ->required();
  command->footer(
      "Intervals hold what may have moved between the runs: what all cells share, up to what the "
      "machine's ceilings moved by, and what single cells do. docs/sweeps.md says how.");
  command->add_flag("--json", arguments->as_json, "As a JSON object");
  command->add_option("--format", arguments->format, "text, markdown, csv, latex or json")
      ->type_name("FORMAT");
  add_database_option(*command, arguments->database);
  command->callback([&session, arguments] { compare(session, *arguments); });
}

}  // namespace attnscope::cli
