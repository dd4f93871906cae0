// SPDX-License-Identifier: Apache-2.0
//
// Longformer's custom kernel (Beltagy et al., 2020, "Longformer: The Long-Document Transformer",
// section 3.1 and appendix A): each cell of the band is computed separately, without chunks and
// their overlap, so that memory is exactly that of the band.

#include "engine/attention/longformer_banded/longformer_banded.h"

#include <limits>

#include "engine/attention/implementation.h"
#include "engine/attention/longformer_banded/on_cpu.h"
#include "kernels/plan/counts.h"
#include "kernels/plan/windowed_layout.h"

namespace attnscope {
namespace longformer_banded {

ExecutedWork banded_work(const Problem& problem) {
  const bool backward = problem.direction == Direction::forward_backward;
  const bool softmax = weighting_of(problem) == Weighting::softmax;
  const PlanCounts counts = count(problem.plan);
  const auto pairs = static_cast<double>(counts.pairs);
  const double row_bytes = static_cast<double>(problem.head_dim * size_of(problem.dtype));
  const auto scores = static_cast<double>(windowed_score_elements(problem.plan));
  // Cells beyond a sequence's ends are written, not computed. Backward has the gradients of both
  // operands of both products; the weights are kept.
  const double products = backward ? 2 + 4 : 2;
  // Scores are written, read and written by the softmax, and read. Backward the weights are read
  // twice and replaced by the scores' gradients, which are read twice.
  const double passes = (softmax ? 4 : 2) + (backward ? 1 + (softmax ? 2 : 1) + 2 : 0);
  // grad_o is read for grad_v, for the scores' gradients and, on CUDA, for its product with o.
  const double arriving = !backward || !softmax ? 0 : problem.device == DeviceKind::cuda ? 2 : 1;
  return {.flop = 2.0 * products * pairs * static_cast<double>(problem.head_dim),
          .bytes = least_bytes(problem.plan, problem.head_dim, problem.dtype,
                               passes_of(problem.direction)) +
                   passes * scores * static_cast<double>(sizeof(float)) +
                   arriving * static_cast<double>(counts.query_rows) * row_bytes};
}

Status has_head_dim(const Problem& problem) {
  if (problem.head_dim >= 1 && problem.head_dim <= largest_head_dim) return {};
  return fail("longformer-banded supports head dimensions 1 to {}, not {}", largest_head_dim,
              problem.head_dim);
}

}  // namespace longformer_banded

namespace {

using namespace longformer_banded;

class PreparedOnCpu final : public PreparedAttention {
 public:
  explicit PreparedOnCpu(const Problem& problem)
      : problem_(problem), band_(problem.plan, passes_of(problem.direction)) {}

  std::int64_t workspace_bytes() const override {
    return windowed_score_elements(problem_.plan) * static_cast<std::int64_t>(sizeof(float));
  }
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

}  // namespace

std::vector<Implementation> longformer_banded_implementations() {
  return {
      {.id = "longformer-banded",
       .summary =
           "Longformer's banded kernel: one thread computes one cell of the band, no chunks, "
           "weights in float32, then softmax, then one sum per number; for windowed-matmul only "
           "the two products; backward replaces the weights with their gradients",
       .supports =
           [](const Problem& problem) {
             if (Status ok = has_head_dim(problem); !ok) return ok;
             return has_windowed_layout(problem.plan, std::numeric_limits<std::int64_t>::max() / 8);
           },
       .prepare = [](const Problem& problem) { return std::make_unique<PreparedOnCpu>(problem); },
       .on_cuda = ATTNSCOPE_ON_CUDA(longformer_banded::on_cuda())}};
}

}  // namespace attnscope
