#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A batch of pairs as packed tokens: [CLS], query and document of every item one after the other,
// or the query once before all items. Positions count on from [CLS] over query and document as in
// BERT; the document alone has token type 1.

#include <cstdint>
#include <vector>

#include "engine/model/family.h"
#include "engine/pattern/sequence_layout.h"

namespace attnscope {

struct PackedBatch {
  SequenceLayout layout;
  std::vector<std::int64_t> ids, positions, types;  // [tokens]; rows of the embedding tables
};

/// With `shares_query` the first item's query stands for all. Errors: an empty batch, an id outside
/// the vocabulary, more tokens than positions (all with their numbers).
[[nodiscard]] Result<PackedBatch> pack_batch(const PairBatch& batch, bool shares_query,
                                             const ModelShape& shape);

/// The layout alone.
[[nodiscard]] Result<SequenceLayout> layout_of(const PairBatch& batch, bool shares_query);

/// Whether the query of such a pattern sees itself alone, so that one encoding serves all
/// documents.
[[nodiscard]] bool has_independent_query(const AttentionPattern& pattern);

}  // namespace attnscope
