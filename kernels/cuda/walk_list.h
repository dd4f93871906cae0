#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// How a plan of windows of up to 128 tokens is cut for the kernels of the tensor cores
// (kernels/cuda/segment/walk.cuh, broad_walk.cuh, walk_backward.cuh). A walk is one warp's work for
// one head: rows of one task, 16 or 32 at a time, each of which sees
//
//   globals   a few tokens, the same for all rows: [CLS] and the query
//   a band    the tokens up to `window` beside it, within one run of keys
//
// and, where the band's keys pass by anyway, wide rows: few rows that see all keys of the band -
// [CLS]. Where they see the keys of several walks, each leaves a float32 partial result of them in
// rows of the workspace, and a second launch merges these in the order of the walks. What walks
// cannot take is a work list of its own.
//
// Of a shared-query batch the sparse pattern gives, for an item of 400 document tokens and w = 4,
//
//   2 walks of the document's rows   globals: query and [CLS]; wide: [CLS], which takes the
//                                    globals in the first walk
//   1 walk for the whole batch       the query's rows, which see the query alone: globals, no band

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
  WorkRun rows;                               // contiguous; may be none
  std::int32_t keys_begin = 0, keys_end = 0;  // of the band; the rows lie within
  std::int32_t window = -1;                   // -1: no band
  WorkRun globals;
  WorkRun wide;  // contiguous; none where the walk has no wide rows
  // The band's keys that the wide rows take here; backward, those that are the walk's own rows.
  std::int32_t wide_begin = 0, wide_end = 0;
  std::int32_t wide_takes_globals = 0;
  // Wide row r leaves partial row first_slot + r; -1: the walk has all of the rows' keys and
  // finishes them.
  std::int32_t first_slot = -1;
  // 1: its part of the wide rows is the first, and what is left once for them is its to do.
  std::int32_t is_first_part = 0;
};

/// Rows whose partial results are merged: part p of row r stands in partial row
/// first_slot + p * run.count + r.
struct WorkMerge {
  WorkRun run;
  std::int32_t first_slot = 0;
  std::int32_t parts = 0;
};

/// What a kernel is compiled for; the least that holds all walks of a list.
struct WalkShape {
  bool far = false;    // windows of up to 16 tokens, not 4
  bool many = false;   // up to 32 globals and 16 wide rows, not 16 and 8
  bool broad = false;  // windows of up to 128 tokens (segment/broad_walk.cuh)
};

inline constexpr std::int32_t broadest_window = 128;

/// Strips that a warp of a broad walk computes side by side.
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

/// As kernels read a list of walks (sections.h).
struct DeviceWalks {
  const WorkWalk* walks = nullptr;
  const WorkMerge* merges = nullptr;
  const std::int32_t* indices = nullptr;
};

/// Walks in one direction: of rows, or of keys that queries pass by (the plan transposed), for the
/// gradients of keys and values.
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

/// Of segment_forward, and of segment_backward where there are walks of keys.
struct Walks {
  WalkList rows;
  std::optional<WalkList> keys;
  WorkList rest;  // units of what no walk has; of keys only where these have walks
};

/// Whether there are kernels for walks of such rows: of 16-bit numbers, head dimension 32 and,
/// unless windows are of 5 to 16 tokens and globals many, 64.
[[nodiscard]] constexpr bool has_walks(std::int64_t head_dim, DType dtype, WalkShape shape = {}) {
  return size_of(dtype) == 2 &&
         (head_dim == 32 || (head_dim == 64 && (shape.broad || !(shape.far && shape.many))));
}

/// Cuts a plan that cut_into_units takes; nothing where no row can be walked.
[[nodiscard]] std::optional<Walks> cut_into_walks(const AttentionPlan& plan, std::int64_t head_dim,
                                                  DType dtype, Passes passes);

}  // namespace attnscope::cuda
