// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/work/tiles.h"

#include <algorithm>

#include "kernels/cuda/work/rules.h"

namespace attnscope::cuda {
namespace {

/// Least tokens that stream past a part of a tile: a part costs a partial result.
constexpr std::int32_t least_part_slots = 1024 / slot_tokens;
/// Blocks that keep a large machine busy.
constexpr std::int32_t enough_blocks = 512;

DraftUnit tile_of(const Direction& direction, const DirectedTask& task, const WorkRun& run,
                  Indices indices) {
  DraftUnit unit{.item = task.item, .tile = {.run = run, .rules = {}}, .spans = {}, .extras = {}};
  const std::int32_t first = token_at(run, 0, indices);
  const std::int32_t last = token_at(run, run.count - 1, indices);
  for (const DirectedSegment& segment : direction.segments_of(task)) {
    WorkSpan span = segment.span;
    span.run = within(segment.run, reach_of(segment.rule, first, last), indices);
    if (span.run.count == 0) continue;
    unit.spans.push_back(span);
    unit.tile.rules.push_back(cut_to(segment.rule, hull_of(span.run, indices)));
  }
  return unit;
}

/// Cuts a unit along its streamed tokens and appends the parts.
void append_parts(const DraftUnit& unit, std::int32_t parts, Indices indices, Draft& draft) {
  const std::int32_t slots = slots_of(unit.spans);
  const auto split = static_cast<std::int32_t>(draft.splits.size());
  draft.splits.push_back({.run = unit.tile.run, .parts = parts});
  for (std::int64_t p = 0; p < parts; ++p) {
    DraftUnit part{.item = unit.item,
                   .tile = {.run = unit.tile.run,
                            .rules = {},
                            .split = split,
                            .part = static_cast<std::int32_t>(p)},
                   .spans = {},
                   .extras = {}};
    const auto first = static_cast<std::int32_t>(p * slots / parts);
    const auto last = static_cast<std::int32_t>((p + 1) * slots / parts);
    for (const SpanPart& of_span : parts_within(unit.spans, first, last)) {
      part.spans.push_back(unit.spans[of_span.span]);
      part.spans.back().run = of_span.run;
      part.tile.rules.push_back(
          cut_to(unit.tile.rules[of_span.span], hull_of(of_span.run, indices)));
    }
    draft.units.push_back(std::move(part));
  }
}

/// Into how many parts each tile is cut that much streams past.
std::int32_t parts_wanted(std::span<const DraftUnit> units, std::int32_t heads) {
  const auto is_long = [](const DraftUnit& unit) {
    return slots_of(unit.spans) >= 2 * least_part_slots;
  };
  const std::int64_t blocks = std::ranges::count_if(units, is_long) * heads;
  if (blocks == 0 || blocks >= enough_blocks) return 1;
  return static_cast<std::int32_t>((enough_blocks + blocks - 1) / blocks);
}

}  // namespace

bool is_narrow(const DirectedTask& task) {
  return !task.windowed && task.run.count <= 2 * strip_tokens;
}

Draft cut_tiles(const Direction& direction, std::int32_t tile_tokens, std::int32_t heads,
                Indices indices) {
  std::vector<DraftUnit> tiles;
  for (const DirectedTask& task : direction.tasks) {
    if (is_narrow(task)) continue;
    for (std::int32_t first = 0; first < task.run.count; first += tile_tokens) {
      const std::int32_t count = std::min(tile_tokens, task.run.count - first);
      tiles.push_back(tile_of(direction, task, part_of(task.run, first, count), indices));
    }
  }
  const std::int32_t wanted = parts_wanted(tiles, heads);
  Draft draft{.kind = direction.kind, .units = {}, .splits = {}};
  for (DraftUnit& tile : tiles) {
    const std::int32_t parts = std::min(wanted, slots_of(tile.spans) / least_part_slots);
    if (parts > 1) {
      append_parts(tile, parts, indices, draft);
    } else {
      draft.units.push_back(std::move(tile));
    }
  }
  return draft;
}

}  // namespace attnscope::cuda
