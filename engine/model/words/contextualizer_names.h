#pragma once
// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace attnscope {

/// A tensor of a layer of attention over words, as PyTorch's TransformerEncoder names it.
[[nodiscard]] inline std::string name_in_contextualizer(std::int64_t layer, std::string_view part) {
  return fmt::format("contextualizer.layers.{}.{}", layer, part);
}

}  // namespace attnscope
