#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What BERT's description and its computing agree on.

#include <string_view>

namespace attnscope {

/// ModelConfig::own of cross-encoders that are BERT's body and a head.
struct BertConfig {
  std::string_view body = "bert";   // before the names of the body's tensors, with a '.'
  bool interaction_token = false;   // of Set-Encoders: [INT] follows [CLS]
  bool global_projections = false;  // query, key and value of their own for global tokens
};

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
