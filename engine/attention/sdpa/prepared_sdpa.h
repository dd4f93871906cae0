#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// LibTorch's fused attention bound to a problem: its own choice of kernel or one by name, without a
// mask or with one made from the plan.

#include <memory>

#include "engine/attention/implementation.h"
#include "engine/attention/sdpa/kernel_limits.h"

namespace attnscope {

/// The problem must be one that the kernel takes.
[[nodiscard]] std::unique_ptr<PreparedAttention> prepare_sdpa(const Problem& problem,
                                                              SdpaKernel kernel, bool masked);

}  // namespace attnscope
