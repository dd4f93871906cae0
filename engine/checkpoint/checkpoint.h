#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A checkpoint in the Hugging Face layout: a folder with config.json and weight files
// (weight_files.h). config.json's model_type decides the family. Files are mapped, not read; every
// tensor of the model is found before any is used.
//
//   Result<Checkpoint> checkpoint = Checkpoint::open("ms-marco-MiniLM-L-6-v2");
//   checkpoint->tensors.at("encoder.layer.0.attention.self.query.weight").shape;

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/checkpoint/family_description.h"
#include "engine/checkpoint/sentence_files.h"
#include "engine/safetensors/safetensors.h"

namespace attnscope {

struct Checkpoint {
  ModelConfig config;
  TensorViews tensors;        // by the family's names; valid as long as the checkpoint
  bool gives_scores = false;  // false: an encoder without a head
  /// Tensors in the files that the model does not use, of any dtype.
  std::vector<std::string> left_out{};
  std::vector<std::shared_ptr<const void>> files{};  // mapped files of the views
  std::vector<std::filesystem::path> paths{};        // all files read: configuration and weights
  /// Contents of sentence-transformers' files; null for tensors without a folder.
  std::shared_ptr<const SentenceFiles> sentence{};

  /// Errors, each in one sentence: a file that is missing or invalid JSON, an unknown model type, a
  /// feature that its family does not support, missing tensors or shapes that contradict
  /// config.json (all of them listed), an invalid offset.
  [[nodiscard]] static Result<Checkpoint> open(const std::filesystem::path& folder);
  /// Lists some of `left_out` and their number, excluding those that such models usually have in
  /// their files (position_ids, a pre-training head). Empty if there are none.
  [[nodiscard]] std::string note() const;
};

/// Selects the model's tensors from `files`. Errors list missing, misshaped and non-float tensors:
/// a few of each, then the number of others. `source` is the folder.
[[nodiscard]] Result<Checkpoint> find_tensors(const TensorViews& files, ModelConfig config,
                                              std::string_view source);

}  // namespace attnscope
