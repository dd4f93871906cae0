#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The tensors of a problem with random values and their float64 reference, for tests that compare
// the errors of implementations.

#include <gtest/gtest.h>

#include <functional>

#include "engine/attention/list.h"
#include "engine/attention/packed_tensor.h"
#include "engine/proof/call.h"

namespace attnscope::tests {

class ReferenceCall {
 public:
  /// `draw` returns the next value of tensor 0 ... 3: q, k, v and grad_o.
  ReferenceCall(const Problem& problem, const std::function<float(std::size_t tensor)>& draw)
      : problem_(problem), tensors_(shape_of(problem), problem.device) {
    tensors_.place([&](std::int64_t bytes) { return guarded_room(problem.device, bytes); });
    const CallView view = tensors_.on_host();
    const std::array filled{view.q, view.k, view.v, view.grad_o};
    for (std::size_t i = 0; i < filled.size(); ++i) {
      if (filled[i].data == nullptr) continue;  // no gradient arrives
      std::vector<float> values(
          static_cast<std::size_t>(problem.plan.tokens * problem.plan.heads * problem.head_dim));
      for (float& value : values) value = draw(i);
      pack(values, problem.plan.tokens, problem.plan.heads, filled[i]);
    }
    const std::int64_t all_rows = problem.plan.tokens * problem.plan.heads;
    reference = reference_of(problem, sample_rows(problem.layout, problem.plan.heads, all_rows, 1),
                             tensors_);
  }

  /// Calls `id` with this scale, in both passes if the problem has gradients.
  Verdict run(std::string_view id, float scale) {
    Problem requested = problem_;
    requested.scale = scale;
    auto prepared = find_implementation(id)->prepare(requested);
    EXPECT_TRUE(prepared) << prepared.error().message;
    const Pass pass = problem_.direction == Direction::forward ? Pass::forward : Pass::both;
    const Room workspace = guarded_room(problem_.device, (*prepared)->workspace_bytes());
    const Status done = call(**prepared, tensors_.on_host(), workspace.values, pass);
    EXPECT_TRUE(done) << done.error().message;
    return judge(reference, tensors_, pass, (*prepared)->writes_lse());
  }
  Verdict run(std::string_view id) { return run(id, problem_.scale); }

  /// The tensors after the last call.
  [[nodiscard]] CallView tensors() const { return tensors_.on_host(); }
  [[nodiscard]] double output_error() const { return relative_error(reference.rows, tensors().o); }

  Reference reference;

 private:
  const Problem& problem_;
  CallTensors tensors_;
};

}  // namespace attnscope::tests
