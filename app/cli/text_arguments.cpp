// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/text_arguments.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <utility>

#include "app/cli/command_line.h"
#include "app/cli/progress_line.h"
#include "engine/text/text_collection.h"

namespace attnscope::cli {

CLI::Option* add_pairs_option(CLI::App& command, std::string& file) {
  return add_option(
             command, "--pairs", file, "FILE",
             "Query-document pairs, in a file as for score: .tsv, .jsonl or .json, optionally .gz, "
             "or - for standard input")
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
    const auto continues = take(*reader, std::move(**pair));
    if (!continues) return tl::unexpected(continues.error());
    if (!*continues) break;
  }
  note(reader->notes());
  return {};
}

Result<TextCollection> open_texts(const std::string& file, PairParts parts) {
  const auto progress = std::make_shared<CountLine>();
  auto texts = TextCollection::open(file, parts, [progress, file](double share) {
    progress->show(fmt::format("{:.0f} % of {} indexed", share * 100, file), share, share);
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
          "score; required unless it is a rank that counts up from 1")
      ->type_name("NAME")
      ->check(CLI::IsMember({"rank", "score"}));
}

void add_beir_options(CLI::App& command, BeirArguments& arguments, const std::string& what,
                      bool with_split) {
  auto* const folder = add_option(command, "--beir", arguments.folder, "DIR", what);
  if (!with_split) return;
  add_option(command, "--split", arguments.split, "NAME",
             "Split of the BEIR folder, whose judgements are in qrels/NAME.tsv")
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
    return fail("--beir already gives queries and documents; remove --queries and --documents");
  auto files = open_beir(arguments, with_qrels);
  if (!files) return tl::unexpected(files.error());
  queries = std::move(files->queries);
  documents = std::move(files->documents);
  return std::move(files->qrels);
}

}  // namespace attnscope::cli
