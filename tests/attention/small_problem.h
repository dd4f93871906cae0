#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A pattern on a layout with everything a Problem refers to, and the memory of a call, for tests.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/attention/implementation.h"
#include "engine/attention/list.h"
#include "engine/attention/packed_tensor.h"
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

/// "0-4 20-24", or "none".
inline std::string text_of(const std::vector<TokenRange>& ranges) {
  std::string text;
  for (const TokenRange& range : ranges)
    text += fmt::format("{}{}-{}", text.empty() ? "" : " ", range.begin, range.end);
  return text.empty() ? "none" : text;
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

/// The listed implementation `id`, prepared for a problem that it supports.
inline std::unique_ptr<PreparedAttention> prepare(std::string_view id, const Problem& problem) {
  return find_implementation(id)->prepare(problem).value();
}

/// The reason why `id` declines a problem; empty if it supports it. `prepare` must agree.
inline std::string refusal(std::string_view id, const Problem& problem) {
  const Status ok = find_implementation(id)->supports(problem);
  EXPECT_EQ(find_implementation(id)->prepare(problem).has_value(), ok.has_value()) << id;
  return ok ? "" : ok.error().message;
}

/// Memory of one tensor of the problem's layout, order and dtype.
class TensorMemory {
 public:
  explicit TensorMemory(const Problem& problem)
      : problem_(problem),
        bytes_(static_cast<std::size_t>(
            packed_bytes(problem.layout, problem.plan.heads, problem.head_dim, problem.dtype))) {}
  [[nodiscard]] std::int64_t values() const {
    return problem_.plan.tokens * problem_.plan.heads * problem_.head_dim;
  }
  [[nodiscard]] Tensor tensor() {
    return packed_tensor(problem_.layout, problem_.plan.heads, problem_.head_dim, problem_.dtype,
                         problem_.memory_order, bytes_.data());
  }
  [[nodiscard]] ConstTensor input() { return attnscope::as_const(tensor()); }
  void set(const std::vector<float>& values) {
    pack(values, problem_.plan.tokens, problem_.plan.heads, tensor());
  }
  [[nodiscard]] const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  const Problem& problem_;
  std::vector<std::byte> bytes_;
};

/// All tensors of a forward and a backward call.
struct CallMemory {
  explicit CallMemory(const Problem& problem)
      : q(problem),
        k(problem),
        v(problem),
        o(problem),
        grad_o(problem),
        grad_q(problem),
        grad_k(problem),
        grad_v(problem),
        lse(static_cast<std::size_t>(problem.plan.tokens * problem.plan.heads)) {}

  [[nodiscard]] ForwardCall forward(std::span<std::byte> workspace = {}) {
    return {.q = q.input(),
            .k = k.input(),
            .v = v.input(),
            .o = o.tensor(),
            .lse = lse,
            .workspace = workspace};
  }
  [[nodiscard]] BackwardCall backward(std::span<std::byte> workspace = {}) {
    return {.tensors = {.q = q.input(),
                        .k = k.input(),
                        .v = v.input(),
                        .o = o.input(),
                        .lse = lse,
                        .grad_o = grad_o.input(),
                        .grad_q = grad_q.tensor(),
                        .grad_k = grad_k.tensor(),
                        .grad_v = grad_v.tensor()},
            .workspace = workspace};
  }

  TensorMemory q, k, v, o, grad_o, grad_q, grad_k, grad_v;
  std::vector<float> lse;
};

}  // namespace attnscope::tests
