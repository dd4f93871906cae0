// SPDX-License-Identifier: Apache-2.0
#include "engine/ranking/scored_pairs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>
#include <utility>
#include <vector>

#include "base/sentences.h"
#include "engine/worker/worker_process.h"

namespace attnscope {

ScoredPairs::ScoredPairs(const ScoringModel& model, PairReader reader)
    : model_(model), reader_(std::move(reader)) {}

ScoredPairs::ScoredPairs(const ScoringModel& model, PairReader reader, const DocumentCache& cache,
                         std::string name, bool all)
    : model_(model), reader_(std::move(reader)), cache_(&cache), name_(std::move(name)) {
  if (!all) numbers_.emplace(cache);
}

tl::unexpected<Error> ScoredPairs::not_in_cache(const TextPair& first) {
  constexpr int lines_to_look_at = 1000;
  constexpr std::size_t most_named = 5;
  std::vector<std::string> others;
  std::size_t more = 0;
  for (int line = 0; line < lines_to_look_at; ++line) {
    const auto pair = reader_.next();
    if (!pair || !*pair) break;
    const std::string& id = (*pair)->document_id;
    if (id == first.document_id || numbers_->find(id)) continue;
    if (others.size() + 1 < most_named) {
      others.push_back(fmt::format("'{}'", in_a_sentence(id)));
    } else {
      ++more;
    }
  }
  std::string names;
  if (!others.empty()) names = fmt::format(", nor are {}", fmt::join(others, ", "));
  if (more > 0) names += fmt::format(" and {} more", more);
  return fail("{}: document '{}' is not among the {} of {}{}; encode them, or remove them",
              reader_.place(first.line), in_a_sentence(first.document_id), cache_->documents(),
              name_, names);
}

Result<std::optional<ScoredPair>> ScoredPairs::next_line() {
  auto read = reader_.next();
  while (judged_ != nullptr && read && *read && !judged_->queries.contains((*read)->query_id))
    read = reader_.next();
  if (!read) return tl::unexpected(read.error());
  if (!*read) return std::optional<ScoredPair>();
  TextPair& text = **read;
  ScoredPair pair{
      .tokens = {},
      .cached = 0,
      .ids = {std::move(text.query_id), text.document_id, std::hash<std::string>{}(text.query)},
      .line = text.line};
  auto tokens = model_.tokenizer->encode(text.query, text.document, model_.limits);
  if (!tokens) return fail("{}: {}", reader_.place(text.line), tokens.error().message);
  pair.tokens = std::move(*tokens);
  if (Status has_score = cache_ == nullptr ? model_.check_document(pair.tokens.document) : Status();
      !has_score)
    return fail("{}: {}", reader_.place(text.line), has_score.error().message);
  cut_.add_query(pair.tokens.query_cut);
  if (cache_ == nullptr) cut_.add_document(pair.tokens.document_cut);
  if (cache_ != nullptr) pair.tokens.document.clear();
  if (numbers_) {
    const auto number = numbers_->find(text.document_id);
    if (!number) return not_in_cache(text);
    pair.cached = *number;
  }
  return std::optional(std::move(pair));
}

Status ScoredPairs::next_query() {
  before_query_ = reader_.progress().value_or(0);
  next_document_ = 0;
  query_.reset();
  auto line = next_line();
  if (!line) return tl::unexpected(line.error());
  if (!*line) return {};
  query_ = std::move(**line);
  const auto [first, is_new] = lines_of_queries_.try_emplace(query_->ids.query_id, query_->line);
  if (is_new || first->first.empty()) return {};
  return fail("{}: query '{}' is already in line {}; give each query its own id",
              reader_.place(query_->line), in_a_sentence(query_->ids.query_id), first->second);
}

Result<std::optional<ScoredPair>> ScoredPairs::next() {
  if (cache_ == nullptr || numbers_) return next_line();
  while (true) {
    if (!query_ || next_document_ == cache_->documents()) {
      if (Status loaded = next_query(); !loaded) return tl::unexpected(loaded.error());
      if (!query_) return std::optional<ScoredPair>();
    }
    const std::int64_t number = next_document_++;
    // BEIR does not evaluate a document with the query's own id.
    if (judged_ != nullptr && cache_->id(number) == query_->ids.query_id) continue;
    ScoredPair pair = *query_;
    pair.cached = number;
    pair.ids.document_id = std::string(cache_->id(number));
    return std::optional(std::move(pair));
  }
}

std::optional<double> ScoredPairs::progress() const {
  const auto read = reader_.progress();
  if (!read || !query_) return read;
  return before_query_ + (*read - before_query_) * static_cast<double>(next_document_) /
                             static_cast<double>(cache_->documents());
}

using effectiveness::RankedDocument;
using effectiveness::TrecRun;

namespace {

std::int64_t length_of(const std::vector<std::int32_t>& ids) {
  return static_cast<std::int64_t>(ids.size());
}

/// Ok, or an error that names the first missing query, or the first missing document up to the
/// depth, and the number of missing ones. `has_document` checks a document id; `documents_name` is
/// the name of the documents' file.
template <typename HasDocument>
Status find_named(const TrecRun& run, std::int64_t depth, TextCollection& queries,
                  const std::string& documents_name, const HasDocument& has_document) {
  std::int64_t lost_queries = 0, lost_documents = 0, documents = 0;
  std::string first_query;
  const RankedDocument* first = nullptr;
  for (const auto& [id, ranked] : run.queries) {
    if (!queries.contains(id) && lost_queries++ == 0) first_query = id;
    const std::size_t count = std::min(ranked.size(), static_cast<std::size_t>(depth));
    for (std::size_t i = 0; i < count; ++i) {
      ++documents;
      if (has_document(ranked[i].id)) continue;
      ++lost_documents;
      if (first == nullptr || ranked[i].line < first->line) first = &ranked[i];
    }
  }
  const std::string name = in_a_sentence(run.file.string(), 400);
  if (lost_queries > 0) {
    return fail("{}: query '{}' is not in {} ({} of {} queries are missing)", name,
                in_a_sentence(first_query), queries.name(), lost_queries, run.queries.size());
  }
  if (first != nullptr) {
    return fail("{}, line {}: document '{}' is not in {} ({} of {} are missing)", name, first->line,
                in_a_sentence(first->id), documents_name, lost_documents, documents);
  }
  return {};
}

}  // namespace

std::string RunCandidates::place(std::int64_t line) const {
  return fmt::format("{}, line {}", in_a_sentence(run_.file.string(), 400), line);
}

Status RerankedPairs::check() {
  return find_texts(run_, depth_, texts_);
}

Status RerankedPairs::load_query(const std::string& id, std::span<const RankedDocument> documents) {
  constexpr std::int64_t no_limit = std::numeric_limits<std::int32_t>::max();
  const auto query = texts_.queries.find(id);
  if (!query) return tl::unexpected(query.error());
  if (!*query) {
    return fail("{}: query '{}' no longer exists; run the command again", texts_.queries.name(),
                id);
  }
  // The tokenizer truncates a pair with a single passage, as in `score`; several passages are cut
  // below.
  const bool one_passage = how_ == LongDocuments::first_p && !model_.reads_words;
  PairLimits limits = model_.limits;
  if (!one_passage) {
    limits.most_tokens = no_limit;
    if (limits.most_document_tokens > 0) limits.most_document_tokens = no_limit;
  }
  std::vector<TokenPair> whole;
  whole.reserve(documents.size());
  std::int64_t longest = 0;
  bool query_cut = false;
  for (std::size_t i = 0; i < documents.size(); ++i) {
    const auto text = texts_.documents.find(documents[i].id);
    if (!text) return tl::unexpected(text.error());
    if (!*text) {
      return fail("{}: document '{}' no longer exists; run the command again",
                  texts_.documents.name(), in_a_sentence(documents[i].id));
    }
    auto tokens = model_.tokenizer->encode(**query, **text, limits);
    if (!tokens) return fail("{}: {}", place(documents[i].line), tokens.error().message);
    if (Status has_score = model_.check_document(tokens->document); !has_score)
      return fail("{}: {}", place(documents[i].line), has_score.error().message);
    query_cut = query_cut || tokens->query_cut;
    if (one_passage) {
      cut_.add_document(tokens->document_cut);
      pairs_.push_back(
          {.tokens = std::move(*tokens), .ids = {id, documents[i].id}, .line = documents[i].line});
      continue;
    }
    longest = std::max(longest, length_of(tokens->document) - 1);
    whole.push_back(std::move(*tokens));
  }
  cut_.add_query(query_cut);
  for (std::size_t i = 0; i < whole.size(); ++i) {
    if (Status added = add_passages(id, documents[i], whole[i], longest); !added) return added;
  }
  return {};
}

Status RerankedPairs::add_passages(const std::string& id, const RankedDocument& document,
                                   const TokenPair& whole, std::int64_t longest) {
  const PairLimits& limits = model_.limits;
  // Word tokenizers have no [SEP]; subword tokenizers end each document with one.
  const std::int64_t ends = model_.reads_words ? 0 : 1;
  const std::int64_t tokens = length_of(whole.document) - ends;
  const std::int64_t room =
      (limits.most_document_tokens > 0 ? limits.most_document_tokens
                                       : limits.most_tokens - 1 - length_of(whole.query)) -
      ends;
  if (room < 1) {
    return fail(
        "{}: the query has {} tokens including [SEP], which leaves none of the {} tokens of a pair "
        "for the document; limit the query or allow longer pairs",
        place(document.line), length_of(whole.query), limits.most_tokens);
  }
  if (how_ == LongDocuments::whole && tokens > room) {
    return fail(
        "{}: document '{}' has {} tokens, more than the limit of {}; allow more with --max-tokens "
        "or --extend-positions, or use --first-p or --max-p",
        place(document.line), in_a_sentence(document.id), tokens, room);
  }
  const std::vector<Passage> passages = passages_of(
      tokens, {.room = room, .positions = limits.most_tokens, .longest = longest}, how_);
  cut_.add_document(passages.back().end < tokens);
  for (const Passage& passage : passages) {
    ScoredPair& pair = pairs_.emplace_back();
    pair.tokens.query = whole.query;
    pair.tokens.document.assign(whole.document.begin() + passage.begin,
                                whole.document.begin() + passage.end);
    if (ends > 0) pair.tokens.document.push_back(whole.document.back());
    pair.ids = {id, document.id};
    pair.line = document.line;
  }
  return {};
}

Result<std::optional<ScoredPair>> RunCandidates::next() {
  while (pairs_.empty()) {
    if (at_ == run_.queries.end()) return std::optional<ScoredPair>();
    const auto& [id, documents] = *at_;
    const std::size_t count = std::min(documents.size(), static_cast<std::size_t>(depth_));
    if (Status loaded = load_query(id, std::span(documents).first(count)); !loaded)
      return tl::unexpected(loaded.error());
    ++at_;
    ++done_;
  }
  ScoredPair pair = std::move(pairs_.front());
  pairs_.pop_front();
  return std::optional(std::move(pair));
}

Status CachedCandidates::check() {
  return find_named(run_, depth_, queries_, name_,
                    [this](const std::string& id) { return numbers_.find(id).has_value(); });
}

Status CachedCandidates::load_query(const std::string& id,
                                    std::span<const RankedDocument> documents) {
  const auto query = queries_.find(id);
  if (!query) return tl::unexpected(query.error());
  if (!*query)
    return fail("{}: query '{}' no longer exists; run the command again", queries_.name(), id);
  auto tokens = model_.tokenizer->encode(**query, "", model_.limits);
  if (!tokens) return fail("{}: {}", place(documents.front().line), tokens.error().message);
  tokens->document.clear();
  cut_.add_query(tokens->query_cut);
  for (const RankedDocument& document : documents) {
    pairs_.push_back({.tokens = *tokens,
                      .cached = numbers_.find(document.id).value(),
                      .ids = {id, document.id},
                      .line = document.line});
  }
  return {};
}

Status find_texts(const TrecRun& run, std::int64_t depth, RerankedTexts& texts) {
  return find_named(run, depth, texts.queries, texts.documents.name(),
                    [&](const std::string& id) { return texts.documents.contains(id); });
}

Result<std::vector<std::string>> keep_judged(TrecRun& run, const effectiveness::Qrels& qrels) {
  std::size_t unjudged = 0, own = 0;
  for (auto at = run.queries.begin(); at != run.queries.end();) {
    const bool is_judged = qrels.queries.contains(at->first);
    unjudged += is_judged ? 0 : 1;
    if (is_judged) {
      own += std::erase_if(
          at->second, [&](const RankedDocument& document) { return document.id == at->first; });
    }
    at = is_judged && !at->second.empty() ? std::next(at) : run.queries.erase(at);
  }
  const std::string name = in_a_sentence(run.file.string(), 400);
  if (run.queries.empty()) {
    return fail("{}: none of its queries is judged in {}, so nothing can be evaluated", name,
                in_a_sentence(qrels.file.string(), 400));
  }
  std::vector<std::string> sentences;
  if (unjudged > 0) {
    sentences.push_back(
        fmt::format("{}: {} not judged in {} and ignored", name,
                    unjudged == 1 ? "1 query is" : fmt::format("{} queries are", unjudged),
                    in_a_sentence(qrels.file.string(), 400)));
  }
  if (own > 0) {
    sentences.push_back(
        fmt::format("{}: {} the id of its query and is ignored, as in BEIR", name,
                    own == 1 ? "1 document has" : fmt::format("{} documents have", own)));
  }
  return sentences;
}

namespace {

using nlohmann::json;
using nlohmann::ordered_json;

/// Copies an object's member under another key, if it is present; unknown values are omitted.
void take(ordered_json& into, const char* key, const json& from, const char* member) {
  const auto found = from.is_object() ? from.find(member) : from.end();
  if (found != from.end() && !found->is_null()) into[key] = ordered_json(*found);
}

std::string gigabytes(const json& bytes) {
  return fmt::format("{:.1f} GB", bytes.get<double>() / 1e9);
}

/// The worker's machine, from its hello event.
ordered_json platform_of(const protocol::Hello& hello, const std::string& device) {
  const json &machine = hello.device, &build = hello.build;
  ordered_json cpu, hardware, system, software;
  take(cpu, "model", machine, "name");
  take(cpu, "architecture", machine, "architecture");
  take(cpu, "number of cores", machine, "cores");
  hardware["cpu"] = cpu;
  for (const json& listed : hello.devices) {
    if (device == "cpu" || listed.value("kind", "") != device || !listed.value("available", false))
      continue;
    hardware["gpu"]["model"] = listed.value("name", "");
    if (listed.contains("memory_bytes")) hardware["gpu"]["ram"] = gigabytes(listed["memory_bytes"]);
    break;
  }
  if (machine.contains("memory_bytes")) hardware["ram"] = gigabytes(machine["memory_bytes"]);
  take(system, "kernel", machine, "kernel");
  take(system, "distribution", machine, "system");
  if (build.contains("libtorch")) {
    software["libraries"]["c++"] =
        ordered_json::array({"libtorch==" + text_field(build, "libtorch")});
  }
  software["retrieval toolkit"] =
      ordered_json::array({"attnscope==" + text_field(build, "version")});
  return {{"hardware", hardware}, {"operating system", system}, {"software", software}};
}

std::string in_words(LongDocuments how) {
  switch (how) {
    case LongDocuments::first_p:
      return "first-p";
    case LongDocuments::max_p:
      return "max-p";
    case LongDocuments::max_p_as_published:
      return "max-p as published";
    case LongDocuments::whole:
      break;
  }
  return "whole";
}

/// The metadata of both stages.
ordered_json method_of(const RunFacts& facts, const ModelQuestion& requested,
                       const ScoringModel& model) {
  ordered_json params = {{"pattern", model.pattern.name}};
  if (!model.place.revision.empty()) params["revision"] = model.place.revision;
  if (model.window) params["window"] = model.window->text();
  params.update({{"implementation", facts.implementation},
                 {"dtype", requested.dtype},
                 {"precision", requested.precision},
                 {"depth", facts.depth},
                 {"long documents", in_words(facts.long_documents)}});
  ordered_json first = {{"name", facts.first_tag}};
  ordered_json second = {{"name", facts.tag},
                         {"method", model.name},
                         {"params", std::move(params)},
                         {"reranks", facts.first_tag}};
  return {{"automatic", true},
          {"score ties", "order of the first stage"},
          {"retrieval", ordered_json::array({std::move(first), std::move(second)})}};
}

}  // namespace

ordered_json run_resources(std::chrono::steady_clock::duration time,
                           const effectiveness::Energy& energy) {
  ordered_json resources;
  resources["runtime"]["wallclock"] =
      fmt::format("{} ms", std::chrono::duration_cast<std::chrono::milliseconds>(time).count());
  for (const auto& [part, joules] :
       {std::pair("cpu", energy.cpu_joules), std::pair("ram", energy.memory_joules),
        std::pair("gpu", energy.device_joules)}) {
    if (joules) resources[part]["energy used system"] = fmt::format("{:.1f} J", *joules);
  }
  return resources;
}

ordered_json run_metadata(const RunFacts& facts, const ModelQuestion& requested,
                          const ScoringModel& model, const protocol::Hello& hello) {
  ordered_json source = {{"lang", ordered_json::array({"c++"})}};
  take(source, "commit", hello.build, "commit");
  ordered_json first = {{"name", "first stage"}, {"source", facts.first_stage}};
  ordered_json documents = {{"name", "documents"}, {"source", facts.documents}};
  return {{"schema-version", 0.1},
          {"run-version", 1.0},
          {"tag", facts.tag},
          {"platform", platform_of(hello, requested.device)},
          {"research goal", ordered_json::object()},
          {"implementation",
           {{"executable", {{"cmd", facts.command_line}}}, {"source", std::move(source)}}},
          {"method", method_of(facts, requested, model)},
          {"actor", ordered_json::object()},
          {"data",
           {{"test collection", {{"topics", facts.queries}}},
            {"other", ordered_json::array({std::move(documents), std::move(first)})}}}};
}

}  // namespace attnscope
