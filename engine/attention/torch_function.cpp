// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/torch_function.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <c10/core/DeviceGuard.h>
#include <fmt/ranges.h>
#include <torch/csrc/autograd/custom_function.h>

#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "engine/attention/cuda_runtime.h"
#include "engine/attention/implementation.h"
#include "engine/attention/plan_kernels.h"
#include "kernels/cpu/segment.h"
#include "kernels/cpu/windowed.h"

namespace attnscope {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

template <typename... Args>
[[noreturn]] void refuse(fmt::format_string<Args...> sentence, Args&&... args) {
  throw std::invalid_argument(fmt::format(sentence, std::forward<Args>(args)...));
}

DType dtype_of(std::string_view function, const at::Tensor& tensor) {
  switch (tensor.scalar_type()) {
    case at::kFloat:
      return DType::float32;
    case at::kHalf:
      return DType::float16;
    case at::kBFloat16:
      return DType::bfloat16;
    default:
      refuse("{} supports float32, float16 and bfloat16, and q is {}", function,
             toString(tensor.scalar_type()));
  }
}

Tensor packed(const at::Tensor& tensor, DType dtype) {
  return {.data = static_cast<std::byte*>(tensor.data_ptr()),
          .dtype = dtype,
          .head_dim = tensor.size(2),
          .token_stride = tensor.stride(0),
          .head_stride = tensor.stride(1)};
}

ConstTensor packed_input(const at::Tensor& tensor, DType dtype) {
  return attnscope::as_const(packed(tensor, dtype));
}

/// Checks for [tokens, heads, head_dim] as in the plan, on q's device and in its dtype.
void check_sizes(std::string_view function, const AttentionPlan& plan, std::string_view name,
                 const at::Tensor& tensor, const at::Tensor& q) {
  if (!tensor.defined()) refuse("{}: {} is an undefined tensor", function, name);
  if (!tensor.device().is_cpu() && !tensor.device().is_cuda()) {
    refuse("{} runs on the CPU and on CUDA, and {} is on {}", function, name,
           tensor.device().str());
  }
  if (tensor.device() != q.device()) {
    refuse("{}: {} is on {}, and q is on {}; all tensors must be on one device", function, name,
           tensor.device().str(), q.device().str());
  }
  if (tensor.dim() != 3 || tensor.size(0) != plan.tokens || tensor.size(1) != plan.heads) {
    refuse("{}: {} has shape [{}]; the plan needs [{}, {}, head_dim]", function, name,
           fmt::join(tensor.sizes(), ", "), plan.tokens, plan.heads);
  }
  if (tensor.size(2) != q.size(2)) {
    refuse("{}: {} has head_dim {}, and q has {}", function, name, tensor.size(2), q.size(2));
  }
  if (tensor.scalar_type() != q.scalar_type()) {
    refuse("{}: {} is {}, and q is {}; all tensors must have one dtype", function, name,
           toString(tensor.scalar_type()), toString(q.scalar_type()));
  }
}

/// The same check, with contiguous rows.
void check_shape(std::string_view function, const AttentionPlan& plan, std::string_view name,
                 const at::Tensor& tensor, const at::Tensor& q) {
  check_sizes(function, plan, name, tensor, q);
  if (tensor.stride(2) != 1 && tensor.size(2) > 1) {
    refuse("{}: the last dimension of {} has stride {}; pass {}.contiguous()", function, name,
           tensor.stride(2), name);
  }
}

void check_inputs(std::string_view function, const SharedPlan& plan, const at::Tensor& q,
                  const at::Tensor& k, const at::Tensor& v) {
  if (plan == nullptr) refuse("{} needs a plan", function);
  check_shape(function, *plan, "q", q, q);
  check_shape(function, *plan, "k", k, q);
  check_shape(function, *plan, "v", v, q);
}

at::Tensor floats(std::int64_t count) {
  return at::empty({count}, at::TensorOptions().dtype(at::kFloat));
}

at::Tensor bytes(std::int64_t count) {
  return at::empty({count}, at::TensorOptions().dtype(at::kByte));
}

std::span<float> float_span(const at::Tensor& tensor) {
  return {tensor.data_ptr<float>(), static_cast<std::size_t>(tensor.numel())};
}

std::span<std::byte> byte_span(const at::Tensor& tensor) {
  return {static_cast<std::byte*>(tensor.data_ptr()), static_cast<std::size_t>(tensor.numel())};
}

at::Tensor segment_forward(const SharedPlan& shared_plan, const PlanOperands& operands,
                           float scale) {
  const AttentionPlan& plan = *shared_plan;
  const auto& [q, k, v, o] = operands;
  const int threads = at::get_num_threads();
  at::Tensor lse = floats(plan.tokens * plan.heads);
  const at::Tensor workspace = bytes(cpu::segment_workspace_bytes(plan, q.head_dim, threads));
  require(cpu::segment_forward(plan, q, k, v, scale, o, float_span(lse), threads,
                               byte_span(workspace)));
  return lse;
}

void segment_backward(const SharedPlan& shared_plan, GradientTensors tensors, float scale,
                      const at::Tensor& lse) {
  tensors.lse = float_span(lse);
  const AttentionPlan& plan = *shared_plan;
  const int threads = at::get_num_threads();
  const at::Tensor workspace =
      bytes(cpu::segment_backward_workspace_bytes(plan, tensors.q.head_dim, threads));
  require(cpu::segment_backward(plan, tensors, scale, threads, byte_span(workspace)));
}

at::Tensor windowed_forward(const SharedPlan& shared_plan, const PlanOperands& operands,
                            float scale) {
  const AttentionPlan& plan = *shared_plan;
  const auto& [q, k, v, o] = operands;
  at::Tensor weights = floats(cpu::windowed_score_elements(plan));
  require(cpu::windowed_forward(plan, q, k, v, scale, o, /*lse=*/{}, at::get_num_threads(),
                                float_span(weights)));
  return weights;
}

void windowed_backward(const SharedPlan& shared_plan, GradientTensors tensors, float scale,
                       const at::Tensor& weights) {
  const AttentionPlan& plan = *shared_plan;
  const at::Tensor workspace = floats(cpu::windowed_backward_elements(plan, tensors.q.head_dim));
  require(cpu::windowed_backward(plan, tensors, scale, float_span(weights), at::get_num_threads(),
                                 float_span(workspace)));
}

/// The kernels of one function for both devices.
struct Kernels {
  std::string_view function;
  PlanKernels on_cpu;
  std::optional<PlanKernels> on_cuda;

  [[nodiscard]] const PlanKernels& of(const at::Device& device) const {
    if (!device.is_cuda()) return on_cpu;
    require(cuda::usable());
    return *on_cuda;
  }
};

const Kernels& segment() {
  static const Kernels kernels{"segment_attention",
                               {cpu::segment_supports, segment_forward, segment_backward},
                               ATTNSCOPE_ON_CUDA(segment_kernels_on_cuda())};
  return kernels;
}

const Kernels& windowed() {
  static const Kernels kernels{"windowed_attention",
                               {cpu::windowed_supports, windowed_forward, windowed_backward},
                               ATTNSCOPE_ON_CUDA(windowed_kernels_on_cuda())};
  return kernels;
}

/// o and the data that these kernels' backward needs in addition.
struct Computed {
  at::Tensor o, kept;
};

Computed compute(const Kernels& kernels, const SharedPlan& plan, const at::Tensor& q,
                 const at::Tensor& k, const at::Tensor& v, float scale) {
  const c10::DeviceGuard device(q.device());
  const DType dtype = dtype_of(kernels.function, q);
  const at::Tensor o = at::empty(q.sizes(), q.options());
  if (plan->tokens == 0) return {.o = o, .kept = at::empty({0}, q.options().dtype(at::kFloat))};
  const at::Tensor kept = kernels.of(q.device())
                              .forward(plan,
                                       {.q = packed_input(q, dtype),
                                        .k = packed_input(k, dtype),
                                        .v = packed_input(v, dtype),
                                        .o = packed(o, dtype)},
                                       scale);
  return {.o = o, .kept = kept};
}

InputGradients compute_gradients(const Kernels& kernels, const SharedPlan& plan,
                                 const at::Tensor& arriving, const at::Tensor& q,
                                 const at::Tensor& k, const at::Tensor& v, const Computed& computed,
                                 float scale) {
  const c10::DeviceGuard device(q.device());
  const DType dtype = dtype_of(kernels.function, q);
  // The incoming gradient may be a single number expanded to the whole shape.
  const at::Tensor grad_o = arriving.stride(2) == 1 ? arriving : arriving.contiguous();
  InputGradients gradients{.q = at::empty(q.sizes(), q.options()),
                           .k = at::empty(q.sizes(), q.options()),
                           .v = at::empty(q.sizes(), q.options())};
  if (plan->tokens == 0) return gradients;
  kernels.of(q.device())
      .backward(plan,
                {.q = packed_input(q, dtype),
                 .k = packed_input(k, dtype),
                 .v = packed_input(v, dtype),
                 .o = packed_input(computed.o, dtype),
                 .lse = {},
                 .grad_o = packed_input(grad_o, dtype),
                 .grad_q = packed(gradients.q, dtype),
                 .grad_k = packed(gradients.k, dtype),
                 .grad_v = packed(gradients.v, dtype)},
                scale, computed.kept);
  return gradients;
}

/// The data of a graph other than tensors.
struct Held final : torch::CustomClassHolder {
  Held(const Kernels& kernels_in, SharedPlan plan_in, float scale_in)
      : kernels(kernels_in), plan(std::move(plan_in)), scale(scale_in) {}
  const Kernels& kernels;
  SharedPlan plan;
  float scale;
};

class PlanFunction : public torch::autograd::Function<PlanFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const Kernels* kernels,
                            const SharedPlan& plan, const at::Tensor& q, const at::Tensor& k,
                            const at::Tensor& v, float scale) {
    const Computed computed = compute(*kernels, plan, q, k, v, scale);
    context->saved_data["held"] =
        at::IValue::make_capsule(c10::make_intrusive<Held>(*kernels, plan, scale));
    context->save_for_backward({q, k, v, computed.o, computed.kept});
    return computed.o;
  }

  static variable_list backward(AutogradContext* context, variable_list arriving) {
    const auto held =
        c10::static_intrusive_pointer_cast<Held>(context->saved_data["held"].toCapsule());
    if (at::GradMode::is_enabled())
      refuse("{} has no second derivative; do not set create_graph", held->kernels.function);
    const variable_list saved = context->get_saved_variables();
    const InputGradients gradients =
        compute_gradients(held->kernels, held->plan, arriving[0], saved[0], saved[1], saved[2],
                          {.o = saved[3], .kept = saved[4]}, held->scale);
    return {at::Tensor(), at::Tensor(), gradients.q, gradients.k, gradients.v, at::Tensor()};
  }
};

/// Checks that the function's kernels support these inputs.
void check_call(const Kernels& kernels, const SharedPlan& plan, const at::Tensor& q,
                const at::Tensor& k, const at::Tensor& v) {
  check_inputs(kernels.function, plan, q, k, v);
  require(kernels.of(q.device()).supports(*plan, q.size(2)));
}

at::Tensor attention(const Kernels& kernels, const SharedPlan& plan, const at::Tensor& q,
                     const at::Tensor& k, const at::Tensor& v, float scale) {
  check_call(kernels, plan, q, k, v);
  return PlanFunction::apply(&kernels, plan, q, k, v, scale);
}

}  // namespace

at::Tensor segment_attention(const SharedPlan& plan, const at::Tensor& q, const at::Tensor& k,
                             const at::Tensor& v, float scale) {
  return attention(segment(), plan, q, k, v, scale);
}

at::Tensor windowed_attention(const SharedPlan& plan, const at::Tensor& q, const at::Tensor& k,
                              const at::Tensor& v, float scale) {
  return attention(windowed(), plan, q, k, v, scale);
}

Attended segment_attention_forward(const SharedPlan& plan, const at::Tensor& q, const at::Tensor& k,
                                   const at::Tensor& v, float scale) {
  check_call(segment(), plan, q, k, v);
  const Computed computed = compute(segment(), plan, q, k, v, scale);
  return {.o = computed.o, .lse = computed.kept.view({plan->tokens, plan->heads})};
}

InputGradients segment_attention_backward(const SharedPlan& plan, const at::Tensor& grad_o,
                                          const at::Tensor& q, const at::Tensor& k,
                                          const at::Tensor& v, const Attended& attended,
                                          float scale) {
  const Kernels& kernels = segment();
  check_call(kernels, plan, q, k, v);
  check_shape(kernels.function, *plan, "o", attended.o, q);
  check_sizes(kernels.function, *plan, "grad_o", grad_o, q);
  const at::Tensor& lse = attended.lse;
  if (lse.dim() != 2 || lse.size(0) != plan->tokens || lse.size(1) != plan->heads ||
      lse.scalar_type() != at::kFloat || !lse.is_contiguous() || lse.device() != q.device()) {
    refuse("{}: lse is not the contiguous float32 tensor [{}, {}] that the forward call returned",
           kernels.function, plan->tokens, plan->heads);
  }
  return compute_gradients(kernels, plan, grad_o, q, k, v, {.o = attended.o, .kept = lse}, scale);
}

}  // namespace attnscope
