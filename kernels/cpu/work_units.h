#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Divides the tasks of a plan into units of work that threads process one after another. The
// division depends only on the plan and the head dimension, not on the number of threads, so
// results do not depend on it either.

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
  bool whole_tiles = false;         // a tile of rows processes its keys at once
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
/// kernel; never for the unfused steps, which have no memory for partial results and process rows
/// in short chunks.
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

// Divides a plan for the backward pass by its keys, so that the gradients of a key are summed in
// one place and in one order.
//
//   group    consecutive tasks of one item; it owns the tokens of their rows (its hull)
//   chunk    a part of the hull; one unit of work for each head
//   strip    a part of a chunk, whose gradients of keys and values are in scratch while all rows
//            with windows on its keys are processed; rows near a strip's border are processed twice
//
// Two kinds of gradients have several sources. Every chunk stores its float32 partial sums of them,
// which are merged afterwards in the order of groups and chunks:
//
//   slots       gradients of keys that the rows of a group share outside any window, such as [CLS]
//               and query keys, to which all document rows attend
//   split rows  gradients of queries whose keys are all whole segments, such as the [CLS] row:
//               each chunk processes the keys it owns

/// Keys with slots: `run`, starting at row `first_row` of the group's slots.
struct SlotRegion {
  TokenRun run;
  std::int64_t first_row = 0;
};

/// Offsets of a task's partial sums, in rows.
struct TaskRows {
  std::int64_t split = -1;  // -1: its rows are not split
  std::int64_t slot = 0;    // of its first segment with slots; the others follow in order
};

struct BackwardGroup {
  std::int64_t first_task = 0;
  std::int64_t last_task = 0;
  std::int64_t first_region = 0;
  std::int64_t last_region = 0;
  TokenRange hull{};
  bool shared = false;  // its keys have slots, because other groups attend to them, too
  std::int64_t strip_tokens = 0;
  std::int64_t halo = 0;  // tokens on each side of a strip that are packed with it
  std::int64_t strips = 0;
  std::int64_t chunks = 0;
  std::int64_t own_slot = 0;  // if shared: first row for the hull's own tokens
  std::int64_t slot_rows = 0;
  std::int64_t split_rows = 0;
  std::int64_t units_before = 0;
  std::int64_t partials_before = 0;  // floats

  [[nodiscard]] std::int64_t strip_begin(std::int64_t strip) const {
    return hull.begin + hull.size() * strip / strips;
  }
  /// First strip of chunk `chunk`.
  [[nodiscard]] std::int64_t first_strip(std::int64_t chunk) const {
    return strips * chunk / chunks;
  }
};

/// Whether each chunk computes the task's rows for its own keys only: all segments are whole, with
/// so many keys that partial sums of the rows are smaller than those of the keys.
[[nodiscard]] bool splits_rows(const AttentionPlan& plan, const Task& task);

/// Whether a segment's gradients are summed in slots instead of the strips of `hull`.
[[nodiscard]] bool has_slots(const Segment& segment, const std::int64_t* indices, bool splits,
                             TokenRange hull);

struct BackwardCut {
  std::span<BackwardGroup> groups;
  std::span<SlotRegion> regions;
  std::span<TaskRows> task_rows;
  std::int64_t units = 0;
  std::int64_t partial_floats = 0;
  std::int64_t largest_strip = 0;  // tokens
  std::int64_t largest_halo = 0;
};

/// Bytes of the cut's three tables; the caller passes this memory to cut_for_backward.
[[nodiscard]] std::int64_t backward_cut_bytes(const AttentionPlan& plan);

/// `memory` is aligned to 64 bytes and has backward_cut_bytes(plan) bytes.
[[nodiscard]] BackwardCut cut_for_backward(const AttentionPlan& plan, std::int64_t head_dim,
                                           void* memory);

/// Floats between rows of partial sums and of a strip's gradients.
[[nodiscard]] std::int64_t gradient_pitch(std::int64_t head_dim);

}  // namespace attnscope::cpu
