// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/seen_keys.h"

#include <memory>

#include "engine/pattern/attention_pattern.h"
#include "engine/pattern/oracle.h"
#include "kernels/plan/row_intervals.h"

namespace attnscope::testing {
namespace {

struct OracleOfCase {
  AttentionPattern pattern;
  SequenceLayout layout;
  Oracle oracle;

  OracleOfCase(const std::string& name, std::optional<Window> window, const SequenceLayout& of)
      : pattern(*find_pattern(name)), layout(of), oracle(pattern, window, layout) {}
};

}  // namespace

KeysOf keys_from_oracle(const std::string& pattern, std::optional<Window> window,
                        const SequenceLayout& layout) {
  const auto its = std::make_shared<const OracleOfCase>(pattern, window, layout);
  return [its](std::int64_t token, std::int32_t head) {
    std::vector<std::int64_t> keys;
    const auto add_allowed = [&](TokenRange range) {
      for (std::int64_t j = range.begin; j < range.end; ++j) {
        if (its->oracle.allowed(head, token, j)) keys.push_back(j);
      }
    };
    // Tokens of different items never see each other: asking within the item keeps batches of
    // thousands of items affordable.
    const std::int64_t item = its->oracle.place_of(token).item;
    if (item < 0) {
      add_allowed({0, its->layout.tokens()});
    } else {
      add_allowed({0, its->layout.shared_query()});
      add_allowed(its->layout.item_tokens(item));
    }
    return keys;
  };
}

KeysOf keys_from_plan(const AttentionPlan& plan) {
  const auto none = plan.tasks.size();
  auto task_of = std::make_shared<std::vector<std::size_t>>(
      static_cast<std::size_t>(plan.tokens * plan.heads), none);
  for (std::size_t task = 0; task < plan.tasks.size(); ++task) {
    const Task& t = plan.tasks[task];
    for (std::int64_t i = 0; i < t.queries.size(); ++i) {
      for (std::int32_t h = t.heads.begin; h < t.heads.end; ++h) {
        const std::int64_t row = plan.token_at(t.queries, i) * plan.heads + h;
        (*task_of)[static_cast<std::size_t>(row)] = task;
      }
    }
  }
  return [&plan, task_of, none](std::int64_t token, std::int32_t head) {
    std::vector<std::int64_t> keys;
    const std::size_t task = (*task_of)[static_cast<std::size_t>(token * plan.heads + head)];
    if (task == none) return keys;
    for (const TokenRange& range : key_intervals(plan, plan.tasks[task], token)) {
      for (std::int64_t j = range.begin; j < range.end; ++j) keys.push_back(j);
    }
    return keys;
  };
}

}  // namespace attnscope::testing
