// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/work_units.h"

#include <algorithm>

#include "kernels/cpu/kernel_table.h"

namespace attnscope::cpu {
namespace {

/// Below this many pairs in a unit, drawing it costs more than it gains.
constexpr std::int64_t worthwhile_pairs = 16384;
/// A task with at most this many rows over at least two chunks of keys is split, into at most this
/// many chunks.
constexpr std::int64_t most_split_rows = smallest_row_chunk;
constexpr std::int64_t smallest_key_chunk = largest_key_block;
constexpr std::int64_t most_key_chunks = 1024;

std::int64_t divided_up(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

/// Most keys of one row.
std::int64_t keys_of_row(const Segment& segment) {
  const std::int64_t keys = segment.keys.size();
  if (segment.kind == SegmentKind::whole || segment.window >= keys) return keys;
  return std::min(keys,
                  segment.kind == SegmentKind::band ? 2 * segment.window + 1 : segment.window);
}

/// Most keys of the rows of a tile.
std::int64_t keys_of_tile(const Task& task, const Segment& segment) {
  const std::int64_t keys = segment.keys.size();
  const bool slides =
      segment.kind == SegmentKind::band && !segment.keys.listed && !task.queries.listed;
  if (!slides || segment.window >= keys) return keys;
  return std::min(keys, 2 * segment.window + widest_vector);
}

/// Whether the inner loops can take a tile's keys at once: there must be room for their scores and
/// for the packed keys.
bool takes_whole_tiles(std::span<const Segment> segments, const Task& task, std::int64_t head_dim) {
  if (static_cast<std::int64_t>(segments.size()) > most_key_spans) return false;
  const std::int64_t most = tile_keys(head_dim);
  std::int64_t seen = 0, packed = 0;
  for (const Segment& segment : segments) {
    const std::int64_t keys = keys_of_tile(task, segment);
    seen += keys;
    packed += std::min(segment.keys.size(), keys + most / 2);
    if (seen > most) return false;
  }
  return packed <= most + most / 2;
}

/// Divides rows into chunks of at most `most`, of equal length except for rounding to tiles.
void cut_rows(TaskCut& cut, std::int64_t most) {
  const std::int64_t even = divided_up(cut.rows, divided_up(cut.rows, most));
  cut.rows_per_chunk = divided_up(even, widest_vector) * widest_vector;
  cut.row_chunks = divided_up(cut.rows, cut.rows_per_chunk);
}

}  // namespace

TaskCut cut_of(const AttentionPlan& plan, const Task& task, std::int64_t head_dim, KeyCut key_cut) {
  TaskCut cut;
  cut.rows = task.queries.size();
  cut.heads = task.heads.end - task.heads.begin;
  if (cut.rows <= 0 || cut.heads <= 0) return {};
  const std::span<const Segment> segments = plan.segments_of(task);
  cut.whole_tiles = key_cut == KeyCut::of_long_rows && takes_whole_tiles(segments, task, head_dim);
  cut_rows(cut, cut.whole_tiles ? largest_sliding_chunk : chunk_rows(head_dim));
  std::int64_t keys = 0;
  bool all_whole = true;
  for (const Segment& segment : segments) {
    keys += keys_of_row(segment);
    all_whole = all_whole && segment.kind == SegmentKind::whole;
  }
  cut.pairs = cut.rows * keys;
  if (key_cut == KeyCut::of_long_rows && all_whole && cut.rows <= most_split_rows &&
      keys >= 2 * smallest_key_chunk) {
    cut.keys_per_chunk = std::max(smallest_key_chunk, divided_up(keys, most_key_chunks));
    cut.key_chunks = divided_up(keys, cut.keys_per_chunk);
    return cut;
  }
  cut.heads_per_unit = heads_worthwhile(cut.heads, std::min(cut.rows, cut.rows_per_chunk) * keys);
  return cut;
}

std::int64_t heads_worthwhile(std::int64_t heads, std::int64_t pairs) {
  return std::clamp<std::int64_t>(worthwhile_pairs / std::max<std::int64_t>(pairs, 1), 1, heads);
}

UnitCursor::UnitCursor(const AttentionPlan& plan, std::int64_t head_dim, KeyCut key_cut)
    : plan_(plan), head_dim_(head_dim), key_cut_(key_cut) {
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
  // Heads vary fastest: in token-major memory the heads of the same rows are adjacent.
  std::int64_t rest = number - units_before_;
  const std::int64_t group = rest % cut_.head_groups();
  rest /= cut_.head_groups();
  unit.task = &plan_.tasks[task_];
  unit.cut = cut_;
  unit.key_chunk = rest % cut_.key_chunks;
  unit.first_row = rest / cut_.key_chunks * cut_.rows_per_chunk;
  unit.last_row = std::min(unit.first_row + cut_.rows_per_chunk, cut_.rows);
  unit.first_head = unit.task->heads.begin + group * cut_.heads_per_unit;
  unit.last_head =
      std::min<std::int64_t>(unit.first_head + cut_.heads_per_unit, unit.task->heads.end);
  unit.partials_before = partials_before_;
  return true;
}

}  // namespace attnscope::cpu
