#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A plain float64 implementation of ModernBERT with the oracle's masks: the reference for every
// other implementation. LibTorch inside.

#include "engine/model/bert/packed_batch.h"
#include "engine/model/family.h"
#include "engine/model/model_weights.h"

namespace attnscope {

/// The last layer's states, [tokens, hidden].
[[nodiscard]] at::Tensor modern_bert_reference_states(const ModelWeights& weights,
                                                      const ModelVariant& variant,
                                                      const PackedBatch& packed);

/// Reference of one item. Rotary embeddings use the float32 angles of RotaryTable.
[[nodiscard]] Result<ReferenceOutput> modern_bert_reference(const ModelWeights& weights,
                                                            const ModelVariant& variant,
                                                            const PairBatch::Item& item,
                                                            std::int32_t cls);

}  // namespace attnscope
