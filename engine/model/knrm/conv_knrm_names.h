#pragma once
// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <cstdint>
#include <string>

namespace attnscope::ngrams {

/// N-grams of 1, 2 and 3 words are compared, each as a vector of this width.
inline constexpr std::int64_t longest_gram = 3, gram_width = 128;

/// Convolution over `words` consecutive words: weight [128, hidden, words], bias.
[[nodiscard]] inline std::string convolution(std::int64_t words) {
  return fmt::format("convolutions.{}.1", words - 1);
}

}  // namespace attnscope::ngrams
