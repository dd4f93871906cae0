#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// BigBird's block-sparse attention bound to a problem, on either device. For engine/attention
// alone: LibTorch inside.

#include <memory>

#include "engine/attention/bigbird/block_structure.h"
#include "engine/attention/implementation.h"

namespace attnscope {

/// `structure` is that of the problem's plan.
[[nodiscard]] std::unique_ptr<PreparedAttention> prepare_bigbird(const Problem& problem,
                                                                 BlockStructure structure);

}  // namespace attnscope
