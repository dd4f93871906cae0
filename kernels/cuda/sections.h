#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Lists as device memory holds them: sections one after the other in a single block, each aligned
// to 256 bytes, that kernels read through pointers into their copy.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

namespace attnscope::cuda {

/// Where the next section starts behind `end`.
[[nodiscard]] constexpr std::int64_t section_behind(std::int64_t end) {
  constexpr std::int64_t alignment = 256;
  return (end + alignment - 1) / alignment * alignment;
}

/// Where the section starts in `bytes`.
template <typename T>
std::int64_t append_section(std::vector<std::byte>& bytes, const std::vector<T>& section) {
  static_assert(std::is_trivially_copyable_v<T>);
  const std::int64_t begin = section_behind(static_cast<std::int64_t>(bytes.size()));
  bytes.resize(static_cast<std::size_t>(begin) + section.size() * sizeof(T));
  if (!section.empty()) {
    std::memcpy(bytes.data() + begin, section.data(), section.size() * sizeof(T));
  }
  return begin;
}

template <typename T>
[[nodiscard]] const T* section_at(const std::byte* base, std::int64_t offset) {
  return reinterpret_cast<const T*>(base + offset);
}

}  // namespace attnscope::cuda
