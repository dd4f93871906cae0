#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Creates config.json of a cross-encoder trained by this program from that of the initial
// checkpoint: transformers opens it with one label, and this program reads the pattern from it.
// Also creates that of a model with random weights.
//
//   Result<std::string> json = trained_config(text, {.pattern = "sparse", .window =
//   Window::of(4)});
//   std::string drawn = classifier_config({.layers = 2});

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "engine/checkpoint/family_description.h"
#include "engine/pattern/axes.h"

namespace attnscope {

struct TrainedAttention {
  /// Name of a built-in pattern; empty: a pattern from a file, which is not written and must be
  /// given again.
  std::string pattern;
  std::optional<Window> window{};
  std::int64_t most_query_tokens = 0;  // including [SEP]; 0: no separate limit
  std::int64_t positions = 0;          // number of positions for tokens in the weights
  bool is_one_text = false;            // the pattern treats query and document as one text
  std::string begun_from{};            // ORG/NAME@REVISION on the hub; empty: from a folder
};

/// Name of the object with the attention of such a model; BERT's family reads it before all other
/// attention settings.
inline constexpr std::string_view trained_attention_field = "attnscope";

/// Error: not a JSON object.
[[nodiscard]] Result<std::string> trained_config(std::string_view config,
                                                 const TrainedAttention& attention);

/// For BERT's family.
[[nodiscard]] std::string classifier_config(const ModelShape& shape);

/// The name in a classifier's file of the tensor called `in_file` in a model without a head: a body
/// with a head has the prefix of its model's name ("bert").
[[nodiscard]] std::string name_in_classifier(std::string_view in_file, std::string_view body);

}  // namespace attnscope
