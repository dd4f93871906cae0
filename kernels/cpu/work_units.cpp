// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/work_units.h"

#include <algorithm>

#include "kernels/cpu/kernel_table.h"
#include "kernels/plan/key_runs.h"

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

/// Whether the inner loops can process a tile's keys at once: there must be space for their scores
/// and for the packed keys.
bool fits_whole_tiles(std::span<const Segment> segments, const Task& task, std::int64_t head_dim) {
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
  cut.whole_tiles = key_cut == KeyCut::of_long_rows && fits_whole_tiles(segments, task, head_dim);
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

namespace {

/// Units that keep many cores busy, and the most chunks per item for it.
constexpr std::int64_t wanted_units = 64;
constexpr std::int64_t most_chunks = 16;

/// A strip is eight windows long, so that few rows are processed twice, but its gradients, keys and
/// values stay within the second-level cache.
constexpr std::int64_t windows_a_strip = 8;
constexpr std::int64_t smallest_strip = 256;
constexpr std::int64_t strip_floats = 65536;

bool holds(TokenRange outer, TokenRange inner) {
  return inner.empty() || (outer.begin <= inner.begin && inner.end <= outer.end);
}

TokenRange joined(TokenRange a, TokenRange b) {
  if (a.empty()) return b;
  if (b.empty()) return a;
  return {std::min(a.begin, b.begin), std::max(a.end, b.end)};
}

TokenRange hull_of(const std::int64_t* indices, const TokenRun& run) {
  if (run.size() <= 0) return {};
  if (!run.listed) return {run.begin, run.end};
  return {indices[run.begin], indices[run.end - 1] + 1};
}

std::int64_t round_up(std::int64_t value, std::int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

/// Consecutive tables in one block of memory.
struct Tables {
  BackwardGroup* groups;
  SlotRegion* regions;
  TaskRows* task_rows;
  std::int64_t bytes;
};

std::int64_t all_segments(const AttentionPlan& plan) {
  std::int64_t segments = 0;
  for (const Task& task : plan.tasks) segments += task.segment_count;
  return segments;
}

Tables tables_in(const AttentionPlan& plan, std::byte* memory) {
  const auto tasks = static_cast<std::int64_t>(plan.tasks.size());
  const auto bytes_of = [](std::int64_t count, std::size_t size) {
    return round_up(count * static_cast<std::int64_t>(size), 64);
  };
  const std::int64_t regions = bytes_of(tasks, sizeof(BackwardGroup));
  const std::int64_t rows = regions + bytes_of(all_segments(plan), sizeof(SlotRegion));
  // Without memory only the size is computed, and no offset may be added to a null pointer.
  const auto at = [memory](std::int64_t offset) {
    return memory == nullptr ? nullptr : memory + offset;
  };
  return {reinterpret_cast<BackwardGroup*>(at(0)), reinterpret_cast<SlotRegion*>(at(regions)),
          reinterpret_cast<TaskRows*>(at(rows)), rows + bytes_of(tasks, sizeof(TaskRows))};
}

class Cutter {
 public:
  Cutter(const AttentionPlan& plan, std::int64_t head_dim, const Tables& tables)
      : plan_(plan), head_dim_(head_dim), tables_(tables) {}

  BackwardCut cut() {
    group_by_item();
    if (!is_separable()) {
      groups_ = 1;
      tables_.groups[0] = {.first_task = 0,
                           .last_task = static_cast<std::int64_t>(plan_.tasks.size()),
                           .hull = {0, plan_.tokens}};
    }
    std::int64_t regions = 0;
    BackwardCut cut;
    for (std::int64_t g = 0; g < groups_; ++g) {
      BackwardGroup& group = tables_.groups[g];
      group.first_region = regions;
      place_rows(group, regions);
      group.last_region = regions;
      cut_into_strips(group);
      group.units_before = cut.units;
      group.partials_before = cut.partial_floats;
      cut.units += group.chunks * plan_.heads;
      cut.partial_floats += group.chunks * plan_.heads * (2 * group.slot_rows + group.split_rows) *
                            gradient_pitch(head_dim_);
      cut.largest_strip =
          std::max(cut.largest_strip, (group.hull.size() + group.strips - 1) / group.strips);
      cut.largest_halo = std::max(cut.largest_halo, group.halo);
    }
    const auto count = [](std::int64_t n) { return static_cast<std::size_t>(n); };
    cut.groups = {tables_.groups, count(groups_)};
    cut.regions = {tables_.regions, count(regions)};
    cut.task_rows = {tables_.task_rows, plan_.tasks.size()};
    return cut;
  }

 private:
  void group_by_item() {
    groups_ = 0;
    for (std::int64_t t = 0; t < static_cast<std::int64_t>(plan_.tasks.size()); ++t) {
      const Task& task = plan_.tasks[static_cast<std::size_t>(t)];
      if (t == 0 || task.item != plan_.tasks[static_cast<std::size_t>(t - 1)].item) {
        tables_.groups[groups_++] = {.first_task = t, .last_task = t, .hull = {}};
      }
      BackwardGroup& group = tables_.groups[groups_ - 1];
      group.last_task = t + 1;
      group.hull = joined(group.hull, hull_of(plan_.indices.data(), task.queries));
    }
    if (groups_ > 1) tables_.groups[0].shared = plan_.tasks.front().item == -1;
  }

  /// Groups own disjoint tokens and attend to no other group's keys except the shared ones.
  [[nodiscard]] bool is_separable() const {
    for (std::int64_t g = 0; g < groups_; ++g) {
      const BackwardGroup& group = tables_.groups[g];
      if (g > 0 && group.hull.begin < tables_.groups[g - 1].hull.end) return false;
      const TokenRange reachable =
          g > 0 && tables_.groups[0].shared && tables_.groups[0].hull.end == group.hull.begin
              ? joined(tables_.groups[0].hull, group.hull)
              : group.hull;
      for (std::int64_t t = group.first_task; t < group.last_task; ++t) {
        for (const Segment& segment : plan_.segments_of(plan_.tasks[static_cast<std::size_t>(t)])) {
          const TokenRange keys = hull_of(plan_.indices.data(), segment.keys);
          const bool in_shared = tables_.groups[0].shared && holds(tables_.groups[0].hull, keys);
          if (!holds(reachable, keys) && !in_shared) return false;
        }
      }
    }
    return true;
  }

  /// Assigns rows of partial sums to every task. Tasks with the same segments share their slots.
  void place_rows(BackwardGroup& group, std::int64_t& regions) {
    const Task* before = nullptr;
    std::int64_t slot_of_before = 0;
    std::int64_t widest = 0;
    for (std::int64_t t = group.first_task; t < group.last_task; ++t) {
      const Task& task = plan_.tasks[static_cast<std::size_t>(t)];
      TaskRows& rows = tables_.task_rows[t];
      rows = {};
      const bool splits = splits_rows(plan_, task);
      if (splits) {
        rows.split = group.split_rows;
        group.split_rows += task.queries.size();
      } else if (before != nullptr && before->first_segment == task.first_segment &&
                 before->segment_count == task.segment_count) {
        rows.slot = slot_of_before;
        continue;
      }
      rows.slot = group.slot_rows;
      for (const Segment& segment : plan_.segments_of(task)) {
        if (has_slots(segment, plan_.indices.data(), splits, group.hull)) {
          tables_.regions[regions++] = {segment.keys, group.slot_rows};
          group.slot_rows += segment.keys.size();
        } else if (segment.kind != SegmentKind::whole) {
          widest = std::max(widest, std::min(segment.window, segment.keys.size()));
        }
      }
      if (!splits) {
        before = &task;
        slot_of_before = rows.slot;
      }
    }
    group.halo = widest;
    if (group.shared) {
      group.own_slot = group.slot_rows;
      group.slot_rows += group.hull.size();
    }
  }

  void cut_into_strips(BackwardGroup& group) {
    const std::int64_t longest = std::max(smallest_strip, strip_floats / head_dim_);
    const std::int64_t tokens =
        std::clamp(windows_a_strip * std::min(group.halo, longest), smallest_strip, longest);
    group.halo = std::min(group.halo, tokens / 2);
    group.strip_tokens = tokens;
    group.strips = std::max<std::int64_t>(1, (group.hull.size() + tokens - 1) / tokens);
    const std::int64_t units = groups_ * plan_.heads;
    group.chunks =
        std::clamp<std::int64_t>((wanted_units + units - 1) / std::max<std::int64_t>(units, 1), 1,
                                 std::min(group.strips, most_chunks));
  }

  const AttentionPlan& plan_;
  std::int64_t head_dim_;
  Tables tables_;
  std::int64_t groups_ = 0;
};

}  // namespace

std::int64_t gradient_pitch(std::int64_t head_dim) {
  return round_up(head_dim, widest_vector);
}

bool splits_rows(const AttentionPlan& plan, const Task& task) {
  std::int64_t keys = 0;
  for (const Segment& segment : plan.segments_of(task)) {
    if (segment.kind != SegmentKind::whole) return false;
    keys += segment.keys.size();
  }
  return task.queries.size() <= 2 * keys;
}

bool has_slots(const Segment& segment, const std::int64_t* indices, bool splits, TokenRange hull) {
  const bool inside = holds(hull, hull_of(indices, segment.keys));
  if (splits) return !inside;
  return segment.kind == SegmentKind::whole || segment.keys.listed || !inside;
}

std::int64_t backward_cut_bytes(const AttentionPlan& plan) {
  return tables_in(plan, nullptr).bytes;
}

BackwardCut cut_for_backward(const AttentionPlan& plan, std::int64_t head_dim, void* memory) {
  return Cutter(plan, head_dim, tables_in(plan, static_cast<std::byte*>(memory))).cut();
}

}  // namespace attnscope::cpu
