#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// How a plan is cut for CUDA. A unit is one thread block's work for one head: up to `warps` strips
// of 16 stationary tokens, a warp each, past which the tokens of the unit's spans stream through
// shared memory in slots of 16, each staged once for all warps. Forward and in the gradient of the
// queries, queries are stationary and keys stream; in the gradients of keys and values it is the
// other way round (the plan transposed), so both directions are cut by the same rules.
//
//   main strips   the unit's tile: 16 * main_warps consecutive tokens of one task's run
//   extra strips  few rows that see the tokens this unit stages anyway - the [CLS] row, the query's
//                 rows - and take them here, so that nothing is read a second time
//
// A strip whose tokens stream through several units leaves float32 partial results in rows of the
// workspace, one set a strip ("part"); the unit that finishes last merges them in the order of
// parts. Everything is fixed by the plan alone.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/base/result.h"
#include "kernels/plan/attention_plan.h"
#include "kernels/plan/counts.h"

namespace attnscope::cuda {

inline constexpr std::int32_t strip_tokens = 16;
inline constexpr std::int32_t slot_tokens = 16;

/// Tokens begin ... begin+count, or, if listed, the tokens at indices[begin ... begin+count).
struct WorkRun {
  std::int32_t begin = 0;
  std::int32_t count = 0;
  std::int32_t listed = 0;
};

/// Streamed tokens that a unit stages, in order; a span begins a new slot.
struct WorkSpan {
  WorkRun run;
  std::int32_t skips = -1;       // -1, or first 32-bit word of a bitmap in WorkList::skip_words
  std::int32_t skip_origin = 0;  // bit i stands for token skip_origin + i: set = left out by rules
                                 // with `skips` set
};

enum class RuleKind : std::int32_t { none, whole, band, block };

/// Which of a span's tokens the stationary token t sees: those in the interval [low, high) of
///   none   nothing
///   whole  [begin, end)
///   band   [t + offset - window, t + offset + window + 1), cut to [begin, end)
///   block  with c = floor((t + offset - origin) / window): [origin + c window - back,
///          + window), cut to [begin, end)
struct WorkRule {
  RuleKind kind = RuleKind::none;
  std::int32_t begin = 0, end = 0;
  std::int32_t window = 0;
  std::int32_t offset = 0;
  std::int32_t origin = 0;
  std::int32_t back = 0;
  std::int32_t skips = 0;  // 1: the span's left-out tokens are not seen
};

/// Rows of one strip or tile that are not finished by their unit alone.
struct WorkPart {
  std::int32_t merge = -1;      // -1: the unit's result is the rows' result
  std::int32_t first_slot = 0;  // row r of the run writes partial row first_slot + r
};

struct WorkStrip {
  WorkRun run;                  // at most strip_tokens
  std::int32_t first_rule = 0;  // rules[first_rule + s] is for the unit's span s
  WorkPart part;
};

enum class UnitKind : std::int32_t { rows, keys };  // keys: dK and dV; what streams is queries

struct WorkUnit {
  UnitKind kind = UnitKind::rows;
  WorkRun run;  // the tile, at most 16 * main_warps tokens; may be empty when all strips are extra
  std::int32_t first_rule = 0;  // of the tile
  WorkPart part;                // of the tile; slots count the tile's rows
  std::int32_t first_span = 0, spans = 0;
  std::int32_t first_extra = 0, extras = 0;  // strips
  std::int32_t slots = 0;                    // of slot_tokens each, over all spans
  std::int32_t first_head = 0;               // heads first_head ... first_head + heads_per_unit
};

/// Rows whose partial results are merged: part p of row r stands in partial row
/// first_slot + p * run.count + r.
struct WorkMerge {
  UnitKind kind = UnitKind::rows;
  WorkRun run;
  std::int32_t first_slot = 0;
  std::int32_t parts = 0;  // as many arrivals, one a strip or tile and head; the last one merges.
                           // Several may come from one unit
};

struct WorkList {
  std::vector<WorkUnit>
      units;  // forward: rows; forward-backward: `forward_units` forward ones,
              // then rows and keys of the backward, those of one place side by side
  std::vector<WorkSpan> spans;
  std::vector<WorkRule> rules;
  std::vector<WorkStrip> strips;
  std::vector<WorkMerge> merges;
  std::vector<std::uint32_t> skip_words;
  std::vector<std::int32_t> indices;
  std::int32_t forward_units = 0;   // units[0 ... forward_units) are segment_forward's
  std::int32_t heads = 0;           // of the plan
  std::int32_t heads_per_unit = 0;  // all units alike
  std::int32_t main_warps = 0;      // 4 or 8
  std::int32_t extra_warps = 0;     // most extras of a unit
  std::int32_t tokens = 0;
  std::int32_t partial_rows = 0;  // for each head
};

/// Cuts `plan` for head dimension `head_dim`. Errors: more than 2^29 tokens, because sums of three
/// token numbers must fit 32 bits.
[[nodiscard]] Result<WorkList> cut_into_units(const AttentionPlan& plan, std::int64_t head_dim,
                                              Passes passes);

}  // namespace attnscope::cuda
