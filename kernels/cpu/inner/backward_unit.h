// SPDX-License-Identifier: Apache-2.0
//
// One head of a chunk of the backward pass, strip by strip: all rows of the group's tasks that
// attend to keys of the strip are processed in tiles. Rows of the strip itself use all their keys
// and get their gradients; rows outside it use only the strip's keys, for the keys' gradients.
//
// As in the forward pass the unit is first computed as if all numbers were finite, with weight 0
// for forbidden pairs; if a gradient is not finite, it is computed again `carefully`.
#pragma once

#include "kernels/cpu/inner/backward_tile.h"

namespace attnscope::cpu {
namespace {

/// Keys and values from outside the strip's own range, packed until the buffer is full.
struct Arena {
  struct Entry {
    const Segment* segment;
    std::int64_t begin, count;
    const float *keys, *values;
  };
  float *keys, *values;
  Entry entries[most_backward_pieces];
  int entry_count;
  std::int64_t used;  // keys
};

struct Strip {
  BackwardWork work;
  std::int64_t begin, end;                // tokens whose gradients are summed here
  std::int64_t packed_begin, packed_end;  // tokens whose keys and values are packed
  const float *keys, *values;             // of packed_begin
  float *key_buffer, *value_buffer;
  KeyGradients gradients;  // of token `begin`
  Arena arena;
};

inline const Segment* segments_of(const BackwardUnit& unit, const Task& task) {
  return unit.segments + task.first_segment;
}

inline std::int64_t run_length(const TokenRun& run) {
  return run.end - run.begin;
}

/// The positions of a run whose tokens are in [begin, end).
inline Positions places_within(const TokenRun& run, const std::int64_t* indices, std::int64_t begin,
                               std::int64_t end) {
  if (!run.listed) {
    const std::int64_t first = clamped(begin, run.begin, run.end);
    return {first, clamped(end, first, run.end)};
  }
  const std::int64_t first = first_place(indices, run.begin, run.end, begin);
  return {first, first_place(indices, first, run.end, end)};
}

/// The rows of a run, counted from its first, that attend to tokens [begin, end) of `segment`. The
/// windows of ascending rows ascend.
inline Positions rows_seeing(const TokenRun& rows, const std::int64_t* indices,
                             const Segment& segment, std::int64_t begin, std::int64_t end) {
  const std::int64_t count = run_length(rows);
  const auto first_row = [&](const auto& reached) {
    std::int64_t low = 0, high = count;
    while (low < high) {
      const std::int64_t middle = low + (high - low) / 2;
      if (reached(seen_by(segment, indices, token_of(rows, indices, middle)))) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  };
  const std::int64_t first = first_row([&](Positions seen) { return seen.end > begin; });
  return {first, most(first, first_row([&](Positions seen) { return seen.begin >= end; }))};
}

inline const float* pack_range(const HeadView<const std::byte>& view, std::int64_t begin,
                               std::int64_t end, std::int64_t d, float* buffer) {
  RowChunk chunk{};
  chunk.head_dim = d;
  Segment range{};
  range.keys = {begin, end, false};
  return packed_rows(view, chunk, range, begin, end - begin, buffer);
}

inline void begin_strip(Strip& strip, std::int64_t begin, std::int64_t end) {
  const BackwardUnit& unit = *strip.work.unit;
  const BackwardGroup& group = *unit.group;
  strip.begin = begin;
  strip.end = end;
  strip.packed_begin = most(begin - group.halo, group.hull.begin);
  strip.packed_end = least(end + group.halo, group.hull.end);
  if (!is_one_run(unit.k, strip.packed_begin, strip.packed_end) ||
      !is_one_run(unit.v, strip.packed_begin, strip.packed_end)) {
    strip.packed_end = strip.packed_begin;
  }
  if (strip.packed_begin < strip.packed_end) {
    strip.keys =
        pack_range(unit.k, strip.packed_begin, strip.packed_end, strip.work.d, strip.key_buffer);
    strip.values =
        pack_range(unit.v, strip.packed_begin, strip.packed_end, strip.work.d, strip.value_buffer);
  }
  zero(strip.gradients.keys, (end - begin) * strip.work.pitch);
  zero(strip.gradients.values, (end - begin) * strip.work.pitch);
  strip.arena.entry_count = 0;
  strip.arena.used = 0;
}

/// Packed keys and values of at most backward_keys positions. May process the collected pieces.
template <int Dim>
inline Arena::Entry keys_at(Strip& strip, const Segment& segment, std::int64_t begin,
                            std::int64_t count, bool for_queries) {
  BackwardWork& work = strip.work;
  if (!segment.keys.listed && begin >= strip.packed_begin && begin + count <= strip.packed_end) {
    const std::int64_t at = (begin - strip.packed_begin) * work.padded;
    return {&segment, begin, count, strip.keys + at, strip.values + at};
  }
  Arena& arena = strip.arena;
  for (int i = 0; i < arena.entry_count; ++i) {
    const Arena::Entry& entry = arena.entries[i];
    if (entry.segment == &segment && entry.begin == begin && entry.count == count) return entry;
  }
  if (arena.entry_count == most_backward_pieces || arena.used + count > backward_arena_keys) {
    finish_pieces<Dim>(work, for_queries);
    arena.entry_count = 0;
    arena.used = 0;
  }
  Arena::Entry& entry = arena.entries[arena.entry_count++];
  const std::int64_t at = arena.used * work.padded;
  entry = {&segment, begin, count,
           packed_rows(work.unit->k, work.rows, segment, begin, count, arena.keys + at),
           packed_rows(work.unit->v, work.rows, segment, begin, count, arena.values + at)};
  arena.used += count;
  return entry;
}

/// Row `r` of a tile of few rows, processed separately.
template <int Dim>
inline void add_keys_to_row(Strip& strip, const Segment& segment, int r, Positions keys,
                            const KeyGradients& to) {
  BackwardWork& work = strip.work;
  const std::int64_t token =
      token_of(work.rows.queries, work.rows.indices, work.tile.first_row + r);
  const Positions seen = seen_by(segment, work.rows.indices, token);
  const auto visit = [&](std::int64_t kept, std::int64_t kept_end) {
    for (std::int64_t begin = kept; begin < kept_end; begin += backward_keys) {
      const std::int64_t count = least(backward_keys, kept_end - begin);
      const Arena::Entry entry = keys_at<Dim>(strip, segment, begin, count, true);
      finish_row(work, r, entry.keys, entry.values, count, to, begin - keys.begin);
    }
  };
  for_each_kept(segment, work.rows.indices, most(keys.begin, seen.begin), least(keys.end, seen.end),
                visit);
}

/// `to`, advanced by `keys` keys.
ATTNSCOPE_INLINE KeyGradients advanced(const BackwardWork& work, KeyGradients to,
                                       std::int64_t keys) {
  if (to.keys == nullptr) return to;
  if (to.list != nullptr) {
    to.list += keys;
  } else {
    to.keys += keys * work.pitch;
    to.values += keys * work.pitch;
  }
  return to;
}

/// Processes positions `keys` of a segment for the tile; `to` has the gradients of the first of
/// them.
template <int Dim>
inline void add_keys(Strip& strip, const Segment& segment, Positions keys, const KeyGradients& to,
                     bool for_queries) {
  BackwardWork& work = strip.work;
  const BackwardTile& tile = work.tile;
  if (keys.begin >= keys.end) return;
  if (has_few_rows(tile)) {
    for (int r = 0; r < tile.rows; ++r) add_keys_to_row<Dim>(strip, segment, r, keys, to);
    return;
  }
  const std::int64_t* indices = work.rows.indices;
  const TokenRun& rows = work.rows.queries;
  const std::int64_t begin =
      most(keys.begin, seen_by(segment, indices, token_of(rows, indices, tile.first_row)).begin);
  const std::int64_t end =
      least(keys.end,
            seen_by(segment, indices, token_of(rows, indices, tile.first_row + tile.rows - 1)).end);
  for (std::int64_t first = begin; first < end;) {
    if (work.piece_count == most_backward_pieces || work.score_count == backward_keys) {
      finish_pieces<Dim>(work, for_queries);
    }
    const std::int64_t count = least(end - first, backward_keys - work.score_count);
    const Arena::Entry entry = keys_at<Dim>(strip, segment, first, count, for_queries);
    BackwardPiece& piece = work.pieces[work.piece_count];
    piece.segment = &segment;
    piece.first = first;
    piece.keys = entry.keys;
    piece.values = entry.values;
    piece.gradients = advanced(work, to, first - keys.begin);
    piece.first_score = work.score_count;
    if (tile_window(work.rows, segment, tile.first_row, tile.rows, first,
                    static_cast<std::int32_t>(count), piece.window)) {
      work.score_count += piece.window.any_end - piece.window.any_begin;
      ++work.piece_count;
    }
    first += count;
  }
}

inline KeyGradients slots_at(const BackwardUnit& unit, std::int64_t pitch, std::int64_t row) {
  return {unit.slots + row * pitch, unit.slots + (unit.group->slot_rows + row) * pitch, nullptr, 0};
}

/// The strip's gradients for positions of a run starting at `first`.
ATTNSCOPE_INLINE KeyGradients strip_gradients(const Strip& strip, const TokenRun& run,
                                              std::int64_t first) {
  KeyGradients to = strip.gradients;
  if (run.listed) {
    to.list = strip.work.rows.indices + first;
    to.origin = strip.begin;
    return to;
  }
  return advanced(strip.work, to, first - strip.begin);
}

constexpr KeyGradients no_gradients{nullptr, nullptr, nullptr, 0};

/// Keys within a window on the group's own tokens: those of the strip and, for rows of the strip,
/// those next to it.
template <int Dim>
inline void add_local_keys(Strip& strip, const Segment& segment, bool own_rows) {
  const TokenRun& run = segment.keys;
  const Positions inside{clamped(strip.begin, run.begin, run.end),
                         clamped(strip.end, run.begin, run.end)};
  if (own_rows) add_keys<Dim>(strip, segment, {run.begin, inside.begin}, no_gradients, true);
  add_keys<Dim>(strip, segment, inside, strip_gradients(strip, run, inside.begin), own_rows);
  if (own_rows) add_keys<Dim>(strip, segment, {inside.end, run.end}, no_gradients, true);
}

inline void store_query_gradients(Strip& strip) {
  BackwardWork& work = strip.work;
  const BackwardUnit& unit = *work.unit;
  std::int64_t at[row_tile];
  row_offsets(unit.grad_q, work.rows, work.tile.first_row, work.tile.rows, at);
  for (int r = 0; r < work.tile.rows; ++r) {
    const float* gradient = work.tile.gradients + r * work.padded;
    note_strange(work, gradient);
    store_row(gradient, work.d, unit.scale, unit.grad_q, at[r]);
  }
}

/// Rows [first, last) of a task that is not split.
template <int Dim>
inline void visit_rows(Strip& strip, const Task& task, const TaskRows& places, Positions rows,
                       bool own_rows) {
  BackwardWork& work = strip.work;
  const BackwardUnit& unit = *work.unit;
  for (std::int64_t row = rows.begin; row < rows.end; row += row_tile) {
    load_tile(work, row, static_cast<int>(least(row_tile, rows.end - row)));
    std::int64_t slot = places.slot;
    for (std::int64_t s = 0; s < task.segment_count; ++s) {
      const Segment& segment = segments_of(unit, task)[s];
      if (!has_slots(segment, unit.indices, false, unit.group->hull)) {
        add_local_keys<Dim>(strip, segment, own_rows);
        continue;
      }
      if (own_rows) {
        add_keys<Dim>(strip, segment, {segment.keys.begin, segment.keys.end},
                      slots_at(unit, work.pitch, slot), true);
      }
      slot += run_length(segment.keys);
    }
    finish_pieces<Dim>(work, own_rows);
    if (own_rows) store_query_gradients(strip);
  }
}

template <int Dim>
inline void visit_task(Strip& strip, const Task& task, const TaskRows& places) {
  const BackwardUnit& unit = *strip.work.unit;
  const Positions tokens = places_within(task.queries, unit.indices, strip.begin, strip.end);
  const Positions own{tokens.begin - task.queries.begin, tokens.end - task.queries.begin};
  Positions seeing = own;
  for (std::int64_t s = 0; s < task.segment_count; ++s) {
    const Segment& segment = segments_of(unit, task)[s];
    if (has_slots(segment, unit.indices, false, unit.group->hull)) continue;
    const Positions rows =
        rows_seeing(task.queries, unit.indices, segment, most(strip.begin, segment.keys.begin),
                    least(strip.end, segment.keys.end));
    if (strip.end <= segment.keys.begin || segment.keys.end <= strip.begin) continue;
    if (rows.begin >= rows.end) continue;
    seeing = {least(seeing.begin, rows.begin), most(seeing.end, rows.end)};
  }
  visit_rows<Dim>(strip, task, places, {seeing.begin, own.begin}, false);
  visit_rows<Dim>(strip, task, places, own, true);
  visit_rows<Dim>(strip, task, places, {own.end, seeing.end}, false);
}

/// Keys of a split task's segment that this chunk processes: those of the strip and, once per
/// group, those that are in no strip of the group.
template <int Dim>
inline void add_split_keys(Strip& strip, const Segment& segment, std::int64_t slot, bool strays) {
  const BackwardUnit& unit = *strip.work.unit;
  const TokenRun& run = segment.keys;
  const Positions inside = places_within(run, unit.indices, strip.begin, strip.end);
  add_keys<Dim>(strip, segment, inside, strip_gradients(strip, run, inside.begin), true);
  if (!strays) return;
  const Positions home =
      places_within(run, unit.indices, unit.group->hull.begin, unit.group->hull.end);
  const KeyGradients to = slots_at(unit, strip.work.pitch, slot);
  add_keys<Dim>(strip, segment, {run.begin, home.begin}, to, true);
  add_keys<Dim>(strip, segment, {home.end, run.end}, advanced(strip.work, to, home.end - run.begin),
                true);
}

inline bool uses_keys(const Strip& strip, const Task& task, bool strays) {
  const BackwardUnit& unit = *strip.work.unit;
  for (std::int64_t s = 0; s < task.segment_count; ++s) {
    const Segment& segment = segments_of(unit, task)[s];
    if (strays && has_slots(segment, unit.indices, true, unit.group->hull)) return true;
    const Positions inside = places_within(segment.keys, unit.indices, strip.begin, strip.end);
    if (inside.begin < inside.end) return true;
  }
  return false;
}

template <int Dim>
inline void visit_split_task(Strip& strip, const Task& task, const TaskRows& places, bool first) {
  BackwardWork& work = strip.work;
  const BackwardUnit& unit = *work.unit;
  if (!uses_keys(strip, task, first)) return;
  const std::int64_t rows = run_length(task.queries);
  for (std::int64_t row = 0; row < rows; row += row_tile) {
    load_tile(work, row, static_cast<int>(least(row_tile, rows - row)));
    std::int64_t slot = places.slot;
    for (std::int64_t s = 0; s < task.segment_count; ++s) {
      const Segment& segment = segments_of(unit, task)[s];
      const bool strays = first && has_slots(segment, unit.indices, true, unit.group->hull);
      add_split_keys<Dim>(strip, segment, slot, strays);
      if (has_slots(segment, unit.indices, true, unit.group->hull)) {
        slot += run_length(segment.keys);
      }
    }
    finish_pieces<Dim>(work, true);
    for (int r = 0; r < work.tile.rows; ++r) {
      float* to = unit.split + (places.split + row + r) * work.pitch;
      const float* from = work.tile.gradients + r * work.padded;
      for (std::int64_t c = 0; c < work.padded; c += lanes)
        store(to + c, load(to + c) + load(from + c));
    }
  }
}

/// The row of a token among the unit's slots, or -1.
inline std::int64_t slot_of(const BackwardUnit& unit, std::int64_t token) {
  const BackwardGroup& group = *unit.group;
  if (group.shared) return group.own_slot + token - group.hull.begin;
  for (std::int64_t i = group.first_region; i < group.last_region; ++i) {
    const SlotRegion& region = unit.regions[i];
    const Positions place = places_within(region.run, unit.indices, token, token + 1);
    if (place.begin < place.end) return region.first_row + place.begin - region.run.begin;
  }
  return -1;
}

inline void add_row(std::int64_t count, const float* from, float* to) {
  for (std::int64_t c = 0; c < count; c += lanes) store(to + c, load(to + c) + load(from + c));
}

/// Writes the gradients of a few of the strip's keys, or adds them to their slots.
inline void finish_keys(Strip& strip, std::int64_t begin, std::int64_t count) {
  BackwardWork& work = strip.work;
  const BackwardUnit& unit = *work.unit;
  std::int64_t key_at[row_tile], value_at[row_tile];
  token_offsets(unit.grad_k, begin, count, key_at);
  token_offsets(unit.grad_v, begin, count, value_at);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t row = (begin + i - strip.begin) * work.pitch;
    const float* key = strip.gradients.keys + row;
    const float* value = strip.gradients.values + row;
    note_strange(work, key);
    note_strange(work, value);
    if (const std::int64_t slot = slot_of(unit, begin + i); slot >= 0) {
      const KeyGradients to = slots_at(unit, work.pitch, slot);
      add_row(work.padded, key, to.keys);
      add_row(work.padded, value, to.values);
      continue;
    }
    store_row(key, work.d, unit.scale, unit.grad_k, key_at[i]);
    store_row(value, work.d, 1.0f, unit.grad_v, value_at[i]);
  }
}

inline void finish_strip(Strip& strip) {
  for (std::int64_t token = strip.begin; token < strip.end; token += row_tile) {
    finish_keys(strip, token, least(row_tile, strip.end - token));
  }
}

inline Strip lay_out_scratch(const BackwardUnit& unit, bool careful) {
  Strip strip;
  BackwardWork& work = strip.work;
  work.unit = &unit;
  work.d = unit.head_dim;
  work.padded = padded_dim(work.d);
  work.pitch = gradient_pitch(work.d);
  work.careful = careful;
  work.nonfinite = Vector{};
  work.piece_count = 0;
  work.score_count = 0;
  work.rows = {};
  work.rows.q = unit.q;
  work.rows.k = unit.k;
  work.rows.v = unit.v;
  work.rows.indices = unit.indices;
  work.rows.head_dim = unit.head_dim;
  float* free = unit.scratch;
  const auto take = [&](std::int64_t floats) {
    float* taken = free;
    free += floats;
    return taken;
  };
  BackwardTile& tile = work.tile;
  for (float** rows : {&tile.queries_t, &tile.arriving_t, &tile.query_buffer, &tile.arriving_buffer,
                       &tile.gradients}) {
    *rows = take(row_tile * work.pitch);
  }
  tile.shift = take(row_tile);
  tile.delta = take(row_tile);
  work.scores = take((backward_keys + widest_vector) * row_tile);
  work.score_gradients = take((backward_keys + widest_vector) * row_tile);
  strip.gradients = {take(unit.largest_strip * work.pitch), take(unit.largest_strip * work.pitch),
                     nullptr, 0};
  const std::int64_t buffer = (unit.largest_strip + 2 * unit.largest_halo) * work.pitch;
  strip.key_buffer = take(buffer);
  strip.value_buffer = take(buffer);
  strip.arena.keys = take(backward_arena_keys * work.pitch);
  strip.arena.values = take(backward_arena_keys * work.pitch);
  return strip;
}

/// Returns false if a gradient is not finite.
template <int Dim>
inline bool run_backward_unit(const BackwardUnit& unit, bool careful) {
  Strip strip = lay_out_scratch(unit, careful);
  BackwardWork& work = strip.work;
  const BackwardGroup& group = *unit.group;
  zero(unit.slots, 2 * group.slot_rows * work.pitch);
  zero(unit.split, group.split_rows * work.pitch);
  const std::int64_t tokens = group.hull.end - group.hull.begin;
  const std::int64_t first = group.strips * unit.chunk / group.chunks;
  const std::int64_t last = group.strips * (unit.chunk + 1) / group.chunks;
  for (std::int64_t s = first; s < last; ++s) {
    begin_strip(strip, group.hull.begin + tokens * s / group.strips,
                group.hull.begin + tokens * (s + 1) / group.strips);
    for (std::int64_t t = group.first_task; t < group.last_task; ++t) {
      const Task& task = unit.tasks[t];
      if (unit.head < task.heads.begin || unit.head >= task.heads.end) continue;
      work.rows.queries = task.queries;
      if (unit.task_rows[t].split >= 0) {
        visit_split_task<Dim>(strip, task, unit.task_rows[t], s == 0);
      } else {
        visit_task<Dim>(strip, task, unit.task_rows[t]);
      }
    }
    finish_strip(strip);
  }
  for (std::int64_t r = 0; r < 2 * group.slot_rows; ++r) {
    note_strange(work, unit.slots + r * work.pitch);
  }
  for (std::int64_t r = 0; r < group.split_rows; ++r) {
    note_strange(work, unit.split + r * work.pitch);
  }
  return sum_of(work.nonfinite) == 0.0f;
}

template <int Dim>
inline void run_backward_unit(const BackwardUnit& unit) {
  if (!run_backward_unit<Dim>(unit, false)) (void)run_backward_unit<Dim>(unit, true);
}

void segment_backward_unit(const BackwardUnit& unit) {
  switch (unit.head_dim) {
    case 32:
      return run_backward_unit<32>(unit);
    case 64:
      return run_backward_unit<64>(unit);
    default:
      return run_backward_unit<0>(unit);
  }
}

}  // namespace
}  // namespace attnscope::cpu
