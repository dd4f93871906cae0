// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/windowed_steps.h"

#include "kernels/cpu/selected_kernels.h"
#include "kernels/cpu/work_units.h"

namespace attnscope::cpu {
namespace {

void run_unit(const AttentionPlan& plan, const WindowedStep& step, const WorkUnit& unit,
              std::int64_t scores_before) {
  const Task& task = *unit.task;
  const std::int64_t columns = columns_of(plan, task);
  for (std::int64_t head = unit.first_head; head < unit.last_head; ++head) {
    const std::int64_t row = (head - task.heads.begin) * unit.cut.rows + unit.first_row;
    const std::int64_t first_score = scores_before + row * columns;
    const WindowedChunk chunk{
        .rows = {.q = head_view(step.q, head),
                 .k = head_view(step.k, head),
                 .v = head_view(step.v, head),
                 .o = head_view(step.o, head),
                 .indices = plan.indices.data(),
                 .segments = plan.segments_of(task).data(),
                 .segment_count = task.segment_count,
                 .queries = part_of(task.queries, unit.first_row, unit.last_row),
                 .head_dim = step.o.head_dim,
                 .scale = step.scale,
                 .lse = step.lse == nullptr ? nullptr : step.lse + head,
                 .lse_stride = plan.heads},
        .scores = step.scores + first_score,
        .weights = step.weights == nullptr ? nullptr : step.weights + first_score,
        .columns = columns,
        .outside = step.outside};
    step.run(chunk);
  }
}

}  // namespace

void work_off(const AttentionPlan& plan, const WindowedStep& step,
              std::atomic<std::int64_t>& next) {
  UnitCursor units(plan, step.o.head_dim, KeyCut::never);
  ScoreCursor scores(plan);
  WorkUnit unit;
  while (units.seek(next.fetch_add(1, std::memory_order_relaxed), unit)) {
    run_unit(plan, step, unit, scores.seek(*unit.task));
  }
}

std::int64_t ScoreCursor::seek(const Task& task) {
  for (; &plan_.tasks[task_] != &task; ++task_) {
    before_ += rows_of(plan_.tasks[task_]) * columns_of(plan_, plan_.tasks[task_]);
  }
  return before_;
}

}  // namespace attnscope::cpu
