#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The steps of cut_into_units, for others that cut a part of a plan.

#include "kernels/cuda/work/directed_tasks.h"
#include "kernels/cuda/work_list.h"
#include "kernels/plan/attention_plan.h"

namespace attnscope::cuda {

/// A list without units for the plan, its heads set.
[[nodiscard]] WorkList empty_list(const AttentionPlan& plan);

/// Appends the units of all tasks, for these heads, and their segments.
void add_units(const Direction& direction, HeadRange heads, WorkList& list);

}  // namespace attnscope::cuda
