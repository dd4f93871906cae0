#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Plans that no built-in pattern gives. Made by hand: blocks, heads that differ, rows without keys,
// offsets, listed queries and keys, skipped keys. Drawn at random within the rules of
// kernels/plan/attention_plan.h: every row in one task, a task's segments disjoint as key sets; all
// else is free.

#include <string>
#include <vector>

#include "kernels/plan/attention_plan.h"

namespace attnscope::testing {

struct HandMadePlan {
  std::string name;
  AttentionPlan plan;
  bool windows_over_listed_keys = false;  // which the unfused kernel declines
};

[[nodiscard]] const std::vector<HandMadePlan>& hand_made_plans();

[[nodiscard]] AttentionPlan random_plan(unsigned seed);

/// For test failures: tasks and segments, one a line.
[[nodiscard]] std::string text_of(const AttentionPlan& plan);

}  // namespace attnscope::testing
