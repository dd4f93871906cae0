#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Lists as device memory holds them: sections one after the other in a single block, each aligned
// to 256 bytes, that kernels read through pointers into their copy.

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <ranges>
#include <span>
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
  sections(list, nowhere, [&](const auto& section, auto&) {
    static_assert(std::is_trivially_copyable_v<std::ranges::range_value_t<decltype(section)>>);
    const std::span<const std::byte> more = std::as_bytes(std::span(section));
    bytes.insert(bytes.end(), more.begin(), more.end());
    bytes.resize(static_cast<std::size_t>(section_behind(std::ssize(bytes))));
  });
  return bytes;
}

/// The pointers into a copy at `base`, which is not read here.
template <typename Seen, typename List, typename Sections>
[[nodiscard]] Seen sections_at(const List& list, const std::byte* base, const Sections& sections) {
  Seen seen;
  std::int64_t begin = 0;
  sections(list, seen, [&](const auto& section, const auto*& pointer) {
    pointer = reinterpret_cast<decltype(section.data())>(base + begin);
    begin = section_behind(begin + std::ssize(std::as_bytes(std::span(section))));
  });
  return seen;
}

}  // namespace attnscope::cuda
