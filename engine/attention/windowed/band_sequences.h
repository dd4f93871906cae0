#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The sequences of a plan that is nothing but one band (or one whole segment) a sequence, the only
// kind that the two windowed products alone can express.

#include <cstdint>
#include <vector>

#include "kernels/base/result.h"
#include "kernels/plan/attention_plan.h"

namespace attnscope {

struct BandSequences {
  std::vector<TokenRange> sequences;  // ascending, with one or more tokens
  std::int64_t window = 0;
};

/// Errors say which part of the plan is not a single band over its own tokens.
[[nodiscard]] Result<BandSequences> band_sequences(const AttentionPlan& plan);

}  // namespace attnscope
