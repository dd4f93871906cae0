// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/windowed_layout.h"

#include <algorithm>

namespace attnscope::cpu {

std::int64_t columns_of(const Segment& segment) {
  switch (segment.kind) {
    case SegmentKind::whole:
      return segment.keys.size();
    case SegmentKind::block:
      return std::min(segment.window, segment.keys.size());
    case SegmentKind::band:
      return segment.window > (too_many - 1) / 2 ? too_many : 2 * segment.window + 1;
  }
  return 0;
}

std::int64_t columns_of(const AttentionPlan& plan, const Task& task) {
  std::int64_t columns = 0;
  for (const Segment& segment : plan.segments_of(task)) {
    if (__builtin_add_overflow(columns, columns_of(segment), &columns)) return too_many;
  }
  return columns;
}

std::int64_t rows_of(const Task& task) {
  return task.queries.size() * (task.heads.end - task.heads.begin);
}

std::int64_t ScoreCursor::seek(const Task& task) {
  for (; &plan_.tasks[task_] != &task; ++task_) {
    before_ += rows_of(plan_.tasks[task_]) * columns_of(plan_, plan_.tasks[task_]);
  }
  return before_;
}

}  // namespace attnscope::cpu
