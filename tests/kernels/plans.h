#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Plans that no built-in pattern produces. Plans made by hand have blocks, heads that differ, rows
// without keys, offsets, listed queries and keys, and skipped keys. Random plans follow the rules
// of kernels/plan/attention_plan.h: every row is in one task, and the segments of a task are
// disjoint as sets of keys.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "kernels/plan/attention_plan.h"

namespace attnscope::testing {

/// A task of item 0.
[[nodiscard]] inline Task task_of(TokenRun queries, HeadRange heads, std::int64_t first_segment,
                                  std::int64_t count) {
  return {.queries = queries,
          .heads = heads,
          .item = 0,
          .first_segment = first_segment,
          .segment_count = count};
}

/// All rows are one task of item 0, which sees `segments` in every head.
[[nodiscard]] inline AttentionPlan plan_of_one_task(std::int64_t tokens, std::int32_t heads,
                                                    std::vector<Segment> segments) {
  const auto count = static_cast<std::int64_t>(segments.size());
  return {.tokens = tokens,
          .heads = heads,
          .tasks = {task_of({0, tokens}, {0, heads}, 0, count)},
          .segments = std::move(segments),
          .indices = {}};
}

struct HandMadePlan {
  std::string name;
  AttentionPlan plan;
  bool windows_over_listed_keys = false;  // not supported by the unfused kernel
};

[[nodiscard]] const std::vector<HandMadePlan>& hand_made_plans();

[[nodiscard]] AttentionPlan random_plan(unsigned seed);

/// One line per task and segment, for test failures.
[[nodiscard]] std::string text_of(const AttentionPlan& plan);

}  // namespace attnscope::testing
