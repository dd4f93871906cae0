#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Restricts a plan to some of its rows; the other rows attend to nothing. Longformer's global rows
// are computed separately from the others, and the last layer may compute [CLS] alone. Also extends
// a plan so that each item attends to a token of the other items.
//
//   AttentionPlan last = with_rows(plan, marked(cls_rows(layout), layout.tokens()));

#include <cstdint>
#include <vector>

#include "engine/pattern/attention_pattern.h"
#include "engine/pattern/sequence_layout.h"
#include "kernels/plan/attention_plan.h"

namespace attnscope {

/// O(tokens of the plan). Omitted rows become tasks without segments.
[[nodiscard]] AttentionPlan with_rows(const AttentionPlan& plan, const std::vector<bool>& keeps);

/// Each item also attends to one token of each other item: the first (`place` 0) or the second.
[[nodiscard]] AttentionPlan with_other_items(const AttentionPlan& plan,
                                             const SequenceLayout& layout, std::int64_t place);

/// The [CLS] of every item, ascending.
[[nodiscard]] std::vector<std::int64_t> cls_rows(const SequenceLayout& layout);

/// Ascending: tokens of groups that attend to all tokens of all groups and are attended to by all -
/// the groups in a pattern's "global" list.
[[nodiscard]] std::vector<std::int64_t> global_rows(const AttentionPattern& pattern,
                                                    const SequenceLayout& layout);

/// [tokens], true where listed.
[[nodiscard]] std::vector<bool> marked(const std::vector<std::int64_t>& rows, std::int64_t tokens);

}  // namespace attnscope
