#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The body of a cross-encoder family as an encoder of single texts, for families with another head.
// Uses LibTorch.
//
//   auto encoder = family.encoders()->make_encoder(*weights, variant, "segment");
//   auto states = (*encoder)->states(packed, EncodedTexts::documents);

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string_view>

#include "engine/attention/implementation.h"
#include "engine/model/bert/packed_batch.h"
#include "engine/model/family.h"
#include "engine/model/linear.h"
#include "engine/model/model_weights.h"

namespace attnscope {

/// Kind of the encoded texts: documents use the variant's attention; queries use full attention
/// over [CLS] and query, in which tokens of the group `document` attend to both but are not
/// attended to.
enum class EncodedTexts : std::uint8_t { queries, documents };

/// The attention pattern of queries.
[[nodiscard]] AttentionPattern query_pattern();
/// Whether some query has tokens that no token attends to.
[[nodiscard]] bool has_unseen_tokens(const SequenceLayout& layout);

class TextEncoder {
 public:
  TextEncoder() = default;
  TextEncoder(const TextEncoder&) = delete;
  TextEncoder& operator=(const TextEncoder&) = delete;
  virtual ~TextEncoder() = default;

  /// The last layer's states, [tokens, hidden].
  [[nodiscard]] virtual Result<at::Tensor> states(const PackedBatch& packed,
                                                  EncodedTexts texts) const = 0;
  [[nodiscard]] virtual Result<ModelWork> work(const SequenceLayout& layout,
                                               EncodedTexts texts) const = 0;
  /// Peak memory of `states` in bytes, in addition to the weights.
  [[nodiscard]] virtual Result<std::int64_t> peak_bytes(const SequenceLayout& layout,
                                                        EncodedTexts texts) const = 0;
};

class EncoderFamily {
 public:
  virtual ~EncoderFamily() = default;
  /// Error: an unknown implementation.
  [[nodiscard]] Result<std::unique_ptr<TextEncoder>> make_encoder(
      const ModelWeights& weights, const ModelVariant& variant,
      std::string_view implementation) const;
  /// The encoder's states in float64.
  [[nodiscard]] virtual at::Tensor reference_states(const ModelWeights& weights,
                                                    const ModelVariant& variant,
                                                    const PackedBatch& packed,
                                                    EncodedTexts texts) const = 0;

 protected:
  [[nodiscard]] virtual std::unique_ptr<TextEncoder> make(const ModelWeights& weights,
                                                          const ModelVariant& variant,
                                                          const Implementation& implementation,
                                                          const Computing& computing) const = 0;
};

}  // namespace attnscope
