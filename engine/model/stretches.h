#pragma once
// SPDX-License-Identifier: Apache-2.0

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace attnscope {

/// Splits a sequence of texts into runs of at most `most` tokens, or of a single longer text, so
/// that the size of one computation does not grow with the number of texts. `tokens_of` counts the
/// tokens of a text.
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
