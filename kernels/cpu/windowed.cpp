// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/windowed.h"

#include <algorithm>
#include <atomic>
#include <limits>

#include "kernels/cpu/selected_kernels.h"
#include "kernels/cpu/work_units.h"

namespace attnscope::cpu {
namespace {

constexpr std::int64_t too_many = std::numeric_limits<std::int64_t>::max();

/// Floats of one row's part for a segment; too_many where they cannot be counted.
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

struct Call {
  const AttentionPlan& plan;
  const ConstTensor &q, &k, &v;
  const Tensor& o;
  std::span<float> lse;
  float scale;
  std::span<float> workspace;
};

using Step = void (*)(const WindowedChunk&);

/// Where each task's scores begin, found task by task as units ascend.
class ScoreCursor {
 public:
  explicit ScoreCursor(const AttentionPlan& plan) : plan_(plan) {}

  /// First float of the scores of `task`, which must not come before that of the call before.
  [[nodiscard]] std::int64_t seek(const Task& task) {
    for (; &plan_.tasks[task_] != &task; ++task_) {
      before_ += rows_of(plan_.tasks[task_]) * columns_of(plan_, plan_.tasks[task_]);
    }
    return before_;
  }

 private:
  const AttentionPlan& plan_;
  std::size_t task_ = 0;
  std::int64_t before_ = 0;
};

void run_unit(const Call& call, Step step, const WorkUnit& unit, std::int64_t scores_before) {
  const Task& task = *unit.task;
  const std::int64_t columns = columns_of(call.plan, task);
  for (std::int64_t head = unit.first_head; head < unit.last_head; ++head) {
    const std::int64_t row = (head - task.heads.begin) * unit.cut.rows + unit.first_row;
    const WindowedChunk chunk{
        .rows = {.q = head_view(call.q, head),
                 .k = head_view(call.k, head),
                 .v = head_view(call.v, head),
                 .o = head_view(call.o, head),
                 .indices = call.plan.indices.data(),
                 .segments = call.plan.segments_of(task).data(),
                 .segment_count = task.segment_count,
                 .queries = part_of(task.queries, unit.first_row, unit.last_row),
                 .head_dim = call.o.head_dim,
                 .scale = call.scale * static_cast<float>(log2_e),
                 .lse = call.lse.empty() ? nullptr : call.lse.data() + head,
                 .lse_stride = call.plan.heads},
        .scores = call.workspace.data() + scores_before + row * columns,
        .columns = columns,
        .outside = -std::numeric_limits<float>::infinity()};
    step(chunk);
  }
}

/// One step over the whole batch.
void pass(const Call& call, Step step, int threads) {
  std::atomic<std::int64_t> next{0};
#pragma omp parallel num_threads(threads)
  {
    UnitCursor units(call.plan, call.o.head_dim, KeyCut::never);
    ScoreCursor scores(call.plan);
    WorkUnit unit;
    while (units.seek(next.fetch_add(1, std::memory_order_relaxed), unit)) {
      run_unit(call, step, unit, scores.seek(*unit.task));
    }
  }
}

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
  for (const Segment& segment : plan.segments) {
    if (segment.keys.listed && segment.kind != SegmentKind::whole) {
      return fail(
          "Windowed attention keeps bands and blocks as matrices over ranges of keys; a "
          "window over listed keys needs the fused implementation");
    }
    if (segment.kind == SegmentKind::block && segment.window < 1) {
      return fail("The plan has blocks of {} tokens; a block holds at least 1", segment.window);
    }
    if (segment.kind == SegmentKind::band && segment.window < 0) {
      return fail("The plan has a band of half-width {}; it must be at least 0", segment.window);
    }
  }
  if (windowed_score_elements(plan) == too_many) {
    return fail(
        "The score matrices of this plan are larger than memory can be; use a smaller "
        "window or an infinite one");
  }
  return {};
}

std::int64_t windowed_score_elements(const AttentionPlan& plan) {
  std::int64_t elements = 0;
  for (const Task& task : plan.tasks) {
    std::int64_t of_task = 0;
    if (__builtin_mul_overflow(rows_of(task), columns_of(plan, task), &of_task) ||
        __builtin_add_overflow(elements, of_task, &elements)) {
      return too_many;
    }
  }
  return elements;
}

Status windowed_forward(const AttentionPlan& plan, const ConstTensor& q, const ConstTensor& k,
                        const ConstTensor& v, float scale, const Tensor& o, std::span<float> lse,
                        int threads, std::span<float> workspace) {
  if (Status s = check_call(plan, q, k, v, o, lse, threads, workspace); !s) return s;
  const Result<const KernelTable*> kernels = selected_kernels();
  if (!kernels) return tl::unexpected(kernels.error());
  const Call call{plan, q, k, v, o, lse, scale, workspace};
  pass(call, (*kernels)->windowed_scores, threads);
  pass(call, (*kernels)->windowed_softmax, threads);
  pass(call, (*kernels)->windowed_values, threads);
  return {};
}

}  // namespace attnscope::cpu
