// SPDX-License-Identifier: Apache-2.0
//
// Adapts the fused kernels of kernels/cuda/segment.h to the engine's interface.
#include <span>
#include <utility>

#include "engine/attention/cuda_runtime.h"
#include "engine/attention/implementation.h"
#include "kernels/cuda/segment.h"
#include "kernels/plan/counts.h"

namespace attnscope {
namespace {

class PreparedSegmentOnCuda final : public PreparedAttention {
 public:
  PreparedSegmentOnCuda(const Problem& problem, cuda::SegmentWork work)
      : problem_(problem), work_(std::move(work)), list_(work_.list()) {}

  std::int64_t workspace_bytes() const override { return work_.workspace_bytes(); }

  ExecutedWork executed() const override {
    const Passes passes = passes_of(problem_.direction);
    return {.flop = useful_flop(count(problem_.plan), problem_.head_dim, passes),
            .bytes = least_bytes(problem_.plan, problem_.head_dim, problem_.dtype, passes)};
  }

  std::int64_t allocated_bytes() const override { return list_.size(); }

  Status forward(const ForwardCall& call) override {
    float* lse = call.lse.empty() ? nullptr : call.lse.data();
    return cuda::segment_forward(work_, memory(call.workspace), call.q, call.k, call.v,
                                 problem_.scale, call.o, lse, cuda::current_stream());
  }

  Status backward(const BackwardCall& call) override {
    return cuda::segment_backward(work_, memory(call.workspace), call.tensors, problem_.scale,
                                  cuda::current_stream());
  }

  bool writes_lse() const override { return true; }

 private:
  [[nodiscard]] cuda::SegmentMemory memory(std::span<std::byte> workspace) {
    return {.list = list_.data(), .workspace = workspace.data()};
  }

  Problem problem_;
  cuda::SegmentWork work_;
  cuda::ListOnDevice list_;  // of work_
};

}  // namespace

CudaVariant segment_on_cuda() {
  return {.supports =
              [](const Problem& problem) {
                return cuda::segment_supports(problem.plan, problem.head_dim);
              },
          .prepare = [](const Problem& problem) -> Result<std::unique_ptr<PreparedAttention>> {
            auto work = cuda::segment_work(problem.plan, problem.head_dim, problem.dtype,
                                           passes_of(problem.direction),
                                           {.processors = cuda::multiprocessors()});
            if (!work) return tl::unexpected(work.error());
            return std::make_unique<PreparedSegmentOnCuda>(problem, std::move(*work));
          }};
}

}  // namespace attnscope
