#pragma once
// SPDX-License-Identifier: Apache-2.0

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace attnscope {

/// Texts one after the other in stretches of at most `most` tokens, or of one text, so that what is
/// computed together does not grow with their number. `tokens_of` counts those of one.
template <typename Text, typename Count>
[[nodiscard]] std::vector<std::span<const Text>> stretches_of(std::span<const Text> texts,
                                                              std::int64_t most,
                                                              const Count& tokens_of) {
  std::vector<std::span<const Text>> stretches;
  std::size_t first = 0;
  std::int64_t tokens = 0;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::int64_t own = tokens_of(texts[i]);
    if (i > first && tokens + own > most) {
      stretches.push_back(texts.subspan(first, i - first));
      first = i;
      tokens = 0;
    }
    tokens += own;
  }
  if (first < texts.size()) stretches.push_back(texts.subspan(first));
  return stretches;
}

}  // namespace attnscope
