#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What the banded loops and kernels execute, alike on both devices.

#include "engine/attention/implementation.h"
#include "engine/attention/longformer_banded/weighting.h"

namespace attnscope::longformer_banded {

[[nodiscard]] constexpr Weighting weighting_of(const Problem& problem) {
  return problem.operation == Operation::attention ? Weighting::softmax : Weighting::none;
}

[[nodiscard]] ExecutedWork banded_work(const Problem& problem);

}  // namespace attnscope::longformer_banded
