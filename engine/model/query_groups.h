#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Groups of a batch's items with the same query, for models that encode queries separately.

#include <cstddef>
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

}  // namespace attnscope
