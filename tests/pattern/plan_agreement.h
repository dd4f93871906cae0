#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Compares a compiled plan with the oracle, pair by pair, and with the guarantees of
// kernels/plan/attention_plan.h.

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "engine/pattern/attention_pattern.h"
#include "engine/pattern/axes.h"
#include "engine/pattern/sequence_layout.h"
#include "kernels/plan/attention_plan.h"

namespace attnscope::testing {

/// Success if intervals, counts, density and task structure of the plan of `pattern` on `layout`
/// match the oracle; otherwise the first difference.
[[nodiscard]] ::testing::AssertionResult plan_agrees(const AttentionPattern& pattern,
                                                     std::optional<Window> window,
                                                     const SequenceLayout& layout,
                                                     std::int32_t heads = 1);

/// Tasks ascend per head range, every row lies in exactly one of them in each head, the segments of
/// a task are disjoint.
[[nodiscard]] ::testing::AssertionResult is_well_formed(const AttentionPlan& plan);

/// A plan as text, a line for each task, e.g. "3-6: whole 0-3 band(1) 3-6 but 4".
[[nodiscard]] std::vector<std::string> text_of(const AttentionPlan& plan);

/// Names tests by their pattern.
inline std::string name_of_pattern(const ::testing::TestParamInfo<AttentionPattern>& pattern) {
  std::string name = pattern.param.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

}  // namespace attnscope::testing
