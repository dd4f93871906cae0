#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// One call of LibTorch's fused attention, by its own choice of kernel or by a kernel's name. A
// named kernel is its own operator, so no other one can step in silently. For engine/attention
// alone: LibTorch inside.

#include <ATen/core/Tensor.h>

#include <optional>

#include "engine/attention/sdpa/sdpa.h"

namespace attnscope {

struct SdpaOperands {
  at::Tensor q;     // [batch, heads, rows, dim]
  at::Tensor k, v;  // [batch, heads, columns, dim]
  std::optional<at::Tensor>
      bias;  // added to the scores, [1, 1 or heads, rows, columns], in q's dtype
};

struct SdpaResult {
  at::Tensor o;    // [batch, heads, rows, dim]
  at::Tensor lse;  // [batch, heads, rows], float32; undefined where the operator returns none
};

/// `with_lse`: some kernels write it only if asked, and their backward asks for it.
[[nodiscard]] SdpaResult run_sdpa_kernel(SdpaKernel kernel, const SdpaOperands& operands,
                                         double scale, bool with_lse);

}  // namespace attnscope
