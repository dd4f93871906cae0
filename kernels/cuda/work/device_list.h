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

#include "kernels/cuda/walk_list.h"
#include "kernels/cuda/work_list.h"

namespace attnscope::cuda {

/// Pointers into the block; the sections' lengths are those of the WorkList.
struct DeviceList {
  const WorkUnit* units = nullptr;
  const WorkSegment* segments = nullptr;
  const std::uint32_t* skip_words = nullptr;
  const std::int32_t* indices = nullptr;
};

/// The same of a list of walks, its units aside.
struct DeviceWalks {
  const WorkWalk* walks = nullptr;
  const WorkMerge* merges = nullptr;
  const std::int32_t* indices = nullptr;
};

[[nodiscard]] std::vector<std::byte> list_bytes(const WorkList& list);
[[nodiscard]] std::vector<std::byte> list_bytes(const WalkList& list);

/// `base`: a copy of list_bytes(list), aligned to 256 bytes; it is not read here.
[[nodiscard]] DeviceList device_list(const WorkList& list, const std::byte* base);
[[nodiscard]] DeviceWalks device_list(const WalkList& list, const std::byte* base);

}  // namespace attnscope::cuda
