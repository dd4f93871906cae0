#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The first step of every operation in this folder: selects the inner loops and checks the
// arguments.

#include <span>

#include "base/result.h"
#include "kernels/cpu/kernel_table.h"
#include "kernels/plan/attention_plan.h"
#include "kernels/plan/tensor.h"

namespace attnscope::cpu {

/// The inner loops of selected_set().
[[nodiscard]] Result<const KernelTable*> selected_kernels();
[[nodiscard]] Result<const LinearKernels*> selected_linear_kernels();

/// Whether the inner loops support this head dimension; `operation` begins the error message.
[[nodiscard]] Status check_operands(std::string_view operation, std::int64_t head_dim);

/// Whether a tensor matches an operation on `tokens` tokens.
template <typename Byte>
[[nodiscard]] Status check_tensor(std::string_view name, const StridedTensor<Byte>& tensor,
                                  std::int64_t head_dim, DType dtype, std::int64_t tokens) {
  if (tensor.dtype != dtype) {
    return fail("{} has another dtype than the call's other tensors; use one dtype", name);
  }
  if (tensor.head_dim != head_dim) {
    return fail("{} has head dimension {}, and the call {}; use one head dimension", name,
                tensor.head_dim, head_dim);
  }
  if (tensor.data == nullptr && tokens > 0) {
    return fail("{} has no data for its {} tokens; pass its memory", name, tokens);
  }
  return {};
}

/// The checks common to attention calls over a plan.
[[nodiscard]] Status check_attention_call(std::string_view operation, const AttentionPlan& plan,
                                          const ConstTensor& q, const ConstTensor& k,
                                          const ConstTensor& v, const Tensor& o,
                                          std::span<const float> lse, int threads);

/// The checks common to backward calls over a plan; lse is checked by the operations that read it.
[[nodiscard]] Status check_gradient_call(std::string_view operation, const AttentionPlan& plan,
                                         const GradientTensors& tensors, int threads);

template <typename Byte>
[[nodiscard]] HeadView<Byte> head_view(const StridedTensor<Byte>& tensor, std::int64_t head) {
  return {tensor.data + head * tensor.head_stride * size_of(tensor.dtype), tensor.dtype,
          tensor.token_stride, tensor.item_tokens, tensor.item_stride};
}

}  // namespace attnscope::cpu
