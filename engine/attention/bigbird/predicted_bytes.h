#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What BigBird's attention executes and the memory it takes, from the shapes of its parts.

#include "engine/attention/bigbird/block_structure.h"
#include "engine/attention/implementation.h"

namespace attnscope {

/// Products and passes over scores, gathered and padded tensors, padding included.
[[nodiscard]] ExecutedWork bigbird_work(const Problem& problem, const BlockStructure& structure);

/// An upper bound, index lists included.
[[nodiscard]] std::int64_t bigbird_peak_bytes(const Problem& problem,
                                              const BlockStructure& structure);

}  // namespace attnscope
