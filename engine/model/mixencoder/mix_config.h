#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What MixEncoder's description and its computing agree on.

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace attnscope {

/// ModelConfig::own of the family.
struct MixConfig {
  std::int64_t contexts = 1;  // vectors kept of a candidate, the paper's k
  /// How they are made: learned tokens in [CLS]'s place (the paper's S-strategy), or codes that
  /// compose the document's states (C-strategy).
  bool composed = false;
  std::vector<std::int64_t> interaction_layers{};  // ascending, from 0
  bool disentangled = false;  // the last context asks the query, and the others are the candidate
  bool cosine = false;        // as in the paper; the authors' code takes the product
  bool without_h = false;     // the query stays its [CLS], the same for all candidates
  bool without_e = false;     // the contexts stay as they were kept
};

inline constexpr const char* mix_learned = "context_cls";            // [contexts, hidden]
inline constexpr const char* mix_codes = "composition_layer.query";  // [contexts, hidden]
inline constexpr const char* mix_gate = "decoder.LSTM.weight_layer";

/// Names of an interaction layer's parts: "decoder.candidate_query.11".
[[nodiscard]] inline std::string name_of_mix_part(std::string_view part, std::int64_t layer) {
  return fmt::format("decoder.{}.{}", part, layer);
}
/// Of what both paths share: "decoder.layer_chunks.11.output.dense".
[[nodiscard]] inline std::string name_of_mix_chunk(std::string_view part, std::int64_t layer) {
  return fmt::format("decoder.layer_chunks.{}.{}", layer, part);
}

}  // namespace attnscope
