#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What the windowed products of either device, and Longformer's chunks, have in common.

#include <cstdint>
#include <vector>

#include "engine/attention/implementation.h"

namespace attnscope {

/// The sequences of a plan that is nothing but one band (or one whole segment) a sequence, the only
/// kind that the two windowed products alone can express.
struct BandSequences {
  std::vector<TokenRange> sequences;  // ascending, with one or more tokens
  std::int64_t window = 0;
};

/// Errors say which part of the plan is not a single band over its own tokens.
[[nodiscard]] Result<BandSequences> band_sequences(const AttentionPlan& plan);

/// What the problem's operation executes on `scores` stored scores.
[[nodiscard]] ExecutedWork executed_on_scores(const Problem& problem, std::int64_t scores);

/// windowed_on_cuda.cpp
[[nodiscard]] CudaVariant windowed_on_cuda();

}  // namespace attnscope
