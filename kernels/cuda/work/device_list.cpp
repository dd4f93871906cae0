// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/work/device_list.h"

#include <cstring>
#include <type_traits>

namespace attnscope::cuda {
namespace {

constexpr std::int64_t section_alignment = 256;

template <typename T>
std::int64_t place(std::int64_t& end, const std::vector<T>& section) {
  const std::int64_t begin = (end + section_alignment - 1) / section_alignment * section_alignment;
  end = begin + static_cast<std::int64_t>(section.size() * sizeof(T));
  return begin;
}

template <typename T>
void copy(std::vector<std::byte>& bytes, std::int64_t offset, const std::vector<T>& section) {
  static_assert(std::is_trivially_copyable_v<T>);
  if (section.empty()) return;
  std::memcpy(bytes.data() + offset, section.data(), section.size() * sizeof(T));
}

template <typename T>
const T* section(const std::byte* base, std::int64_t offset) {
  return reinterpret_cast<const T*>(base + offset);
}

}  // namespace

ListOffsets list_offsets(const WorkList& list) {
  ListOffsets offsets;
  std::int64_t end = 0;
  offsets.units = place(end, list.units);
  offsets.spans = place(end, list.spans);
  offsets.rules = place(end, list.rules);
  offsets.strips = place(end, list.strips);
  offsets.merges = place(end, list.merges);
  offsets.skip_words = place(end, list.skip_words);
  offsets.indices = place(end, list.indices);
  offsets.bytes = (end + section_alignment - 1) / section_alignment * section_alignment;
  return offsets;
}

std::vector<std::byte> list_bytes(const WorkList& list) {
  const ListOffsets offsets = list_offsets(list);
  std::vector<std::byte> bytes(static_cast<std::size_t>(offsets.bytes));
  copy(bytes, offsets.units, list.units);
  copy(bytes, offsets.spans, list.spans);
  copy(bytes, offsets.rules, list.rules);
  copy(bytes, offsets.strips, list.strips);
  copy(bytes, offsets.merges, list.merges);
  copy(bytes, offsets.skip_words, list.skip_words);
  copy(bytes, offsets.indices, list.indices);
  return bytes;
}

DeviceList device_list(const WorkList& list, const std::byte* base) {
  const ListOffsets offsets = list_offsets(list);
  return {.units = section<WorkUnit>(base, offsets.units),
          .spans = section<WorkSpan>(base, offsets.spans),
          .rules = section<WorkRule>(base, offsets.rules),
          .strips = section<WorkStrip>(base, offsets.strips),
          .merges = section<WorkMerge>(base, offsets.merges),
          .skip_words = section<std::uint32_t>(base, offsets.skip_words),
          .indices = section<std::int32_t>(base, offsets.indices)};
}

}  // namespace attnscope::cuda
