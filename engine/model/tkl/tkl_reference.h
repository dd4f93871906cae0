#pragma once
// SPDX-License-Identifier: Apache-2.0

#include "engine/model/tkl/tkl_config.h"
#include "engine/model/words/words_reference.h"

namespace attnscope {

/// TKL in float64, written from its formulas: region scores and the 15 regions that count.
[[nodiscard]] ReferenceOutput tkl_reference(const WordsReference& reference, const TklConfig& own,
                                            TokenIds query, TokenIds document);

}  // namespace attnscope
