// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/flash_window/flash_window_limits.h"

#include "engine/attention/flash_window/parts.h"

namespace attnscope {

Status flash_window_takes(const Problem& problem, const SdpaDevice& device) {
  if (problem.operation == Operation::windowed_matmul) {
    return fail("flash-window is fused: it has no separate products for windowed-matmul");
  }
  if (problem.device == DeviceKind::cpu) {
    return fail(
        "flash-window is made of LibTorch's flash kernel for CUDA; its kernel for the CPU "
        "has no window");
  }
  if (Status ok = flash_takes_on_cuda("flash-window", problem, device); !ok) return ok;
  // mha_fwd and mha_varlen_fwd in aten/src/ATen/native/transformers/cuda/flash_attn/flash_api.cpp.
  if (problem.head_dim % 8 != 0) {
    return fail("flash-window takes head dimensions that are multiples of 8, not {}",
                problem.head_dim);
  }
  const auto groups = parts_of(problem);
  if (!groups) return tl::unexpected(groups.error());
  constexpr std::size_t most_sequences = 65535;  // in a grid's second dimension
  for (const RowGroup& group : *groups) {
    if (group.queries.size() > most_sequences) {
      return fail("flash-window takes at most {} sequences in one call, not {}", most_sequences,
                  group.queries.size());
    }
  }
  return {};
}

}  // namespace attnscope
