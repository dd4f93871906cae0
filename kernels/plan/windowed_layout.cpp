// SPDX-License-Identifier: Apache-2.0
#include "kernels/plan/windowed_layout.h"

namespace attnscope {

std::int64_t tokens_of(const BandProblem& problem) {
  std::int64_t tokens = 0;
  for (const TokenRange& sequence : problem.sequences) tokens += sequence.size();
  return tokens;
}

Segment band_of(const BandProblem& problem, TokenRange sequence) {
  return {
      .keys = {sequence.begin, sequence.end}, .kind = SegmentKind::band, .window = problem.window};
}

std::int64_t band_elements(const BandProblem& problem) {
  std::int64_t elements = 0;
  for (const TokenRange& sequence : problem.sequences) {
    std::int64_t of_sequence = 0;
    if (__builtin_mul_overflow(problem.heads * sequence.size(),
                               columns_of(band_of(problem, sequence)), &of_sequence) ||
        __builtin_add_overflow(elements, of_sequence, &elements)) {
      return too_many;
    }
  }
  return elements;
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

Status has_windowed_layout(const AttentionPlan& plan, std::int64_t most) {
  for (const Segment& segment : plan.segments) {
    if (segment.keys.listed && segment.kind != SegmentKind::whole) {
      return fail(
          "Windowed attention stores bands and blocks as matrices over ranges of keys; a "
          "window over listed keys needs the fused implementation");
    }
    if (segment.kind == SegmentKind::block && segment.window < 1) {
      return fail("The plan has blocks of {} tokens; a block has at least 1", segment.window);
    }
    if (segment.kind == SegmentKind::band && segment.window < 0) {
      return fail("The plan has a band of half-width {}; it must be at least 0", segment.window);
    }
  }
  if (windowed_score_elements(plan) > most) {
    return fail(
        "The score matrices of this plan are larger than any memory; use a smaller window or an "
        "infinite window");
  }
  return {};
}

}  // namespace attnscope
