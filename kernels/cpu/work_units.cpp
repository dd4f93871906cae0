// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/work_units.h"

#include <algorithm>

#include "kernels/cpu/kernel_table.h"

namespace attnscope::cpu {
namespace {

/// Pairs of a unit below which drawing it costs more than it brings.
constexpr std::int64_t worthwhile_pairs = 16384;
/// A task of so few rows over at least two chunks of keys is split, into at most this many chunks.
constexpr std::int64_t most_split_rows = smallest_row_chunk;
constexpr std::int64_t smallest_key_chunk = 2048;
constexpr std::int64_t most_key_chunks = 64;

std::int64_t divided_up(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

/// Keys that one row sees at most.
std::int64_t keys_of_row(const Segment& segment) {
  const std::int64_t keys = segment.keys.size();
  if (segment.kind == SegmentKind::whole || segment.window >= keys) return keys;
  return std::min(keys,
                  segment.kind == SegmentKind::band ? 2 * segment.window + 1 : segment.window);
}

}  // namespace

TaskCut cut_of(const AttentionPlan& plan, const Task& task, std::int64_t head_dim, KeyCut key_cut) {
  TaskCut cut;
  cut.rows = task.queries.size();
  cut.heads = task.heads.end - task.heads.begin;
  if (cut.rows <= 0 || cut.heads <= 0) return {};
  cut.row_chunks = divided_up(cut.rows, chunk_rows(head_dim));
  std::int64_t keys = 0;
  bool all_whole = true;
  for (const Segment& segment : plan.segments_of(task)) {
    keys += keys_of_row(segment);
    all_whole = all_whole && segment.kind == SegmentKind::whole;
  }
  if (key_cut == KeyCut::of_long_rows && all_whole && cut.rows <= most_split_rows &&
      keys >= 2 * smallest_key_chunk) {
    cut.keys_per_chunk = std::max(smallest_key_chunk, divided_up(keys, most_key_chunks));
    cut.key_chunks = divided_up(keys, cut.keys_per_chunk);
    return cut;
  }
  const std::int64_t pairs = std::max<std::int64_t>(
      1, std::min(cut.rows, chunk_rows(head_dim)) * std::min(keys, worthwhile_pairs));
  cut.heads_per_unit = std::clamp<std::int64_t>(worthwhile_pairs / pairs, 1, cut.heads);
  return cut;
}

UnitCursor::UnitCursor(const AttentionPlan& plan, std::int64_t head_dim, KeyCut key_cut)
    : plan_(plan), head_dim_(head_dim), key_cut_(key_cut), chunk_rows_(chunk_rows(head_dim)) {
  enter_task();
}

void UnitCursor::enter_task() {
  if (task_ < plan_.tasks.size()) cut_ = cut_of(plan_, plan_.tasks[task_], head_dim_, key_cut_);
}

bool UnitCursor::seek(std::int64_t number, WorkUnit& unit) {
  while (task_ < plan_.tasks.size() && number >= units_before_ + cut_.units()) {
    units_before_ += cut_.units();
    partials_before_ += cut_.partial_floats(head_dim_);
    ++task_;
    enter_task();
  }
  if (task_ >= plan_.tasks.size()) return false;
  // Heads turn fastest: in token-major memory the heads of the same rows lie side by side.
  std::int64_t rest = number - units_before_;
  const std::int64_t group = rest % cut_.head_groups();
  rest /= cut_.head_groups();
  unit.task = &plan_.tasks[task_];
  unit.cut = cut_;
  unit.key_chunk = rest % cut_.key_chunks;
  unit.first_row = rest / cut_.key_chunks * chunk_rows_;
  unit.last_row = std::min(unit.first_row + chunk_rows_, cut_.rows);
  unit.first_head = unit.task->heads.begin + group * cut_.heads_per_unit;
  unit.last_head =
      std::min<std::int64_t>(unit.first_head + cut_.heads_per_unit, unit.task->heads.end);
  unit.partials_before = partials_before_;
  return true;
}

}  // namespace attnscope::cpu
