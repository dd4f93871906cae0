#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The checkpoints that training can start from, and the files that training writes next to the
// weights. With these files, transformers, sentence-transformers and this program truncate and
// tokenize texts as in training. transformers opens the trained config.json with one label, and
// this program reads the pattern from it.
//
//   if (Status can = may_be_trained(checkpoint, name); !can) return can;
//   Result<TrainedFolder> files = trained_folder(sentence, attention, most_tokens);
//
//   Result<std::string> json = trained_config(text, {.pattern = "sparse", .window =
//   Window::of(4)});
//   std::string random_weights = classifier_config({.layers = 2});

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/checkpoint/checkpoint.h"
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

/// Ok, or an error with the kind of checkpoint `name` is and the kinds that can be trained.
[[nodiscard]] Status may_be_trained(const Checkpoint& checkpoint, std::string_view name);

/// All files that may be next to the weights.
[[nodiscard]] std::vector<std::string> trained_folder_files();

struct TrainedFolder {
  std::map<std::string, std::string> texts{};             // contents by name
  std::map<std::string, std::filesystem::path> copied{};  // unchanged copies: source by name
};

/// Files of a training that began with the checkpoint of these files. `attention.positions` are
/// those of the weights, `most_tokens` is the limit that pairs were truncated to. Error: a file
/// that cannot be read.
[[nodiscard]] Result<TrainedFolder> trained_folder(const SentenceFiles& files,
                                                   const TrainedAttention& attention,
                                                   std::int64_t most_tokens);

}  // namespace attnscope
