#pragma once
// SPDX-License-Identifier: Apache-2.0

#include <memory>

#include "engine/attention/implementation.h"
#include "engine/attention/longformer_chunks/chunk_structure.h"

namespace attnscope {

/// Sliding chunks bound to a problem whose structure was recognised, for either operation.
[[nodiscard]] std::unique_ptr<PreparedAttention> prepare_chunks(const Problem& problem,
                                                                ChunkStructure structure);

}  // namespace attnscope
