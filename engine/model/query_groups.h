#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Items of a batch that have the same query, of models that encode it by itself.

#include <cstddef>
#include <vector>

#include "engine/model/family.h"

namespace attnscope {

struct QueryGroup {
  TokenIds query;
  std::vector<std::size_t> items;
};

/// Every item is in one group; groups come in the order of their first item.
[[nodiscard]] std::vector<QueryGroup> groups_of(const PairBatch& batch);

/// Ok, or which item names a document that the batch's cache has not.
[[nodiscard]] Status has_its_documents(const PairBatch& batch);

/// Scores and states of a group's items, [items] and [items, width].
struct GroupOutput {
  std::vector<float> scores, states;
};

/// Every item's at its place; narrower states end in zeros.
[[nodiscard]] ModelOutput collected(const std::vector<QueryGroup>& groups,
                                    const std::vector<GroupOutput>& done, std::size_t items);

}  // namespace attnscope
