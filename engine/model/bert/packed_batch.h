#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A batch of pairs as packed tokens: [CLS], query and document of every item consecutively, or the
// query once before all items. Positions count from [CLS] over query and document as in BERT; if
// padding has a row of the table, padding tokens in texts have that position, as in RoBERTa.
// Queries have token type 0, documents have the batch's.

#include <cstdint>
#include <vector>

#include "engine/model/family.h"
#include "engine/pattern/sequence_layout.h"

namespace attnscope {

struct PackedBatch {
  SequenceLayout layout;
  std::vector<std::int64_t> ids, positions, types;  // [tokens]; rows of the embedding tables
};

/// With `shares_query` the first item's query is used for all items. Errors, with the numbers: an
/// empty batch, an id outside the vocabulary, more tokens than positions.
[[nodiscard]] Result<PackedBatch> pack_batch(const PairBatch& batch, bool shares_query,
                                             const ModelShape& shape);

/// The layout alone.
[[nodiscard]] Result<SequenceLayout> layout_of(const PairBatch& batch, bool shares_query);

/// The sequence of a text that is encoded separately: [CLS], or learned vectors in its place, then
/// the text, with positions from 0 and one token type.
struct TextForm {
  TokenGroup group = TokenGroup::document;  // of the text's tokens: query or document
  std::int64_t learned = 0;                 // ids vocabulary, vocabulary + 1, ...; 0: [CLS]
  std::int64_t type = 0;

  [[nodiscard]] std::int64_t first_tokens() const { return learned > 0 ? learned : 1; }
};

/// Packs texts consecutively, one item each. Errors: those of pack_batch.
[[nodiscard]] Result<PackedBatch> pack_texts(std::span<const TokenIds> texts, const TextForm& form,
                                             std::int32_t cls, const ModelShape& shape);

/// The layout alone.
[[nodiscard]] Result<SequenceLayout> layout_of_texts(std::span<const TokenIds> texts,
                                                     const TextForm& form);

/// Whether the query attends only to itself in this pattern, so that one encoding serves all
/// documents.
[[nodiscard]] bool has_independent_query(const AttentionPattern& pattern);

}  // namespace attnscope
