// SPDX-License-Identifier: Apache-2.0
#include "engine/ranking/text_scorer.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/sentences.h"
#include "engine/worker/ask.h"

namespace attnscope {
namespace {

// A call has a fixed cost; with this few documents, encoding the query only once does not save
// enough to cover it.
constexpr std::size_t few_documents = 4;

/// Cuts `places` into batches within the limits.
void cut(std::span<const TokenPair* const> pairs, std::vector<std::size_t> places,
         const BatchLimits& limits, bool one_query, std::vector<ScoreBatch>& batches) {
  std::ranges::stable_sort(places, {}, [&](std::size_t at) { return tokens_of(*pairs[at]); });
  ScoreBatch batch{.pairs = {}, .one_query = one_query};
  std::int64_t tokens = 0;
  for (const std::size_t at : places) {
    const std::int64_t more = tokens_of(*pairs[at]);
    const bool full = tokens + more > limits.tokens ||
                      static_cast<std::int64_t>(batch.pairs.size()) == limits.pairs;
    if (full && !batch.pairs.empty()) {
      batches.push_back(std::move(batch));
      batch = {.pairs = {}, .one_query = one_query};
      tokens = 0;
    }
    batch.pairs.push_back(at);
    tokens += more;
  }
  if (!batch.pairs.empty()) batches.push_back(std::move(batch));
}

}  // namespace

std::int64_t tokens_of(const TokenPair& pair) {
  return static_cast<std::int64_t>(1 + pair.query.size() + pair.document.size());
}

std::vector<ScoreBatch> score_batches(std::span<const TokenPair* const> pairs,
                                      const BatchLimits& limits) {
  std::map<std::vector<std::int32_t>, std::size_t> group_of;
  std::vector<std::vector<std::size_t>> groups;
  for (std::size_t at = 0; at < pairs.size(); ++at) {
    const auto [group, is_new] = group_of.try_emplace(pairs[at]->query, groups.size());
    if (is_new) groups.emplace_back();
    groups[group->second].push_back(at);
  }
  std::vector<ScoreBatch> batches;
  std::vector<std::size_t> rest;
  for (std::vector<std::size_t>& group : groups) {
    if (limits.whole_queries) {
      batches.push_back({.pairs = std::move(group), .one_query = true});
    } else if (group.size() < few_documents) {
      rest.insert(rest.end(), group.begin(), group.end());
    } else {
      cut(pairs, std::move(group), limits, /*one_query=*/true, batches);
    }
  }
  cut(pairs, std::move(rest), limits, /*one_query=*/groups.size() == 1, batches);
  return batches;
}

std::vector<ScoreBatch> score_batches(std::span<const TokenPair> pairs, const BatchLimits& limits) {
  std::vector<const TokenPair*> at;
  at.reserve(pairs.size());
  for (const TokenPair& pair : pairs) at.push_back(&pair);
  return score_batches(at, limits);
}

protocol::ScoreItem score_item(const TokenPair& pair) {
  return {.query = pair.query, .document = pair.document};
}

TextScorer::TextScorer(std::string file, const ScoringModel& model, WorkerProcess& worker,
                       const BatchLimits& limits, const std::atomic<int>& interrupted,
                       std::function<void(const std::vector<protocol::ScoredPart>&)> on_parts)
    : file_(std::move(file)),
      model_(model),
      worker_(worker),
      limits_(limits),
      interrupted_(interrupted),
      on_parts_(std::move(on_parts)) {
  limits_.whole_queries = model.is_listwise;
}

Result<TokenPair> TextScorer::tokens_of(std::string_view query, std::string_view document,
                                        std::int64_t line) const {
  auto tokens = model_.tokenizer->encode(query, document, model_.limits);
  if (tokens) return tokens;
  return fail("{}, line {}: {}", in_a_sentence(file_, 400), line, tokens.error().message);
}

Status TextScorer::queue(std::span<const TokenPair> pairs, std::size_t most_waiting) {
  for (const ScoreBatch& batch : score_batches(pairs, limits_)) {
    protocol::ScoreRequest request{.cls = model_.tokenizer->cls(),
                                   .one_query = batch.one_query,
                                   .items = std::vector<protocol::ScoreItem>(),
                                   .parts = on_parts_ != nullptr};
    for (const std::size_t at : batch.pairs) request.items->push_back(score_item(pairs[at]));
    if (Status ready = wait_until(most_waiting - 1); !ready) return ready;
    if (Status sent = send_request(worker_, request); !sent) return sent;
    ++unanswered_;
  }
  return {};
}

Status TextScorer::wait_until(std::size_t most_unanswered) {
  for (; unanswered_ > most_unanswered; --unanswered_) {
    const auto answer = receive_answer<protocol::ScoreRequest>(worker_, interrupted_);
    if (!answer) return tl::unexpected(answer.error());
    if (!*answer) {
      worker_.kill();
      return fail("interrupted");
    }
    if (on_parts_ && (*answer)->parts) on_parts_(*(*answer)->parts);
  }
  return {};
}

}  // namespace attnscope
