// SPDX-License-Identifier: GPL-3.0-or-later
#include <fmt/format.h>

#include <charconv>
#include <memory>

#include "app/cli/command_line.h"
#include "engine/report/advice.h"
#include "engine/report/answer.h"

namespace attnscope::cli {

namespace {

struct AnswerCommandArguments : TableArguments {
  std::string x;
  bool json = false;
  // What a person re-ranks; asked when documents have lengths.
  std::string document_tokens;
  std::optional<std::int64_t> query_tokens, candidates;
  std::optional<double> memory_mb, latency_ms;
};

/// A number, or a file of them.
Result<report::DocumentLengths> lengths_of(const std::string& text) {
  std::int64_t tokens = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, tokens);
  if (stopped != end) return report::read_document_lengths(text);
  if (error != std::errc() || tokens < 1 || tokens > report::longest_document) {
    return fail("--document-tokens {} is no length; give a number from 1 to {} or a file of them",
                text, report::longest_document);
  }
  return report::DocumentLengths(tokens);
}

Result<report::Question> question_of(const AnswerCommandArguments& arguments) {
  if (!arguments.x.empty() && arguments.x != "length") {
    return fail("--x {} and --document-tokens do not go together; leave one out", arguments.x);
  }
  Result<report::DocumentLengths> lengths = lengths_of(arguments.document_tokens);
  if (!lengths) return tl::unexpected(lengths.error());
  report::Question question{.query_tokens = arguments.query_tokens,
                            .documents = std::move(*lengths),
                            .candidates = arguments.candidates.value_or(100)};
  if (arguments.memory_mb) question.memory_bytes = *arguments.memory_mb * 1e6;
  if (arguments.latency_ms) question.latency_ns = *arguments.latency_ms * 1e6;
  return question;
}

void advise(Session& session, const AnswerCommandArguments& arguments, const OpenRun& open,
            const OnlyFilter& filter) {
  const Result<report::Question> question = question_of(arguments);
  if (!question) return session.fail(exit_wrong_use, question.error().message);
  Result<report::Table> table = report::make_table(
      open.store, open.run,
      arguments.baseline.empty() ? std::nullopt
                                 : std::optional<std::string_view>(arguments.baseline),
      filter);
  if (table && arguments.baseline.empty()) {
    if (const auto full = report::full_contender(*table)) {
      table = report::make_table(open.store, open.run, *full, filter);
    }
  }
  if (!table) return session.fail(exit_wrong_use, table.error().message);
  const std::vector<report::Advice> advice = report::make_advice(*table, *question);
  if (arguments.json) return print_result(session, report::write_advice_json(advice));
  std::string text;
  for (const report::Advice& one : advice) {
    text.append(text.empty() ? "" : "\n").append(report::write_advice(one));
  }
  if (advice.empty()) text = "No heat of this run is finished yet.\n";
  print_result(session, text + "\n" + report::provenance_line(open.run) + "\n");
}

void answer(Session& session, const AnswerCommandArguments& arguments) {
  const bool is_question = !arguments.document_tokens.empty();
  if (!is_question && (arguments.query_tokens || arguments.candidates || arguments.memory_mb ||
                       arguments.latency_ms)) {
    return session.fail(exit_wrong_use,
                        "a query, candidates or limits need the documents' lengths; add "
                        "--document-tokens with a number or a file of them");
  }
  const auto x = report::parse_x(arguments.x.empty() ? "length" : arguments.x);
  if (!x) return session.fail(exit_wrong_use, x.error().message);
  const auto filter = arguments.only.empty() ? Result<OnlyFilter>() : parse_only(arguments.only);
  if (!filter) return session.fail(exit_wrong_use, filter.error().message);
  const auto open = open_run(arguments.run, arguments.database);
  if (!open) return session.fail(exit_store_refused, open.error().message);
  if (is_question) return advise(session, arguments, *open, *filter);
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
  auto arguments = std::make_shared<AnswerCommandArguments>();
  CLI::App* command = app.add_subcommand(
      "answer",
      "Say who is fastest where, from which length on, and what still fits; with "
      "--document-tokens: what to take for a list of candidates");
  add_table_arguments(*command, *arguments);
  command->add_option("--x", arguments->x, "length or window: what crossovers are looked for along")
      ->type_name("AXIS");
  command
      ->add_option("--document-tokens", arguments->document_tokens,
                   "Length of the candidates, or a file with one length a line: ranks all "
                   "contenders for the whole list")
      ->type_name("N|FILE");
  command
      ->add_option("--query-tokens", arguments->query_tokens,
                   "The query's words, without its [SEP]; as measured unless given")
      ->check(CLI::Range(std::int64_t{0}, report::longest_document))
      ->type_name("N");
  command
      ->add_option("--candidates", arguments->candidates,
                   "Documents of one query; 100 unless given")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000'000}))
      ->type_name("N");
  command
      ->add_option("--memory-mb", arguments->memory_mb,
                   "Memory limit in MB of 10^6 bytes, for what is computed at a time")
      ->check(CLI::PositiveNumber)
      ->type_name("M");
  command->add_option("--latency-ms", arguments->latency_ms, "Time limit for all candidates in ms")
      ->check(CLI::PositiveNumber)
      ->type_name("L");
  command->add_flag("--json", arguments->json, "The same as data");
  command->callback([&session, arguments] { answer(session, *arguments); });
}

}  // namespace attnscope::cli
