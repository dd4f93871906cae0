#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The steps of cut_into_units, for others that cut a part of a plan.

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/cuda/work/directed_tasks.h"
#include "kernels/cuda/work_list.h"
#include "kernels/plan/attention_plan.h"

namespace attnscope::cuda {

/// A list without units for the plan, its heads and warps set.
[[nodiscard]] WorkList empty_list(const AttentionPlan& plan, std::int64_t head_dim);

/// Units of all tasks; spans, rules, strips and merges go to `list`.
[[nodiscard]] std::vector<WorkUnit> units_of(const Direction& direction, WorkList& list);

/// Rows and keys of one place read the same tokens: side by side, the second reading finds them in
/// the L2 cache.
[[nodiscard]] std::vector<WorkUnit> side_by_side(std::span<const WorkUnit> rows,
                                                 std::span<const WorkUnit> keys, Indices indices);

}  // namespace attnscope::cuda
