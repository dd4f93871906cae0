// SPDX-License-Identifier: GPL-3.0-or-later
//
// table, answer, compare and show: print stored runs.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <memory>
#include <utility>

#include "app/cli/command_line.h"
#include "base/sentences.h"
#include "engine/report/advice.h"
#include "engine/report/answer.h"
#include "engine/report/compare.h"
#include "engine/report/pivot.h"
#include "engine/report/published.h"
#include "engine/report/run_description.h"

namespace attnscope::cli {

namespace {

void add_format_option(CLI::App& command, std::string& format) {
  command.add_option("--format", format, report::table_format_words())->type_name("FORMAT");
}

struct TableCommand : TableArguments {
  std::string format = "text";
  bool growth = false;
  std::string rows, columns, cells;  // of a pivot, if any is given
  std::string alongside;             // a published table

  [[nodiscard]] bool is_pivot() const { return !(rows + columns + cells).empty(); }
};

Result<report::PivotChoice> pivot_choice(const TableCommand& arguments) {
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
    choice.columns = "contender";  // --rows length alone transposes the table
  }
  if (!arguments.cells.empty()) {
    auto quantities = report::parse_quantities(arguments.cells);
    if (!quantities) return tl::unexpected(quantities.error());
    choice.cells = std::move(*quantities);
  }
  return choice;
}

void print_pivot(Session& session, const TableCommand& arguments, report::TableFormat format) {
  const auto choice = pivot_choice(arguments);
  if (!choice) return session.fail(exit_wrong_use, choice.error().message);
  if (arguments.growth) {
    return session.fail(exit_wrong_use,
                        "--growth: a table with --rows, --columns or --cells has no such column; "
                        "leave one or the other out.");
  }
  if (const auto table = open_table(session, arguments)) {
    if (!table->baseline && std::ranges::count(choice->cells, report::Quantity::ratio) > 0) {
      return session.fail(exit_wrong_use,
                          "--cells ratio: ratios are to a baseline; give --baseline CONTENDER.");
    }
    const auto pivot = report::make_pivot(*table, *choice);
    if (!pivot) return session.fail(exit_wrong_use, pivot.error().message);
    print_result(session, report::write_pivot(*table, *pivot, format));
  }
}

void print_alongside(Session& session, const TableCommand& arguments, report::TableFormat format) {
  if (arguments.is_pivot() || arguments.growth) {
    return session.fail(
        exit_wrong_use,
        "--published has rows and columns of its own; leave --rows, --columns, --cells "
        "and --growth out.");
  }
  const auto table = open_table(session, arguments);
  if (!table) return;
  const auto text = report::write_paper_table(*table, arguments.alongside, format);
  if (!text) return session.fail(exit_wrong_use, text.error().message);
  print_result(session, *text);
}

void table(Session& session, const TableCommand& arguments) {
  const auto format = report::parse_table_format(arguments.format);
  if (!format) return session.fail(exit_wrong_use, format.error().message);
  if (!arguments.alongside.empty()) return print_alongside(session, arguments, *format);
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

struct AnswerCommand : TableArguments {
  std::string x;
  bool json = false;
  std::string format = "text";
  // The user's workload; requested if documents have lengths.
  std::string document_tokens, sequence_tokens;
  std::optional<std::int64_t> query_tokens, candidates;
  std::optional<double> memory_mb, latency_ms;

  [[nodiscard]] bool asks() const { return !document_tokens.empty() || !sequence_tokens.empty(); }
};

/// A number, or the name of a file of numbers.
Result<report::DocumentLengths> lengths_of(std::string_view option, const std::string& text,
                                           bool of_sequences) {
  std::int64_t tokens = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, tokens);
  if (stopped != end) return report::read_document_lengths(text, of_sequences);
  if (error != std::errc() || tokens < 1 || tokens > report::longest_document) {
    return fail("{} {} is no length; give a number from 1 to {} or a file of them", option, text,
                report::longest_document);
  }
  return report::DocumentLengths(tokens);
}

Result<report::Question> question_of(const AnswerCommand& arguments) {
  if (!arguments.x.empty() && arguments.x != "length") {
    return fail("--x {} and --document-tokens do not go together; leave one out", arguments.x);
  }
  const bool of_sequences = !arguments.sequence_tokens.empty();
  Result<report::DocumentLengths> lengths =
      of_sequences ? lengths_of("--sequence-tokens", arguments.sequence_tokens, true)
                   : lengths_of("--document-tokens", arguments.document_tokens, false);
  if (!lengths) return tl::unexpected(lengths.error());
  if (const auto query = arguments.query_tokens; query && of_sequences) {
    const std::int64_t least = report::sequence_of({}, *query, 1);
    if (lengths->shortest() < least) {
      return fail("sequences of {} tokens hold no document beside a query of {}; give at least {}",
                  lengths->shortest(), *query, least);
    }
  }
  report::Question question{.query_tokens = arguments.query_tokens,
                            .documents = std::move(*lengths),
                            .of_sequences = of_sequences,
                            .candidates = arguments.candidates.value_or(100)};
  constexpr double most = 1e12;  // an exabyte, three decades
  for (const auto& [option, limit] : {std::pair("--memory-mb", arguments.memory_mb),
                                      std::pair("--latency-ms", arguments.latency_ms)}) {
    if (limit && !(*limit <= most)) {
      return fail("{} {} is no limit; give a number above 0 and up to {}, or leave it out", option,
                  *limit, most);
    }
  }
  if (arguments.memory_mb) question.memory_bytes = *arguments.memory_mb * 1e6;
  if (arguments.latency_ms) question.latency_ns = *arguments.latency_ms * 1e6;
  return question;
}

Result<std::string> answers_of(const AnswerCommand& arguments, const OpenRun& open,
                               const OnlyFilter& filter, report::XAxis x,
                               report::TableFormat format) {
  std::optional<std::string> baseline;
  if (!arguments.baseline.empty()) baseline = arguments.baseline;
  if (!arguments.asks()) {
    const auto table = report::make_answer_table(open.store, open.run, baseline, filter, x);
    if (!table) return tl::unexpected(table.error());
    return report::write_answers(open.run, report::make_answers(*table, x), format);
  }
  const Result<report::Question> question = question_of(arguments);
  if (!question) return tl::unexpected(question.error());
  Result<report::Table> table = report::make_table(open.store, open.run, baseline, filter);
  if (table && !baseline) {
    if (const auto full = report::full_contender(*table))
      table = report::make_table(open.store, open.run, *full, filter);
  }
  if (!table) return tl::unexpected(table.error());
  const std::vector<report::Advice> advice = report::make_advice(*table, *question);
  if (advice.empty() && !table->rows.empty()) {
    return fail(
        "run {} has documents of drawn lengths, whose times are of no one length; measure some "
        "with "
        "\"sequence_tokens\"",
        open.run.number);
  }
  return report::write_advice(open.run, advice, format);
}

void answer(Session& session, const AnswerCommand& arguments) {
  if (!arguments.asks() && (arguments.query_tokens || arguments.candidates || arguments.memory_mb ||
                            arguments.latency_ms)) {
    return session.fail(exit_wrong_use,
                        "a query, candidates or limits need the documents' lengths; add "
                        "--document-tokens with a number or a file of them");
  }
  const auto format = report::parse_table_format(arguments.json ? "json" : arguments.format);
  if (!format) return session.fail(exit_wrong_use, format.error().message);
  const auto x = report::parse_x(arguments.x.empty() ? "length" : arguments.x);
  if (!x) return session.fail(exit_wrong_use, x.error().message);
  const auto filter = arguments.only.empty() ? Result<OnlyFilter>() : parse_only(arguments.only);
  if (!filter) return session.fail(exit_wrong_use, filter.error().message);
  const auto open = open_run(arguments.run, arguments.database);
  if (!open) return session.fail(exit_store_refused, open.error().message);
  const auto answers = answers_of(arguments, *open, *filter, *x, *format);
  if (!answers) return session.fail(exit_wrong_use, answers.error().message);
  print_result(session, *answers);
}

struct CompareCommand {
  std::string a, b;
  bool as_json = false;
  std::string format = "text";
  std::filesystem::path database;
};

void compare(Session& session, const CompareCommand& arguments) {
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

struct ShowCommand {
  std::string run = "last";
  bool as_json = false;
  std::filesystem::path database;
};

void show(Session& session, const ShowCommand& arguments) {
  auto open = open_run(arguments.run, arguments.database);
  if (!open) return session.fail(exit_store_refused, open.error().message);
  const auto description = report::describe(open->store, open->run);
  if (!description) return session.fail(exit_store_refused, description.error().message);
  print_result(session, arguments.as_json ? report::write_description_json(*description)
                                          : report::write_description(*description));
}

}  // namespace

void add_table_command(CLI::App& app, Session& session) {
  auto arguments = std::make_shared<TableCommand>();
  CLI::App* command = app.add_subcommand("table", "Print a run as a table");
  command->footer(
      "Marks: ~ drifted while it was measured, ! disturbed by other programs; a note below the "
      "block gives the reason (docs/measurement.md).");
  add_table_arguments(*command, *arguments);
  add_format_option(*command, arguments->format);
  command
      ->add_option("--rows", arguments->rows,
                   "Pivot table: key of its rows (any key of --only; default contender)")
      ->type_name("KEY");
  command
      ->add_option("--columns", arguments->columns,
                   "Pivot table: key of its columns (default length)")
      ->type_name("KEY");
  command
      ->add_option("--cells", arguments->cells,
                   "Pivot table: values of its cells: time, memory, ratio, limit, error, executed, "
                   "per-ms; several are separated by commas")
      ->type_name("LIST");
  command
      ->add_option("--published", arguments->alongside,
                   "Whole models in the form of a published table, its numbers beside: "
                   "ecir24-table3, mixencoder-table6 or tkl-table1")
      ->type_name("TABLE");
  command->add_flag("--growth", arguments->growth,
                    "Add time per token relative to the shortest length");
  command->callback([&session, arguments] { table(session, *arguments); });
}

void add_answer_command(CLI::App& app, Session& session) {
  auto arguments = std::make_shared<AnswerCommand>();
  CLI::App* command =
      app.add_subcommand("answer",
                         "Report which contender is fastest at which lengths, and what fits in "
                         "memory; with --document-tokens, which to use for a list of candidates");
  add_table_arguments(*command, *arguments);
  command
      ->add_option("--x", arguments->x,
                   "Axis along which crossovers are searched: length or window")
      ->type_name("AXIS");
  command
      ->add_option("--document-tokens", arguments->document_tokens,
                   "Tokens of the candidates, a file with one length per line, or the JSON of "
                   "'lengths': ranks all contenders for the whole list")
      ->type_name("N|FILE");
  command
      ->add_option(
          "--sequence-tokens", arguments->sequence_tokens,
          "Like --document-tokens, for whole sequences: [CLS], query, document and every [SEP]")
      ->excludes("--document-tokens")
      ->type_name("N|FILE");
  command
      ->add_option("--query-tokens", arguments->query_tokens,
                   "Tokens of the query without its [SEP]; default: as measured")
      ->check(CLI::Range(std::int64_t{0}, report::longest_document))
      ->type_name("N");
  command->add_option("--candidates", arguments->candidates, "Candidates per query; default: 100")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000'000}))
      ->type_name("N");
  command
      ->add_option("--memory-mb", arguments->memory_mb,
                   "Memory limit of one batch in MB (10^6 bytes)")
      ->check(above_zero)
      ->type_name("M");
  command
      ->add_option("--latency-ms", arguments->latency_ms,
                   "Time limit for all candidates in milliseconds")
      ->check(above_zero)
      ->type_name("L");
  command->add_flag("--json", arguments->json, "Print JSON");
  add_format_option(*command, arguments->format);
  command->callback([&session, arguments] { answer(session, *arguments); });
}

void add_compare_command(CLI::App& app, Session& session) {
  auto arguments = std::make_shared<CompareCommand>();
  CLI::App* command = app.add_subcommand("compare", "Compare two runs cell by cell, with verdicts");
  command->add_option("run_a", arguments->a, "Number, UUID, 'last', or FILE.attn[.gz]:RUN")
      ->type_name("RUN_A")
      ->required();
  command->add_option("run_b", arguments->b, "The run whose times are divided by RUN_A's")
      ->type_name("RUN_B")
      ->required();
  command->footer(
      "Intervals include what may have changed between the runs: a shift of all cells, bounded by "
      "that of the machine's ceilings, and changes of single cells (docs/measurement.md).");
  command->add_flag("--json", arguments->as_json, "Print a JSON object");
  add_format_option(*command, arguments->format);
  add_database_option(*command, arguments->database);
  command->callback([&session, arguments] { compare(session, *arguments); });
}

void add_show_command(CLI::App& app, Session& session) {
  auto arguments = std::make_shared<ShowCommand>();
  CLI::App* command = app.add_subcommand(
      "show",
      "Show how a run was measured: machine, build, restarts, and warnings about its numbers");
  command->add_option("run", arguments->run, "Number, UUID, 'last', or FILE.attn[.gz]:RUN")
      ->type_name("RUN");
  command->add_flag("--json", arguments->as_json, "Print a JSON object");
  add_database_option(*command, arguments->database);
  command->callback([&session, arguments] { show(session, *arguments); });
}

}  // namespace attnscope::cli
