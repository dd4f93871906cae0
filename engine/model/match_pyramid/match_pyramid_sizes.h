#pragma once
// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <string>

namespace attnscope::pyramid {

inline constexpr std::int64_t channels = 16, extent = 3;  // of a convolution
struct Pooled {
  std::int64_t rows, columns;
};
/// Output size of the pooling after each convolution.
inline constexpr std::array<Pooled, 5> pooled{{{36, 90}, {18, 60}, {9, 30}, {6, 20}, {3, 10}}};
inline constexpr std::int64_t features = channels * pooled.back().rows * pooled.back().columns;

/// Prefix of the names of a convolution's tensors, weight [16, 1 or 16, 3, 3] and bias. The
/// authors' names contain a space.
[[nodiscard]] inline std::string convolution(std::size_t number) {
  return fmt::format("conv_layers.conv {}", number);
}

}  // namespace attnscope::pyramid
