// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/windowed.h"

#include <atomic>
#include <limits>

#include "kernels/cpu/selected_kernels.h"
#include "kernels/cpu/windowed_steps.h"
#include "kernels/cpu/work_units.h"

namespace attnscope::cpu {
namespace {

Status check_call(const AttentionPlan& plan, const ConstTensor& q, const ConstTensor& k,
                  const ConstTensor& v, const Tensor& o, std::span<const float> lse, int threads,
                  std::span<const float> workspace) {
  if (Status s = windowed_supports(plan, q.head_dim); !s) return s;
  if (Status s = check_attention_call("windowed_forward", plan, q, k, v, o, lse, threads); !s)
    return s;
  const std::int64_t needed = windowed_score_elements(plan);
  if (static_cast<std::int64_t>(workspace.size()) < needed) {
    return fail("The workspace has {} floats; windowed_forward needs {} (windowed_score_elements)",
                workspace.size(), needed);
  }
  return {};
}

}  // namespace

Status windowed_supports(const AttentionPlan& plan, std::int64_t head_dim) {
  if (Status s = check_operands("Windowed attention", head_dim); !s) return s;
  return has_windowed_layout(plan, /*most=*/too_many - 1);
}

Status windowed_forward(const AttentionPlan& plan, const ConstTensor& q, const ConstTensor& k,
                        const ConstTensor& v, float scale, const Tensor& o, std::span<float> lse,
                        int threads, std::span<float> workspace) {
  if (Status s = check_call(plan, q, k, v, o, lse, threads, workspace); !s) return s;
  const Result<const KernelTable*> kernels = selected_kernels();
  if (!kernels) return tl::unexpected(kernels.error());
  WindowedStep scores{.run = (*kernels)->windowed_scores,
                      .q = q,
                      .k = k,
                      .v = v,
                      .o = o,
                      .scores = workspace.data(),
                      .lse = lse.empty() ? nullptr : lse.data(),
                      .scale = scale * static_cast<float>(log2_e),
                      .outside = -std::numeric_limits<float>::infinity()};
  WindowedStep softmax = scores;
  softmax.run = (*kernels)->windowed_softmax;
  WindowedStep values = scores;
  values.run = (*kernels)->windowed_values;
  values.scale = 1.0f;
  std::atomic<std::int64_t> scored{0}, normalized{0}, written{0};
#pragma omp parallel num_threads(threads)
  {
    work_off(plan, scores, scored);
#pragma omp barrier
    work_off(plan, softmax, normalized);
#pragma omp barrier
    work_off(plan, values, written);
  }
  return {};
}

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
