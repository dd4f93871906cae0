#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The fused kernels of kernels/cuda/segment.h behind the engine's interface.

#include <memory>

#include "engine/attention/implementation.h"

namespace attnscope {

/// For problems of device cuda, once cuda::usable().
[[nodiscard]] Status segment_on_cuda_supports(const Problem& problem);
[[nodiscard]] Result<std::unique_ptr<PreparedAttention>> prepare_segment_on_cuda(
    const Problem& problem);

}  // namespace attnscope
