// SPDX-License-Identifier: Apache-2.0
#include "kernels/plan/row_intervals.h"

#include <cassert>

#include "kernels/plan/key_runs.h"

namespace attnscope {

TokenRange key_window(const Segment& segment, std::int64_t query) {
  assert(!segment.keys.listed);
  return window_within({segment.keys.begin, segment.keys.end}, segment, query);
}

void append_key_intervals(const AttentionPlan& plan, const Segment& segment, std::int64_t query,
                          std::vector<TokenRange>& intervals) {
  const TokenRange hull = hull_of(plan, segment.keys);
  const std::size_t first = intervals.size();
  append_keys_within(plan, segment, window_within(hull, segment, query), intervals);
  if (!segment.keys.listed) return;
  // Adjacent listed keys form one interval.
  std::size_t kept = first;
  for (std::size_t i = first; i < intervals.size(); ++i) {
    if (kept > first && intervals[kept - 1].end == intervals[i].begin) {
      intervals[kept - 1].end = intervals[i].end;
    } else {
      intervals[kept++] = intervals[i];
    }
  }
  intervals.resize(kept);
}

std::vector<TokenRange> key_intervals(const AttentionPlan& plan, const Task& task,
                                      std::int64_t query) {
  std::vector<TokenRange> intervals;
  for (const Segment& segment : plan.segments_of(task)) {
    append_key_intervals(plan, segment, query, intervals);
  }
  merge_intervals(intervals);
  return intervals;
}

}  // namespace attnscope
