// SPDX-License-Identifier: Apache-2.0
//
// Longformer's custom kernel (Beltagy et al., 2020, "Longformer: The Long-Document Transformer",
// section 3.1 and appendix A): each cell of the band is computed by itself, without chunks and
// their overlap, so that memory is exactly the band's.

#include <algorithm>
#include <limits>

#include "engine/attention/implementation.h"
#include "engine/attention/limits.h"
#include "engine/attention/longformer_banded/on_cpu.h"
#include "engine/attention/longformer_banded/on_cuda.h"
#include "engine/attention/longformer_banded/work.h"
#include "kernels/plan/windowed_layout.h"

namespace attnscope {
namespace {

using namespace longformer_banded;

class PreparedOnCpu final : public PreparedAttention {
 public:
  explicit PreparedOnCpu(const Problem& problem)
      : problem_(problem), band_(problem.plan, passes_of(problem.direction)) {}

  std::int64_t workspace_bytes() const override {
    return windowed_score_elements(problem_.plan) * static_cast<std::int64_t>(sizeof(float));
  }
  std::int64_t predicted_peak_bytes() const override { return workspace_bytes(); }
  ExecutedWork executed() const override { return banded_work(problem_); }

  Status forward(const ForwardCall& call) override {
    return band_.forward(banded(call.workspace), {.q = call.q, .k = call.k, .v = call.v}, call.o,
                         call.lse);
  }
  Status backward(const BackwardCall& call) override {
    return band_.backward(banded(call.workspace), call.tensors);
  }
  bool writes_lse() const override { return weighting_of(problem_) == Weighting::softmax; }

 private:
  [[nodiscard]] BandCall banded(std::span<std::byte> workspace) const {
    return {.scale = problem_.scale,
            .weighting = weighting_of(problem_),
            .threads = problem_.threads,
            .scores = reinterpret_cast<float*>(workspace.data())};
  }

  Problem problem_;
  BandOnCpu band_;
};

class LongformerBanded final : public Implementation {
 public:
  std::string_view id() const override { return "longformer-banded"; }

  std::string_view summary() const override {
    return "Longformer's banded kernel: one thread computes one cell of the band, no chunks, "
           "weights in float32, then softmax, then one sum a number; for windowed-matmul the two "
           "products alone; backward leaves the gradients where the weights were";
  }

  Status supports(const Problem& problem) const override {
    if (const Status ok = within_build_limits(problem, id()); !ok) return ok;
    if (problem.head_dim < 1 || problem.head_dim > largest_head_dim) {
      return fail("longformer-banded takes head dimensions 1 to {}, not {}", largest_head_dim,
                  problem.head_dim);
    }
    if (problem.device == DeviceKind::cuda) return supported_on_cuda(problem);
    return has_windowed_layout(problem.plan, std::numeric_limits<std::int64_t>::max() / 8);
  }

  Result<std::unique_ptr<PreparedAttention>> prepare(const Problem& problem) const override {
    if (const Status ok = supports(problem); !ok) return tl::unexpected(ok.error());
    if (problem.device == DeviceKind::cuda) return prepare_on_cuda(problem);
    return std::make_unique<PreparedOnCpu>(problem);
  }
};

}  // namespace

const Implementation& longformer_banded_implementation() {
  static const LongformerBanded banded;
  return banded;
}

}  // namespace attnscope
