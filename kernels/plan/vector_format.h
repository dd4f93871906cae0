#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// In what the numbers of a document's vectors are kept. int8 goes with a scale for each row.

#include <cstdint>

namespace attnscope {

enum class VectorFormat : std::uint8_t { float32, float16, bfloat16, int8 };

/// Bytes of a number.
[[nodiscard]] constexpr std::int64_t size_of(VectorFormat format) {
  if (format == VectorFormat::float32) return 4;
  return format == VectorFormat::int8 ? 1 : 2;
}

}  // namespace attnscope
