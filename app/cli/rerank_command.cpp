// SPDX-License-Identifier: GPL-3.0-or-later
//
// rerank: scores the documents of a run with a checkpoint and ranks them by score.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/cli/command_line.h"
#include "app/cli/model_arguments.h"
#include "base/sentences.h"
#include "base/written_file.h"
#include "engine/effectiveness/energy.h"
#include "engine/effectiveness/measures.h"
#include "engine/effectiveness/trec_files.h"
#include "engine/ranking/passages.h"
#include "engine/ranking/score_lines.h"
#include "engine/ranking/score_run.h"
#include "engine/ranking/scored_pairs.h"
#include "engine/report/effectiveness.h"
#include "engine/report/sheet.h"
#include "engine/text/text_collection.h"

namespace attnscope::cli {

namespace {

using effectiveness::TrecRun;
using nlohmann::ordered_json;

struct RerankCommand {
  ModelArguments model;
  std::string run, queries, documents, cache, tag, out, measures = "nDCG@10,RR@10,AP,Judged@10";
  BeirArguments beir;
  effectiveness::ThirdColumn third_column = effectiveness::ThirdColumn::unknown;
  std::int64_t depth = 100;
  bool first_p = false, max_p = false, whole = false, as_published = false;
  ScoreOptions options;
  PrecisionArguments precision;
  bool with_metadata = false;
  std::string own_metadata;  // file name

  [[nodiscard]] LongDocuments long_documents() const {
    if (whole) return LongDocuments::whole;
    if (!max_p) return LongDocuments::first_p;
    return as_published ? LongDocuments::max_p_as_published : LongDocuments::max_p;
  }
};

/// All inputs, checked before a worker is started.
struct ReadyToRerank {
  TrecRun run;
  ScoringModel model;
  std::optional<RerankedTexts> texts;
  // Replace the texts if there is a cache.
  std::optional<TextCollection> queries;
  std::optional<OpenedCache> cache;
  WrittenFile out;
  std::optional<ordered_json> own_metadata;
  // The evaluation reads them if the input is a data set.
  std::optional<effectiveness::Qrels> qrels;
  std::vector<effectiveness::Measure> measures;
};

/// Uses a data set's files in place of individually named ones; returns its judgements.
Result<std::string> take_files(RerankCommand& arguments) {
  if (!arguments.beir.is_given()) {
    if (arguments.run.empty()) return fail("--run is required: the TREC run of the first stage");
    if (arguments.queries.empty() || (arguments.documents.empty() && arguments.cache.empty())) {
      return fail(
          "--queries and --documents are required; --cache can replace --documents, and --beir "
          "both");
    }
    if (!arguments.documents.empty() && !arguments.cache.empty())
      return fail("--cache already gives the documents; remove --documents");
    if (arguments.out.empty()) return fail("--output is required: the run to write");
    return std::string();
  }
  if (arguments.run.empty()) {
    return fail("--beir has no first-stage run; give one, such as BM25's, with --run");
  }
  if (arguments.out.empty() && (arguments.with_metadata || !arguments.own_metadata.empty()))
    return fail("--ir-metadata writes into the run; give its file with -o");
  if (is_stream(arguments.out))
    return fail("--beir evaluates the run that is written; give a file with -o, or remove -o");
  return take_beir(arguments.beir, arguments.queries, arguments.documents, /*with_qrels=*/true);
}

Result<ReadyToRerank> prepare(RerankCommand& arguments, const std::filesystem::path& scratch) {
  const auto qrels_file = take_files(arguments);
  if (!qrels_file) return tl::unexpected(qrels_file.error());
  if (!arguments.cache.empty() && (arguments.max_p || arguments.whole)) {
    return fail(
        "the documents of a cache were truncated when they were encoded; remove --max-p and "
        "--whole");
  }
  if (arguments.as_published && !arguments.max_p)
    return fail("--as-published determines how documents are split into passages; add --max-p");
  if (Status may = may_be_tag(arguments.tag); !may) return tl::unexpected(may.error());
  auto run = TrecRun::read(arguments.run, arguments.third_column);
  if (!run) return tl::unexpected(run.error());
  std::optional<effectiveness::Qrels> qrels;
  std::vector<effectiveness::Measure> measures;
  if (!qrels_file->empty()) {
    auto parsed = effectiveness::parse_measures(arguments.measures);
    if (!parsed) return tl::unexpected(parsed.error());
    measures = std::move(*parsed);
    auto read = effectiveness::Qrels::read(*qrels_file);
    if (!read) return tl::unexpected(read.error());
    qrels = std::move(*read);
    if (Status known = effectiveness::check_grades(measures, *qrels); !known)
      return tl::unexpected(known.error());
    auto notes = keep_judged(*run, *qrels);
    if (!notes) return tl::unexpected(notes.error());
    std::ranges::move(*notes, std::back_inserter(run->notes));
  }
  auto model = open_ranker(arguments.model);
  if (model && model->is_listwise && arguments.max_p) {
    return fail(
        "{}: this model compares the documents of a query with each other, so they cannot be split "
        "into passages; remove --max-p",
        model->name);
  }
  if (!model) return tl::unexpected(model.error());
  if (arguments.as_published && model->limits.most_document_tokens > 0) {
    return fail(
        "--as-published is for models that read query and document together, but '{}' encodes them "
        "separately; use --max-p alone",
        arguments.model.question.checkpoint.string());
  }
  std::optional<ordered_json> own_metadata;
  if (!arguments.own_metadata.empty()) {
    auto own = effectiveness::read_own_metadata(arguments.own_metadata);
    if (!own) return tl::unexpected(own.error());
    own_metadata = std::move(*own);
  }
  if (!arguments.out.empty()) {
    if (Status allowed = may_be_written(arguments.out, {}, Streams::allowed); !allowed)
      return tl::unexpected(allowed.error());
  }
  std::optional<RerankedTexts> texts;
  std::optional<TextCollection> queries;
  auto cache = open_cache(arguments.cache, arguments.model, *model);
  if (!cache) return tl::unexpected(cache.error());
  if (*cache) {
    auto of_queries = open_texts(arguments.queries, PairParts::query);
    if (!of_queries) return tl::unexpected(of_queries.error());
    queries.emplace(std::move(*of_queries));
  } else {
    auto opened = open_texts(arguments.queries, arguments.documents);
    if (!opened) return tl::unexpected(opened.error());
    texts.emplace(std::move(*opened));
  }
  auto out = WrittenFile::of_output(arguments.out.empty() ? scratch
                                                          : std::filesystem::path(arguments.out));
  if (!out) return tl::unexpected(out.error());
  return ReadyToRerank{.run = std::move(*run),
                       .model = std::move(*model),
                       .texts = std::move(texts),
                       .queries = std::move(queries),
                       .cache = std::move(*cache),
                       .out = std::move(*out),
                       .own_metadata = std::move(own_metadata),
                       .qrels = std::move(qrels),
                       .measures = std::move(measures)};
}

std::string truncation_note(const TruncatedTexts& cut, const PairLimits& limits,
                            LongDocuments how) {
  std::string words = cut.in_words(limits);
  if (cut.has_truncated_documents() && how == LongDocuments::first_p)
    words += "; --max-p also scores the ends of documents";
  if (cut.has_truncated_documents() && how == LongDocuments::max_p_as_published)
    words += "; --max-p without --as-published also scores the ends of documents";
  return words;
}

/// Prints the ranking's effectiveness by the judgements of its data set.
void print_evaluation(Session& session, const std::filesystem::path& file, const std::string& tag,
                      const ReadyToRerank& ready, bool is_kept) {
  auto run = TrecRun::read(file);
  if (!run) return session.fail(run.error());
  if (!is_kept) run->file = tag;
  std::vector<report::EvaluatedRun> runs;
  runs.push_back({.name = tag, .run = std::move(*run)});
  report::EffectivenessReport report =
      report::evaluate_runs(std::move(runs), *ready.qrels, ready.measures, {});
  for (const std::string& sentence : ready.qrels->notes) note(sentence);
  for (const std::string& sentence : report.notes) note(sentence);
  const report::Sheet sheet = report::effectiveness_sheet(report, report::TableFormat::text);
  print_result(session, report::write_sheet(sheet, report::TableFormat::text));
}

std::unique_ptr<RunCandidates> candidates_of(const RerankCommand& arguments, ReadyToRerank& ready) {
  if (ready.cache) {
    return std::make_unique<CachedCandidates>(ready.model, ready.run, arguments.depth,
                                              *ready.queries, ready.cache->documents,
                                              arguments.cache);
  }
  return std::make_unique<RerankedPairs>(ready.model, ready.run, arguments.depth, *ready.texts,
                                         arguments.long_documents());
}

void rerank(Session& session, RerankCommand& arguments) {
  catch_interrupts();
  const Scratch scratch;
  auto prepared = prepare(arguments, scratch.name());
  if (interrupts() > 0) return session.fail(exit_cancelled, "interrupted; nothing is written");
  if (!prepared) return session.fail(prepared.error());
  const std::unique_ptr<RunCandidates> pairs = candidates_of(arguments, *prepared);
  if (const Status found = pairs->check(); !found) return session.fail(found.error());
  for (const std::string& sentence : prepared->run.notes) note(sentence);
  auto worker = start_model(arguments.model, prepared->model.request, &interrupts());
  if (!worker) return session.fail(worker.error());
  ScoreOptions options = arguments.options;
  options.keeps_part = false;
  if (prepared->cache) {
    const Status opened = prepared->cache->open_in(worker->process);
    if (!opened) return session.fail(opened.error());
  }
  const std::string tag = run_tag(arguments.tag, prepared->model);
  ScoreRun run(prepared->model, worker->process, *pairs, prepared->cache.has_value(),
               ScoreLines(ScoreFormat::trec, tag, {.best_of_passages = true}),
               {.file = &prepared->out}, interrupts(), options);
  auto comparison =
      PrecisionComparison::start(arguments.model, prepared->model, arguments.precision,
                                 prepared->cache ? &*prepared->cache : nullptr);
  if (!comparison) return session.fail(comparison.error());
  run.count_ties_of(arguments.model.question);
  std::optional<effectiveness::EnergyWatch> energy;
  if (arguments.with_metadata || prepared->own_metadata) {
    energy.emplace();
    const auto begin = std::chrono::steady_clock::now();
    run.begin_with([&, begin] {
      ordered_json metadata = run_metadata(
          {.command_line = session.command_line,
           .tag = tag,
           .implementation = worker->implementation,
           .first_stage = arguments.run,
           .first_tag = prepared->run.tag,
           .queries = arguments.queries,
           .documents = arguments.cache.empty() ? arguments.documents : arguments.cache,
           .depth = arguments.depth,
           .long_documents = arguments.long_documents()},
          arguments.model.question, prepared->model, worker->process.hello());
      // The user's own file overrides what is known.
      if (prepared->own_metadata) metadata.merge_patch(*prepared->own_metadata);
      metadata["resources"] =
          run_resources(std::chrono::steady_clock::now() - begin, energy->stop());
      return effectiveness::metadata_head(metadata);
    });
  }
  const Status done = run_with_progress(run, *comparison ? &**comparison : nullptr);
  if (!done) {
    const Error why = prepared->cache ? prepared->cache->explained(done.error()) : done.error();
    return session.fail(exit_wrong_use, fmt::format("{} (nothing is written)", why.message));
  }
  if (run.was_interrupted()) return session.fail(exit_cancelled, "interrupted; nothing is written");
  note(truncation_note(pairs->cut(), prepared->model.limits, arguments.long_documents()));
  if (!prepared->qrels) return;
  const bool is_kept = !arguments.out.empty();
  print_evaluation(session, is_kept ? arguments.out : scratch.name(), tag, *prepared, is_kept);
}

}  // namespace

void add_rerank_command(CLI::App& app, Session& session) {
  auto arguments = std::make_shared<RerankCommand>();
  CLI::App* command =
      app.add_subcommand("rerank", "Re-rank the run of a first stage with a checkpoint");
  add_model_arguments(*command, arguments->model);
  add_option(*command, "--run", arguments->run, "FILE",
             "TREC run of the first stage, optionally .gz");
  add_run_columns_option(*command, arguments->third_column);
  add_option(*command, "--queries", arguments->queries, "FILE",
             "Query texts: .tsv (QID, QUERY), .jsonl or .json, optionally .gz");
  add_option(*command, "--documents", arguments->documents, "FILE",
             "Document texts: .tsv (DOCID, TEXT or DOCID, URL, TITLE, BODY), .jsonl or "
             ".json, optionally .gz");
  add_option(*command, "--cache", arguments->cache, "FILE",
             "Document cache written by 'encode', instead of --documents");
  add_beir_options(*command, arguments->beir,
                   "BEIR folder (corpus.jsonl, queries.jsonl, qrels/), instead of --queries and "
                   "--documents; the ranking is also evaluated");
  add_option(*command, "--measures", arguments->measures, "NAME,...",
             "Measures of the evaluation with --beir, named as for 'evaluate'")
      ->capture_default_str()
      ->needs(command->get_option("--beir"));
  add_option(*command, "-o,--output", arguments->out, "FILE",
             "TREC run to write; - is standard output; compressed if its name ends in .gz; "
             "optional with --beir");
  add_count(*command, "--depth", arguments->depth,
            "Number of documents to re-rank per query, from the top of the run")
      ->capture_default_str();
  auto* first_p = command->add_flag("--first-p", arguments->first_p,
                                    "Long documents: score their beginning (default)");
  auto* max_p =
      command->add_flag("--max-p", arguments->max_p,
                        "Long documents: use the maximum score of passages that overlap by half");
  auto* whole = command->add_flag(
      "--whole", arguments->whole,
      "Long documents: score them whole; a document that is too long is an error");
  max_p->excludes(first_p)->excludes(whole);
  first_p->excludes(whole);
  command->add_flag("--as-published", arguments->as_published,
                    "With --max-p: split passages as in the code of the sparse cross-encoders, "
                    "which drops the end of the longest candidate");
  add_option(
      *command, "--tag", arguments->tag, "TEXT",
      "Tag of the TREC run, its last column; default: the checkpoint's name, then the pattern, "
      "window and precision that are not its own, such as DIR-full-int8");
  command->add_flag("--ir-metadata", arguments->with_metadata,
                    "Write metadata about method, platform, time and energy as comments at the "
                    "beginning of the run (ir-metadata.org)");
  add_option(*command, "--ir-metadata-with", arguments->own_metadata, "FILE",
             "Like --ir-metadata, merged with this JSON file: {\"actor\": {\"name\": ...}, "
             "\"research goal\": {...}}");
  add_scoring_arguments(*command, arguments->model, arguments->options);
  add_precision_arguments(*command, arguments->precision);
  command->callback([&session, arguments, command] {
    if (!arguments->cache.empty()) raise_limits_for_cache(*command, arguments->options);
    rerank(session, *arguments);
  });
}

}  // namespace attnscope::cli
