#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A work list as device memory holds it (sections.h), and the pointers kernels read it through.
//
//   std::vector<std::byte> bytes = list_bytes(list);  // copy them to `memory` on the device
//   DeviceList seen = device_list(list, memory);      // a kernel argument, by value

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/cuda/sections.h"
#include "kernels/cuda/walk_list.h"
#include "kernels/cuda/work_list.h"

namespace attnscope::cuda {

/// Pointers into the block; the sections' lengths are those of the WorkList.
struct DeviceList {
  const WorkUnit* units = nullptr;
  const WorkSegment* segments = nullptr;
  const std::int32_t* indices = nullptr;
};

/// The same of a list of walks, its units aside.
struct DeviceWalks {
  const WorkWalk* walks = nullptr;
  const WorkMerge* merges = nullptr;
  const std::int32_t* indices = nullptr;
};

/// For sections.h.
inline constexpr auto sections_of_units = [](const WorkList& list, DeviceList& seen,
                                             const auto& visit) {
  visit(list.units, seen.units);
  visit(list.segments, seen.segments);
  visit(list.indices, seen.indices);
};
inline constexpr auto sections_of_walks = [](const WalkList& list, DeviceWalks& seen,
                                             const auto& visit) {
  visit(list.walks, seen.walks);
  visit(list.merges, seen.merges);
  visit(list.indices, seen.indices);
};

[[nodiscard]] inline std::vector<std::byte> list_bytes(const WorkList& list) {
  return bytes_of_sections<DeviceList>(list, sections_of_units);
}
[[nodiscard]] inline std::vector<std::byte> list_bytes(const WalkList& list) {
  return bytes_of_sections<DeviceWalks>(list, sections_of_walks);
}

/// `base`: a copy of list_bytes(list), aligned to 256 bytes; it is not read here.
[[nodiscard]] inline DeviceList device_list(const WorkList& list, const std::byte* base) {
  return sections_at<DeviceList>(list, base, sections_of_units);
}
[[nodiscard]] inline DeviceWalks device_list(const WalkList& list, const std::byte* base) {
  return sections_at<DeviceWalks>(list, base, sections_of_walks);
}

}  // namespace attnscope::cuda
