#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Definitions that BERT's description and its computation share.

#include <string_view>

namespace attnscope {

/// ModelConfig::own of cross-encoders that consist of BERT's body and a head.
struct BertConfig {
  std::string_view body = "bert";   // prefix of the body's tensor names, before a '.'
  bool interaction_token = false;   // for Set-Encoders: [INT] follows [CLS]
  bool global_projections = false;  // separate query, key and value for global tokens
};

/// In training, layers keep only their input and are recomputed in the backward pass.
inline constexpr std::string_view recomputed_layers = "recompute";
/// Global tokens have separate projections, as in Longformer and QDS-Transformer, which is built on
/// it.
inline constexpr std::string_view with_global_projections = "global-projections";

/// In every layer, a document attends to one state of each other document of the batch: that of
/// [CLS], or of the token after [CLS] (Set-Encoder).
inline constexpr std::string_view sees_other_documents = "other-documents";
inline constexpr std::string_view by_interaction_token = "interaction-token";

}  // namespace attnscope
