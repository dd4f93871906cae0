#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Divides a band problem or a plan for the unfused steps (docs/cuda-kernels.md), and defines the
// arguments of their kernels. A unit is up to 16 stationary tokens, for one head: rows, to which
// the keys of their segments are streamed, or keys, to which the rows that attend to them are
// streamed.
//
// A *place* is the position of a token in its run: the token itself or, if the run is listed, its
// position in the plan's indices. A row attends to `reach` places of a segment's keys from its
// first place on; places outside the run are no keys (a band cut off at the ends of its sequence).
// First places ascend with rows. A row's columns are the same places or, if the segment is stored
// by key (kernels/plan/attention_plan.h), all places of the run.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/cuda/operands.h"
#include "kernels/cuda/work_list.h"
#include "kernels/plan/attention_plan.h"
#include "kernels/plan/counts.h"
#include "kernels/plan/tensor.h"

namespace attnscope::cuda::windowed {

/// A segment of a task, and the location of its scores: that of row r, head h and column c is
/// first_score + (h - first_head) * head_stride + r * columns + c.
struct View {
  std::int64_t first_score = 0;
  std::int64_t head_stride = 0;
  std::int64_t columns = 0;  // of the task's rows
  std::int32_t first_head = 0;
  WorkRun rows{}, keys{};
  WorkRun skipped{};  // keys that no row attends to, listed
  SegmentKind kind = SegmentKind::whole;
  bool by_key = false;     // columns are all places of the run
  std::int32_t width = 0;  // columns of the segment, never 0
  std::int32_t reach = 0;  // places that a row attends to
  std::int32_t shift = 0;  // band: from a row to its first place; block: the segment's offset
};

struct Unit {
  WorkRun tokens{};  // at most strip_tokens
  std::int32_t first_head = 0;
  std::int32_t first_view = 0, views = 0;  // of rows in `views`, of keys in `seeing`
  std::int64_t passing = 0;                // approximate number of streamed tokens
};

/// The form in which kernels read it: pointers into the caller's copy of WindowedWork::list().
struct DeviceLists {
  const View* views = nullptr;
  const std::int32_t* seeing = nullptr;
  const Unit* row_units = nullptr;
  const Unit* key_units = nullptr;
  const std::int32_t* indices = nullptr;
};

struct Lists {
  using OnDevice = DeviceLists;
  struct Units {
    std::vector<Unit> all;  // those with many streamed tokens first
    std::int64_t much = 0;  // number of those
  };
  Units rows, keys;
  std::vector<View> views;
  std::vector<std::int32_t> seeing;  // the views whose rows attend to the keys of a unit
  std::vector<std::int32_t> indices;
  std::int64_t head_dim = 0;
  DType dtype = DType::float32;
  Passes passes = Passes::forward;
  std::int64_t tokens = 0;
  std::int32_t heads = 0;
  std::int32_t heads_per_unit = 0;  // a unit covers that many heads from its first one on
  std::int64_t score_elements = 0;
  std::vector<std::byte> bytes;  // for the device
};

template <typename Visit>
void visit_sections(const Lists& lists, DeviceLists& seen, const Visit& visit) {
  visit(lists.views, seen.views);
  visit(lists.seeing, seen.seeing);
  visit(lists.rows.all, seen.row_units);
  visit(lists.keys.all, seen.key_units);
  visit(lists.indices, seen.indices);
}

/// The arguments of any launch; unused ones keep their defaults.
struct Arguments {
  Input x{}, y{};
  Output out{};
  float* scores = nullptr;         // written, or updated in place
  const float* weights = nullptr;  // read
  float* lse = nullptr;            // [tokens, heads] or null
  float scale = 1.0f;
  float outside = 0.0f;  // score of a column without a key
  // These come from the work list and are the same for all tensors.
  DeviceLists lists{};
  ItemDivision items{};
  std::int32_t head_dim = 0;
  std::int32_t heads = 0;
  std::int32_t heads_per_unit = 0;
  bool vector = false;  // rows begin and end at multiples of 16 bytes
  const Unit* units = nullptr;
};

// Warps of a block, which has one unit: as many as share its streamed tokens without idling.
inline constexpr int few_warps = 2, many_warps = 8;

/// A streamed token, in the shared memory of the warp that sums it.
struct alignas(16) Passing {
  float weights[strip_tokens];  // for each stationary token
  const std::byte* row;
  std::uint32_t seen;  // a bit for each weight that counts
  std::uint32_t unused;
};

/// Floats between rows of the 16 x 32 tiles computed by the tensor cores. Odd rows have their
/// halves exchanged: eight lanes store pieces of two rows at a time, to different banks.
inline constexpr int tile_stride = 32;
static_assert(strip_tokens * tile_stride * sizeof(float) <= 32 * sizeof(Passing));

/// Bytes of shared memory of a block: its rows as float32, or the tiles or streamed tokens of each
/// of its warps.
[[nodiscard]] constexpr std::int64_t shared_of_scores(std::int64_t head_dim, int warps) {
  return strip_tokens * std::max<std::int64_t>(head_dim, warps * tile_stride) *
         std::int64_t{sizeof(float)};
}
[[nodiscard]] constexpr std::int64_t shared_of_sums(int warps) {
  return warps * 32 * std::int64_t{sizeof(Passing)};
}

}  // namespace attnscope::cuda::windowed
