#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Groups pairs into batches. Documents of the same query are adjacent, because a query whose tokens
// attend only to the query is then encoded once for all of them; within a query, and among the
// remaining pairs, pairs of similar length are adjacent, because some implementations pad.
//
//   for (const ScoreBatch& batch : score_batches(pairs, {})) ...   // pairs in batch.pairs

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/text/tokenizer.h"
#include "engine/worker/model_messages.h"

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

}  // namespace attnscope
