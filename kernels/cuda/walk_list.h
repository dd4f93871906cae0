#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Divides a plan with windows of up to 128 tokens for the kernels on tensor cores
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
#include <optional>
#include <vector>

#include "kernels/cuda/work_list.h"
#include "kernels/plan/attention_plan.h"
#include "kernels/plan/counts.h"
#include "kernels/plan/tensor.h"

namespace attnscope::cuda {

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

/// Divides a plan that cut_into_units supports; nothing if walks support none of its rows.
[[nodiscard]] std::optional<Walks> cut_into_walks(const AttentionPlan& plan, std::int64_t head_dim,
                                                  DType dtype, Passes passes);

}  // namespace attnscope::cuda
