#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Walks a work list as its header (kernels/cuda/work_list.h) says a kernel does, and checks what
// every list must hold, whatever the plan. It shares no code with what makes the lists.

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <span>

#include "kernels/cuda/work_list.h"
#include "kernels/plan/attention_plan.h"
#include "tests/kernels/reference.h"

namespace attnscope::testing {

/// The tile or an extra strip of a unit.
struct WalkedRows {
  const cuda::WorkUnit* unit = nullptr;
  cuda::WorkRun run;
  std::int32_t first_rule = 0;
  cuda::WorkPart part;
};

/// Calls `visit` for the tile and each extra strip of a unit.
void for_each_rows(const cuda::WorkList& list, const cuda::WorkUnit& unit,
                   const std::function<void(const WalkedRows&)>& visit);

/// Token `position` of a run.
[[nodiscard]] std::int32_t token_of(const cuda::WorkList& list, const cuda::WorkRun& run,
                                    std::int32_t position);

/// Whether stationary token `t` sees streamed token `token` by `rule`; the span's left-out tokens
/// aside.
[[nodiscard]] bool sees(const cuda::WorkRule& rule, std::int64_t t, std::int64_t token);

/// Whether the span's bitmap marks the token.
[[nodiscard]] bool is_left_out(const cuda::WorkList& list, const cuda::WorkSpan& span,
                               std::int32_t token);

/// Calls `visit(stationary token, streamed token)` for every pair the rows compute.
void for_each_pair(const cuda::WorkList& list, const WalkedRows& rows,
                   const std::function<void(std::int32_t, std::int32_t)>& visit);

/// The units of segment_forward, and those of segment_backward.
[[nodiscard]] std::span<const cuda::WorkUnit> forward_units(const cuda::WorkList& list);
[[nodiscard]] std::span<const cuda::WorkUnit> backward_units(const cuda::WorkList& list);

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
