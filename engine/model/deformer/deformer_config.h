#pragma once
// SPDX-License-Identifier: Apache-2.0

#include <cstdint>

namespace attnscope {

/// ModelConfig::own of the family.
struct DeformerConfig {
  std::int64_t top_layers = 3;  // layers that attend across query and document
};

}  // namespace attnscope
