#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Compiles the block rule of a pattern on a layout: one task for each block and each set of heads
// in which it attends to the same keys, with one whole segment for each run of adjacent blocks.

#include "engine/pattern/attention_pattern.h"
#include "engine/pattern/sequence_layout.h"
#include "kernels/plan/attention_plan.h"

namespace attnscope {

/// Precondition: a valid rule and number of heads, and a layout without a shared query.
[[nodiscard]] AttentionPlan compile_blocks(const BlockRule& rule, const SequenceLayout& layout,
                                           std::int32_t heads);

}  // namespace attnscope
