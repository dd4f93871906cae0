#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// One call of LibTorch's fused attention, with LibTorch's choice of kernel or a named kernel. A
// named kernel is its own operator, so that no other kernel replaces it silently. Only for
// engine/attention, since it includes LibTorch.

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
  at::Tensor lse;  // [batch, heads, rows], float32; undefined if the operator returns none
};

/// `with_lse`: some kernels write it only on request, and their backward needs it.
[[nodiscard]] SdpaResult run_sdpa_kernel(SdpaKernel kernel, const SdpaOperands& operands,
                                         double scale, bool with_lse);

}  // namespace attnscope
