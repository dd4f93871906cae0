#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Groups pairs into batches, and scores them with a worker for the timing commands `profile` and
// `latency`. Documents of the same query are adjacent, because a query whose tokens attend only to
// the query is then encoded once for all of them; within a query, and among the remaining pairs,
// pairs of similar length are adjacent, because some implementations pad.
//
//   for (const ScoreBatch& batch : score_batches(pairs, {})) ...   // pairs in batch.pairs

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/ranking/scoring_model.h"
#include "engine/text/tokenizer.h"
#include "engine/worker/model_messages.h"
#include "engine/worker/worker_process.h"

namespace attnscope {

/// The number of tokens, with [CLS].
[[nodiscard]] std::int64_t tokens_of(const TokenPair& pair);

struct BatchLimits {
  std::int64_t tokens = 16'384;  // of all pairs, including [CLS]; a single pair may have more
  std::int64_t pairs = 256;
  bool whole_queries = false;  // all documents of a query form one batch of any size
};

struct ScoreBatch {
  std::vector<std::size_t> pairs;  // indices in the input, shortest pair first
  bool one_query = false;
};

/// Every pair is in exactly one batch. Queries are in the order of their first pair; batches that
/// combine queries with few documents follow the others.
[[nodiscard]] std::vector<ScoreBatch> score_batches(std::span<const TokenPair* const> pairs,
                                                    const BatchLimits& limits);
[[nodiscard]] std::vector<ScoreBatch> score_batches(std::span<const TokenPair> pairs,
                                                    const BatchLimits& limits);

/// The pair as an item of a `score` request.
[[nodiscard]] protocol::ScoreItem score_item(const TokenPair& pair);

/// Scores texts with a worker as `score` does, for the timing commands.
class TextScorer {
 public:
  /// `file` is the source of the texts. With `on_parts`, each answer reports the times of the
  /// model's parts (docs/protocol.md, score), which are passed to it. The other arguments must
  /// outlive the scorer; `interrupted` rises above 0 when the user interrupts.
  TextScorer(std::string file, const ScoringModel& model, WorkerProcess& worker,
             const BatchLimits& limits, const std::atomic<int>& interrupted,
             std::function<void(const std::vector<protocol::ScoredPart>&)> on_parts = {});

  /// Errors name the file and this line.
  [[nodiscard]] Result<TokenPair> tokens_of(std::string_view query, std::string_view document,
                                            std::int64_t line) const;
  /// Sends the same batches as `score`, each as soon as fewer than `most_waiting` are unanswered: 1
  /// matches `score`; with a larger value the worker finds the next batch waiting when it finishes
  /// one. An interrupt kills the worker and is an error.
  [[nodiscard]] Status queue(std::span<const TokenPair> pairs, std::size_t most_waiting);
  /// Waits for the answers to all queued batches.
  [[nodiscard]] Status finish() { return wait_until(0); }

 private:
  [[nodiscard]] Status wait_until(std::size_t most_unanswered);

  std::string file_;
  const ScoringModel& model_;
  WorkerProcess& worker_;
  BatchLimits limits_;
  const std::atomic<int>& interrupted_;
  std::function<void(const std::vector<protocol::ScoredPart>&)> on_parts_;
  std::size_t unanswered_ = 0;
};

}  // namespace attnscope
