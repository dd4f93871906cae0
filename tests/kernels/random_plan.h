#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Plans drawn at random within the rules of kernels/plan/attention_plan.h: every row in one task,
// a task's segments disjoint as key sets; all else is free.

#include <random>

#include "kernels/plan/attention_plan.h"

namespace attnscope::testing {

[[nodiscard]] AttentionPlan random_plan(unsigned seed);

/// For test failures: tasks and segments, one a line.
[[nodiscard]] std::string text_of(const AttentionPlan& plan);

}  // namespace attnscope::testing
