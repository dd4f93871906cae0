#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Divides the tasks of a plan into units of work that threads take one after another. The division
// depends only on the plan and the head dimension, not on the number of threads, so results do not
// depend on it either.

#include <cstdint>
#include <span>

#include "kernels/plan/attention_plan.h"

namespace attnscope::cpu {

/// The division of one task: rows into chunks, a few rows over many keys into chunks of keys, heads
/// into groups that are large enough for a unit.
struct TaskCut {
  std::int64_t rows = 0;
  std::int64_t rows_per_chunk = 1;
  std::int64_t row_chunks = 0;
  bool whole_tiles = false;         // a tile of rows takes its keys at once
  std::int64_t keys_per_chunk = 0;  // 0: keys are not cut
  std::int64_t key_chunks = 1;
  std::int64_t heads = 0;
  std::int64_t heads_per_unit = 1;
  std::int64_t pairs = 0;  // of one head, upper bound

  [[nodiscard]] bool is_split() const { return key_chunks > 1; }
  [[nodiscard]] std::int64_t chunks() const { return row_chunks * key_chunks; }
  [[nodiscard]] std::int64_t head_groups() const {
    return (heads + heads_per_unit - 1) / heads_per_unit;
  }
  [[nodiscard]] std::int64_t units() const { return row_chunks * key_chunks * head_groups(); }
  /// Partial results of a split task: for each head and key chunk, head_dim + 2 floats per row.
  [[nodiscard]] std::int64_t partial_floats(std::int64_t head_dim) const {
    return is_split() ? heads * key_chunks * rows * (head_dim + 2) : 0;
  }
};

/// Whether few rows over many keys are split over chunks of keys: of_long_rows for the fused
/// kernel; never for the unfused steps, which have no memory for partial results and take rows in
/// short chunks.
enum class KeyCut : std::uint8_t { never, of_long_rows };

[[nodiscard]] TaskCut cut_of(const AttentionPlan& plan, const Task& task, std::int64_t head_dim,
                             KeyCut key_cut);

/// Heads per unit, given the pairs of one head, so that a unit is worth its overhead.
[[nodiscard]] std::int64_t heads_worthwhile(std::int64_t heads, std::int64_t pairs);

/// One unit: rows [first_row, last_row) of a task for heads [first_head, last_head), and the keys
/// of chunk `key_chunk`.
struct WorkUnit {
  const Task* task = nullptr;
  TaskCut cut;
  std::int64_t first_row = 0;
  std::int64_t last_row = 0;
  std::int64_t first_head = 0;
  std::int64_t last_head = 0;
  std::int64_t key_chunk = 0;
  std::int64_t partials_before = 0;  // floats of partial results of earlier tasks
};

/// Finds units by ascending number: threads draw numbers from a common counter, so each traverses
/// the task list once and no list of units is stored.
class UnitCursor {
 public:
  UnitCursor(const AttentionPlan& plan, std::int64_t head_dim, KeyCut key_cut);
  /// Returns false beyond the last unit. `number` must not be below that of the previous call.
  [[nodiscard]] bool seek(std::int64_t number, WorkUnit& unit);

 private:
  void enter_task();

  const AttentionPlan& plan_;
  std::int64_t head_dim_;
  KeyCut key_cut_;
  std::size_t task_ = 0;
  TaskCut cut_;
  std::int64_t units_before_ = 0;
  std::int64_t partials_before_ = 0;
};

/// The rows of a run from `first` to `last`.
[[nodiscard]] inline TokenRun part_of(const TokenRun& run, std::int64_t first, std::int64_t last) {
  return {run.begin + first, run.begin + last, run.listed};
}

}  // namespace attnscope::cpu
