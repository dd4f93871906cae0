#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What every work list must hold, whatever the plan.

#include <gtest/gtest.h>

#include <cstdint>

#include "kernels/cuda/work_list.h"
#include "kernels/plan/attention_plan.h"
#include "tests/kernels/seen_keys.h"

namespace attnscope::testing {

/// Every number points into its table, every run ascends, units keep to the list's warps, slots are
/// counted right, rules keep to their spans, bitmaps cover them.
[[nodiscard]] ::testing::AssertionResult is_within_bounds(const cuda::WorkList& list);

/// Each pass writes every row - and, backward, every key - once for each head: by one unit, or by a
/// merge of which every part arrives once, in partial rows that nobody else uses.
[[nodiscard]] ::testing::AssertionResult writes_all_once(const cuda::WorkList& list);

/// Each pass computes every pair of `keys_of` once, and no other: forward and backward by rows, and
/// backward by keys.
[[nodiscard]] ::testing::AssertionResult computes_the_pairs(const cuda::WorkList& list,
                                                            const KeysOf& keys_of);

/// A window's span holds no more tokens than the tile's reach of tokens and the window at both its
/// ends, and no strip that leaves a part goes without pairs.
[[nodiscard]] ::testing::AssertionResult wastes_nothing(const cuda::WorkList& list);

/// Cuts the plan for both passes and for the forward one, and checks all of the above.
[[nodiscard]] ::testing::AssertionResult cuts_well(const AttentionPlan& plan, const KeysOf& keys_of,
                                                   std::int64_t head_dim = 32);

}  // namespace attnscope::testing
