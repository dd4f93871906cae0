#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Plans that no built-in pattern gives: blocks, heads that differ, rows without keys, offsets,
// listed queries and keys, skipped keys.

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

}  // namespace attnscope::testing
