#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// kernels/cuda/dense.h (cuBLASLt's products with our softmax) behind the engine's interface.

#include <memory>

#include "engine/attention/implementation.h"

namespace attnscope {

/// For problems of device cuda, once cuda::usable().
[[nodiscard]] Result<std::unique_ptr<PreparedAttention>> prepare_dense_on_cuda(
    const Problem& problem);

}  // namespace attnscope
