#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What the banded loops and kernels are given and what they execute, alike on both devices.

#include "engine/attention/implementation.h"

namespace attnscope::longformer_banded {

inline constexpr std::int64_t largest_head_dim = 256;

/// What stands between the two products.
enum class Weighting : std::uint8_t { softmax, none };

[[nodiscard]] constexpr Weighting weighting_of(const Problem& problem) {
  return problem.operation == Operation::attention ? Weighting::softmax : Weighting::none;
}

[[nodiscard]] ExecutedWork banded_work(const Problem& problem);

}  // namespace attnscope::longformer_banded
