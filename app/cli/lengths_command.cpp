// SPDX-License-Identifier: GPL-3.0-or-later
//
// lengths: the lengths of the user's texts in a checkpoint's tokens.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "app/cli/command_line.h"
#include "app/cli/figure_arguments.h"
#include "app/cli/model_arguments.h"
#include "base/sentences.h"
#include "base/written_file.h"
#include "engine/effectiveness/trec_files.h"
#include "engine/ranking/scoring_model.h"
#include "engine/report/text_statistics.h"
#include "engine/text/pair_reader.h"
#ifdef ATTNSCOPE_HAS_GUI
#include "app/drawing/printable.h"
#endif

namespace attnscope::cli {

namespace {

struct LengthsCommand {
  std::filesystem::path checkpoint;
  std::string pairs, format = "text";
  BeirArguments beir;
  FigureArguments figure;
};

/// Takes a query and a document; `place` is their location in the input.
using TakePair = std::function<Status(const std::string& query, const std::string& document,
                                      const std::function<std::string()>& place)>;

/// Each judged query with each of its judged documents.
Status take_judged_pairs(const BeirArguments& arguments, const TakePair& take) {
  const auto files = open_beir(arguments);
  if (!files) return tl::unexpected(files.error());
  const std::string& file = files->qrels;
  const auto qrels = effectiveness::Qrels::read(file);
  if (!qrels) return tl::unexpected(qrels.error());
  for (const std::string& sentence : qrels->notes) note(sentence);
  auto texts = open_texts(files->queries, files->documents);
  if (!texts) return tl::unexpected(texts.error());
  std::size_t pairs = 0, missing = 0;
  for (const auto& judged : qrels->queries) {
    const std::string& id = judged.first;
    const auto query = texts->queries.find(id);
    if (!query) return tl::unexpected(query.error());
    // The order is sorted and does not depend on the hash table.
    for (const auto& judgement : std::map(judged.second.begin(), judged.second.end())) {
      const auto document = texts->documents.find(judgement.first);
      if (!document) return tl::unexpected(document.error());
      if (!*query || !*document) {
        ++missing;
        continue;
      }
      ++pairs;
      const Status taken = take(**query, **document, [&] {
        return fmt::format("{}: query '{}', document '{}'", file, in_a_sentence(id),
                           in_a_sentence(judgement.first));
      });
      if (!taken) return taken;
    }
  }
  if (pairs == 0) return fail("{}: no judged pair has both texts in the folder", file);
  if (missing > 0) {
    note(fmt::format("{}: {} judged pairs have no text in the folder and are left out", file,
                     missing));
  }
  return {};
}

/// Lengths of every pair without truncation, whatever the checkpoint's limits are.
Result<report::PairLengths> lengths_of(const LengthsCommand& arguments) {
  if (arguments.pairs.empty() && !arguments.beir.is_given())
    return fail("--pairs or --beir is required");
  if (!arguments.pairs.empty() && arguments.beir.is_given())
    return fail("--beir already gives the pairs; remove --pairs");
  const auto model = ScoringModel::open({.checkpoint = arguments.checkpoint});
  if (!model) return tl::unexpected(model.error());
  for (const std::filesystem::path& file : model->files) note_read(file);
  note_revision(*model);
  const std::filesystem::path source = arguments.beir.is_given() ? arguments.beir.folder
                                       : arguments.pairs == "-"  ? "standard input"
                                                                 : arguments.pairs;
  report::PairLengths lengths(
      model->name, (source.has_filename() ? source : source.parent_path()).filename().string(),
      model->limits.most_tokens);
  constexpr std::int64_t any_number = std::numeric_limits<std::int32_t>::max();
  PairLimits none{.most_tokens = any_number};
  if (model->limits.most_document_tokens > 0)
    none.most_query_tokens = none.most_document_tokens = any_number - 1;
  const std::int64_t special = model->reads_words ? 0 : 1;            // [SEP] of each part
  const std::int64_t beginnings = model->head.max_sim ? 2 : special;  // [CLS]
  const TakePair take = [&](const std::string& query_text, const std::string& document_text,
                            const std::function<std::string()>& place) -> Status {
    const auto tokens = model->tokenizer->encode(query_text, document_text, none);
    if (!tokens) return fail("{}: {}", place(), tokens.error().message);
    auto query = static_cast<std::int64_t>(tokens->query.size());
    // The expansion of a query is not text.
    if (model->head.max_sim) query -= model->head.max_sim->expansion_of(tokens->query);
    const auto document = static_cast<std::int64_t>(tokens->document.size());
    lengths.add(query - special, document - special, query + document + beginnings);
    return {};
  };
  const Status taken =
      arguments.beir.is_given()
          ? take_judged_pairs(arguments.beir, take)
          : read_pairs(arguments.pairs,
                       [&](const PairReader& reader, const TextPair& pair) -> Result<bool> {
                         return take(pair.query, pair.document,
                                     [&] { return reader.place(pair.line); })
                             .map([] { return true; });
                       });
  if (!taken) return tl::unexpected(taken.error());
  return lengths;
}

#ifdef ATTNSCOPE_HAS_GUI

void draw(Session& session, const report::PairLengths& lengths, const FigureArguments& arguments) {
  write_figure(session, charts::printable(report::histograms_of(lengths)), arguments,
               charts::venues.front().width_mm);
}

#else

void draw(Session& session, const report::PairLengths& /*lengths*/,
          const FigureArguments& /*arguments*/) {
  session.fail(exit_wrong_use,
               "-o: this build has no Qt and cannot draw; --format csv or json prints the numbers");
}

#endif

void print_lengths(Session& session, const LengthsCommand& arguments) {
  const auto format = report::parse_table_format(arguments.format);
  if (!format) return session.fail(format.error());
  const auto lengths = lengths_of(arguments);
  if (!lengths) return session.fail(lengths.error());
  if (!arguments.figure.file.empty()) draw(session, *lengths, arguments.figure);
  if (session.exit_code == exit_done)
    print_result(session, report::write_lengths(*lengths, *format));
}

}  // namespace

void add_lengths_command(CLI::App& app, Session& session) {
  auto arguments = std::make_shared<LengthsCommand>();
  CLI::App* command = app.add_subcommand(
      "lengths", "Count the tokens of your texts, and the cost of length limits and padding");
  add_checkpoint_option(*command, arguments->checkpoint);
  add_pairs_option(*command, arguments->pairs)->required(false);
  add_beir_options(*command, arguments->beir,
                   "BEIR folder whose judged pairs are counted, instead of --pairs");
  add_format_option(*command, arguments->format);
  CLI::Option* format = command->get_option("--format");
  format->description(format->get_description() + "; answer --document-tokens reads the json");
  add_figure_arguments(*command, arguments->figure, "lncs");
  command->get_option("--output")
      ->required(false)
      ->description("Figure of the length histograms to write: .pdf, .svg or .png");
  command->callback([&session, arguments] { print_lengths(session, *arguments); });
}

}  // namespace attnscope::cli
