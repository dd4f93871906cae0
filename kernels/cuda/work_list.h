#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A list in device memory is consecutive sections in a single block, each aligned to 256 bytes,
// that kernels read through pointers into their copy. A list names these pointers, its OnDevice,
// and provides visit_sections(list, OnDevice&, visit), which calls visit(section, pointer) for each
// of its vectors and the pointer through which kernels read it.
//
//   std::vector<std::byte> bytes = list_bytes(list);     // copy them to `memory` on the device
//   DeviceList on_device = device_list(list, memory);    // a kernel argument, by value
//
// cut_into_units divides a plan for the plain kernels (kernels/cuda/segment/plain.cu), which
// support any plan: a unit is one thread block's work for one head, some stationary tokens and the
// segments of tokens streamed to them; each stationary token uses the streamed tokens within a
// fixed distance before and after it. For the gradients of keys and values the keys are stationary
// (the plan transposed). Everything is determined by the plan, and every result is summed by one
// warp, in one order.

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <ranges>
#include <span>
#include <type_traits>
#include <vector>

#include "base/result.h"
#include "kernels/plan/attention_plan.h"
#include "kernels/plan/counts.h"

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

inline constexpr std::int32_t strip_tokens = 16;
/// Larger plans are rejected: sums of three or four token numbers must fit 32 bits.
inline constexpr std::int64_t most_tokens = std::int64_t{1} << 29;

/// Tokens begin ... begin+count, or, if listed, the tokens at indices[begin ... begin+count).
struct WorkRun {
  std::int32_t begin = 0;
  std::int32_t count = 0;
  std::int32_t listed = 0;
};

/// Larger than any distance between tokens, whose numbers are below 2^29.
inline constexpr std::int32_t everywhere = std::int32_t{1} << 30;

/// Streamed tokens; the stationary token t uses those from t + low to before t + high.
struct WorkSegment {
  WorkRun run;
  std::int32_t low = -everywhere, high = everywhere + 1;

  /// Whether all stationary tokens use all streamed ones.
  [[nodiscard]] bool is_whole() const { return low == -everywhere && high == everywhere + 1; }
};

struct WorkUnit {
  WorkRun run;  // at most strip_tokens
  std::int32_t first_segment = 0, segments = 0;
  std::int32_t first_head = 0;  // heads first_head ... first_head + heads_per_unit
};

/// The form in which kernels read the list.
struct DeviceList {
  const WorkUnit* units = nullptr;
  const WorkSegment* segments = nullptr;
  const std::int32_t* indices = nullptr;
};

struct WorkList {
  using OnDevice = DeviceList;
  std::vector<WorkUnit> units;  // of rows, then, for the backward pass, of keys
  std::vector<WorkSegment> segments;
  std::vector<std::int32_t> indices;
  std::int32_t row_units = 0;
  std::int32_t heads = 0;           // of the plan
  std::int32_t heads_per_unit = 0;  // the same for all units
  std::int32_t tokens = 0;
};

template <typename Visit>
void visit_sections(const WorkList& list, DeviceList& seen, const Visit& visit) {
  visit(list.units, seen.units);
  visit(list.segments, seen.segments);
  visit(list.indices, seen.indices);
}

/// Errors: more than most_tokens.
[[nodiscard]] Result<WorkList> cut_into_units(const AttentionPlan& plan, Passes passes);

}  // namespace attnscope::cuda
