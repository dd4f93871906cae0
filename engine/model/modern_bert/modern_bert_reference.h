#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// ModernBERT in float64 with the oracle's masks, plainly written: what every computation of it is
// held against. LibTorch inside.

#include "engine/model/bert/packed_batch.h"
#include "engine/model/family.h"
#include "engine/model/model_weights.h"

namespace attnscope {

/// The last layer's states, [tokens, hidden].
[[nodiscard]] at::Tensor modern_bert_reference_states(const ModelWeights& weights,
                                                      const ModelVariant& variant,
                                                      const PackedBatch& packed);

/// Of one item. Angles of rotary embeddings are those of RotaryTable, in float32.
[[nodiscard]] Result<ReferenceOutput> modern_bert_reference(const ModelWeights& weights,
                                                            const ModelVariant& variant,
                                                            const PairBatch::Item& item,
                                                            std::int32_t cls);

}  // namespace attnscope
