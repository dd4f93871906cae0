#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What ModernBERT's description and its computing agree on.

#include <cstdint>
namespace attnscope {

/// ModelConfig::own of the family.
struct ModernBertConfig {
  double full_theta = 160'000, local_theta = 10'000;  // bases of the rotary frequencies
  bool attention_bias = false, mlp_bias = false, norm_bias = false;
};

/// The layers' tokens to each side in their local attention, unless a config says otherwise.
inline constexpr std::int64_t modern_bert_window = 64;

}  // namespace attnscope
