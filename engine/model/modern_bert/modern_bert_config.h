#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What ModernBERT's description and its computing agree on.

#include <cstdint>
#include <string>
#include <string_view>

namespace attnscope {

/// What of the last layer's states the head reads: [CLS]'s, or the mean of all tokens'.
enum class TokenPooling : std::uint8_t { cls, mean };

/// ModelConfig::own of the family.
struct ModernBertConfig {
  double full_theta = 160'000, local_theta = 10'000;  // bases of the rotary frequencies
  TokenPooling pooling = TokenPooling::cls;
  bool attention_bias = false, mlp_bias = false, norm_bias = false;
  // The head, by its names in files.
  std::string dense = "head.dense", norm = "head.norm", classifier = "classifier";
  bool dense_bias = false, head_norm_bias = false, classifier_bias = true;
  bool needs_head = false;  // there are modules that make the score
};

/// The layers' tokens to each side in their local attention, unless a config says otherwise.
inline constexpr std::int64_t modern_bert_window = 64;

}  // namespace attnscope
