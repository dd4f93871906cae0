// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "kernels/cuda/work/directed_tasks.h"
#include "kernels/cuda/work/draft.h"
#include "kernels/cuda/work/narrow_rows.h"
#include "kernels/cuda/work/rules.h"
#include "kernels/cuda/work/tiles.h"
#include "kernels/cuda/work/units.h"
#include "kernels/cuda/work_list.h"

namespace attnscope::cuda {
namespace {

/// Wide windows are worth tiles of 128 tokens, which stage less of the tokens beside them, as long
/// as a row's sums leave registers for twice the warps.
constexpr std::int64_t wide_window = 32;
constexpr std::int64_t widest_row_of_eight_warps = 64;

std::int32_t main_warps(const AttentionPlan& plan, std::int64_t head_dim) {
  const bool wide = std::ranges::any_of(plan.segments, [](const Segment& segment) {
    return segment.kind == SegmentKind::band && segment.window >= wide_window;
  });
  return wide && head_dim <= widest_row_of_eight_warps ? 8 : 4;
}

/// The heads, cut wherever a task's heads begin or end.
std::vector<HeadRange> head_ranges(const AttentionPlan& plan) {
  std::vector<std::int32_t> cuts{0, plan.heads};
  for (const Task& task : plan.tasks) {
    if (task.heads.begin == 0 && task.heads.end == plan.heads) continue;
    cuts.push_back(task.heads.begin);
    cuts.push_back(task.heads.end);
  }
  std::ranges::sort(cuts);
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  std::vector<HeadRange> ranges;
  for (std::size_t i = 0; i + 1 < cuts.size(); ++i) ranges.push_back({cuts[i], cuts[i + 1]});
  return ranges;
}

/// Appends units, once for each head where heads have units of their own.
void append_units(std::span<const WorkUnit> units, HeadRange heads, WorkList& list,
                  std::vector<WorkUnit>& to) {
  const std::int32_t step = list.heads_per_unit;
  for (std::int32_t head = heads.begin; head < heads.end; head += step) {
    for (WorkUnit unit : units) {
      unit.first_head = head;
      to.push_back(unit);
    }
  }
}

}  // namespace

WorkList empty_list(const AttentionPlan& plan, std::int64_t head_dim) {
  WorkList list;
  list.heads = plan.heads;
  list.heads_per_unit = head_ranges(plan).size() == 1 ? plan.heads : 1;
  list.main_warps = main_warps(plan, head_dim);
  list.tokens = static_cast<std::int32_t>(plan.tokens);
  return list;
}

std::vector<WorkUnit> units_of(const Direction& direction, WorkList& list) {
  Draft draft = cut_tiles(direction, list.main_warps * strip_tokens, list.heads, list.indices);
  place_narrow_rows(direction, list.heads, list.indices, draft);
  return lay_out(draft, list);
}

std::vector<WorkUnit> side_by_side(std::span<const WorkUnit> rows, std::span<const WorkUnit> keys,
                                   Indices indices) {
  std::vector<WorkUnit> units(rows.size() + keys.size());
  std::ranges::merge(
      rows, keys, units.begin(), {},
      [&](const WorkUnit& unit) { return token_at(unit.run, 0, indices); },
      [&](const WorkUnit& unit) { return token_at(unit.run, 0, indices); });
  return units;
}

Result<WorkList> cut_into_units(const AttentionPlan& plan, std::int64_t head_dim, Passes passes) {
  const auto indices = static_cast<std::int64_t>(plan.indices.size());
  if (plan.tokens > most_tokens || indices > most_tokens) {
    return fail("a batch for CUDA holds at most {} tokens, and this one has {}; make it smaller",
                most_tokens, std::max(plan.tokens, indices));
  }
  WorkList list = empty_list(plan, head_dim);
  const std::vector<DirectedSegment> segments = directed_segments(plan, list);
  std::vector<WorkUnit> backward;
  for (const HeadRange& heads : head_ranges(plan)) {
    const Direction rows = rows_direction(plan, heads, segments, list.indices);
    const std::vector<WorkUnit> row_units = units_of(rows, list);
    append_units(row_units, heads, list, list.units);
    if (passes == Passes::forward) continue;
    const Direction keys = keys_direction(rows, list.tokens, list.indices);
    const std::vector<WorkUnit> key_units = units_of(keys, list);
    append_units(side_by_side(row_units, key_units, list.indices), heads, list, backward);
  }
  list.forward_units = static_cast<std::int32_t>(list.units.size());
  list.units.insert(list.units.end(), backward.begin(), backward.end());
  return list;
}

}  // namespace attnscope::cuda
