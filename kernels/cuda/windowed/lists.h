#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// How a band problem or a plan is cut for the unfused steps: into units of up to 16 tokens that
// stand still and what passes by them,
//
//   row units  rows of a task, by which the keys of its segments pass: scores are written for
//              them, and values summed
//   key units  tokens as keys, by which the rows that see them pass: gradients of keys and values
//
// A *place* is where a token stands in its run: the token itself, or, if the run is listed, its
// position in the plan's indices. A row sees `reach` places of a segment's keys from its first one
// on, of which those outside the run are no keys (a band cut off at the ends of its sequence);
// first places ascend with rows. Its columns stand for the same places or, if the segment is stored
// by key (kernels/plan/score_columns.h), for all of the run.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/cuda/work_list.h"
#include "kernels/plan/attention_plan.h"
#include "kernels/plan/counts.h"
#include "kernels/plan/tensor.h"

namespace attnscope::cuda::windowed {

/// A segment of a task, and where its scores stand: that of row r, head h and column c at
/// first_score + (h - first_head) * head_stride + r * columns + c.
struct View {
  std::int64_t first_score = 0;
  std::int64_t head_stride = 0;
  std::int32_t columns = 0;  // of the task's rows
  std::int32_t first_head = 0;
  WorkRun rows, keys;
  SegmentKind kind = SegmentKind::whole;
  std::int32_t width = 0;                     // columns of the segment, never 0
  std::int32_t reach = 0;                     // places that a row sees
  std::int32_t by_key = 0;                    // 1: columns stand for all of the run
  std::int32_t window = 0;                    // of a block
  std::int32_t shift = 0;                     // band: offset - window; block: offset
  std::int32_t skip_begin = 0, skip_end = 0;  // indices of the tokens that nobody sees
};

/// Places [begin, end) of a view's keys, or of its rows, that pass by a unit.
struct Part {
  std::int32_t view = 0;
  std::int32_t begin = 0, end = 0;
};

struct Unit {
  WorkRun tokens;  // of at most strip_tokens
  std::int32_t first_head = 0;
  std::int32_t first_part = 0, parts = 0;  // of rows: one a view of the task, in its order
};

/// As kernels read it: pointers into the caller's copy of Lists::bytes.
struct DeviceLists {
  const View* views = nullptr;
  const Part* parts = nullptr;
  const Unit* row_units = nullptr;
  const Unit* key_units = nullptr;
  const std::int32_t* indices = nullptr;
};

/// Units by which much passes stand first: a block's warps share each of them.
struct Lists {
  std::vector<View> views;
  std::vector<Part> parts;
  std::vector<Unit> row_units, key_units;
  std::vector<std::int32_t> indices;
  std::int64_t shared_row_units = 0, shared_key_units = 0;

  std::int64_t head_dim = 0;
  DType dtype = DType::float32;
  Passes passes = Passes::forward;
  std::int32_t tokens = 0;
  std::int32_t heads = 0;
  std::int32_t heads_per_unit = 0;  // a unit stands for so many heads from its first one on
  std::int64_t score_elements = 0;

  std::vector<std::byte> bytes;  // for the device
};

[[nodiscard]] DeviceLists on_device(const Lists& lists, const std::byte* base);

}  // namespace attnscope::cuda::windowed
