// SPDX-License-Identifier: GPL-3.0-or-later
#include <memory>

#include "app/cli/command_line.h"
#include "engine/report/answer.h"

namespace attnscope::cli {

namespace {

struct Arguments : TableArguments {
  std::string x = "length";
  bool json = false;
};

void answer(Session& session, const Arguments& arguments) {
  const auto x = report::parse_x(arguments.x);
  if (!x) return session.fail(exit_wrong_use, x.error().message);
  const auto filter = arguments.only.empty() ? Result<OnlyFilter>() : parse_only(arguments.only);
  if (!filter) return session.fail(exit_wrong_use, filter.error().message);
  const auto open = open_run(arguments.run, arguments.database);
  if (!open) return session.fail(exit_store_refused, open.error().message);
  std::optional<std::string_view> baseline;
  if (!arguments.baseline.empty()) baseline = arguments.baseline;
  const auto table = report::make_answer_table(open->store, open->run, baseline, *filter, *x);
  if (!table) return session.fail(exit_wrong_use, table.error().message);
  const report::Answer found = report::make_answer(*table, *x);
  print_result(session,
               arguments.json ? report::write_answer_json(found) : report::write_answer(found));
}

}  // namespace

void add_answer_command(CLI::App& app, Session& session) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand(
      "answer", "Say who is fastest where, from which length on, and what still fits");
  add_table_arguments(*command, *arguments);
  command->add_option("--x", arguments->x, "length or window: what crossovers are looked for along")
      ->type_name("AXIS");
  command->add_flag("--json", arguments->json, "The same as data");
  command->callback([&session, arguments] { answer(session, *arguments); });
}

}  // namespace attnscope::cli
