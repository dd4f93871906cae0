// SPDX-License-Identifier: GPL-3.0-or-later
//
// lengths: how long a person's own texts are in a checkpoint's tokens.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <string>

#include "app/cli/command_line.h"
#include "app/cli/figure_arguments.h"
#include "engine/report/pair_lengths.h"
#include "engine/scoring/scoring_model.h"
#include "engine/text/pair_reader.h"
#include "kernels/base/sentences.h"
#ifdef ATTNSCOPE_HAS_GUI
#include "app/gui/charts/offscreen_application.h"
#include "app/gui/charts/printable.h"
#endif

namespace attnscope::cli {

namespace {

struct LengthsCommand {
  std::string checkpoint, pairs, format = "text";
  FigureArguments figure;
};

/// Every pair whole, whatever the checkpoint's limits cut off.
Result<report::PairLengths> lengths_of(const LengthsCommand& arguments) {
  const auto model = ScoringModel::open({.checkpoint = arguments.checkpoint});
  if (!model) return tl::unexpected(model.error());
  auto reader = PairReader::open(arguments.pairs, std::nullopt);
  if (!reader) return tl::unexpected(reader.error());
  report::PairLengths lengths(model->name,
                              std::filesystem::path(arguments.pairs).filename().string(),
                              model->limits.most_tokens);
  const PairLimits none{.most_tokens = std::numeric_limits<std::int32_t>::max()};
  const std::int64_t special = model->reads_words ? 0 : 1;  // [SEP] of each part; [CLS] of a pair
  while (true) {
    const auto pair = reader->next();
    if (!pair) return tl::unexpected(pair.error());
    if (!*pair) break;
    const auto tokens = model->tokenizer->encode((*pair)->query, (*pair)->document, none);
    if (!tokens) return fail("{}: {}", reader->place((*pair)->line), tokens.error().message);
    const auto query = static_cast<std::int64_t>(tokens->query.size());
    const auto document = static_cast<std::int64_t>(tokens->document.size());
    lengths.add(query - special, document - special, query + document + special);
  }
  note(reader->doubt_of_end());
  return lengths;
}

#ifdef ATTNSCOPE_HAS_GUI

void draw(Session& session, const report::PairLengths& lengths, const FigureArguments& arguments) {
  const auto options = figure_options(arguments, charts::venues.front().width_mm);
  if (!options) return session.fail(exit_wrong_use, options.error().message);
  const charts::OffscreenApplication application;
  write_and_tell(session, charts::printable(report::histograms_of(lengths)), arguments, *options);
}

#else

void draw(Session& session, const report::PairLengths& /*lengths*/,
          const FigureArguments& /*arguments*/) {
  session.fail(exit_wrong_use,
               "-o: this build has no Qt and cannot draw; --format csv or json has the numbers");
}

#endif

void print_lengths(Session& session, const LengthsCommand& arguments) {
  const auto format = report::parse_table_format(arguments.format);
  if (!format) return session.fail(exit_wrong_use, format.error().message);
  const auto lengths = lengths_of(arguments);
  if (!lengths) return session.fail(exit_wrong_use, lengths.error().message);
  if (!arguments.figure.file.empty()) draw(session, *lengths, arguments.figure);
  if (session.exit_code == exit_done)
    print_result(session, report::write_lengths(*lengths, *format));
}

}  // namespace

void add_lengths_command(CLI::App& app, Session& session) {
  auto arguments = std::make_shared<LengthsCommand>();
  CLI::App* command = app.add_subcommand(
      "lengths", "How long texts are in a checkpoint's tokens, and what limits and padding cost");
  command->add_option("--checkpoint", arguments->checkpoint, "Folder as Hugging Face lays it out")
      ->type_name("DIR")
      ->required();
  command
      ->add_option("--pairs", arguments->pairs,
                   "Queries and documents as score takes them: .tsv, .jsonl, or either with .gz")
      ->type_name("FILE")
      ->required();
  command
      ->add_option(
          "--format", arguments->format,
          report::table_format_words() + "; answer --document-tokens takes a file of the json")
      ->type_name("FORMAT");
  add_figure_arguments(*command, arguments->figure, "lncs");
  command->get_option("--output")
      ->required(false)
      ->description("Also draw the histograms: FIGURE.pdf, .svg or .png");
  command->callback([&session, arguments] { print_lengths(session, *arguments); });
}

}  // namespace attnscope::cli
