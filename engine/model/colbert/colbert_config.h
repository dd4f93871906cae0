#pragma once
// SPDX-License-Identifier: Apache-2.0

#include <cstdint>
#include <vector>

namespace attnscope {

/// ModelConfig::own of the family.
struct ColbertConfig {
  std::int64_t dim = 128;                   // width of a token's vector
  std::vector<std::int64_t> punctuation{};  // ids whose vectors in documents are zero, ascending
};

inline constexpr const char* colbert_linear = "linear.weight";  // [dim, hidden]

}  // namespace attnscope
