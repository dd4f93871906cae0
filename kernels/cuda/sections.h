#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Layout of lists in device memory: consecutive sections in a single block, each aligned to 256
// bytes, that kernels read through pointers into their copy. A list names these pointers, its
// OnDevice, and provides visit_sections(list, OnDevice&, visit), which calls visit(section,
// pointer) for each of its vectors and the pointer through which kernels read it.
//
//   std::vector<std::byte> bytes = list_bytes(list);     // copy them to `memory` on the device
//   DeviceList on_device = device_list(list, memory);    // a kernel argument, by value

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <ranges>
#include <span>
#include <type_traits>
#include <vector>

namespace attnscope::cuda {

/// Start of the next section after `end`.
[[nodiscard]] constexpr std::int64_t section_after(std::int64_t end) {
  constexpr std::int64_t alignment = 256;
  return (end + alignment - 1) / alignment * alignment;
}

template <typename List>
[[nodiscard]] std::vector<std::byte> list_bytes(const List& list) {
  std::vector<std::byte> bytes;
  typename List::OnDevice nowhere;
  visit_sections(list, nowhere, [&](const auto& section, auto&) {
    static_assert(std::is_trivially_copyable_v<std::ranges::range_value_t<decltype(section)>>);
    const std::span<const std::byte> more = std::as_bytes(std::span(section));
    bytes.insert(bytes.end(), more.begin(), more.end());
    bytes.resize(static_cast<std::size_t>(section_after(std::ssize(bytes))));
  });
  return bytes;
}

/// `base`: a copy of list_bytes(list), aligned to 256 bytes; not read here.
template <typename List>
[[nodiscard]] typename List::OnDevice device_list(const List& list, const std::byte* base) {
  typename List::OnDevice seen;
  std::int64_t begin = 0;
  visit_sections(list, seen, [&](const auto& section, const auto*& pointer) {
    pointer = reinterpret_cast<decltype(section.data())>(base + begin);
    begin = section_after(begin + std::ssize(std::as_bytes(std::span(section))));
  });
  return seen;
}

}  // namespace attnscope::cuda
