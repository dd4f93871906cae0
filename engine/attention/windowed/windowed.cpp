// SPDX-License-Identifier: Apache-2.0
//
// The paper's windowed matrix products (Schlatt et al., ECIR 2024, Section 3.2): two products
// around a compact band, without a softmax (operation windowed-matmul) or with the joint softmax
// between them.
#include "engine/attention/windowed/windowed.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "kernels/cpu/windowed.h"
#include "kernels/plan/counts.h"

namespace attnscope {

Result<BandSequences> band_sequences(const AttentionPlan& plan) {
  BandSequences result;
  std::optional<std::int64_t> window;
  std::int64_t longest = 0;
  bool any_whole = false;
  for (const Task& task : plan.tasks) {
    if (task.queries.size() == 0) continue;
    const auto segments = plan.segments_of(task);
    const bool own_band = segments.size() == 1 && !task.queries.listed && task.heads.begin == 0 &&
                          task.heads.end == plan.heads && !segments[0].keys.listed &&
                          segments[0].keys.begin == task.queries.begin &&
                          segments[0].keys.end == task.queries.end && segments[0].offset == 0 &&
                          segments[0].kind != SegmentKind::block &&
                          segments[0].skip_begin == segments[0].skip_end;
    if (!own_band) {
      return fail(
          "windowed-matmul needs sequences that attend only to a window of their own tokens, and "
          "tokens "
          "{} to {} do not; use a layout of only documents, without [CLS] and query",
          task.queries.begin, task.queries.end - 1);
    }
    result.sequences.push_back({task.queries.begin, task.queries.end});
    longest = std::max(longest, task.queries.size());
    if (segments[0].kind == SegmentKind::whole) {
      any_whole = true;
    } else if (window && *window != segments[0].window) {
      return fail("windowed-matmul supports one window, and this pattern has {} and {}", *window,
                  segments[0].window);
    } else {
      window = segments[0].window;
    }
  }
  if (any_whole && window) {
    return fail("windowed-matmul supports one window, and this pattern has {} and inf", *window);
  }
  // A window as long as the longest sequence covers the whole sequence.
  result.window = window.value_or(std::max<std::int64_t>(longest - 1, 0));
  return result;
}

/// The band's cut-off ends are computed (as zeros) and stored, too. Backward has the gradients of
/// both operands of each product.
ExecutedWork executed_on_scores(const Problem& problem, std::int64_t scores) {
  const bool backward = problem.direction == Direction::forward_backward;
  // Scores are written, read and written by the softmax, and read. Backward the gradient of the
  // weights is written, that of the scores computed from it and the weights, and read by three
  // products.
  int passes = backward ? 4 + 7 : 4;
  // The band is written and read. Backward it is read again, and its gradient is written and read
  // twice.
  if (problem.operation == Operation::windowed_matmul) passes = backward ? 2 + 4 : 2;
  return {.flop = 2.0 * (backward ? 2 + 4 : 2) * static_cast<double>(scores) *
                  static_cast<double>(problem.head_dim),
          .bytes = least_bytes(problem.plan, problem.head_dim, problem.dtype,
                               passes_of(problem.direction)) +
                   static_cast<double>(scores) * static_cast<double>(sizeof(float)) * passes};
}

namespace {

constexpr auto float_bytes = static_cast<std::int64_t>(sizeof(float));

/// The workspace: the scores (later the weights) of the forward, and the additional memory of the
/// backward.
class ScoreWorkspace {
 public:
  ScoreWorkspace(const Problem& problem, std::int64_t scores, std::int64_t backward)
      : scores_(scores),
        backward_(problem.direction == Direction::forward_backward ? backward : 0) {}

  [[nodiscard]] std::int64_t scores() const { return scores_; }
  /// Below 0: the size does not fit 64 bits.
  [[nodiscard]] std::int64_t bytes() const {
    std::int64_t floats = 0;
    std::int64_t bytes = 0;
    if (scores_ > std::numeric_limits<std::int64_t>::max() / 2) return -1;
    if (__builtin_add_overflow(backward_start(), backward_, &floats)) return -1;
    if (__builtin_mul_overflow(floats, float_bytes, &bytes)) return -1;
    return bytes;
  }
  [[nodiscard]] std::span<float> scores_in(std::span<std::byte> workspace) const {
    return floats_in(workspace, 0, scores_);
  }
  [[nodiscard]] std::span<float> backward_in(std::span<std::byte> workspace) const {
    return floats_in(workspace, backward_start(), backward_);
  }

 private:
  /// Offset aligned to a cache line.
  [[nodiscard]] std::int64_t backward_start() const {
    return backward_ == 0 ? scores_ : (scores_ / 16 + 1) * 16;
  }
  static std::span<float> floats_in(std::span<std::byte> workspace, std::int64_t begin,
                                    std::int64_t count) {
    return {reinterpret_cast<float*>(workspace.data()) + begin, static_cast<std::size_t>(count)};
  }

  std::int64_t scores_, backward_;
};

class PreparedWindowed final : public PreparedAttention {
 public:
  explicit PreparedWindowed(const Problem& problem)
      : problem_(problem),
        workspace_(problem, cpu::windowed_score_elements(problem.plan),
                   cpu::windowed_backward_elements(problem.plan, problem.head_dim)) {}

  std::int64_t workspace_bytes() const override { return workspace_.bytes(); }
  ExecutedWork executed() const override {
    return executed_on_scores(problem_, workspace_.scores());
  }

  Status forward(const ForwardCall& call) override {
    return cpu::windowed_forward(problem_.plan, call.q, call.k, call.v, problem_.scale, call.o,
                                 call.lse, problem_.threads, workspace_.scores_in(call.workspace));
  }

  Status backward(const BackwardCall& call) override {
    return cpu::windowed_backward(problem_.plan, call.tensors, problem_.scale,
                                  workspace_.scores_in(call.workspace), problem_.threads,
                                  workspace_.backward_in(call.workspace));
  }

  bool writes_lse() const override { return true; }

 private:
  Problem problem_;
  ScoreWorkspace workspace_;
};

class PreparedProducts final : public PreparedAttention {
 public:
  PreparedProducts(const Problem& problem, BandSequences band)
      : problem_(problem),
        sequences_(std::move(band.sequences)),
        band_problem_{.sequences = sequences_,
                      .heads = problem.plan.heads,
                      .head_dim = problem.head_dim,
                      .window = band.window},
        // Backward: the gradient of the band.
        workspace_(problem, cpu::band_elements(band_problem_), cpu::band_elements(band_problem_)) {}

  std::int64_t workspace_bytes() const override { return workspace_.bytes(); }
  ExecutedWork executed() const override {
    return executed_on_scores(problem_, workspace_.scores());
  }

  Status forward(const ForwardCall& call) override {
    const std::span<float> band = workspace_.scores_in(call.workspace);
    if (const Status done =
            cpu::windowed_qk(band_problem_, call.q, call.k, problem_.scale, problem_.threads, band);
        !done) {
      return done;
    }
    return cpu::windowed_pv(band_problem_, band, call.v, problem_.threads, call.o);
  }

  Status backward(const BackwardCall& call) override {
    const GradientTensors& t = call.tensors;
    const std::span<float> grad_band = workspace_.backward_in(call.workspace);
    if (const Status done =
            cpu::windowed_pv_backward(band_problem_, workspace_.scores_in(call.workspace), t.v,
                                      t.grad_o, problem_.threads, grad_band, t.grad_v);
        !done) {
      return done;
    }
    return cpu::windowed_qk_backward(band_problem_, grad_band, t.q, t.k, problem_.scale,
                                     problem_.threads, t.grad_q, t.grad_k);
  }

  bool writes_lse() const override { return false; }

 private:
  Problem problem_;
  std::vector<TokenRange> sequences_;
  cpu::BandProblem band_problem_;  // refers to sequences_
  ScoreWorkspace workspace_;
};

Status supports_on_cpu(const Problem& problem) {
  if (Status ok = cpu::windowed_supports(problem.plan, problem.head_dim); !ok) return ok;
  if (problem.operation != Operation::windowed_matmul) return {};
  const auto band = band_sequences(problem.plan);
  return band ? Status() : tl::unexpected(band.error());
}

Result<std::unique_ptr<PreparedAttention>> prepare_on_cpu(const Problem& problem) {
  if (problem.operation == Operation::windowed_matmul) {
    return std::make_unique<PreparedProducts>(problem, *band_sequences(problem.plan));
  }
  return std::make_unique<PreparedWindowed>(problem);
}

}  // namespace

std::vector<Implementation> windowed_implementations() {
  return {{.id = "windowed",
           .summary =
               "the paper's three steps: windowed QK^T into a compact band, joint softmax over all "
               "segments, windowed PV; for windowed-matmul only the two products; backward in the "
               "same steps",
           .supports = supports_on_cpu,
           .prepare = prepare_on_cpu,
           .on_cuda = ATTNSCOPE_ON_CUDA(windowed_on_cuda())}};
}

}  // namespace attnscope
