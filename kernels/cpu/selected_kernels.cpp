// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/selected_kernels.h"

#include "kernels/cpu/instruction_set.h"

namespace attnscope::cpu {

Result<const KernelTable*> selected_kernels() {
  const Result<InstructionSet> set = selected_set();
  if (!set) return tl::unexpected(set.error());
  switch (*set) {
    case InstructionSet::baseline:
      return baseline_kernels();
    case InstructionSet::avx2:
      return avx2_kernels();
    case InstructionSet::avx512:
    case InstructionSet::avx512_vnni:
      return avx512_kernels();
    case InstructionSet::avx512_bf16:
    case InstructionSet::amx:
      return avx512_bf16_kernels();
  }
  return baseline_kernels();
}

Result<const LinearKernels*> selected_linear_kernels() {
  const Result<InstructionSet> set = selected_set();
  if (!set) return tl::unexpected(set.error());
  switch (*set) {
    case InstructionSet::baseline:
      return baseline_linear_kernels();
    case InstructionSet::avx2:
      return avx2_linear_kernels();
    case InstructionSet::avx512:
      return avx512_linear_kernels();
    case InstructionSet::avx512_vnni:
      return avx512_vnni_linear_kernels();
    case InstructionSet::avx512_bf16:
      return avx512_bf16_linear_kernels();
    case InstructionSet::amx:
      return amx_linear_kernels();
  }
  return baseline_linear_kernels();
}

Status check_operands(std::string_view operation, std::int64_t head_dim) {
  if (head_dim < 1 || head_dim > largest_head_dim) {
    return fail("{} on the CPU supports head dimensions 1 to {}, not {}", operation,
                largest_head_dim, head_dim);
  }
  const Result<InstructionSet> set = selected_set();
  if (!set) return tl::unexpected(set.error());
  return {};
}

Status check_attention_call(std::string_view operation, const AttentionPlan& plan,
                            const ConstTensor& q, const ConstTensor& k, const ConstTensor& v,
                            const Tensor& o, std::span<const float> lse, int threads) {
  if (Status s = check_tensor("q", q, q.head_dim, q.dtype, plan.tokens); !s) return s;
  if (Status s = check_tensor("k", k, q.head_dim, q.dtype, plan.tokens); !s) return s;
  if (Status s = check_tensor("v", v, q.head_dim, q.dtype, plan.tokens); !s) return s;
  if (Status s = check_tensor("o", o, q.head_dim, q.dtype, plan.tokens); !s) return s;
  if (threads < 1) return fail("{} needs at least 1 thread, not {}", operation, threads);
  const std::int64_t rows = plan.tokens * plan.heads;
  if (!lse.empty() && static_cast<std::int64_t>(lse.size()) != rows) {
    return fail("lse has {} floats, the plan {} rows (tokens * heads); pass as many, or none",
                lse.size(), rows);
  }
  return {};
}

Status check_gradient_call(std::string_view operation, const AttentionPlan& plan,
                           const GradientTensors& tensors, int threads) {
  const auto check = [&](std::string_view name, const auto& tensor) {
    return check_tensor(name, tensor, tensors.q.head_dim, tensors.q.dtype, plan.tokens);
  };
  if (Status s = check("q", tensors.q); !s) return s;
  if (Status s = check("k", tensors.k); !s) return s;
  if (Status s = check("v", tensors.v); !s) return s;
  if (Status s = check("o", tensors.o); !s) return s;
  if (Status s = check("grad_o", tensors.grad_o); !s) return s;
  if (Status s = check("grad_q", tensors.grad_q); !s) return s;
  if (Status s = check("grad_k", tensors.grad_k); !s) return s;
  if (Status s = check("grad_v", tensors.grad_v); !s) return s;
  if (threads < 1) return fail("{} needs at least 1 thread, not {}", operation, threads);
  return {};
}

}  // namespace attnscope::cpu
