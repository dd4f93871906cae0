// SPDX-License-Identifier: Apache-2.0
#include "engine/ranking/query_sample.h"

#include <algorithm>
#include <utility>

namespace attnscope {

std::size_t QuerySample::place_of(std::string document) {
  const auto [known, is_new] = document_places_.try_emplace(std::move(document), documents_.size());
  if (is_new) documents_.emplace_back(known->first);
  return known->second;
}

bool QuerySample::add(TextPair pair) {
  const std::string key = pair.query_id.empty() ? "text " + pair.query : "id " + pair.query_id;
  const auto known = query_numbers_.find(key);
  const bool is_full = static_cast<std::int64_t>(queries_.size()) == most_queries_;
  if (known == query_numbers_.end() && is_full) {
    is_past_ = true;
    if (documents() < most_documents) place_of(std::move(pair.document));
  } else {
    const std::size_t number = known == query_numbers_.end() ? queries_.size() : known->second;
    if (number == queries_.size()) {
      query_numbers_.emplace(key, number);
      queries_.push_back({.text = std::move(pair.query), .line = pair.line});
    }
    std::vector<std::size_t>& own = queries_[number].own;
    if (static_cast<std::int64_t>(own.size()) == most_documents) return true;
    const std::size_t place = place_of(std::move(pair.document));
    if (std::ranges::find(own, place) == own.end()) own.push_back(place);
  }
  return !is_past_ || documents() < most_documents;
}

std::int64_t QuerySample::documents() const {
  return std::min(static_cast<std::int64_t>(documents_.size()), most_documents);
}

std::vector<PairView> QuerySample::ranking(std::size_t query, std::int64_t top_k) const {
  const Query& requested = queries_[query];
  const auto wanted = static_cast<std::size_t>(top_k);
  std::vector<bool> is_taken(documents_.size());
  std::vector<PairView> pairs;
  pairs.reserve(wanted);
  const auto take = [&](std::size_t place) {
    if (pairs.size() == wanted || is_taken[place]) return;
    is_taken[place] = true;
    pairs.push_back(
        {.query = requested.text, .document = documents_[place], .line = requested.line});
  };
  for (const std::size_t place : requested.own) take(place);
  for (std::size_t i = 0; i < documents_.size() && pairs.size() < wanted; ++i)
    take((requested.own.front() + i) % documents_.size());
  return pairs;
}

QuerySample::Borrowed QuerySample::borrowed(std::int64_t top_k) const {
  Borrowed borrowed;
  for (const Query& query : queries_) {
    const std::int64_t missing = top_k - static_cast<std::int64_t>(query.own.size());
    if (missing <= 0) continue;
    ++borrowed.queries;
    borrowed.documents += missing;
  }
  return borrowed;
}

}  // namespace attnscope
