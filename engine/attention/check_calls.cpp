// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/check_calls.h"

#include <algorithm>

#include "engine/attention/guarded_buffer.h"
#include "engine/attention/packed_tensor.h"

namespace attnscope {
namespace {

std::int64_t tensor_bytes(const Problem& problem) {
  return packed_bytes(problem.layout, problem.plan.heads, problem.head_dim, problem.dtype);
}

std::int64_t lse_bytes(const Problem& problem) {
  return problem.plan.tokens * problem.plan.heads * static_cast<std::int64_t>(sizeof(float));
}

class Calls {
 public:
  Calls(PreparedAttention& prepared, const Problem& problem, CheckInputs& inputs,
        const CheckReference& reference)
      : prepared_(prepared),
        problem_(problem),
        inputs_(inputs),
        reference_(reference),
        original_(inputs),
        bound_(error_bound(problem.dtype)),
        backward_(reference.gradients.has_value()),
        o_(tensor_bytes(problem)),
        lse_(prepared.writes_lse() || backward_ ? lse_bytes(problem) : 0),
        workspace_(prepared.workspace_bytes()),
        grad_q_(backward_ ? tensor_bytes(problem) : 0),
        grad_k_(backward_ ? tensor_bytes(problem) : 0),
        grad_v_(backward_ ? tensor_bytes(problem) : 0) {}

  /// What is wrong with one forward call, and the backward call after it.
  std::string once(WorstError& worst) {
    for (const Guarded& one : guarded()) one.buffer->poison();
    if (const Status done = forward(); !done) return done.error().message;
    if (std::string broken = broken_promise(); !broken.empty()) return broken;
    worst.meet(relative_error(reference_.rows, tensor(o_)), bound_, "output");
    if (!worst.is_allowed()) return "the output differs";
    if (prepared_.writes_lse()) {
      const double lse_error =
          log_sum_exp_error(reference_.rows, lse_.floats(), problem_.plan.heads);
      if (!(lse_error <= bound_)) {
        return fmt::format("the log-sum-exp differs by {:.2g}", lse_error);
      }
    }
    return backward_ ? once_backward(worst) : std::string();
  }

 private:
  struct Guarded {
    const char* name;
    GuardedBuffer* buffer;
  };
  std::vector<Guarded> guarded() {
    return {{"output", &o_},      {"log-sum-exp", &lse_}, {"workspace", &workspace_},
            {"grad_q", &grad_q_}, {"grad_k", &grad_k_},   {"grad_v", &grad_v_}};
  }

  Tensor tensor(std::byte* data) const {
    return packed_tensor(problem_.layout, problem_.plan.heads, problem_.head_dim, problem_.dtype,
                         problem_.memory_order, data);
  }
  Tensor tensor(GuardedBuffer& buffer) const { return tensor(buffer.bytes().data()); }
  ConstTensor input(std::vector<std::byte>& bytes) const {
    return attnscope::as_const(tensor(bytes.data()));
  }

  Status forward() {
    return prepared_.forward({.q = input(inputs_.q),
                              .k = input(inputs_.k),
                              .v = input(inputs_.v),
                              .o = tensor(o_),
                              .lse = lse_.floats(),
                              .workspace = workspace_.bytes()});
  }

  Status backward() {
    return prepared_.backward({.tensors = {.q = input(inputs_.q),
                                           .k = input(inputs_.k),
                                           .v = input(inputs_.v),
                                           .o = attnscope::as_const(tensor(o_)),
                                           .lse = lse_.floats(),
                                           .grad_o = input(inputs_.grad_o),
                                           .grad_q = tensor(grad_q_),
                                           .grad_k = tensor(grad_k_),
                                           .grad_v = tensor(grad_v_)},
                               .workspace = workspace_.bytes()});
  }

  std::string once_backward(WorstError& worst) {
    const std::vector<std::byte> o(o_.bytes().begin(), o_.bytes().end());
    const std::vector<std::byte> lse(lse_.bytes().begin(), lse_.bytes().end());
    if (const Status done = backward(); !done) return "backward: " + done.error().message;
    if (std::string broken = broken_promise(); !broken.empty()) return "backward: " + broken;
    if (!std::ranges::equal(o, o_.bytes()) || !std::ranges::equal(lse, lse_.bytes())) {
      return "backward: changed what forward left";
    }
    const GradientErrors errors =
        gradient_errors(*reference_.gradients, tensor(grad_q_), tensor(grad_k_), tensor(grad_v_));
    worst.meet(errors.largest(), gradient_error_bound(problem_.dtype), errors.worst());
    if (!worst.is_allowed()) return fmt::format("{} differs", worst.tensor);
    return {};
  }

  std::string broken_promise() {
    for (const Guarded& one : guarded()) {
      if (!one.buffer->guards_are_whole()) return fmt::format("wrote outside the {}", one.name);
    }
    return inputs_ == original_ ? "" : "changed its inputs";
  }

  PreparedAttention& prepared_;
  const Problem& problem_;
  CheckInputs& inputs_;
  const CheckReference& reference_;
  const CheckInputs original_;
  double bound_;
  bool backward_;
  GuardedBuffer o_, lse_, workspace_, grad_q_, grad_k_, grad_v_;
};

}  // namespace

std::string check_calls(PreparedAttention& prepared, const Problem& problem, CheckInputs& inputs,
                        const CheckReference& reference, WorstError& worst) {
  Calls calls(prepared, problem, inputs, reference);
  for (const char* call : {"first call", "second call"}) {
    if (const std::string wrong = calls.once(worst); !wrong.empty()) {
      return fmt::format("{}: {}", call, wrong);
    }
  }
  return {};
}

}  // namespace attnscope
