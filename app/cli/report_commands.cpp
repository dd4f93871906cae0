// SPDX-License-Identifier: GPL-3.0-or-later
//
// Commands that print stored runs: table, answer, compare, show and report.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/cli/command_line.h"
#include "base/sentences.h"
#include "base/written_file.h"
#include "engine/report/advice.h"
#include "engine/report/answer.h"
#include "engine/report/compare.h"
#include "engine/report/pivot.h"
#include "engine/report/published.h"
#include "engine/report/report_page.h"
#include "engine/report/run_description.h"

namespace attnscope::cli {

namespace {

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
  if (!choice) return session.fail(choice.error());
  if (arguments.growth) {
    return session.fail(exit_wrong_use,
                        "--growth adds a column that a table with --rows, --columns or --cells "
                        "does not have; remove --growth or those options.");
  }
  if (const auto table = open_table(session, arguments)) {
    if (!table->baseline && std::ranges::count(choice->cells, report::Quantity::ratio) > 0) {
      return session.fail(exit_wrong_use,
                          "--cells ratio needs a baseline; give --baseline CONTENDER.");
    }
    const auto pivot = report::make_pivot(*table, *choice);
    if (!pivot) return session.fail(pivot.error());
    print_result(session, report::write_pivot(*table, *pivot, format));
  }
}

void print_alongside(Session& session, const TableCommand& arguments, report::TableFormat format) {
  if (arguments.is_pivot() || arguments.growth) {
    return session.fail(
        exit_wrong_use,
        "--published determines rows and columns; remove --rows, --columns, --cells and --growth.");
  }
  const auto table = open_table(session, arguments);
  if (!table) return;
  const auto text = report::write_paper_table(*table, arguments.alongside, format);
  if (!text) return session.fail(text.error());
  print_result(session, *text);
}

void table(Session& session, const TableCommand& arguments) {
  const auto format = report::parse_table_format(arguments.format);
  if (!format) return session.fail(format.error());
  if (!arguments.alongside.empty()) return print_alongside(session, arguments, *format);
  if (arguments.is_pivot()) return print_pivot(session, arguments, *format);
  if (arguments.growth && *format == report::TableFormat::latex) {
    return session.fail(exit_wrong_use,
                        "--growth adds a column that LaTeX tables do not have; use --format text, "
                        "markdown, csv or json.");
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

  [[nodiscard]] bool has_lengths() const {
    return !document_tokens.empty() || !sequence_tokens.empty();
  }
};

/// A number, or the name of a file of numbers.
Result<report::DocumentLengths> lengths_of(std::string_view option, const std::string& text,
                                           bool of_sequences) {
  std::int64_t tokens = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, tokens);
  if (stopped != end) return report::read_document_lengths(text, of_sequences);
  if (error != std::errc() || tokens < 1 || tokens > report::longest_document) {
    return fail("{} {} is not a length; give a number from 1 to {} or a file of lengths", option,
                text, report::longest_document);
  }
  return report::DocumentLengths(tokens);
}

Result<report::Question> question_of(const AnswerCommand& arguments) {
  if (!arguments.x.empty() && arguments.x != "length") {
    return fail("--x {} and --document-tokens exclude each other; remove one of them", arguments.x);
  }
  const bool of_sequences = !arguments.sequence_tokens.empty();
  Result<report::DocumentLengths> lengths =
      of_sequences ? lengths_of("--sequence-tokens", arguments.sequence_tokens, true)
                   : lengths_of("--document-tokens", arguments.document_tokens, false);
  if (!lengths) return tl::unexpected(lengths.error());
  if (const auto query = arguments.query_tokens; query && of_sequences) {
    const std::int64_t least = report::sequence_of({}, *query, 1);
    if (lengths->shortest() < least) {
      return fail(
          "sequences of {} tokens leave no space for a document after a query of {}; give at least "
          "{}",
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
      return fail("{} {} is not a limit; give a number above 0 and up to {}, or remove the option",
                  option, *limit, most);
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
  if (!arguments.has_lengths()) {
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
        "run {} has documents of random lengths, so it has no time for a single length; measure "
        "fixed lengths with \"sequence_tokens\"",
        open.run.number);
  }
  return report::write_advice(open.run, advice, format);
}

void answer(Session& session, const AnswerCommand& arguments) {
  if (!arguments.has_lengths() && (arguments.query_tokens || arguments.candidates ||
                                   arguments.memory_mb || arguments.latency_ms)) {
    return session.fail(
        exit_wrong_use,
        "--query-tokens, --candidates, --memory-mb and --latency-ms need the documents' lengths; "
        "add --document-tokens with a number or a file of lengths");
  }
  const auto format = report::parse_table_format(arguments.json ? "json" : arguments.format);
  if (!format) return session.fail(format.error());
  const auto x = report::parse_x(arguments.x.empty() ? "length" : arguments.x);
  if (!x) return session.fail(x.error());
  const auto filter = filter_of(arguments.only);
  if (!filter) return session.fail(filter.error());
  const auto open = open_run(arguments.run, arguments.database);
  if (!open) return session.fail(exit_store_refused, open.error().message);
  const auto answers = answers_of(arguments, *open, *filter, *x, *format);
  if (!answers) return session.fail(answers.error());
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
  if (!format) return session.fail(format.error());
  auto a = open_run(arguments.a, arguments.database);
  if (!a) return session.fail(exit_store_refused, a.error().message);
  auto b = open_run(arguments.b, arguments.database);
  if (!b) return session.fail(exit_store_refused, b.error().message);
  const auto comparison = report::compare_runs(a->store, a->run, b->store, b->run);
  if (!comparison) return session.fail(comparison.error());
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
      "Marks: ~ the time drifted during the measurement, ! other programs disturbed the "
      "measurement; a note below the table gives the reason (docs/measurement.md).");
  add_table_arguments(*command, *arguments);
  add_format_option(*command, arguments->format);
  add_option(*command, "--rows", arguments->rows, "KEY",
             "Pivot table: key of the rows; all keys of --only are allowed; default: contender");
  add_option(*command, "--columns", arguments->columns, "KEY",
             "Pivot table: key of the columns; default: length");
  add_option(*command, "--cells", arguments->cells, "LIST",
             "Pivot table: values of the cells, separated by commas: time, memory, ratio, limit, "
             "error, executed, per-ms; default: time");
  add_option(*command, "--published", arguments->alongside, "TABLE",
             "Print whole models in the layout of a published table, next to the published "
             "numbers: ecir24-table3, mixencoder-table6 or tkl-table1");
  command->add_flag("--growth", arguments->growth,
                    "Add a column with the time per token relative to the shortest length");
  command->callback([&session, arguments] { table(session, *arguments); });
}

void add_answer_command(CLI::App& app, Session& session) {
  auto arguments = std::make_shared<AnswerCommand>();
  CLI::App* command = app.add_subcommand(
      "answer",
      "Report which contender is fastest at which lengths, and what fits into memory; with "
      "--document-tokens, which contender to use for a list of candidates");
  add_table_arguments(*command, *arguments);
  add_option(*command, "--x", arguments->x, "AXIS",
             "Axis along which crossovers are searched: length or window; default: length");
  add_option(
      *command, "--document-tokens", arguments->document_tokens, "N|FILE",
      "Number of tokens of each document without its [SEP], a file with one number per line, "
      "or the output of 'lengths --format json'; ranks all contenders by their cost for the "
      "whole list of candidates");
  add_option(*command, "--sequence-tokens", arguments->sequence_tokens, "N|FILE",
             "Like --document-tokens, but for whole sequences: [CLS], and the query and the "
             "document with their [SEP]")
      ->excludes("--document-tokens");
  add_option(*command, "--query-tokens", arguments->query_tokens, "N",
             "Number of tokens of the query without its [SEP]; default: as measured")
      ->check(CLI::Range(std::int64_t{0}, report::longest_document));
  add_option(*command, "--candidates", arguments->candidates, "N",
             "Number of candidates per query; default: 100")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000'000}));
  add_option(*command, "--memory-mb", arguments->memory_mb, "M",
             "Memory limit of one batch in MB (10^6 bytes); default: none")
      ->check(above_zero);
  add_option(*command, "--latency-ms", arguments->latency_ms, "L",
             "Time limit for all candidates of a query in milliseconds; default: none")
      ->check(above_zero);
  command->add_flag("--json", arguments->json, "Print JSON");
  add_format_option(*command, arguments->format);
  command->callback([&session, arguments] { answer(session, *arguments); });
}

void add_compare_command(CLI::App& app, Session& session) {
  auto arguments = std::make_shared<CompareCommand>();
  CLI::App* command = app.add_subcommand("compare", "Compare two runs cell by cell, with verdicts");
  add_option(*command, "run_a", arguments->a, "RUN_A",
             "Run: number, UUID, name, 'last', or FILE.attn[.gz]:RUN")
      ->required();
  add_option(*command, "run_b", arguments->b, "RUN_B",
             "Run whose times are divided by those of RUN_A, given in the same way")
      ->required();
  command->footer(
      "The intervals allow for changes of the machine between the runs: a shift of all cells, "
      "bounded by the change of the machine's ceilings, and changes of single cells "
      "(docs/measurement.md).");
  command->add_flag("--json", arguments->as_json, "Print JSON");
  add_format_option(*command, arguments->format);
  add_database_option(*command, arguments->database);
  command->callback([&session, arguments] { compare(session, *arguments); });
}

void add_show_command(CLI::App& app, Session& session) {
  auto arguments = std::make_shared<ShowCommand>();
  CLI::App* command = app.add_subcommand(
      "show",
      "Show how a run was measured: machine, build, restarts, and warnings about its numbers");
  add_option(*command, "run", arguments->run, "RUN",
             "Run: number, UUID, name, 'last', or FILE.attn[.gz]:RUN");
  command->add_flag("--json", arguments->as_json, "Print JSON");
  add_database_option(*command, arguments->database);
  command->callback([&session, arguments] { show(session, *arguments); });
}

namespace {

struct ReportCommand {
  std::vector<std::string> runs;
  std::string baseline, only;
  std::filesystem::path file, database;
  bool force = false;
};

/// Opens each run once; nothing if a run is unknown, and the session has the error.
std::optional<std::vector<OpenRun>> open_runs(Session& session, const ReportCommand& arguments) {
  std::vector<OpenRun> open;
  for (const std::string& text : arguments.runs) {
    auto run = open_run(text, arguments.database);
    if (!run) {
      session.fail(exit_store_refused, run.error().message);
      return std::nullopt;
    }
    const bool is_known = std::ranges::any_of(
        open, [&](const OpenRun& other) { return other.run.id == run->run.id; });
    if (is_known) {
      session.fail(exit_wrong_use,
                   fmt::format("the run {} is given twice; give every run once", text));
      return std::nullopt;
    }
    open.push_back(std::move(*run));
  }
  return open;
}

void report_runs(Session& session, const ReportCommand& arguments) {
  const std::string extension = arguments.file.extension().string();
  const bool is_page = extension == ".html" || extension == ".htm";
  if (!is_page && !is_stream(arguments.file)) {
    return session.fail(
        exit_wrong_use,
        fmt::format("{}: a report is an HTML page; give a file name that ends in .html",
                    arguments.file.string()));
  }
  const auto filter = filter_of(arguments.only);
  if (!filter) return session.fail(filter.error());
  const auto open = open_runs(session, arguments);
  if (!open) return;
  if (Status allowed = may_be_written(arguments.file, {}, Streams::allowed); !allowed)
    return session.fail(allowed.error());
  if (std::error_code unknown; !arguments.force && !is_stream(arguments.file) &&
                               std::filesystem::exists(arguments.file, unknown)) {
    return session.fail(exit_wrong_use,
                        fmt::format("{} already exists and is not overwritten; remove it or give "
                                    "another file; --force replaces it",
                                    arguments.file.string()));
  }
  std::optional<std::string_view> baseline;
  if (!arguments.baseline.empty()) baseline = arguments.baseline;
  std::vector<report::ReportedRun> runs;
  runs.reserve(open->size());
  for (const OpenRun& opened : *open) {
    auto run = report::read_for_report(opened.store, opened.run, baseline, *filter);
    if (!run) return session.fail(run.error());
    runs.push_back(std::move(*run));
  }
  std::vector<report::StoredTable> tables;
  tables.reserve(runs.size());
  for (std::size_t i = 0; i < runs.size(); ++i)
    tables.push_back({.store = &(*open)[i].store, .table = &runs[i].table});
  const auto histories = report::make_histories(tables);
  if (!histories) return session.fail(histories.error());
  if (Status written =
          write_file(arguments.file, report::write_report(runs, *histories), Streams::allowed);
      !written) {
    return session.fail(written.error());
  }
  print_status("{} written", arguments.file.string());
}

}  // namespace

void add_report_command(CLI::App& app, Session& session) {
  auto arguments = std::make_shared<ReportCommand>();
  CLI::App* command = app.add_subcommand(
      "report", "Write runs as one HTML page with verdicts, charts, tables and provenance");
  command->footer(
      "The page is self-contained and loads nothing from the network. Several runs of one sweep on "
      "one machine are also shown as a history over their commits.");
  add_option(*command, "runs", arguments->runs, "RUN",
             "Runs: number, UUID, name, 'last', or FILE.attn[.gz]:RUN")
      ->required();
  add_option(*command, "-o,--output", arguments->file, "F.html", "HTML file to write")->required();
  add_option(*command, "--baseline", arguments->baseline, "CONTENDER",
             "Contender that the others are compared with");
  command->add_flag("--force", arguments->force, "Replace an existing file");
  add_only_option(*command, arguments->only, "Use only cells with these values; may be repeated");
  add_database_option(*command, arguments->database);
  command->callback([&session, arguments] { report_runs(session, *arguments); });
}

}  // namespace attnscope::cli
