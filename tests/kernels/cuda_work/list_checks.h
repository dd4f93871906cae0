#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Reads a work list as a kernel does (kernels/cuda/work_list.h), and checks the properties of lists
// of every plan. Shares no code with the functions that create the lists.

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

/// Calls `visit(token of the unit, token of a segment)` for every pair that the unit computes.
void for_each_pair(const cuda::WorkList& list, const cuda::WorkUnit& unit,
                   const std::function<void(std::int32_t, std::int32_t)>& visit);

/// The units of rows, and those of keys.
[[nodiscard]] std::span<const cuda::WorkUnit> row_units(const cuda::WorkList& list);
[[nodiscard]] std::span<const cuda::WorkUnit> key_units(const cuda::WorkList& list);

/// All indices are within their tables, and all runs ascend.
[[nodiscard]] ::testing::AssertionResult is_within_bounds(const cuda::WorkList& list);

/// Every row, and every key if there are units of keys, is in one unit for each head.
[[nodiscard]] ::testing::AssertionResult writes_all_once(const cuda::WorkList& list);

/// Every pair of `keys_of` and no other is computed once, by rows and by keys.
[[nodiscard]] ::testing::AssertionResult computes_the_pairs(const cuda::WorkList& list,
                                                            const KeysOf& keys_of);

/// Cuts the plan for both passes and for the forward pass alone, and checks all of the above.
[[nodiscard]] ::testing::AssertionResult cuts_well(const AttentionPlan& plan,
                                                   const KeysOf& keys_of);

}  // namespace attnscope::testing
