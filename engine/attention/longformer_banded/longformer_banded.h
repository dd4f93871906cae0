#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The work that the banded loops and kernels execute, the same on both devices.

#include "engine/attention/implementation.h"
#include "engine/attention/longformer_banded/plan_lists.h"

namespace attnscope::longformer_banded {

[[nodiscard]] constexpr Weighting weighting_of(const Problem& problem) {
  return problem.operation == Operation::attention ? Weighting::softmax : Weighting::none;
}

/// Ok for 1 to largest_head_dim.
[[nodiscard]] Status has_head_dim(const Problem& problem);

[[nodiscard]] ExecutedWork banded_work(const Problem& problem);

/// Defined in on_cuda.cpp.
[[nodiscard]] CudaVariant on_cuda();

}  // namespace attnscope::longformer_banded
