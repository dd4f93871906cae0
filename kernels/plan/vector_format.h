#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The number format in which a document's vectors are stored. int8 has one scale per row.

#include <cstdint>

namespace attnscope {

enum class VectorFormat : std::uint8_t { float32, float16, bfloat16, int8 };

/// Size of one number in bytes.
[[nodiscard]] constexpr std::int64_t size_of(VectorFormat format) {
  if (format == VectorFormat::float32) return 4;
  return format == VectorFormat::int8 ? 1 : 2;
}

}  // namespace attnscope
