#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// config.json of a cross-encoder that was trained here, from that of the checkpoint it began with:
// as transformers opens it with one label, and as this program reads the pattern back. And of one
// whose weights were drawn here.
//
//   Result<std::string> json = trained_config(text, {.pattern = "sparse", .window =
//   Window::of(4)});
//   std::string drawn = classifier_config({.layers = 2});

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/checkpoint/family_description.h"
#include "engine/pattern/window.h"
#include "kernels/base/result.h"

namespace attnscope {

struct TrainedAttention {
  /// A built-in one's name; empty: one from a file, which is not written and has to be given again.
  std::string pattern;
  std::optional<Window> window{};
  std::int64_t most_query_tokens = 0;  // with its [SEP]; 0: no limit of its own
  std::int64_t positions = 0;          // that the weights have for tokens
  bool is_one_text = false;            // query and document are one text to the pattern
  std::string begun_from{};            // ORG/NAME@REVISION of the hub's; empty: from a folder
};

/// What the object 'attnscope' of such a file says; BERT's family reads it before anything else
/// about attention.
inline constexpr std::string_view trained_attention_field = "attnscope";

/// Errors: no JSON object.
[[nodiscard]] Result<std::string> trained_config(std::string_view config,
                                                 const TrainedAttention& attention);

/// Of BERT's family.
[[nodiscard]] std::string classifier_config(const ModelShape& shape);

/// What the file of a classifier calls a tensor that is `in_file` of a model without a head: a body
/// in front of a head stands behind its model's name ("bert").
[[nodiscard]] std::string name_in_classifier(std::string_view in_file, std::string_view body);

}  // namespace attnscope
