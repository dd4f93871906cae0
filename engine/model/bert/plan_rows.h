#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A plan for some of its rows: the others attend to nothing. Longformer's global rows are computed
// apart from the others, and the last layer may compute [CLS] alone. Or a plan whose items see a
// token of each other.
//
//   AttentionPlan last = with_rows(plan, marked(cls_rows(layout), layout.tokens()));

#include <cstdint>
#include <vector>

#include "engine/pattern/attention_pattern.h"
#include "engine/pattern/sequence_layout.h"
#include "kernels/plan/attention_plan.h"

namespace attnscope {

/// O(tokens of the plan). Rows left out become tasks without segments.
[[nodiscard]] AttentionPlan with_rows(const AttentionPlan& plan, const std::vector<bool>& keeps);

/// Every item also sees one token of each other item: its first one, or the one behind that.
[[nodiscard]] AttentionPlan with_other_items(const AttentionPlan& plan,
                                             const SequenceLayout& layout, std::int64_t place);

/// Ascending: the [CLS] of every item.
[[nodiscard]] std::vector<std::int64_t> cls_rows(const SequenceLayout& layout);

/// Ascending: tokens of groups that attend to all groups and are attended by all, whole - what a
/// pattern's "global" list says.
[[nodiscard]] std::vector<std::int64_t> global_rows(const AttentionPattern& pattern,
                                                    const SequenceLayout& layout);

/// [tokens], true where listed.
[[nodiscard]] std::vector<bool> marked(const std::vector<std::int64_t>& rows, std::int64_t tokens);

}  // namespace attnscope
