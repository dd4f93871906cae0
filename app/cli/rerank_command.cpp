// SPDX-License-Identifier: GPL-3.0-or-later
//
// rerank: the documents of a run, scored by a checkpoint and ranked anew.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/cli/command_line.h"
#include "app/cli/model_arguments.h"
#include "app/cli/progress_line.h"
#include "app/cli/score_run.h"
#include "app/cli/scored_pairs.h"
#include "engine/effectiveness/trec_files.h"
#include "engine/scoring/passages.h"
#include "engine/scoring/score_lines.h"
#include "engine/text/text_collection.h"
#include "kernels/base/sentences.h"
#include "kernels/base/written_file.h"

namespace attnscope::cli {

namespace {

using effectiveness::RankedDocument;
using effectiveness::TrecRun;

struct RerankCommand {
  ModelArguments model;
  std::string run, queries, documents, tag, out;
  std::int64_t depth = 100;
  bool first_p = false, max_p = false, whole = false, as_published = false;
  ScoreOptions options;

  [[nodiscard]] LongDocuments long_documents() const {
    if (whole) return LongDocuments::whole;
    if (!max_p) return LongDocuments::first_p;
    return as_published ? LongDocuments::max_p_as_published : LongDocuments::max_p;
  }
};

/// The texts of a run's queries and documents.
struct Texts {
  TextCollection queries, documents;
};

/// A query's candidates after the other's, each as one pair or as its passages'.
class RerankedPairs : public PairSource {
 public:
  RerankedPairs(const ScoringModel& model, const TrecRun& run, std::int64_t depth, Texts& texts,
                LongDocuments how)
      : model_(model),
        run_(run),
        depth_(depth),
        texts_(texts),
        how_(how),
        at_(run.queries.begin()) {}

  [[nodiscard]] Result<std::optional<ScoredPair>> next() override;
  [[nodiscard]] std::string place(std::int64_t line) const override {
    return fmt::format("{}, line {}", in_a_sentence(run_.file.string(), 400), line);
  }
  [[nodiscard]] std::optional<double> progress() const override {
    return static_cast<double>(done_) / static_cast<double>(run_.queries.size());
  }
  /// Documents whose end no pair has, and all.
  [[nodiscard]] std::int64_t cut() const { return cut_; }
  [[nodiscard]] std::int64_t documents() const { return documents_; }

 private:
  [[nodiscard]] Status load_query();
  [[nodiscard]] Status add_passages(const RankedDocument& document, const TokenPair& whole,
                                    std::int64_t longest);

  const ScoringModel& model_;
  const TrecRun& run_;
  std::int64_t depth_;
  Texts& texts_;
  LongDocuments how_;
  std::map<std::string, std::vector<RankedDocument>>::const_iterator at_;
  std::deque<ScoredPair> pairs_;  // of the query before at_
  std::int64_t done_ = 0, cut_ = 0, documents_ = 0;
};

std::int64_t length_of(const std::vector<std::int32_t>& ids) {
  return static_cast<std::int64_t>(ids.size());
}

Status RerankedPairs::load_query() {
  constexpr std::int64_t no_limit = std::numeric_limits<std::int32_t>::max();
  const auto& [id, documents] = *at_;
  const auto query = texts_.queries.find(id);
  if (!query) return tl::unexpected(query.error());
  if (!*query) return fail("{}: query '{}' is gone; begin again", texts_.queries.name(), id);
  PairLimits limits = model_.limits;
  limits.most_tokens = no_limit;
  if (limits.most_document_tokens > 0) limits.most_document_tokens = no_limit;
  std::vector<TokenPair> whole;
  const std::size_t count = std::min(documents.size(), static_cast<std::size_t>(depth_));
  whole.reserve(count);
  std::int64_t longest = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto text = texts_.documents.find(documents[i].id);
    if (!text) return tl::unexpected(text.error());
    if (!*text) {
      return fail("{}: document '{}' is gone; begin again", texts_.documents.name(),
                  in_a_sentence(documents[i].id));
    }
    auto tokens = model_.tokenizer->encode(**query, **text, limits);
    if (!tokens) return fail("{}: {}", place(documents[i].line), tokens.error().message);
    longest = std::max(longest, length_of(tokens->document) - 1);
    whole.push_back(std::move(*tokens));
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (Status added = add_passages(documents[i], whole[i], longest); !added) return added;
  }
  return {};
}

Status RerankedPairs::add_passages(const RankedDocument& document, const TokenPair& whole,
                                   std::int64_t longest) {
  const PairLimits& limits = model_.limits;
  // Words have no [SEP]; pieces have one behind each document.
  const std::int64_t ends = model_.tokenizer->cls() == 0 ? 0 : 1;
  const std::int64_t tokens = length_of(whole.document) - ends;
  const std::int64_t room =
      (limits.most_document_tokens > 0 ? limits.most_document_tokens
                                       : limits.most_tokens - 1 - length_of(whole.query)) -
      ends;
  if (room < 1) {
    return fail(
        "{}: its query has {} tokens with its [SEP], which leaves no room for a document "
        "within {} tokens; limit the query's or allow more",
        place(document.line), length_of(whole.query), limits.most_tokens);
  }
  if (how_ == LongDocuments::whole && tokens > room) {
    return fail(
        "{}: document '{}' has {} tokens, and there is room for {}; allow more with --max-tokens "
        "or "
        "--extend-positions, or take --first-p or --max-p",
        place(document.line), in_a_sentence(document.id), tokens, room);
  }
  const std::vector<Passage> passages = passages_of(
      tokens, {.room = room, .positions = limits.most_tokens, .longest = longest}, how_);
  ++documents_;
  if (passages.back().end < tokens) ++cut_;
  for (const Passage& passage : passages) {
    ScoredPair& pair = pairs_.emplace_back();
    pair.tokens.query = whole.query;
    pair.tokens.document.assign(whole.document.begin() + passage.begin,
                                whole.document.begin() + passage.end);
    if (ends > 0) pair.tokens.document.push_back(whole.document.back());
    pair.ids = {at_->first, document.id};
    pair.line = document.line;
  }
  return {};
}

Result<std::optional<ScoredPair>> RerankedPairs::next() {
  while (pairs_.empty()) {
    if (at_ == run_.queries.end()) return std::optional<ScoredPair>();
    if (Status loaded = load_query(); !loaded) return tl::unexpected(loaded.error());
    ++at_;
    ++done_;
  }
  ScoredPair pair = std::move(pairs_.front());
  pairs_.pop_front();
  return std::optional(std::move(pair));
}

/// What the run names and the files have not, told before anything is computed.
Status find_texts(const TrecRun& run, std::int64_t depth, Texts& texts) {
  std::int64_t lost_queries = 0, lost_documents = 0, documents = 0;
  std::string first_query;
  const RankedDocument* first = nullptr;
  for (const auto& [id, ranked] : run.queries) {
    if (!texts.queries.contains(id) && lost_queries++ == 0) first_query = id;
    const std::size_t count = std::min(ranked.size(), static_cast<std::size_t>(depth));
    for (std::size_t i = 0; i < count; ++i) {
      ++documents;
      if (texts.documents.contains(ranked[i].id)) continue;
      ++lost_documents;
      if (first == nullptr || ranked[i].line < first->line) first = &ranked[i];
    }
  }
  const std::string name = in_a_sentence(run.file.string(), 400);
  if (lost_queries > 0) {
    return fail("{}: its query '{}' is not in {} ({} of {} are not)", name,
                in_a_sentence(first_query), texts.queries.name(), lost_queries, run.queries.size());
  }
  if (first != nullptr) {
    return fail("{}, line {}: document '{}' is not in {} ({} of {} are not)", name, first->line,
                in_a_sentence(first->id), texts.documents.name(), lost_documents, documents);
  }
  return {};
}

Result<TextCollection> open_texts(const std::string& file, PairParts parts) {
  CountLine progress(isatty(STDERR_FILENO) == 1);
  auto texts = TextCollection::open(file, parts, [&](double share) {
    progress.show(fmt::format("{:.0f} % of {} noted", share * 100, file), share, share);
    return interrupts() == 0;
  });
  progress.clear();
  return texts;
}

/// Everything that is checked before a worker is started.
struct ReadyToRerank {
  TrecRun run;
  ScoringModel model;
  Texts texts;
  WrittenFile out;
};

Result<ReadyToRerank> prepare(const RerankCommand& arguments) {
  if (arguments.as_published && !arguments.max_p)
    return fail("--as-published says how documents are cut into passages; give --max-p with it");
  if (arguments.tag.find_first_of(" \t\r\n") != std::string::npos)
    return fail("--tag '{}' has a blank; a TREC run has none", in_a_sentence(arguments.tag));
  auto run = TrecRun::read(arguments.run);
  if (!run) return tl::unexpected(run.error());
  auto model = open_ranker(arguments.model);
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
  auto queries = open_texts(arguments.queries, PairParts::query);
  if (!queries) return tl::unexpected(queries.error());
  auto documents = open_texts(arguments.documents, PairParts::document);
  if (!documents) return tl::unexpected(documents.error());
  Texts texts{std::move(*queries), std::move(*documents)};
  if (Status found = find_texts(*run, arguments.depth, texts); !found)
    return tl::unexpected(found.error());
  auto out = WrittenFile::beside(arguments.out);
  if (!out) return tl::unexpected(out.error());
  return ReadyToRerank{std::move(*run), std::move(*model), std::move(texts), std::move(*out)};
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
  for (const std::string& note : prepared->run.notes) say("attnscope: note: {}", note);
  auto worker = start_model(arguments.model, prepared->model, &interrupts());
  if (!worker) return session.fail(exit_wrong_use, worker.error().message);
  ScoreOptions options = arguments.options;
  options.shows_progress = isatty(STDERR_FILENO) == 1;
  options.keeps_part = false;
  RerankedPairs pairs(prepared->model, prepared->run, arguments.depth, prepared->texts,
                      arguments.long_documents());
  const std::string tag = arguments.tag.empty() ? prepared->model.name : arguments.tag;
  ScoreRun run(prepared->model, worker->process, pairs, false,
               ScoreLines(ScoreFormat::trec, tag, /*best_of=*/true), &prepared->out, interrupts(),
               options);
  const Status done = run.run();
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
      ->check(CLI::PositiveNumber);
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
  command->callback([&session, arguments] { rerank(session, *arguments); });
}

}  // namespace attnscope::cli
