#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A checkpoint as Hugging Face lays it out: a folder with config.json and files of weights
// (weight_files.h). config.json's model_type decides the family. Files
// are mapped, not read; every tensor of the model is found before any is used.
//
//   Result<Checkpoint> checkpoint = Checkpoint::open("ms-marco-MiniLM-L-6-v2");
//   checkpoint->tensors.at("encoder.layer.0.attention.self.query.weight").shape;

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "engine/checkpoint/family_description.h"
#include "engine/checkpoint/sentence_files.h"
#include "engine/safetensors/safetensors.h"
#include "kernels/base/result.h"

namespace attnscope {

struct Checkpoint {
  ModelConfig config;
  TensorViews tensors;        // by the family's names; alive as long as the checkpoint
  bool gives_scores = false;  // false: an encoder without a head
  /// Tensors that are in the files and that the model does not use, of any dtype.
  std::vector<std::string> left_out{};
  std::vector<std::shared_ptr<const void>> files{};  // what the views look at
  std::vector<std::filesystem::path> paths{};  // of all that was read: configuration and weights
  /// What sentence-transformers' files say; null of tensors that were found without a folder.
  std::shared_ptr<const SentenceFiles> sentence{};

  /// Errors, each in one sentence: a file that is missing or no JSON, a model type that no family
  /// reads, what its family does not compute, tensors that are missing or whose shape contradicts
  /// config.json (all of them named), a hostile offset.
  [[nodiscard]] static Result<Checkpoint> open(const std::filesystem::path& folder);
  /// Names some of `left_out` and says how many there are, but for those that such models usually
  /// have in their files (position_ids, a pre-training head). Empty where there are none.
  [[nodiscard]] std::string note() const;
};

/// The tensors of `files` as the model has them. Errors name those that are missing, misshaped or
/// of a type that is no float: a few of each, then how many more. `source` is the
/// folder.
[[nodiscard]] Result<Checkpoint> find_tensors(const TensorViews& files, ModelConfig config,
                                              std::string_view source);

}  // namespace attnscope
