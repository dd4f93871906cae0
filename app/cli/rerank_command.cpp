// SPDX-License-Identifier: GPL-3.0-or-later
//
// rerank: the documents of a run, scored by a checkpoint and ranked anew.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "app/cli/command_line.h"
#include "app/cli/model_arguments.h"
#include "app/cli/reranked_pairs.h"
#include "app/cli/score_run.h"
#include "engine/effectiveness/trec_files.h"
#include "engine/scoring/passages.h"
#include "engine/scoring/score_lines.h"
#include "engine/text/text_collection.h"
#include "kernels/base/sentences.h"
#include "kernels/base/written_file.h"

namespace attnscope::cli {

namespace {

using effectiveness::TrecRun;

struct RerankCommand {
  ModelArguments model;
  std::string run, queries, documents, tag, out;
  std::int64_t depth = 100;
  bool first_p = false, max_p = false, whole = false, as_published = false;
  ScoreOptions options;
  PrecisionArguments precision;

  [[nodiscard]] LongDocuments long_documents() const {
    if (whole) return LongDocuments::whole;
    if (!max_p) return LongDocuments::first_p;
    return as_published ? LongDocuments::max_p_as_published : LongDocuments::max_p;
  }
};

/// Everything that is checked before a worker is started.
struct ReadyToRerank {
  TrecRun run;
  ScoringModel model;
  RerankedTexts texts;
  WrittenFile out;
};

Result<ReadyToRerank> prepare(const RerankCommand& arguments) {
  if (arguments.as_published && !arguments.max_p)
    return fail("--as-published says how documents are cut into passages; give --max-p with it");
  if (Status may = may_be_tag(arguments.tag); !may) return tl::unexpected(may.error());
  auto run = TrecRun::read(arguments.run);
  if (!run) return tl::unexpected(run.error());
  auto model = open_ranker(arguments.model);
  if (model && model->is_listwise && arguments.max_p) {
    return fail(
        "{}: this model's documents see each other, and passages of one document are no set; leave "
        "--max-p out",
        model->name);
  }
  if (!model) return tl::unexpected(model.error());
  if (arguments.as_published && model->limits.most_document_tokens > 0) {
    return fail(
        "--as-published is of models that read query and document together, and '{}' reads "
        "them apart; --max-p alone has passages for it",
        arguments.model.checkpoint);
  }
  std::vector<std::filesystem::path> inputs = model->files;
  inputs.insert(inputs.end(), {arguments.run, arguments.queries, arguments.documents});
  if (Status allowed = may_be_written(arguments.out, inputs); !allowed)
    return tl::unexpected(allowed.error());
  auto texts = open_texts(arguments.queries, arguments.documents);
  if (!texts) return tl::unexpected(texts.error());
  if (Status found = find_texts(*run, arguments.depth, *texts); !found)
    return tl::unexpected(found.error());
  auto out = WrittenFile::beside(arguments.out);
  if (!out) return tl::unexpected(out.error());
  return ReadyToRerank{std::move(*run), std::move(*model), std::move(*texts), std::move(*out)};
}

void tell_cut(const RerankedPairs& pairs, LongDocuments how) {
  if (pairs.cut() == 0) return;
  say("attnscope: note: of {} of {} documents the end is in no pair{}", pairs.cut(),
      pairs.documents(),
      how == LongDocuments::first_p
          ? ", because they are longer than the model reads; --max-p scores it, too"
          : ", as published; --max-p alone scores it, too");
}

void rerank(Session& session, const RerankCommand& arguments) {
  catch_interrupts();
  auto prepared = prepare(arguments);
  if (interrupts() > 0) return session.fail(exit_cancelled, "interrupted; nothing is written");
  if (!prepared) return session.fail(exit_wrong_use, prepared.error().message);
  for (const std::string& sentence : prepared->run.notes) note(sentence);
  auto worker = start_model(arguments.model, prepared->model.request, &interrupts());
  if (!worker) return session.fail(worker.error());
  ScoreOptions options = arguments.options;
  options.shows_progress = isatty(STDERR_FILENO) == 1;
  options.keeps_part = false;
  RerankedPairs pairs(prepared->model, prepared->run, arguments.depth, prepared->texts,
                      arguments.long_documents());
  const std::string tag = arguments.tag.empty() ? prepared->model.name : arguments.tag;
  ScoreRun run(prepared->model, worker->process, pairs, false,
               ScoreLines(ScoreFormat::trec, tag, /*best_of=*/true), &prepared->out, interrupts(),
               options);
  auto comparison = PrecisionComparison::start(arguments.model, prepared->model,
                                               arguments.precision, &interrupts());
  if (!comparison) return session.fail(exit_wrong_use, comparison.error().message);
  if (*comparison) run.compare_with(**comparison);
  const Status done = run.run();
  if (*comparison) tell(**comparison);
  if (!done) {
    return session.fail(exit_wrong_use,
                        fmt::format("{} (nothing is written)", done.error().message));
  }
  if (run.was_interrupted()) return session.fail(exit_cancelled, "interrupted; nothing is written");
  tell_cut(pairs, arguments.long_documents());
}

}  // namespace

void add_rerank_command(CLI::App& app, Session& session) {
  auto arguments = std::make_shared<RerankCommand>();
  CLI::App* command =
      app.add_subcommand("rerank", "Rank the documents of a run anew by a checkpoint's scores");
  add_model_arguments(*command, arguments->model);
  command->add_option("--run", arguments->run, "TREC run of the first stage")
      ->type_name("FILE")
      ->required();
  command->add_option("--queries", arguments->queries, "Their texts, .tsv or .jsonl: QID, QUERY")
      ->type_name("FILE")
      ->required();
  command
      ->add_option("--documents", arguments->documents,
                   "Their texts, .tsv or .jsonl: DOCID, TEXT or DOCID, URL, TITLE, BODY")
      ->type_name("FILE")
      ->required();
  command->add_option("-o,--output", arguments->out, "TREC run that is written")
      ->type_name("FILE")
      ->required();
  command->add_option("--depth", arguments->depth, "Documents of each query, the best of the run")
      ->type_name("N")
      ->capture_default_str()
      ->check(above_zero);
  auto* first_p = command->add_flag("--first-p", arguments->first_p,
                                    "Long documents: their beginning alone, which is the default");
  auto* max_p = command->add_flag("--max-p", arguments->max_p,
                                  "Long documents: the best of passages that overlap by half");
  auto* whole = command->add_flag("--whole", arguments->whole,
                                  "Long documents: whole, or an error where one is too long");
  max_p->excludes(first_p)->excludes(whole);
  first_p->excludes(whole);
  command->add_flag("--as-published", arguments->as_published,
                    "With --max-p: the passages of the sparse cross-encoders' code, which drop the "
                    "end of the longest candidate");
  command->add_option("--tag", arguments->tag, "Of the run; else the checkpoint's name")
      ->type_name("TEXT");
  add_scoring_arguments(*command, arguments->model, arguments->options);
  add_precision_arguments(*command, arguments->precision);
  command->callback([&session, arguments] { rerank(session, *arguments); });
}

}  // namespace attnscope::cli
