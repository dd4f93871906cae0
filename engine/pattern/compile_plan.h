#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Compiles a pattern on a layout into an AttentionPlan: O(items + sentence starts + chunks + blocks
// x heads), never O(pairs).
//
//   Result<AttentionPlan> plan = compile_plan(pattern, Window::of(4), layout, /*heads=*/12);

#include <optional>

#include "base/result.h"
#include "engine/pattern/attention_pattern.h"
#include "engine/pattern/sequence_layout.h"
#include "kernels/plan/attention_plan.h"

namespace attnscope {

/// `window` is needed when pattern.has_window(), and ignored otherwise. Errors: a missing window,
/// heads outside 1 ... 512, a pattern/layout pair that contradicts itself (e.g. a shared query that
/// attends to its documents).
[[nodiscard]] Result<AttentionPlan> compile_plan(const AttentionPattern& pattern,
                                                 std::optional<Window> window,
                                                 const SequenceLayout& layout, std::int32_t heads);

/// Compiles the block rule of a pattern: one task for each block and each set of heads in which it
/// attends to the same keys, with one whole segment for each run of adjacent blocks.
/// Precondition: a valid rule and number of heads, and a layout without a shared query.
[[nodiscard]] AttentionPlan compile_blocks(const BlockRule& rule, const SequenceLayout& layout,
                                           std::int32_t heads);

}  // namespace attnscope
