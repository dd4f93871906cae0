#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Definitions that MixEncoder's description and its computation share.

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace attnscope {

/// ModelConfig::own of the family.
struct MixConfig {
  std::int64_t contexts = 1;  // vectors kept per candidate, the paper's k
  /// How they are computed: learned tokens in place of [CLS] (the paper's S-strategy), or codes
  /// that compose the document's states (C-strategy).
  bool composed = false;
  std::vector<std::int64_t> interaction_layers{};  // ascending, from 0
  bool disentangled = false;  // the last context computes h; the others are the candidate
  bool cosine = false;        // as in the paper; the authors' code uses the product
  bool without_h = false;     // the query stays its [CLS] for all candidates
  bool without_e = false;     // the contexts stay as they were cached
};

inline constexpr const char* mix_learned = "context_cls";            // [contexts, hidden]
inline constexpr const char* mix_codes = "composition_layer.query";  // [contexts, hidden]
inline constexpr const char* mix_gate = "decoder.LSTM.weight_layer";

/// Names of an interaction layer's parts: "decoder.candidate_query.11".
[[nodiscard]] inline std::string name_of_mix_part(std::string_view part, std::int64_t layer) {
  return fmt::format("decoder.{}.{}", part, layer);
}
/// Names of parts that both paths share: "decoder.layer_chunks.11.output.dense".
[[nodiscard]] inline std::string name_of_mix_chunk(std::string_view part, std::int64_t layer) {
  return fmt::format("decoder.layer_chunks.{}.{}", layer, part);
}

}  // namespace attnscope
