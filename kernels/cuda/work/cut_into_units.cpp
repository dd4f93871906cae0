// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>
#include <set>
#include <vector>

#include "kernels/cuda/work/directed_tasks.h"
#include "kernels/cuda/work_list.h"

namespace attnscope::cuda {
namespace {

/// The heads, cut wherever a task's heads begin or end.
std::vector<HeadRange> head_ranges(const AttentionPlan& plan) {
  std::set<std::int32_t> cuts{0, plan.heads};
  for (const Task& task : plan.tasks) cuts.insert({task.heads.begin, task.heads.end});
  std::vector<HeadRange> ranges;
  for (auto cut = cuts.begin(); std::next(cut) != cuts.end(); ++cut)
    ranges.push_back({*cut, *std::next(cut)});
  return ranges;
}

}  // namespace

WorkList empty_list(const AttentionPlan& plan) {
  WorkList list;
  list.heads = plan.heads;
  list.heads_per_unit = head_ranges(plan).size() == 1 ? plan.heads : 1;
  list.tokens = static_cast<std::int32_t>(plan.tokens);
  return list;
}

void add_units(const Direction& direction, HeadRange heads, WorkList& list) {
  const auto first_segment = static_cast<std::int32_t>(list.segments.size());
  list.segments.insert(list.segments.end(), direction.segments.begin(), direction.segments.end());
  for (std::int32_t head = heads.begin; head < heads.end; head += list.heads_per_unit) {
    for (const DirectedTask& task : direction.tasks) {
      for (std::int32_t first = 0; first < task.run.count; first += strip_tokens) {
        list.units.push_back(
            {.run = part_of(task.run, first, std::min(strip_tokens, task.run.count - first)),
             .first_segment = first_segment + task.first_segment,
             .segments = task.segments,
             .first_head = head});
      }
    }
  }
}

Result<WorkList> cut_into_units(const AttentionPlan& plan, Passes passes) {
  const auto indices = static_cast<std::int64_t>(plan.indices.size());
  if (plan.tokens > most_tokens || indices > most_tokens) {
    return fail("a batch for CUDA holds at most {} tokens, and this one has {}; make it smaller",
                most_tokens, std::max(plan.tokens, indices));
  }
  WorkList list = empty_list(plan);
  const std::vector<WorkSegment> segments = directed_segments(plan, list.indices);
  const std::vector<HeadRange> ranges = head_ranges(plan);
  std::vector<Direction> rows;
  for (const HeadRange& heads : ranges) {
    rows.push_back(rows_direction(plan, heads, segments, list.indices));
    add_units(rows.back(), heads, list);
  }
  list.row_units = static_cast<std::int32_t>(list.units.size());
  for (std::size_t i = 0; passes != Passes::forward && i < ranges.size(); ++i)
    add_units(keys_direction(rows[i], list.tokens, list.indices), ranges[i], list);
  return list;
}

}  // namespace attnscope::cuda
