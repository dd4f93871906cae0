#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Reads a work list as its header (kernels/cuda/work_list.h) says a kernel does, and checks what
// every list must hold, whatever the plan. It shares no code with what makes the lists.

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <span>

#include "kernels/cuda/work_list.h"
#include "kernels/plan/attention_plan.h"
#include "tests/kernels/reference.h"

namespace attnscope::testing {

/// Token `position` of a run.
[[nodiscard]] std::int32_t token_of(const cuda::WorkList& list, const cuda::WorkRun& run,
                                    std::int32_t position);

/// Whether token `t`, which stands still, sees `token` of the segment, which passes by.
[[nodiscard]] bool sees(const cuda::WorkSegment& segment, std::int64_t t, std::int64_t token);

/// Calls `visit(token that stands still, token that passes by)` for every pair the unit computes.
void for_each_pair(const cuda::WorkList& list, const cuda::WorkUnit& unit,
                   const std::function<void(std::int32_t, std::int32_t)>& visit);

/// What stands still are rows, or keys.
[[nodiscard]] std::span<const cuda::WorkUnit> row_units(const cuda::WorkList& list);
[[nodiscard]] std::span<const cuda::WorkUnit> key_units(const cuda::WorkList& list);

/// Every number points into its table, every run ascends.
[[nodiscard]] ::testing::AssertionResult is_within_bounds(const cuda::WorkList& list);

/// Every row - and every key, where there are units of keys - is one unit's, once for each head.
[[nodiscard]] ::testing::AssertionResult writes_all_once(const cuda::WorkList& list);

/// Every pair of `keys_of` is computed once, and no other: by rows and by keys.
[[nodiscard]] ::testing::AssertionResult computes_the_pairs(const cuda::WorkList& list,
                                                            const KeysOf& keys_of);

/// Cuts the plan for both passes and for the forward one, and checks all of the above.
[[nodiscard]] ::testing::AssertionResult cuts_well(const AttentionPlan& plan,
                                                   const KeysOf& keys_of);

}  // namespace attnscope::testing
