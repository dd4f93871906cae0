// SPDX-License-Identifier: Apache-2.0
#include "engine/ranking/text_scorer.h"

#include <utility>

#include "base/sentences.h"
#include "engine/worker/ask.h"

namespace attnscope {

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
