#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The tensors that a model needs: their names in the model and in files, and their shapes.

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/safetensors/safetensors.h"

namespace attnscope {

using TensorViews = std::map<std::string, TensorView, std::less<>>;

struct TensorSpec {
  std::string name;     // the family's name for it
  std::string in_file;  // its name in the checkpoint
  std::vector<std::int64_t> shape;
  double around = 0;  // mean of random weights: 1 for a LayerNorm's factor
};

/// Appends weight [out, in] and bias [out].
void append_linear(std::string_view name, std::string_view in_file, std::int64_t out,
                   std::int64_t in, std::vector<TensorSpec>& specs);
/// Appends weight and bias [width] of a LayerNorm.
void append_norm(std::string_view name, std::string_view in_file, std::int64_t width,
                 std::vector<TensorSpec>& specs);
}  // namespace attnscope
