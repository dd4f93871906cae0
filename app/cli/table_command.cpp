// SPDX-License-Identifier: GPL-3.0-or-later
#include <fmt/format.h>

#include <memory>

#include "app/cli/command_line.h"
#include "engine/report/beside_table3.h"
#include "engine/report/pivot.h"
#include "engine/report/table.h"
#include "kernels/base/sentences.h"

namespace attnscope::cli {

namespace {

struct TableCommandArguments : TableArguments {
  std::string format = "text";
  bool growth = false;
  std::string rows, columns, cells;  // of a pivot, where any of them is given
  std::string beside;                // a published table

  [[nodiscard]] bool is_pivot() const { return !(rows + columns + cells).empty(); }
};

Result<report::PivotChoice> pivot_choice(const TableCommandArguments& arguments) {
  report::PivotChoice choice;
  if (!arguments.rows.empty()) {
    auto key = report::parse_pivot_key("--rows", arguments.rows);
    if (!key) return tl::unexpected(key.error());
    choice.rows = std::move(*key);
  }
  if (!arguments.columns.empty()) {
    auto key = report::parse_pivot_key("--columns", arguments.columns);
    if (!key) return tl::unexpected(key.error());
    choice.columns = std::move(*key);
  } else if (choice.rows == choice.columns) {
    choice.columns = "contender";  // --rows length alone turns the table around
  }
  if (!arguments.cells.empty()) {
    auto quantities = report::parse_quantities(arguments.cells);
    if (!quantities) return tl::unexpected(quantities.error());
    choice.cells = std::move(*quantities);
  }
  return choice;
}

void print_pivot(Session& session, const TableCommandArguments& arguments,
                 report::TableFormat format) {
  const auto choice = pivot_choice(arguments);
  if (!choice) return session.fail(exit_wrong_use, choice.error().message);
  if (arguments.growth) {
    return session.fail(exit_wrong_use,
                        "--growth: a table with --rows, --columns or --cells has no such column; "
                        "leave one or the other out.");
  }
  if (const auto table = open_table(session, arguments)) {
    const auto pivot = report::make_pivot(*table, *choice);
    if (!pivot) return session.fail(exit_wrong_use, pivot.error().message);
    print_result(session, report::write_pivot(*table, *pivot, format));
  }
}

void print_beside(Session& session, const TableCommandArguments& arguments,
                  report::TableFormat format) {
  constexpr std::string_view known = "ecir24-table3";
  if (arguments.beside != known) {
    return session.fail(exit_wrong_use,
                        fmt::format("--beside: there is no published table '{}' to set models "
                                    "beside; there is {}",
                                    in_a_sentence(arguments.beside), known));
  }
  if (arguments.is_pivot() || arguments.growth) {
    return session.fail(
        exit_wrong_use,
        "--beside has rows and columns of its own; leave --rows, --columns, --cells "
        "and --growth out.");
  }
  const auto table = open_table(session, arguments);
  if (!table) return;
  const auto text = report::write_beside_table3(*table, format);
  if (!text) return session.fail(exit_wrong_use, text.error().message);
  print_result(session, *text);
}

void table(Session& session, const TableCommandArguments& arguments) {
  const auto format = report::parse_table_format(arguments.format);
  if (!format) return session.fail(exit_wrong_use, format.error().message);
  if (!arguments.beside.empty()) return print_beside(session, arguments, *format);
  if (arguments.is_pivot()) return print_pivot(session, arguments, *format);
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
  auto arguments = std::make_shared<TableCommandArguments>();
  CLI::App* command = app.add_subcommand("table", "Print a run as a table");
  command->footer(
      "A cell marked ~ drifted while it was measured, one marked ! was disturbed; a note below the "
      "block says by what. docs/sweeps.md has the rules.");
  add_table_arguments(*command, *arguments);
  command->add_option("--format", arguments->format, "text, markdown, csv, latex or json")
      ->type_name("FORMAT");
  command
      ->add_option("--rows", arguments->rows,
                   "A table along two keys: what its rows are (contender; any key of --only)")
      ->type_name("KEY");
  command->add_option("--columns", arguments->columns, "and its columns (length)")
      ->type_name("KEY");
  command
      ->add_option("--cells", arguments->cells,
                   "and its cells: time, memory, ratio, limit, error, executed, or several of them")
      ->type_name("LIST");
  command
      ->add_option("--beside", arguments->beside,
                   "Whole models in the form of a published table, its numbers beside: "
                   "ecir24-table3")
      ->type_name("TABLE");
  command->add_flag("--growth", arguments->growth,
                    "Time per token, against that of the shortest length");
  command->callback([&session, arguments] { table(session, *arguments); });
}

}  // namespace attnscope::cli
