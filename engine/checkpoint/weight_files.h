#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The weight files of a checkpoint's folder: model.safetensors, its shards alongside
// model.safetensors.index.json, or if these are missing, pytorch_model.bin or its shards. They are
// mapped, not read.
//
//   Result<WeightFiles> weights = WeightFiles::open("ms-marco-MiniLM-L-6-v2");
//   weights->tensors.at("bert.pooler.dense.weight").shape;

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/checkpoint/family_description.h"

namespace attnscope {

/// Whether this names a file or a folder directly in the folder, without a path.
[[nodiscard]] bool is_plain_name(const std::string& name);

struct WeightFiles {
  TensorViews tensors{};  // by their names in the files; valid as long as `files`
  std::vector<std::shared_ptr<const void>> files{};  // the mapped files of the views
  std::vector<std::filesystem::path> paths{};        // all files that were read

  /// LayerNorm's "gamma" and "beta" of older files become its "weight" and "bias". Errors: no
  /// weights, an index that refers outside the folder, a repeated tensor.
  [[nodiscard]] static Result<WeightFiles> open(const std::filesystem::path& folder);
  /// Adds the weights of a module's folder, which may have none; `prefix` is prepended to their
  /// names.
  [[nodiscard]] Status add_module(const std::filesystem::path& folder, std::string_view prefix);
};

}  // namespace attnscope
