// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/segment.h"

#include <algorithm>

#include "engine/attention/implementation.h"
#include "kernels/plan/counts.h"

namespace attnscope {
namespace {

class PreparedSegment final : public PreparedAttention {
 public:
  explicit PreparedSegment(const Problem& problem)
      : problem_(problem),
        workspace_bytes_(
            cpu::segment_workspace_bytes(problem.plan, problem.head_dim, problem.threads)) {
    if (problem.direction != Direction::forward_backward) return;
    // Shared by both passes: the backward needs nothing of the forward's workspace.
    workspace_bytes_ = std::max(
        workspace_bytes_,
        cpu::segment_backward_workspace_bytes(problem.plan, problem.head_dim, problem.threads));
  }

  std::int64_t workspace_bytes() const override { return workspace_bytes_; }

  // The plan's useful work: keys outside a band are cut off before the kernel's tiles are filled,
  // except at the ragged edge of each tile.
  ExecutedWork executed() const override {
    const Passes passes = passes_of(problem_.direction);
    return {.flop = useful_flop(count(problem_.plan), problem_.head_dim, passes),
            .bytes = least_bytes(problem_.plan, problem_.head_dim, problem_.dtype, passes)};
  }

  Status forward(const ForwardCall& call) override {
    return cpu::segment_forward(problem_.plan, call.q, call.k, call.v, problem_.scale, call.o,
                                call.lse, problem_.threads, call.workspace);
  }

  Status backward(const BackwardCall& call) override {
    return cpu::segment_backward(problem_.plan, call.tensors, problem_.scale, problem_.threads,
                                 call.workspace);
  }

  bool writes_lse() const override { return true; }

 private:
  Problem problem_;
  std::int64_t workspace_bytes_;
};

}  // namespace

CudaVariant segment_on_cuda();  // segment_on_cuda.cpp

std::vector<Implementation> segment_implementations() {
  return {
      {.id = "segment",
       .summary =
           "the plan in one fused pass: online softmax over all segments of a row, no scores "
           "stored; backward in one further pass",
       .is_fused = true,
       .supports =
           [](const Problem& problem) {
             return cpu::segment_supports(problem.plan, problem.head_dim);
           },
       .prepare = [](const Problem& problem) { return std::make_unique<PreparedSegment>(problem); },
       .on_cuda = ATTNSCOPE_ON_CUDA(segment_on_cuda())}};
}

}  // namespace attnscope
