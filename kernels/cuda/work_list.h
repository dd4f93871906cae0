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
//
// cut_into_walks divides a plan with windows of up to 128 tokens for the kernels on tensor cores
// (kernels/cuda/segment/walk.cuh, broad_walk.cuh, walk_backward.cuh). A walk is one warp's work for
// one head: rows of one task, 16 or 32 at a time, each of which attends to
//
//   globals   a few tokens, the same for all rows: [CLS] and the query
//   a band    the tokens up to `window` away, within one run of keys
//
// and wide rows, which use the band's keys while they are loaded: few rows that attend to all keys
// of the band, such as [CLS]. If they attend to the keys of several walks, each walk stores a
// float32 partial result of them in rows of the workspace, and a second launch merges these in the
// order of the walks. The rows that walks do not support are a separate work list.
//
// For a shared-query batch, the sparse pattern has for an item of 400 document tokens and w = 4
//
//   2 walks of the document's rows   globals: query and [CLS]; wide: [CLS], which uses the
//                                    globals in the first walk
//   1 walk for the whole batch       the query's rows, which attend to the query only: no band

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <ranges>
#include <span>
#include <type_traits>
#include <vector>

#include "base/result.h"
#include "kernels/plan/attention_plan.h"
#include "kernels/plan/counts.h"
#include "kernels/plan/tensor.h"

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

struct WorkWalk {
  WorkRun rows;                               // contiguous; may be empty
  std::int32_t keys_begin = 0, keys_end = 0;  // of the band; the rows are within
  std::int32_t window = -1;                   // -1: no band
  WorkRun globals;
  WorkRun wide;  // contiguous; empty if the walk has no wide rows
  // The band's keys that the wide rows use here; backward, those that are the walk's own rows.
  std::int32_t wide_begin = 0, wide_end = 0;
  std::int32_t wide_takes_globals = 0;
  // Wide row r stores partial row first_slot + r; -1: the walk has all keys of these rows and
  // finishes them.
  std::int32_t first_slot = -1;
  // 1: its part of the wide rows is the first, and does the work needed once for them.
  std::int32_t is_first_part = 0;
  // The steps of its rows that this warp takes (WalkCut::alternate); the other one takes the
  // others.
  std::int32_t first_step = 0, steps_apart = 1;
};

/// Rows whose partial results are merged: part p of row r is partial row first_slot + p * run.count
/// + r.
struct WorkMerge {
  WorkRun run;
  std::int32_t first_slot = 0;
  std::int32_t parts = 0;
};

/// The compile-time shape of a kernel: the smallest that covers all walks of a list.
struct WalkShape {
  bool far = false;    // windows of up to 16 tokens, not 4
  bool many = false;   // up to 32 globals and 16 wide rows, not 16 and 8
  bool broad = false;  // windows of up to 128 tokens (segment/broad_walk.cuh)
};

inline constexpr std::int32_t broadest_window = 128;

/// Strips that a warp of a broad walk computes together.
[[nodiscard]] constexpr int broad_strips_of(std::int64_t head_dim) {
  return head_dim == 32 ? 2 : 1;
}

[[nodiscard]] constexpr std::int32_t radius_of(bool far) {
  return far ? 16 : 4;
}
[[nodiscard]] constexpr std::int32_t most_globals(bool many) {
  return many ? 32 : 16;
}
[[nodiscard]] constexpr std::int32_t most_wide_rows(bool many) {
  return many ? 16 : 8;
}

/// The form in which kernels read a list of walks.
struct DeviceWalks {
  const WorkWalk* walks = nullptr;
  const WorkMerge* merges = nullptr;
  const std::int32_t* indices = nullptr;
};

/// Walks in one direction: of rows, or of keys to which queries are streamed (the plan transposed),
/// for the gradients of keys and values.
struct WalkList {
  using OnDevice = DeviceWalks;
  std::vector<WorkWalk> walks;
  std::vector<WorkMerge> merges;  // of wide rows
  std::vector<std::int32_t> indices;
  std::int32_t partial_rows = 0;    // for each head
  std::int32_t widest_merge = 0;    // most rows of a merge
  std::vector<WorkRun> neighbours;  // tokens that walks read as one strided run
  // Launched head by head, so that the two warps of a block have adjacent walks of one head, whose
  // tokens are mostly the same; otherwise walk by walk.
  bool by_head = false;
  WalkShape shape;
};

template <typename Visit>
void visit_sections(const WalkList& list, DeviceWalks& seen, const Visit& visit) {
  visit(list.walks, seen.walks);
  visit(list.merges, seen.merges);
  visit(list.indices, seen.indices);
}

/// The walks of segment_forward, and of segment_backward if there are walks of keys.
struct Walks {
  WalkList rows;
  std::optional<WalkList> keys;
  WorkList rest;  // units of what no walk covers; of keys only if keys have walks
};

/// Whether there are kernels for walks of such rows: 16-bit numbers and head dimension 32; also 64,
/// unless windows are of 5 to 16 tokens and globals many.
[[nodiscard]] constexpr bool has_walks(std::int64_t head_dim, DType dtype, WalkShape shape = {}) {
  return size_of(dtype) == 2 &&
         (head_dim == 32 || (head_dim == 64 && (shape.broad || !(shape.far && shape.many))));
}

/// How rows are cut into walks: at most 16 strips, fewer if they would not fill the GPU. Results
/// are right for all of them; which one is fastest can only be measured (kernels_bench --variant).
struct WalkCut {
  // false: 12 walks on each multiprocessor, whatever their lengths. true: the strips suffice for 16
  // walks on each, and long walks come first.
  bool by_strips = false;
  // Broad walks, and walks of keys: the two warps of a block take alternate steps of the same rows,
  // so that they read the same keys at the same time, instead of adjacent rows.
  bool alternate = false;
  std::int32_t processors = 132;  // of the GPU; an H200 has 132
};

/// Divides a plan that cut_into_units supports; nothing if walks support none of its rows.
[[nodiscard]] std::optional<Walks> cut_into_walks(const AttentionPlan& plan, std::int64_t head_dim,
                                                  DType dtype, Passes passes,
                                                  const WalkCut& cut = {});

}  // namespace attnscope::cuda
