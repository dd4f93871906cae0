#pragma once
// SPDX-License-Identifier: Apache-2.0

#include "engine/model/late/late_reference.h"
#include "engine/model/mixencoder/mix_config.h"

namespace attnscope {

/// MixEncoder in float64 for one candidate, according to the paper and the authors' code. The state
/// is the candidate's vector e followed by the query's vector h.
[[nodiscard]] Result<ReferenceOutput> mix_reference(const LateReference& reference,
                                                    const MixConfig& own, TokenIds query,
                                                    TokenIds document);

}  // namespace attnscope
