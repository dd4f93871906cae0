// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/work/device_list.h"

#include "kernels/cuda/sections.h"

namespace attnscope::cuda {
namespace {

/// The sections in the order of the block, each with the pointer it is read through.
template <typename Visit>
void for_each_section(const WorkList& list, DeviceList& seen, const Visit& visit) {
  visit(list.units, seen.units);
  visit(list.spans, seen.spans);
  visit(list.rules, seen.rules);
  visit(list.strips, seen.strips);
  visit(list.merges, seen.merges);
  visit(list.skip_words, seen.skip_words);
  visit(list.indices, seen.indices);
}

template <typename Visit>
void for_each_section(const WalkList& list, DeviceWalks& seen, const Visit& visit) {
  visit(list.walks, seen.walks);
  visit(list.merges, seen.merges);
  visit(list.indices, seen.indices);
}

template <typename Seen, typename List>
std::vector<std::byte> bytes_of(const List& list) {
  std::vector<std::byte> bytes;
  Seen nowhere;
  for_each_section(list, nowhere,
                   [&](const auto& section, const auto&) { append_section(bytes, section); });
  bytes.resize(static_cast<std::size_t>(section_behind(static_cast<std::int64_t>(bytes.size()))));
  return bytes;
}

template <typename Seen, typename List>
Seen placed(const List& list, const std::byte* base) {
  Seen seen;
  std::int64_t end = 0;
  for_each_section(list, seen, [&]<typename T>(const std::vector<T>& section, const T*& pointer) {
    pointer = section_at<T>(base, section_behind(end));
    end = section_behind(end) + static_cast<std::int64_t>(section.size() * sizeof(T));
  });
  return seen;
}

}  // namespace

std::vector<std::byte> list_bytes(const WorkList& list) {
  return bytes_of<DeviceList>(list);
}
std::vector<std::byte> list_bytes(const WalkList& list) {
  return bytes_of<DeviceWalks>(list);
}

DeviceList device_list(const WorkList& list, const std::byte* base) {
  return placed<DeviceList>(list, base);
}
DeviceWalks device_list(const WalkList& list, const std::byte* base) {
  return placed<DeviceWalks>(list, base);
}

}  // namespace attnscope::cuda
