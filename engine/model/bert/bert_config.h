#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What BERT's description and its computing agree on.

#include <cstdint>
#include <string_view>

namespace attnscope {

/// What stands between the two layers of a head.
enum class HeadActivation : std::uint8_t { tanh, gelu };

/// ModelConfig::own of cross-encoders that are BERT's body and a head: what their files call it,
/// and how the head computes.
struct BertConfig {
  std::string_view body = "bert";  // before the names of the body's tensors, with a '.'
  /// The head's first layer, which makes hidden values of [CLS]; empty: the body's "pooler.dense".
  std::string_view pooler = {};
  std::string_view classifier = "classifier";  // its last one, which makes the score of these
  bool has_pooler = true;                      // false: the score is made of [CLS] itself
  bool classifier_bias = true;
  bool needs_head = false;  // there is no such model without one
  HeadActivation activation = HeadActivation::tanh;
  bool interaction_token = false;   // of Set-Encoders: [INT] behind [CLS]
  bool global_projections = false;  // query, key and value of their own for global tokens
};

/// The last layer computes only what [CLS] needs: exact, because nothing else is read after it.
inline constexpr std::string_view cls_only_last_layer = "cls-only-last-layer";
/// In training, layers keep their input alone and are computed a second time on the way back.
inline constexpr std::string_view recomputed_layers = "recompute";
/// Global tokens are computed by their own projections, as in Longformer and QDS-Transformer, which
/// is built on it.
inline constexpr std::string_view with_global_projections = "global-projections";

/// A document sees, in every layer, one state of each other document of the batch: that of [CLS],
/// or of the token behind it (Set-Encoder).
inline constexpr std::string_view sees_other_documents = "other-documents";
inline constexpr std::string_view by_interaction_token = "interaction-token";

}  // namespace attnscope
