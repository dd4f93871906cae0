// SPDX-License-Identifier: Apache-2.0
//
// Adapts the windowed products and the three steps of kernels/cuda/windowed.h to the engine's
// interface.
#include <limits>
#include <utility>

#include "engine/attention/cuda_runtime.h"
#include "engine/attention/windowed/windowed.h"
#include "kernels/cuda/windowed.h"

namespace attnscope {
namespace {

/// The caller's workspace: scores (later weights) and, for backward, their gradients.
class Parts {
 public:
  Parts(std::int64_t scores, std::int64_t gradients) {
    if (scores > countable || gradients > countable) return;
    gradients_ = aligned(scores);
    bytes_ = gradients_ + aligned(gradients);
  }
  /// Below 0: the size does not fit 64 bits.
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }
  [[nodiscard]] float* scores(std::span<std::byte> workspace) const {
    return reinterpret_cast<float*>(workspace.data());
  }
  [[nodiscard]] float* gradients(std::span<std::byte> workspace) const {
    return reinterpret_cast<float*>(workspace.data() + gradients_);
  }

 private:
  static std::int64_t aligned(std::int64_t floats) {
    constexpr std::int64_t alignment = 256;
    const std::int64_t bytes = floats * static_cast<std::int64_t>(sizeof(float));
    return (bytes + alignment - 1) / alignment * alignment;
  }
  static constexpr std::int64_t countable = std::numeric_limits<std::int64_t>::max() / 32;
  std::int64_t gradients_ = 0, bytes_ = -1;
};

class PreparedOnCuda : public PreparedAttention {
 public:
  PreparedOnCuda(const Problem& problem, cuda::WindowedWork work)
      : problem_(problem),
        work_(std::move(work)),
        list_(work_.list()),
        parts_(work_.score_elements(),
               problem.direction == Direction::forward_backward ? work_.score_elements() : 0) {}

  ExecutedWork executed() const final {
    return executed_on_scores(problem_, work_.score_elements());
  }
  std::int64_t workspace_bytes() const final { return parts_.bytes(); }
  std::int64_t allocated_bytes() const final { return list_.size(); }

 protected:
  Problem problem_;
  cuda::WindowedWork work_;
  cuda::ListOnDevice list_;  // of work_
  Parts parts_;
};

class PreparedStepsOnCuda final : public PreparedOnCuda {
 public:
  using PreparedOnCuda::PreparedOnCuda;

  Status forward(const ForwardCall& call) override {
    float* lse = call.lse.empty() ? nullptr : call.lse.data();
    return cuda::windowed_forward(work_, list_.data(), call.q, call.k, call.v, problem_.scale,
                                  call.o, lse, parts_.scores(call.workspace),
                                  cuda::current_stream());
  }

  Status backward(const BackwardCall& call) override {
    return cuda::windowed_backward(work_, list_.data(), call.tensors, problem_.scale,
                                   parts_.scores(call.workspace), parts_.gradients(call.workspace),
                                   cuda::current_stream());
  }

  bool writes_lse() const override { return true; }
};

class PreparedProductsOnCuda final : public PreparedOnCuda {
 public:
  using PreparedOnCuda::PreparedOnCuda;

  Status forward(const ForwardCall& call) override {
    float* band = parts_.scores(call.workspace);
    const cuda::Stream stream = cuda::current_stream();
    if (Status done =
            cuda::windowed_qk(work_, list_.data(), call.q, call.k, problem_.scale, band, stream);
        !done) {
      return done;
    }
    return cuda::windowed_pv(work_, list_.data(), band, call.v, call.o, stream);
  }

  Status backward(const BackwardCall& call) override {
    const GradientTensors& t = call.tensors;
    float* grad_band = parts_.gradients(call.workspace);
    const cuda::Stream stream = cuda::current_stream();
    if (Status done = cuda::windowed_pv_backward(work_, list_.data(), parts_.scores(call.workspace),
                                                 t.v, t.grad_o, grad_band, t.grad_v, stream);
        !done) {
      return done;
    }
    return cuda::windowed_qk_backward(work_, list_.data(), grad_band, t.q, t.k, problem_.scale,
                                      t.grad_q, t.grad_k, stream);
  }

  bool writes_lse() const override { return false; }
};

Result<cuda::WindowedWork> products_of(const Problem& problem) {
  const auto band = band_sequences(problem.plan);
  if (!band) return tl::unexpected(band.error());
  return cuda::band_work({.sequences = band->sequences,
                          .heads = problem.plan.heads,
                          .head_dim = problem.head_dim,
                          .window = band->window},
                         problem.dtype, passes_of(problem.direction));
}

Status supports(const Problem& problem) {
  if (Status ok = cuda::windowed_supports(problem.plan, problem.head_dim); !ok) return ok;
  if (problem.operation != Operation::windowed_matmul) return {};
  const auto band = band_sequences(problem.plan);
  return band ? Status() : tl::unexpected(band.error());
}

Result<std::unique_ptr<PreparedAttention>> prepare(const Problem& problem) {
  const bool products = problem.operation == Operation::windowed_matmul;
  auto work = products ? products_of(problem)
                       : cuda::windowed_work(problem.plan, problem.head_dim, problem.dtype,
                                             passes_of(problem.direction));
  if (!work) return tl::unexpected(work.error());
  if (products) return std::make_unique<PreparedProductsOnCuda>(problem, std::move(*work));
  return std::make_unique<PreparedStepsOnCuda>(problem, std::move(*work));
}

}  // namespace

CudaVariant windowed_on_cuda() {
  return {.supports = supports, .prepare = prepare};
}

}  // namespace attnscope
