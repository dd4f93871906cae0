#pragma once
// SPDX-License-Identifier: Apache-2.0

#include <cstdint>

namespace attnscope::longformer_banded {

/// The operation between the two products.
enum class Weighting : std::uint8_t { softmax, none };

inline constexpr std::int64_t largest_head_dim = 256;

}  // namespace attnscope::longformer_banded
