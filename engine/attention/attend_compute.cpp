// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/attend_compute.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "engine/attention/device_copy.h"
#include "engine/attention/packed_tensor.h"
#include "engine/attention/reference.h"
#include "engine/attention/reference_gradients.h"

namespace attnscope {
namespace {

constexpr std::int64_t compared_rows = 512;

/// Token-major memory in the computation's dtype, of the host and where the device finds it.
class PackedMemory {
 public:
  PackedMemory(const Problem& problem, bool needed)
      : bytes_(needed ? static_cast<std::size_t>(packed_bytes(problem.layout, problem.plan.heads,
                                                              problem.head_dim, problem.dtype))
                      : 0,
               std::byte{0xFF}),  // NaN, until written
        tensor_(packed_tensor(problem.layout, problem.plan.heads, problem.head_dim, problem.dtype,
                              MemoryOrder::token_major, bytes_.data())),
        copy_(problem.device, bytes_) {}
  PackedMemory(const PackedMemory&) = delete;
  PackedMemory& operator=(const PackedMemory&) = delete;

  [[nodiscard]] const Tensor& tensor() const { return tensor_; }
  [[nodiscard]] ConstTensor input() const { return attnscope::as_const(tensor_); }

  [[nodiscard]] Tensor on_device() const {
    Tensor tensor = tensor_;
    tensor.data = copy_.data();
    return tensor;
  }
  [[nodiscard]] ConstTensor input_on_device() const { return attnscope::as_const(on_device()); }
  void send() const { copy_.send(); }
  void fetch() const { copy_.fetch(); }

 private:
  std::vector<std::byte> bytes_;
  Tensor tensor_;    // on bytes_
  DeviceCopy copy_;  // of bytes_
};

/// `values` in `rows`, 0 elsewhere.
std::vector<float> only_in(std::span<const RowId> rows, const AttendInputs& inputs,
                           std::span<const float> values) {
  std::vector<float> result(values.size());
  for (const RowId& row : rows) {
    const std::int64_t first = (row.token * inputs.heads + row.head) * inputs.head_dim;
    std::copy_n(values.begin() + first, inputs.head_dim, result.begin() + first);
  }
  return result;
}

class Attend {
 public:
  Attend(PreparedAttention& prepared, const Implementation& implementation, const Problem& problem,
         const AttendInputs& inputs)
      : prepared_(prepared),
        implementation_(implementation),
        problem_(problem),
        inputs_(inputs),
        backward_(problem.direction == Direction::forward_backward),
        rows_(sample_rows(problem.layout, problem.plan.heads, compared_rows, /*seed=*/1)),
        q_(problem, true),
        k_(problem, true),
        v_(problem, true),
        o_(problem, true),
        grad_o_(problem, backward_),
        grad_q_(problem, backward_),
        grad_k_(problem, backward_),
        grad_v_(problem, backward_),
        lse_(backward_ || prepared.writes_lse()
                 ? static_cast<std::size_t>(inputs.tokens * inputs.heads)
                 : 0),
        workspace_(static_cast<std::size_t>(prepared.workspace_bytes())),
        lse_copy_(problem.device, std::as_writable_bytes(std::span(lse_))),
        workspace_copy_(problem.device, workspace_) {
    pack(inputs.q, inputs.tokens, inputs.heads, q_.tensor());
    pack(inputs.k, inputs.tokens, inputs.heads, k_.tensor());
    pack(inputs.v, inputs.tokens, inputs.heads, v_.tensor());
  }

  Result<AttendResult> run() {
    const bool all_rows = static_cast<std::int64_t>(rows_.size()) == inputs_.tokens * inputs_.heads;
    if (backward_ && !all_rows) {
      if (Status ok = check_gradients(); !ok) return tl::unexpected(ok.error());
    }
    if (backward_) pack(inputs_.grad_o, inputs_.tokens, inputs_.heads, grad_o_.tensor());
    if (Status ok = call(); !ok) return tl::unexpected(ok.error());
    if (Status ok = check_output(); !ok) return tl::unexpected(ok.error());
    if (backward_) {
      Status ok = all_rows ? judge_gradients() : judge_query_gradients();
      if (!ok) return tl::unexpected(ok.error());
    }
    return unpacked();
  }

 private:
  Status call() {
    const std::array outputs{&o_, &grad_q_, &grad_k_, &grad_v_};
    for (const PackedMemory* input : {&q_, &k_, &v_, &grad_o_}) input->send();
    for (const PackedMemory* output : outputs) output->send();  // NaN, until written
    if (Status done = call_on_device(); !done) return done;
    for (const PackedMemory* output : outputs) output->fetch();
    lse_copy_.fetch();
    return {};
  }

  Status call_on_device() {
    const std::span<float> lse{reinterpret_cast<float*>(lse_copy_.data()), lse_.size()};
    const std::span<std::byte> workspace{workspace_copy_.data(), workspace_.size()};
    const Status done = prepared_.forward({.q = q_.input_on_device(),
                                           .k = k_.input_on_device(),
                                           .v = v_.input_on_device(),
                                           .o = o_.on_device(),
                                           .lse = lse,
                                           .workspace = workspace});
    if (!done || !backward_) return done;
    return prepared_.backward({.tensors = {.q = q_.input_on_device(),
                                           .k = k_.input_on_device(),
                                           .v = v_.input_on_device(),
                                           .o = o_.input_on_device(),
                                           .lse = lse,
                                           .grad_o = grad_o_.input_on_device(),
                                           .grad_q = grad_q_.on_device(),
                                           .grad_k = grad_k_.on_device(),
                                           .grad_v = grad_v_.on_device()},
                               .workspace = workspace});
  }

  Status check_gradients() {
    pack(only_in(rows_, inputs_, inputs_.grad_o), inputs_.tokens, inputs_.heads, grad_o_.tensor());
    if (Status ok = call(); !ok) return ok;
    return judge_gradients();
  }

  /// Every value of all three; grad_o is zero but in the compared rows.
  Status judge_gradients() {
    reference_ = compute_reference_gradients(problem_, rows_, q_.input(), k_.input(), v_.input(),
                                             grad_o_.input());
    const GradientErrors errors =
        gradient_errors(reference_, grad_q_.tensor(), grad_k_.tensor(), grad_v_.tensor());
    return judge(errors.worst(), errors.largest(), gradient_error_bound(problem_.dtype));
  }

  Status judge_query_gradients() {
    return judge("grad_q", query_gradient_error(reference_, rows_, grad_q_.tensor()),
                 gradient_error_bound(problem_.dtype));
  }

  Status check_output() {
    const ReferenceRows reference =
        compute_reference(problem_, rows_, q_.input(), k_.input(), v_.input());
    const double bound = error_bound(problem_.dtype);
    if (Status ok = judge("output", relative_error(reference, o_.tensor()), bound); !ok) return ok;
    if (!prepared_.writes_lse()) return {};
    const double error = log_sum_exp_error(reference, lse_, inputs_.heads);
    if (error <= bound) return {};
    return fail(
        "{} is wrong here: its log-sum-exp differs from the float64 reference by {:.2g}, and "
        "{:.2g} is allowed; nothing was written",
        implementation_.id, error, bound);
  }

  Status judge(std::string_view name, double error, double bound) {
    worst_.meet(error, bound, name);
    if (error <= bound) return {};
    return fail(
        "{} is wrong here: its {} differs from the float64 reference by {:.2g} of the largest "
        "value, and {:.2g} is allowed; nothing was written",
        implementation_.id, name, error, bound);
  }

  Result<std::vector<float>> unpack_finite(std::string_view name,
                                           const PackedMemory& memory) const {
    std::vector<float> values(inputs_.q.size());
    unpack(memory.input(), inputs_.tokens, inputs_.heads, values);
    if (std::ranges::all_of(values, [](float x) { return std::isfinite(x); })) return values;
    return fail("{} is wrong here: its {} holds values that are not finite; nothing was written",
                implementation_.id, name);
  }

  Result<AttendResult> unpacked() {
    AttendResult result;
    result.error = worst_;
    if (prepared_.writes_lse()) result.lse = std::move(lse_);
    struct Part {
      std::string_view name;
      const PackedMemory* memory;
      std::vector<float>* values;
    };
    std::vector<Part> parts{{"output", &o_, &result.o}};
    if (backward_) {
      parts.push_back({"grad_q", &grad_q_, &result.grad_q});
      parts.push_back({"grad_k", &grad_k_, &result.grad_k});
      parts.push_back({"grad_v", &grad_v_, &result.grad_v});
    }
    for (const Part& part : parts) {
      auto values = unpack_finite(part.name, *part.memory);
      if (!values) return tl::unexpected(values.error());
      *part.values = std::move(*values);
    }
    return result;
  }

  PreparedAttention& prepared_;
  const Implementation& implementation_;
  const Problem& problem_;
  const AttendInputs& inputs_;
  bool backward_;
  std::vector<RowId> rows_;
  PackedMemory q_, k_, v_, o_, grad_o_, grad_q_, grad_k_, grad_v_;
  std::vector<float> lse_;
  std::vector<std::byte> workspace_;
  DeviceCopy lse_copy_, workspace_copy_;  // of both
  ReferenceGradients reference_;
  WorstError worst_;
};

}  // namespace

Result<AttendResult> compute_attend(const Implementation& implementation, const Problem& problem,
                                    const AttendInputs& inputs) {
  auto prepared = implementation.prepare(problem);
  if (!prepared) return tl::unexpected(prepared.error());
  return Attend(**prepared, implementation, problem, inputs).run();
}

}  // namespace attnscope
