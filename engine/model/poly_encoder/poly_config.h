#pragma once
// SPDX-License-Identifier: Apache-2.0

#include <cstdint>

namespace attnscope {

/// ModelConfig::own of the family.
struct PolyConfig {
  std::int64_t codes = 64;  // number of vectors that represent a query
};

inline constexpr const char* poly_codes = "query_composition_layer.query";  // [codes, hidden]

}  // namespace attnscope
