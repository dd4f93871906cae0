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

/// A list as one block. `sections(list, seen, visit)` calls visit(section, pointer) for each of its
/// vectors and the pointer of `seen` that kernels read it through.
template <typename Seen, typename List, typename Sections>
[[nodiscard]] std::vector<std::byte> bytes_of_sections(const List& list, const Sections& sections) {
  std::vector<std::byte> bytes;
  Seen nowhere;
  const auto pad = [&bytes] {
    bytes.resize(static_cast<std::size_t>(section_behind(static_cast<std::int64_t>(bytes.size()))));
  };
  sections(list, nowhere, [&](const auto& section, const auto&) {
    using T = typename std::decay_t<decltype(section)>::value_type;
    static_assert(std::is_trivially_copyable_v<T>);
    pad();
    const std::size_t begin = bytes.size();
    bytes.resize(begin + section.size() * sizeof(T));
    if (section.empty()) return;
    std::memcpy(bytes.data() + begin, section.data(), section.size() * sizeof(T));
  });
  pad();
  return bytes;
}

/// The pointers into a copy at `base`, which is not read here.
template <typename Seen, typename List, typename Sections>
[[nodiscard]] Seen sections_at(const List& list, const std::byte* base, const Sections& sections) {
  Seen seen;
  std::int64_t end = 0;
  sections(list, seen, [&]<typename T>(const std::vector<T>& section, const T*& pointer) {
    pointer = reinterpret_cast<const T*>(base + section_behind(end));
    end = section_behind(end) + static_cast<std::int64_t>(section.size() * sizeof(T));
  });
  return seen;
}

}  // namespace attnscope::cuda
