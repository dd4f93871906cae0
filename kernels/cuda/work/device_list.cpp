// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/work/device_list.h"

#include "kernels/cuda/sections.h"

namespace attnscope::cuda {
namespace {

constexpr auto sections_of_units = [](const WorkList& list, DeviceList& seen, const auto& visit) {
  visit(list.units, seen.units);
  visit(list.segments, seen.segments);
  visit(list.skip_words, seen.skip_words);
  visit(list.indices, seen.indices);
};

constexpr auto sections_of_walks = [](const WalkList& list, DeviceWalks& seen, const auto& visit) {
  visit(list.walks, seen.walks);
  visit(list.merges, seen.merges);
  visit(list.indices, seen.indices);
};

}  // namespace

std::vector<std::byte> list_bytes(const WorkList& list) {
  return bytes_of_sections<DeviceList>(list, sections_of_units);
}
std::vector<std::byte> list_bytes(const WalkList& list) {
  return bytes_of_sections<DeviceWalks>(list, sections_of_walks);
}

DeviceList device_list(const WorkList& list, const std::byte* base) {
  return sections_at<DeviceList>(list, base, sections_of_units);
}
DeviceWalks device_list(const WalkList& list, const std::byte* base) {
  return sections_at<DeviceWalks>(list, base, sections_of_walks);
}

}  // namespace attnscope::cuda
