#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Which pairs are scored together. Documents of the same query stand together, because a query that
// sees itself alone is then encoded once for all of them; within a query, and among the rest, pairs
// of like length stand together, because some implementations pad.
//
//   for (const ScoreBatch& batch : score_batches(pairs, {})) ...   // pairs in batch.pairs

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/text/tokenizer.h"

namespace attnscope {

/// With [CLS].
[[nodiscard]] std::int64_t tokens_of(const TokenPair& pair);

struct BatchLimits {
  std::int64_t tokens = 16'384;  // of all pairs, [CLS] among them; one pair may have more
  std::int64_t pairs = 256;
  bool whole_queries = false;  // all documents of a query are one batch, whatever their number
};

struct ScoreBatch {
  std::vector<std::size_t> pairs;  // places in what was given, shortest pair first
  bool one_query = false;
};

/// Every pair is in one batch. Queries come in the order of their first pair; those with few
/// documents are put together behind the others.
[[nodiscard]] std::vector<ScoreBatch> score_batches(std::span<const TokenPair> pairs,
                                                    const BatchLimits& limits);

}  // namespace attnscope
