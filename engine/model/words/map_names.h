#pragma once
// SPDX-License-Identifier: Apache-2.0

#include <cstdint>
#include <string>
#include <vector>

#include "engine/checkpoint/family_description.h"

namespace attnscope {

// The layers that compute a score from a map's features (map_model.h).
namespace map_names {
inline constexpr const char* first = "dense";         // [100, features], bias
inline constexpr const char* second = "dense2";       // [10, 100], bias
inline constexpr const char* last = "dense3.weight";  // [1, 10]
inline constexpr std::int64_t first_width = 100, second_width = 10;
}  // namespace map_names

/// Appends the tensors of these layers.
void append_map_layers(std::int64_t features, std::vector<TensorSpec>& specs);

/// weight [out, in, size, ...] and bias [out] of a convolution. Weights are drawn around the mean
/// over their inputs, so that a model with random weights also passes its input on.
void append_convolution(const std::string& name, const std::vector<std::int64_t>& shape,
                        std::vector<TensorSpec>& specs);

}  // namespace attnscope
