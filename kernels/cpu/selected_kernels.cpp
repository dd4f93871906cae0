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
      return avx512_kernels();
  }
  return baseline_kernels();
}

Status check_operands(std::string_view operation, std::int64_t head_dim, DType dtype) {
  if (dtype != DType::float32) {
    return fail(
        "{} on the CPU takes float32 only; convert the tensors or choose another "
        "implementation",
        operation);
  }
  if (head_dim < 1 || head_dim > largest_head_dim) {
    return fail("{} on the CPU takes head dimensions 1 to {}, not {}", operation, largest_head_dim,
                head_dim);
  }
  const Result<InstructionSet> set = selected_set();
  if (!set) return tl::unexpected(set.error());
  return {};
}

}  // namespace attnscope::cpu
