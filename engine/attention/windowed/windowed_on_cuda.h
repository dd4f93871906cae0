#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The windowed products and the three steps of kernels/cuda/windowed.h behind the engine's
// interface.

#include <memory>

#include "engine/attention/implementation.h"

namespace attnscope {

/// For problems of device cuda, once cuda::usable().
[[nodiscard]] Status windowed_on_cuda_supports(const Problem& problem);
[[nodiscard]] Result<std::unique_ptr<PreparedAttention>> prepare_windowed_on_cuda(
    const Problem& problem);

}  // namespace attnscope
