// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/check_calls.h"

#include <algorithm>
#include <array>

#include "engine/attention/device_copy.h"
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

/// Memory under test, where the problem's device finds it.
class TestedBuffer {
 public:
  TestedBuffer(DeviceKind device, std::int64_t bytes)
      : buffer_(bytes), copy_(device, buffer_.whole()) {}

  [[nodiscard]] std::byte* on_device() const { return copy_.data() + GuardedBuffer::guard_bytes; }
  [[nodiscard]] GuardedBuffer& host() { return buffer_; }
  void poison() {
    buffer_.poison();
    copy_.send();
  }
  void fetch() const { copy_.fetch(); }

 private:
  GuardedBuffer buffer_;
  DeviceCopy copy_;
};

/// The inputs, where the problem's device finds them.
struct DeviceInputs {
  DeviceInputs(DeviceKind device, CheckInputs& inputs)
      : q(device, inputs.q),
        k(device, inputs.k),
        v(device, inputs.v),
        grad_o(device, inputs.grad_o) {
    for (const DeviceCopy* one : all()) one->send();
  }
  void fetch() const {
    for (const DeviceCopy* one : all()) one->fetch();
  }
  [[nodiscard]] std::array<const DeviceCopy*, 4> all() const { return {&q, &k, &v, &grad_o}; }
  DeviceCopy q, k, v, grad_o;
};

class Calls {
 public:
  Calls(PreparedAttention& prepared, const Problem& problem, CheckInputs& inputs,
        const CheckReference& reference)
      : prepared_(prepared),
        problem_(problem),
        inputs_(inputs),
        device_inputs_(problem.device, inputs),
        reference_(reference),
        original_(inputs),
        bound_(error_bound(problem.dtype)),
        backward_(reference.gradients.has_value()),
        o_(problem.device, tensor_bytes(problem)),
        lse_(problem.device, prepared.writes_lse() || backward_ ? lse_bytes(problem) : 0),
        workspace_(problem.device, prepared.workspace_bytes()),
        grad_q_(problem.device, backward_ ? tensor_bytes(problem) : 0),
        grad_k_(problem.device, backward_ ? tensor_bytes(problem) : 0),
        grad_v_(problem.device, backward_ ? tensor_bytes(problem) : 0) {}

  /// What is wrong with one forward call, and the backward call after it.
  std::string once(WorstError& worst) {
    for (const Guarded& one : guarded()) one.buffer->poison();
    if (const Status done = forward(); !done) return done.error().message;
    fetch();
    if (std::string broken = broken_promise(); !broken.empty()) return broken;
    worst.meet(relative_error(reference_.rows, tensor(o_)), bound_, "output");
    if (!worst.is_allowed()) return "the output differs";
    if (prepared_.writes_lse()) {
      const double lse_error =
          log_sum_exp_error(reference_.rows, lse_.host().floats(), problem_.plan.heads);
      if (!(lse_error <= bound_)) {
        return fmt::format("the log-sum-exp differs by {:.2g}", lse_error);
      }
    }
    return backward_ ? once_backward(worst) : std::string();
  }

 private:
  struct Guarded {
    const char* name;
    TestedBuffer* buffer;
  };
  std::vector<Guarded> guarded() {
    return {{"output", &o_},      {"log-sum-exp", &lse_}, {"workspace", &workspace_},
            {"grad_q", &grad_q_}, {"grad_k", &grad_k_},   {"grad_v", &grad_v_}};
  }

  Tensor tensor(std::byte* data) const {
    return packed_tensor(problem_.layout, problem_.plan.heads, problem_.head_dim, problem_.dtype,
                         problem_.memory_order, data);
  }
  /// As it was fetched.
  Tensor tensor(TestedBuffer& buffer) const { return tensor(buffer.host().bytes().data()); }
  // As the implementation is given them.
  Tensor on_device(const TestedBuffer& buffer) const { return tensor(buffer.on_device()); }
  ConstTensor on_device(const DeviceCopy& input) const {
    return attnscope::as_const(tensor(input.data()));
  }
  std::span<float> lse_on_device() {
    return {reinterpret_cast<float*>(lse_.on_device()), lse_.host().floats().size()};
  }
  std::span<std::byte> workspace_on_device() {
    return {workspace_.on_device(), workspace_.host().bytes().size()};
  }

  /// What the call left, as the host sees it. Errors of the device surface here.
  void fetch() {
    for (const Guarded& one : guarded()) one.buffer->fetch();
    device_inputs_.fetch();
  }

  Status forward() {
    return prepared_.forward({.q = on_device(device_inputs_.q),
                              .k = on_device(device_inputs_.k),
                              .v = on_device(device_inputs_.v),
                              .o = on_device(o_),
                              .lse = lse_on_device(),
                              .workspace = workspace_on_device()});
  }

  Status backward() {
    return prepared_.backward({.tensors = {.q = on_device(device_inputs_.q),
                                           .k = on_device(device_inputs_.k),
                                           .v = on_device(device_inputs_.v),
                                           .o = attnscope::as_const(on_device(o_)),
                                           .lse = lse_on_device(),
                                           .grad_o = on_device(device_inputs_.grad_o),
                                           .grad_q = on_device(grad_q_),
                                           .grad_k = on_device(grad_k_),
                                           .grad_v = on_device(grad_v_)},
                               .workspace = workspace_on_device()});
  }

  std::string once_backward(WorstError& worst) {
    const std::span<std::byte> o_now = o_.host().bytes();
    const std::span<std::byte> lse_now = lse_.host().bytes();
    const std::vector<std::byte> o(o_now.begin(), o_now.end());
    const std::vector<std::byte> lse(lse_now.begin(), lse_now.end());
    if (const Status done = backward(); !done) return "backward: " + done.error().message;
    fetch();
    if (std::string broken = broken_promise(); !broken.empty()) return "backward: " + broken;
    if (!std::ranges::equal(o, o_now) || !std::ranges::equal(lse, lse_now)) {
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
      if (!one.buffer->host().guards_are_whole())
        return fmt::format("wrote outside the {}", one.name);
    }
    return inputs_ == original_ ? "" : "changed its inputs";
  }

  PreparedAttention& prepared_;
  const Problem& problem_;
  CheckInputs& inputs_;
  DeviceInputs device_inputs_;
  const CheckReference& reference_;
  const CheckInputs original_;
  double bound_;
  bool backward_;
  TestedBuffer o_, lse_, workspace_, grad_q_, grad_k_, grad_v_;
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
