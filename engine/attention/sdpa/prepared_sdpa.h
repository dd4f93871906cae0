#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// LibTorch's scaled_dot_product_attention bound to a problem, with or without a mask.

#include <memory>

#include "engine/attention/implementation.h"

namespace attnscope {

enum class SdpaMask : bool { none, from_plan };

[[nodiscard]] std::unique_ptr<PreparedAttention> prepare_sdpa(const Problem& problem,
                                                              SdpaMask mask);

}  // namespace attnscope
