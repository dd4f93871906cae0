#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What a row's columns stand for, and the row that a column of a key stands in: the windowed
// layout (kernels/plan/windowed_layout.h) walked from either side.

#include <algorithm>
#include <cstdint>

#include "engine/attention/longformer_banded/key_runs_of_plan.h"
#include "kernels/plan/key_runs.h"
#include "kernels/plan/windowed_layout.h"

namespace attnscope::longformer_banded {

/// Calls visit(first key, end, column of the first) for the runs of neighbouring keys that `query`
/// sees; their columns are neighbours, too.
template <typename Visit>
inline void for_each_seen_run(const AttentionPlan& plan, const Task& task, std::int64_t query,
                              const Visit& visit) {
  std::int64_t first_column = 0;
  for (const Segment& segment : plan.segments_of(task)) {
    const auto skipped = plan.skipped_of(segment);
    if (segment.keys.listed) {  // whole: windows over listed keys have no such layout
      for (std::int64_t place = 0; place < segment.keys.size(); ++place) {
        const std::int64_t key = plan.token_at(segment.keys, place);
        if (!std::ranges::binary_search(skipped, key)) visit(key, key + 1, first_column + place);
      }
    } else {
      TokenRange rest = window_within({segment.keys.begin, segment.keys.end}, segment, query);
      std::int64_t origin = rest.begin;  // the key of the first column
      if (segment.kind == SegmentKind::band) origin = query + segment.offset - segment.window;
      for (const std::int64_t key : within(skipped, rest)) {
        if (key > rest.begin) visit(rest.begin, key, first_column + rest.begin - origin);
        rest.begin = key + 1;
      }
      if (!rest.empty()) visit(rest.begin, rest.end, first_column + rest.begin - origin);
    }
    first_column += columns_of(segment);
  }
}

/// Rows of a task that see a key, as positions in its run of queries.
struct SeeingRows {
  std::int64_t begin = 0, end = 0;
  std::int64_t column = 0;  // of the key in a row whose query is token 0
  std::int64_t slope = 0;   // what it changes by from one token to the next: 0, in a band -1
};

inline SeeingRows seeing_rows(const AttentionPlan& plan, const KeyRun& run, const KeyView& view,
                              std::int64_t key) {
  const Task& task = plan.tasks[static_cast<std::size_t>(view.task)];
  const Segment& segment = plan.segments[static_cast<std::size_t>(view.segment)];
  if (segment.kind == SegmentKind::whole) {
    return {.end = task.queries.size(), .column = view.column + key - run.keys.begin};
  }
  const TokenRange hull{segment.keys.begin, segment.keys.end};
  const TokenRange tokens = rows_seeing(hull, segment, key);
  SeeingRows rows;
  if (task.queries.listed) {
    const auto queries = listed_tokens(plan, task.queries);
    rows.begin = std::ranges::lower_bound(queries, tokens.begin) - queries.begin();
    rows.end = std::ranges::lower_bound(queries, tokens.end) - queries.begin();
  } else {
    const TokenRange seen = intersect(tokens, {task.queries.begin, task.queries.end});
    rows.begin = seen.begin - task.queries.begin;
    rows.end = seen.end - task.queries.begin;
  }
  if (segment.kind == SegmentKind::band) {
    rows.column = view.column + key - segment.offset + segment.window;
    rows.slope = -1;
  } else {  // a row sees the block it lies opposite to, and that holds the key
    rows.column = view.column + (key - hull.begin) % std::min(segment.window, hull.size());
  }
  return rows;
}

}  // namespace attnscope::longformer_banded
