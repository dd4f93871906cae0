// SPDX-License-Identifier: Apache-2.0
//
// Adapts the band's kernels to the engine's interface, for problems of device cuda after a check of
// cuda::usable().
#include <utility>

#include "engine/attention/cuda_runtime.h"
#include "engine/attention/longformer_banded/band_on_cuda.h"
#include "engine/attention/longformer_banded/longformer_banded.h"

namespace attnscope::longformer_banded {
namespace {

class PreparedOnCuda final : public PreparedAttention {
 public:
  PreparedOnCuda(const Problem& problem, BandOnCuda band)
      : problem_(problem), band_(std::move(band)), list_(band_.list()) {}

  std::int64_t workspace_bytes() const override {
    return band_.workspace_floats() * static_cast<std::int64_t>(sizeof(float));
  }
  std::int64_t allocated_bytes() const override { return list_.size(); }
  ExecutedWork executed() const override { return banded_work(problem_); }

  Status forward(const ForwardCall& call) override {
    return band_.forward(on_device(call.workspace), call.q, call.k, call.v, call.o,
                         call.lse.empty() ? nullptr : call.lse.data());
  }
  Status backward(const BackwardCall& call) override {
    return band_.backward(on_device(call.workspace), call.tensors);
  }
  bool writes_lse() const override { return weighting_of(problem_) == Weighting::softmax; }

 private:
  [[nodiscard]] DeviceCall on_device(std::span<std::byte> workspace) {
    return {.list = list_.data(),
            .workspace = reinterpret_cast<float*>(workspace.data()),
            .scale = problem_.scale,
            .weighting = weighting_of(problem_),
            .stream = cuda::current_stream()};
  }

  Problem problem_;
  BandOnCuda band_;
  cuda::ListOnDevice list_;  // of band_
};

}  // namespace

CudaVariant on_cuda() {
  return {.supports =
              [](const Problem& problem) {
                if (Status ok = has_head_dim(problem); !ok) return ok;
                return DeviceLists::fit(problem.plan);
              },
          .prepare = [](const Problem& problem) -> Result<std::unique_ptr<PreparedAttention>> {
            auto band =
                BandOnCuda::make(problem.plan, problem.head_dim, passes_of(problem.direction));
            if (!band) return tl::unexpected(band.error());
            return std::make_unique<PreparedOnCuda>(problem, std::move(*band));
          }};
}

}  // namespace attnscope::longformer_banded
