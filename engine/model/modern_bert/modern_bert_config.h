#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Definitions that ModernBERT's description and its computation share.

#include <cstdint>
namespace attnscope {

/// ModelConfig::own of the family.
struct ModernBertConfig {
  double full_theta = 160'000, local_theta = 10'000;  // bases of the rotary frequencies
  bool attention_bias = false, mlp_bias = false, norm_bias = false;
};

/// Default window of local attention: tokens on each side.
inline constexpr std::int64_t modern_bert_window = 64;

}  // namespace attnscope
