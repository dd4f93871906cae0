#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What BERT's description and its computing agree on.

#include <string_view>

namespace attnscope {

/// ModelConfig::own of the family.
struct BertConfig {
  bool is_longformer = false;       // in the names of its tensors
  bool global_projections = false;  // query, key and value of their own for global tokens
};

/// The last layer computes only what [CLS] needs: exact, because nothing else is read after it.
inline constexpr std::string_view cls_only_last_layer = "cls-only-last-layer";
/// In training, layers keep their input alone and are computed a second time on the way back.
inline constexpr std::string_view recomputed_layers = "recompute";
/// Global tokens are computed by their own projections, as in Longformer and QDS-Transformer, which
/// is built on it.
inline constexpr std::string_view with_global_projections = "global-projections";

}  // namespace attnscope
