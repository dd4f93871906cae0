#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Common code of the windowed products of both devices and Longformer's chunks.

#include <cstdint>
#include <vector>

#include "engine/attention/implementation.h"

namespace attnscope {

/// The sequences of a plan with exactly one band (or one whole segment) per sequence, the only kind
/// that the two windowed products can express without a softmax.
struct BandSequences {
  std::vector<TokenRange> sequences;  // ascending, with one or more tokens
  std::int64_t window = 0;
};

/// Errors name the part of the plan that is not a single band over its own tokens.
[[nodiscard]] Result<BandSequences> band_sequences(const AttentionPlan& plan);

/// The work of the problem's operation on `scores` stored scores.
[[nodiscard]] ExecutedWork executed_on_scores(const Problem& problem, std::int64_t scores);

/// Defined in windowed_on_cuda.cpp.
[[nodiscard]] CudaVariant windowed_on_cuda();

}  // namespace attnscope
