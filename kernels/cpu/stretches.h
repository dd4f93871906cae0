#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Cuts a plan into units of work for the fused kernel. A unit is what the tasks of one item do on a
// stretch of its tokens for a few heads: the rows that stand there, and, of rows that see the whole
// item ([CLS]), the keys that stand there. So a stretch's keys and values are fetched from memory
// once, and a short item is one unit. The cuts follow from the plan and the head dimension alone.

#include <array>
#include <cstdint>

#include "kernels/cpu/work_units.h"

namespace attnscope::cpu {

/// Tasks that a unit serves at most; an item of more makes several groups of units.
inline constexpr std::size_t most_tasks_together = 16;

/// One unit: of tasks [first_task, last_task) the chunks of rows that begin among `tokens`, and the
/// `number`-th of `count` parts of keys that are split, for heads [first_head, last_head).
struct Stretch {
  std::size_t first_task = 0;
  std::size_t last_task = 0;
  TokenRange tokens{};
  std::int64_t number = 0;
  std::int64_t count = 1;
  std::int64_t first_head = 0;
  std::int64_t last_head = 0;
};

/// Chunks [begin, end) of a task: of its keys where these are split, else of its rows.
struct ChunkRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

[[nodiscard]] ChunkRange chunks_of(const AttentionPlan& plan, const Task& task, const TaskCut& cut,
                                   const Stretch& stretch);

/// Finds units by ascending number: threads draw numbers from a common counter, so each walks the
/// task list once and no list of units is stored.
class StretchCursor {
 public:
  StretchCursor(const AttentionPlan& plan, std::int64_t head_dim);
  /// False beyond the last unit. `number` must not be below that of the call before.
  [[nodiscard]] bool seek(std::int64_t number, Stretch& stretch);

  /// The cut of a task of the stretch found last, and the floats of partial results of all tasks
  /// before it.
  [[nodiscard]] const TaskCut& cut(std::size_t task) const { return cuts_[task - first_task_]; }
  [[nodiscard]] std::int64_t partials_before(std::size_t task) const {
    return partials_before_[task - first_task_];
  }

 private:
  void enter_group(std::size_t first_task, std::int64_t partials_before);

  const AttentionPlan& plan_;
  std::int64_t head_dim_;
  std::size_t first_task_ = 0;
  std::size_t last_task_ = 0;
  std::array<TaskCut, most_tasks_together> cuts_;
  std::array<std::int64_t, most_tasks_together + 1> partials_before_{};
  std::int64_t first_token_ = 0;
  std::int64_t stretch_tokens_ = 1;
  std::int64_t stretches_ = 0;
  std::int64_t heads_per_unit_ = 1;
  std::int64_t head_groups_ = 0;
  std::int64_t units_before_ = 0;
};

}  // namespace attnscope::cpu
