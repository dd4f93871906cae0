// SPDX-License-Identifier: Apache-2.0
//
// The paper's windowed matrix products (Schlatt et al., ECIR 2024, Section 3.2): two products
// around a compact band, alone (operation windowed-matmul) or with the joint softmax between them.

#include "engine/attention/windowed/windowed.h"

#include "engine/attention/limits.h"
#include "engine/attention/windowed/band_sequences.h"
#include "kernels/cpu/windowed.h"
#include "kernels/plan/counts.h"

namespace attnscope {
namespace {

constexpr auto float_bytes = static_cast<std::int64_t>(sizeof(float));

std::span<float> as_floats(std::span<std::byte> bytes, std::int64_t count) {
  return {reinterpret_cast<float*>(bytes.data()), static_cast<std::size_t>(count)};
}

/// Work on `scores` stored scores: the band's cut-off ends are computed (as zeros) and stored, too.
ExecutedWork band_work(const Problem& problem, std::int64_t scores, int passes) {
  return {.flop = 4.0 * static_cast<double>(scores) * static_cast<double>(problem.head_dim),
          .bytes = least_bytes(problem.plan, problem.head_dim, problem.dtype) +
                   static_cast<double>(scores * float_bytes * passes)};
}

class PreparedWindowed final : public PreparedAttention {
 public:
  explicit PreparedWindowed(const Problem& problem)
      : problem_(problem), scores_(cpu::windowed_score_elements(problem.plan)) {}

  std::int64_t workspace_bytes() const override { return scores_ * float_bytes; }
  std::int64_t predicted_peak_bytes() const override { return workspace_bytes(); }
  // Scores are written, read and written by the softmax, and read.
  ExecutedWork executed() const override { return band_work(problem_, scores_, 4); }

  Status forward(const ForwardCall& call) override {
    return cpu::windowed_forward(problem_.plan, call.q, call.k, call.v, problem_.scale, call.o,
                                 call.lse, problem_.threads, as_floats(call.workspace, scores_));
  }

  Status backward(const BackwardCall&) override {
    return fail("windowed has no backward pass yet");
  }

  bool writes_lse() const override { return true; }

 private:
  Problem problem_;
  std::int64_t scores_;
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
        scores_(cpu::band_elements(band_problem_)) {}

  std::int64_t workspace_bytes() const override { return scores_ * float_bytes; }
  std::int64_t predicted_peak_bytes() const override { return workspace_bytes(); }
  ExecutedWork executed() const override { return band_work(problem_, scores_, 2); }

  Status forward(const ForwardCall& call) override {
    const std::span<float> band = as_floats(call.workspace, scores_);
    if (const Status done =
            cpu::windowed_qk(band_problem_, call.q, call.k, problem_.scale, problem_.threads, band);
        !done) {
      return done;
    }
    return cpu::windowed_pv(band_problem_, band, call.v, problem_.threads, call.o);
  }

  Status backward(const BackwardCall&) override {
    return fail("windowed has no backward pass yet");
  }

  bool writes_lse() const override { return false; }

 private:
  Problem problem_;
  std::vector<TokenRange> sequences_;
  cpu::BandProblem band_problem_;  // refers to sequences_
  std::int64_t scores_;
};

class Windowed final : public Implementation {
 public:
  std::string_view id() const override { return "windowed"; }

  std::string_view summary() const override {
    return "the paper's three steps on the CPU: windowed QK^T into a compact band, joint softmax "
           "over "
           "all segments, windowed PV; for windowed-matmul the two products alone";
  }

  Status supports(const Problem& problem) const override {
    if (const Status ok = within_build_limits(problem, id()); !ok) return ok;
    if (problem.direction == Direction::forward_backward)
      return fail("windowed has no backward pass yet");
    if (const Status ok = cpu::windowed_supports(problem.plan, problem.head_dim); !ok) {
      return ok;
    }
    if (problem.operation == Operation::windowed_matmul) {
      if (const auto band = band_sequences(problem.plan); !band) {
        return tl::unexpected(band.error());
      }
    }
    return {};
  }

  Result<std::unique_ptr<PreparedAttention>> prepare(const Problem& problem) const override {
    if (const Status ok = supports(problem); !ok) return tl::unexpected(ok.error());
    if (problem.operation == Operation::windowed_matmul) {
      return std::make_unique<PreparedProducts>(problem, *band_sequences(problem.plan));
    }
    return std::make_unique<PreparedWindowed>(problem);
  }
};

}  // namespace

const Implementation& windowed_implementation() {
  static const Windowed windowed;
  return windowed;
}

}  // namespace attnscope
