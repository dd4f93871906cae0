#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Parts of a batch that are computed together: items with the same query, for models that encode
// queries separately, and runs of texts up to a number of tokens.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/model/family.h"

namespace attnscope {

struct QueryGroup {
  TokenIds query;
  std::vector<std::size_t> items;
};

/// Every item is in one group; groups are in the order of their first items.
[[nodiscard]] std::vector<QueryGroup> groups_of(const PairBatch& batch);

/// Ok, or which item names a document that is not in the batch's cache.
[[nodiscard]] Status has_its_documents(const PairBatch& batch);

/// Scores and states of a group's items, [items] and [items, width].
struct GroupOutput {
  std::vector<float> scores, states;
};

/// Merges the groups' outputs in item order; narrower states are padded with zeros.
[[nodiscard]] ModelOutput collected(const std::vector<QueryGroup>& groups,
                                    const std::vector<GroupOutput>& done, std::size_t items);

/// Splits a sequence of texts into runs of at most `most` tokens, or of a single longer text, so
/// that the size of one computation does not grow with the number of texts. `tokens_of` counts the
/// tokens of a text.
template <typename Text, typename Count>
[[nodiscard]] std::vector<std::span<const Text>> runs_of(std::span<const Text> texts,
                                                         std::int64_t most,
                                                         const Count& tokens_of) {
  std::vector<std::span<const Text>> runs;
  std::size_t first = 0;
  std::int64_t tokens = 0;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::int64_t own = tokens_of(texts[i]);
    if (i > first && tokens + own > most) {
      runs.push_back(texts.subspan(first, i - first));
      first = i;
      tokens = 0;
    }
    tokens += own;
  }
  if (first < texts.size()) runs.push_back(texts.subspan(first));
  return runs;
}

}  // namespace attnscope
