#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A checkpoint's weights: model.safetensors, or the shards that model.safetensors.index.json names.

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "engine/safetensors/safetensors.h"
#include "kernels/base/result.h"

namespace attnscope {

struct WeightFiles {
  std::vector<SafetensorsFile> files;
  /// By name; LayerNorm's "gamma" and "beta" of older files are its "weight" and "bias".
  std::map<std::string, TensorView, std::less<>> tensors;
};

/// Errors: no weights (with the way to convert a pytorch_model.bin), an index that leads out of the
/// folder, a tensor twice.
[[nodiscard]] Result<WeightFiles> open_weight_files(const std::filesystem::path& folder);

}  // namespace attnscope
