#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The band's kernels behind the engine's interface, for problems of device cuda once
// cuda::usable().

#include <memory>

#include "engine/attention/implementation.h"

namespace attnscope::longformer_banded {

[[nodiscard]] Status supported_on_cuda(const Problem& problem);
[[nodiscard]] Result<std::unique_ptr<PreparedAttention>> prepare_on_cuda(const Problem& problem);

}  // namespace attnscope::longformer_banded
