// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/text_arguments.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <utility>

#include "app/cli/command_line.h"
#include "app/cli/progress_line.h"
#include "engine/text/text_collection.h"

namespace attnscope::cli {

void add_pairs_option(CLI::App& command, std::string& file) {
  command
      .add_option("--pairs", file,
                  "Query-document pairs as for score: .tsv, .jsonl or .json, optionally .gz, or - "
                  "for standard input")
      ->type_name("FILE")
      ->required();
}

Status read_pairs(const std::string& file,
                  const std::function<Result<bool>(const PairReader&, TextPair)>& take) {
  auto reader = PairReader::open(file, std::nullopt);
  if (!reader) return tl::unexpected(reader.error());
  while (true) {
    auto pair = reader->next();
    if (!pair) return tl::unexpected(pair.error());
    if (!*pair) break;
    const auto goes_on = take(*reader, std::move(**pair));
    if (!goes_on) return tl::unexpected(goes_on.error());
    if (!*goes_on) break;
  }
  note(reader->notes());
  return {};
}

Result<TextCollection> open_texts(const std::string& file, PairParts parts) {
  const auto progress = std::make_shared<CountLine>(isatty(STDERR_FILENO) == 1);
  auto texts = TextCollection::open(file, parts, [progress, file](double share) {
    progress->show(fmt::format("{:.0f} % of {} noted", share * 100, file), share, share);
    if (share == 1) progress->clear();
    return interrupts() == 0;
  });
  progress->clear();
  if (texts) note(texts->notes());
  return texts;
}

Result<RerankedTexts> open_texts(const std::string& queries, const std::string& documents) {
  auto of_queries = open_texts(queries, PairParts::query);
  if (!of_queries) return tl::unexpected(of_queries.error());
  auto of_documents = open_texts(documents, PairParts::document);
  if (!of_documents) return tl::unexpected(of_documents.error());
  return RerankedTexts{std::move(*of_queries), std::move(*of_documents)};
}

void add_run_columns_option(CLI::App& command, effectiveness::ThirdColumn& third) {
  command
      .add_option_function<std::string>(
          "--run-columns",
          [&third](const std::string& name) {
            third = name == "rank" ? effectiveness::ThirdColumn::rank
                                   : effectiveness::ThirdColumn::score;
          },
          "Meaning of the third column of runs with three columns (QID, DOCID, ...): rank or "
          "score; required unless ranks count up from 1")
      ->type_name("NAME")
      ->check(CLI::IsMember({"rank", "score"}));
}

void add_beir_options(CLI::App& command, BeirArguments& arguments, const std::string& what,
                      bool with_split) {
  auto* const folder = command.add_option("--beir", arguments.folder, what)->type_name("DIR");
  if (!with_split) return;
  command
      .add_option("--split", arguments.split,
                  "Split of the BEIR folder: judgements in qrels/NAME.tsv")
      ->type_name("NAME")
      ->capture_default_str()
      ->needs(folder);
}

Result<BeirFiles> open_beir(const BeirArguments& arguments, bool with_qrels) {
  const auto folder = BeirFolder::open(arguments.folder);
  if (!folder) return tl::unexpected(folder.error());
  BeirFiles files{folder->queries.string(), folder->corpus.string(), {}};
  if (!with_qrels) return files;
  const auto qrels = folder->qrels(arguments.split);
  if (!qrels) return tl::unexpected(qrels.error());
  files.qrels = qrels->string();
  return files;
}

Result<std::string> take_beir(const BeirArguments& arguments, std::string& queries,
                              std::string& documents, bool with_qrels) {
  if (!queries.empty() || !documents.empty())
    return fail("--beir has queries and documents; leave --queries and --documents out");
  auto files = open_beir(arguments, with_qrels);
  if (!files) return tl::unexpected(files.error());
  queries = std::move(files->queries);
  documents = std::move(files->documents);
  return std::move(files->qrels);
}

}  // namespace attnscope::cli
