#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// How a band problem or a plan is cut into thread blocks for the unfused steps. Two lists, one each
// way of looking at the score matrices:
//
//   row units  up to 64 rows of a task and the places of its segments that they lie opposite:
//              scores are written for them, and values summed
//   key units  up to 64 tokens as keys and the rows that see them: gradients of keys and values
//
// A *place* is where a key stands in its segment's run: the token itself, or, if the run is listed,
// its position in the plan's indices. A row sees `reach` places from its first one on, of which
// those outside the run are no keys (a band cut off at the ends of its sequence); first places
// ascend with rows. Its columns stand for the same places or, if its segment is stored by key
// (kernels/plan/score_columns.h), for all of the run.
//
// Where a few rows lie opposite very many places, or very many rows see a few keys, several units
// leave float32 sums in rows of the workspace, and a launch of its own adds them up in order.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/cuda/work_list.h"
#include "kernels/plan/attention_plan.h"
#include "kernels/plan/counts.h"
#include "kernels/plan/tensor.h"

#ifdef __CUDACC__
#define ATTNSCOPE_HOST_DEVICE __host__ __device__
#else
#define ATTNSCOPE_HOST_DEVICE
#endif

namespace attnscope::cuda::windowed {

inline constexpr std::int32_t strip_rows = strip_tokens;  // of a warp
inline constexpr std::int32_t key_tile = 64;
inline constexpr std::int32_t merged_rows = 4;  // of a block that adds up sums

/// A segment: which places a row's columns stand for.
struct Rule {
  SegmentKind kind = SegmentKind::whole;
  std::int32_t begin = 0, end = 0;  // places of the run
  std::int32_t listed = 0;
  std::int32_t width = 0;   // columns
  std::int32_t reach = 0;   // places that a row sees
  std::int32_t by_key = 0;  // 1: columns stand for places begin ... end
  std::int32_t window = 0;  // of a block
  std::int32_t shift = 0;   // band: offset - window; block: offset
  std::int32_t skips = -1;  // -1, or first 32-bit word of a bitmap over places, set = no key
  std::int32_t skip_begin = 0, skip_end = 0;  // places that the bitmap covers
};

/// First place that the row of `token` sees. A row whose block lies outside the run gets places
/// before it or behind it, where no keys are.
ATTNSCOPE_HOST_DEVICE inline std::int32_t first_seen(const Rule& rule, std::int32_t token) {
  if (rule.kind == SegmentKind::whole) return rule.begin;
  const std::int32_t opposite = token + rule.shift;
  if (rule.kind == SegmentKind::band) return opposite;
  if (opposite < rule.begin) return rule.begin - rule.width;
  if (opposite >= rule.end) return rule.end;
  return rule.begin + (opposite - rule.begin) / rule.window * rule.window;
}

/// The place of column 0 in a row that sees places from `seen` on.
ATTNSCOPE_HOST_DEVICE inline std::int32_t origin_of(const Rule& rule, std::int32_t seen) {
  return rule.by_key != 0 ? rule.begin : seen;
}

/// A stretch of places of a rule.
struct Span {
  std::int32_t rule = 0;
  std::int32_t first_column = 0;    // of the rule, in a row of the task's scores
  std::int32_t begin = 0, end = 0;  // places; some may lie outside the run
};

/// Rows that see some of a unit's keys through one segment.
struct KeyPart {
  std::int64_t first_score = 0;  // of the first row and head, at the rule's first column
  std::int64_t head_stride = 0;
  WorkRun rows;
  std::int32_t columns = 0;  // of the task
  std::int32_t rule = 0;
};

/// What a block does for each head: rows and the spans opposite them, or keys and the parts of rows
/// that see them.
struct Unit {
  std::int64_t first_score = 0;  // rows: of the first row and head
  std::int64_t head_stride = 0;  // rows: floats from one head to the next
  WorkRun tokens;
  std::int32_t columns = 0;  // rows: of a row
  std::int32_t first_head = 0;
  std::int32_t first_part = 0, parts = 0;  // spans or key parts
  std::int32_t partial = -1;               // -1, or first row of the workspace for the sums
  std::int32_t first_of_tokens = 1;        // 0 for further units of the same tokens
};

/// Sum p of the run's token t stands in row first + p * stride + t of the workspace.
struct Merge {
  WorkRun tokens;  // at most merged_rows
  std::int32_t first_head = 0;
  std::int32_t first = 0, stride = 0;
  std::int32_t parts = 0;
};

/// As kernels read it: pointers into the caller's copy of Lists::bytes.
struct DeviceLists {
  const Rule* rules = nullptr;
  const std::uint32_t* skip_words = nullptr;
  const std::int32_t* indices = nullptr;
  const Span* spans = nullptr;
  const KeyPart* key_parts = nullptr;
  const Unit* row_units = nullptr;
  const Unit* key_units = nullptr;
  const Merge* row_merges = nullptr;
  const Merge* key_merges = nullptr;
};

struct Lists {
  std::vector<Rule> rules;
  std::vector<std::uint32_t> skip_words;
  std::vector<std::int32_t> indices;
  std::vector<Span> spans;
  std::vector<KeyPart> key_parts;
  std::vector<Unit> row_units, key_units;
  std::vector<Merge> row_merges, key_merges;

  std::int64_t head_dim = 0;
  DType dtype = DType::float32;
  Passes passes = Passes::forward;
  std::int32_t tokens = 0;
  std::int32_t heads = 0;
  std::int32_t heads_per_unit = 0;  // a unit stands for so many heads from its first one on
  std::int64_t score_elements = 0;
  std::int64_t partial_rows = 0;  // of the workspace, each for heads_per_unit heads

  std::vector<std::byte> bytes;  // for the device
};

/// Rows of a tile: as many as shared memory holds beside a chunk of keys.
[[nodiscard]] constexpr std::int32_t tile_rows(std::int64_t head_dim, DType dtype) {
  return dtype == DType::float32 && head_dim > 128 ? 32 : 64;
}

[[nodiscard]] DeviceLists on_device(const Lists& lists, const std::byte* base);

}  // namespace attnscope::cuda::windowed
