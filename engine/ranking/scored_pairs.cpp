// SPDX-License-Identifier: Apache-2.0
#include "engine/ranking/scored_pairs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <functional>
#include <utility>
#include <vector>

#include "base/sentences.h"

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

}  // namespace attnscope
