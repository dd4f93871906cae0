#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A pattern on a layout with everything a Problem refers to, for tests.

#include <optional>
#include <string_view>
#include <utility>

#include "engine/attention/implementation.h"
#include "engine/pattern/compile_plan.h"

namespace attnscope::tests {

inline LayoutItem item(std::int64_t cls, std::int64_t query, std::int64_t document) {
  LayoutItem item;
  item.cls = cls;
  item.query = query;
  if (document > 0) item.documents = {document};
  return item;
}

inline SequenceLayout usual() {
  return SequenceLayout::uniform(2, item(1, 3, 9));
}

inline AttentionPattern pattern(std::string_view name_or_json) {
  if (name_or_json.starts_with('{')) return parse_pattern(name_or_json, "test").value();
  return find_pattern(name_or_json).value();
}

struct SmallProblem {
  SmallProblem(std::string_view name_or_json, std::optional<Window> window_in,
               SequenceLayout layout_in, std::int32_t heads = 2, std::int64_t head_dim = 8)
      : attention_pattern(pattern(name_or_json)),
        layout(std::move(layout_in)),
        plan(compile_plan(attention_pattern, window_in, layout, heads).value()),
        problem{.pattern = attention_pattern,
                .window = window_in,
                .layout = layout,
                .plan = plan,
                .head_dim = head_dim,
                .scale = scale_of(Operation::attention, head_dim)} {}
  SmallProblem(const SmallProblem&) = delete;
  SmallProblem& operator=(const SmallProblem&) = delete;

  AttentionPattern attention_pattern;
  SequenceLayout layout;
  AttentionPlan plan;
  Problem problem;
};

}  // namespace attnscope::tests
