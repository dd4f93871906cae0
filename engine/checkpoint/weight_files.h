#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The files that hold the weights of a checkpoint's folder: model.safetensors, its shards alongside
// model.safetensors.index.json, or where there are none of these, pytorch_model.bin or its shards.
// They are mapped, not read.
//
//   Result<WeightFiles> weights = WeightFiles::open("ms-marco-MiniLM-L-6-v2");
//   weights->tensors.at("bert.pooler.dense.weight").shape;

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/checkpoint/family_description.h"
#include "kernels/base/result.h"

namespace attnscope {

/// Whether this is the name of a file or a folder in the folder itself.
[[nodiscard]] bool is_plain_name(const std::string& name);

struct WeightFiles {
  TensorViews tensors{};  // by the files' names; alive as long as `files`
  std::vector<std::shared_ptr<const void>> files{};  // what the views look at
  std::vector<std::filesystem::path> paths{};        // of all that was read

  /// LayerNorm's "gamma" and "beta" of older files are its "weight" and "bias".
  /// Errors: no weights, an index that leads out of the folder, a tensor twice.
  [[nodiscard]] static Result<WeightFiles> open(const std::filesystem::path& folder);
  /// Those of a module's folder, which may have none; `prefix` goes before their names.
  [[nodiscard]] Status add_module(const std::filesystem::path& folder, std::string_view prefix);
};

}  // namespace attnscope
