// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/prepared_blocks.h"

#include <c10/core/InferenceMode.h>

namespace attnscope {

PreparedBlocks::PreparedBlocks(const Problem& problem, bool masked, MaskValues values)
    : problem_(problem),
      heads_(problem.plan.heads),
      blocks_(blocks_of(problem.layout)),
      masked_(masked),
      values_(values),
      tasks_(problem.plan) {}

Status PreparedBlocks::forward(const ForwardCall& call) {
  const c10::InferenceMode no_gradients;
  use_torch_threads(problem_.threads);
  // Not in the constructor: a prediction is asked for before any memory of this size is touched.
  if (masked_ && masks_.empty()) {
    for (const Block& block : blocks_) {
      masks_.push_back(make_mask(problem_.plan, tasks_, block, problem_.dtype, values_.allowed,
                                 values_.refused));
    }
  }
  for (std::size_t b = 0; b < blocks_.size(); ++b) {
    run(call, blocks_[b], masked_ ? &masks_[b] : nullptr);
  }
  return {};
}

Status PreparedBlocks::backward(const BackwardCall&) {
  return fail("LibTorch's baselines have no backward pass yet");
}

std::int64_t PreparedBlocks::mask_bytes_of(const Block& block) const {
  return masked_ ? mask_bytes(tasks_, block, problem_.dtype, heads_) : 0;
}

}  // namespace attnscope
