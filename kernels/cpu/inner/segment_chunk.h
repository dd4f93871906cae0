// SPDX-License-Identifier: Apache-2.0
//
// The fused kernel's work on one chunk of rows of one task and head: tile by tile if a tile has few
// keys, otherwise keys block by block, each block visited by every tile of rows with keys in it,
// with an online softmax between blocks.
#pragma once

#include "kernels/cpu/inner/segment_tile.h"

namespace attnscope::cpu {
namespace {

// The fused kernel if a tile of rows has few keys, as with windows: all its scores are computed
// before the softmax, so that nothing is rescaled and outputs go from registers to memory directly.
// Keys and values are packed, if necessary, when a tile needs them, in a sliding buffer for those
// of a few tiles.

/// The keys of the chunk's rows, none packed yet.
inline void find_spans(Work& work) {
  const RowChunk& rows = work.chunk->rows;
  std::int64_t place = 0;
  for (std::int64_t i = 0; i < rows.segment_count; ++i) {
    const Segment& segment = rows.segments[i];
    const Positions seen = seen_by_chunk(rows, segment);
    if (seen.begin >= seen.end) continue;
    Span& span = work.spans[work.span_count++];
    span.segment = &segment;
    span.first = seen.begin;
    span.count = static_cast<std::int32_t>(seen.end - seen.begin);
    if (use_in_place(work, span)) continue;
    std::int64_t capacity = span.count;
    if (segment.kind == SegmentKind::band && !segment.keys.listed && !rows.queries.listed) {
      // Sliding costs little once a tile's number of keys has been packed; a larger buffer would
      // only exceed the first-level cache.
      const std::int64_t seen_by_tile = 2 * capped_window(segment) + row_tile;
      const std::int64_t more = least(most(seen_by_tile, 48), work.chunk->tile_keys / 2);
      capacity = least(capacity, seen_by_tile + more);
    }
    span.capacity = static_cast<std::int32_t>(capacity);
    use_buffers(work, span, place);
    place += capacity;
  }
}

/// Ensures that keys [begin, end) of a span are packed. Neither bound decreases from call to call.
inline void bring_keys(const Work& work, Span& span, std::int32_t begin, std::int32_t end) {
  if (end <= span.end) return;
  const RowChunk& rows = work.chunk->rows;
  if (end - span.base > span.capacity) {
    const std::int64_t drop = (begin - span.base) * work.padded;
    const auto bytes = sizeof(float) * static_cast<std::size_t>((span.end - begin) * work.padded);
    if (span.end > begin) {
      std::memmove(span.key_buffer, span.key_buffer + drop, bytes);
      std::memmove(span.value_buffer, span.value_buffer + drop, bytes);
    } else {
      span.end = begin;
    }
    span.base = begin;
  }
  const std::int64_t place = (span.end - span.base) * work.padded, count = end - span.end;
  float *keys = span.key_buffer + place, *values = span.value_buffer + place;
  if (span.segment->keys.listed) {
    pack_rows(rows.k, rows, *span.segment, span.first + span.end, count, keys);
    pack_rows(rows.v, rows, *span.segment, span.first + span.end, count, values);
  } else {
    pack_run(rows.k, span.key_at + span.end * rows.k.token_stride, work.d, count, keys);
    pack_run(rows.v, span.value_at + span.end * rows.v.token_stride, work.d, count, values);
  }
  span.end = end;
}

/// Scores of all keys of the tile. Returns the number of keys.
template <int Dim>
ATTNSCOPE_INLINE std::int32_t score_whole_tile(Work& work, std::int64_t first_row, Piece* pieces,
                                               int& piece_count) {
  std::int32_t count = 0;
  piece_count = 0;
  for (int i = 0; i < work.span_count; ++i) {
    Span& span = work.spans[i];
    Piece& piece = pieces[piece_count];
    TileWindow& window = piece.window;
    if (!tile_window(work.chunk->rows, *span.segment, first_row, rows_of_tile(work, first_row),
                     span.first, span.count, window)) {
      continue;
    }
    bring_keys(work, span, window.any_begin, window.any_end);
    piece.span = &span;
    piece.first_score = count;
    score_piece<Dim>(work, work.queries, piece);
    count += window.any_end - window.any_begin;
    ++piece_count;
  }
  return count;
}

/// Replaces scores with weights. Stores the log-sum-exp of the rows and the factor of each row's
/// outputs.
ATTNSCOPE_INLINE void weigh_whole_tile(const Work& work, std::int64_t first_row, std::int32_t count,
                                       float* inverse) {
  const RowChunk& rows = work.chunk->rows;
  float lse[row_tile];
  for (int x = 0; x < row_tile; x += lanes) {
    float* scores = work.scores + x;
    const Vector m = largest_score(scores, count, splat(-infinity));
    const Vector sum = weigh_scores(scores, count, base_of(m));
    const auto empty = sum == Vector{};
    store(inverse + x, empty ? Vector{} : splat(1.0f) / sum);
    if (rows.lse == nullptr) continue;
    const Vector value = m * static_cast<float>(ln_2) + log_of(sum);
    store(lse + x, empty ? splat(-infinity) : value);
  }
  if (rows.lse == nullptr) return;
  for (int r = 0; r < rows_of_tile(work, first_row); ++r) {
    const std::int64_t token = token_of(rows.queries, rows.indices, first_row + r);
    rows.lse[token * rows.lse_stride] = lse[r];
  }
}

/// Destination of a tile's rows, and their factors.
struct TileOutputs {
  std::int64_t at[row_tile];
  float inverse[row_tile];
};

/// Writes a row's vector of outputs; `plainly` if rows are float32 and end with a whole vector.
ATTNSCOPE_INLINE void put_lanes(const Work& work, Vector v, bool plainly, std::int64_t at,
                                std::int64_t column) {
  const HeadView<std::byte>& o = work.chunk->rows.o;
  if (plainly) {
    store(reinterpret_cast<float*>(o.data) + at + column, v);
  } else {
    store_lanes(v, work.d - column, o, at + column);
  }
}

ATTNSCOPE_INLINE bool lies_plain(const Work& work) {
  return work.chunk->rows.o.dtype == DType::float32 && work.d == work.padded;
}

template <int Width>
ATTNSCOPE_INLINE void put_group(const Work& work, const Piece* pieces, int piece_count, int row,
                                int rows, std::int64_t column, const TileOutputs& to,
                                Vector& nonfinite) {
  Vector sum[row_group][Width] = {};
  add_piece_values(work, pieces, piece_count, row, column, sum);
#pragma GCC unroll 4
  for (int g = 0; g < row_group; ++g) {
    const Vector inverse = splat(to.inverse[row + g]);
#pragma GCC unroll 4
    for (int x = 0; x < Width; ++x) {
      sum[g][x] *= inverse;
      note_strange(nonfinite, sum[g][x]);
    }
  }
  const bool plainly = lies_plain(work);
#pragma GCC unroll 4
  for (int g = 0; g < row_group; ++g) {
    if (row + g >= rows) return;
#pragma GCC unroll 4
    for (int x = 0; x < Width; ++x) {
      put_lanes(work, sum[g][x], plainly, to.at[row + g], column + x * lanes);
    }
  }
}

inline void put_group_carefully(const Work& work, const Piece* pieces, int piece_count, int row,
                                int rows, const TileOutputs& to) {
  for (int g = 0; g < row_group && row + g < rows; ++g) {
    float* sum = work.outputs;
    std::memset(sum, 0, sizeof(float) * static_cast<std::size_t>(work.padded));
    add_piece_values_carefully(work, pieces, piece_count, row, g, sum);
    for (std::int64_t c = 0; c < work.padded; c += lanes) {
      put_lanes(work, load(sum + c) * splat(to.inverse[row + g]), lies_plain(work), to.at[row + g],
                c);
    }
  }
}

template <int Dim>
ATTNSCOPE_INLINE void visit_whole_tile(Work& work, std::int64_t first_row, Vector& nonfinite) {
  const RowChunk& chunk = work.chunk->rows;
  const int rows = rows_of_tile(work, first_row);
  Piece pieces[most_spans];
  int piece_count = 0;
  TileOutputs to;
  load_queries(work, first_row, work.queries);
  const std::int32_t count = score_whole_tile<Dim>(work, first_row, pieces, piece_count);
  tile_offsets(chunk.o, work.o_places, chunk, first_row, rows, to.at);
  for (int r = 0; r < least(rows, work.rows - first_row - row_tile); ++r) {
    prefetch_row(chunk.o, to.at[r] + row_tile * chunk.o.token_stride, work.d);
  }
  weigh_whole_tile(work, first_row, count, to.inverse);
  if (work.careful) mark_forbidden(work, pieces, piece_count);
  for (int row = 0; row < rows; row += row_group) {
    if (work.careful) {
      put_group_carefully(work, pieces, piece_count, row, rows, to);
      continue;
    }
    std::int64_t c = 0;
    for (; c + 2 * lanes <= work.padded; c += 2 * lanes) {
      put_group<2>(work, pieces, piece_count, row, rows, c, to, nonfinite);
    }
    if (c < work.padded) put_group<1>(work, pieces, piece_count, row, rows, c, to, nonfinite);
  }
}

/// One row of a tile of few rows: keys in the lanes; keys outside its window are not read.
inline void visit_whole_row(Work& work, std::int64_t row) {
  const RowChunk& chunk = work.chunk->rows;
  const std::int64_t token = token_of(chunk.queries, chunk.indices, row);
  for (int i = 0; i < work.span_count; ++i) {
    Span& span = work.spans[i];
    const Positions seen = seen_by(*span.segment, chunk.indices, token);
    const std::int64_t begin = clamped(seen.begin - span.first, 0, span.count);
    const std::int64_t end = clamped(seen.end - span.first, begin, span.count);
    bring_keys(work, span, static_cast<std::int32_t>(begin), static_cast<std::int32_t>(end));
  }
  const float* query = work.queries + row % row_tile * work.padded;
  std::int64_t count = 0;
  for_each_seen(work, row, [&](const Span& span, std::int64_t first, std::int64_t keys) {
    score_row(query, span.keys + first * span.key_pitch, span.key_pitch, work.padded, keys,
              work.scores + count);
    count += keys;
  });
  float m = -infinity;
  const float sum = weigh_row_scores(work.scores, count, m, m);
  float* out = work.outputs;
  std::memset(out, 0, sizeof(float) * static_cast<std::size_t>(work.padded));
  count = 0;
  for_each_seen(work, row, [&](const Span& span, std::int64_t first, std::int64_t keys) {
    add_values_to_row(work.scores + count, span.values + first * span.value_pitch, span.value_pitch,
                      work.padded, keys, out);
    count += keys;
  });
  const Vector inverse = splat(sum == 0.0f ? 0.0f : 1.0f / sum);
  const std::int64_t at = offset_of(chunk.o, token);
  for (std::int64_t c = 0; c < work.padded; c += lanes) {
    store_lanes(load(out + c) * inverse, work.d - c, chunk.o, at + c);
  }
  if (chunk.lse != nullptr) chunk.lse[token * chunk.lse_stride] = lse_of(m, sum);
}

template <int Dim>
inline void visit_whole_tiles(const SegmentChunk& chunk, bool careful) {
  Work work = begin_whole_tiles(chunk, careful);
  find_spans(work);
  Vector nonfinite{};
  for (std::int64_t first = 0; first < work.rows; first += row_tile) {
    if (!has_few_rows(work, first)) {
      visit_whole_tile<Dim>(work, first, nonfinite);
      continue;
    }
    load_queries(work, first, work.queries);
    for (int r = 0; r < rows_of_tile(work, first); ++r) visit_whole_row(work, first + r);
  }
  if (!careful && !is_finite(nonfinite)) visit_whole_tiles<Dim>(chunk, true);
}

/// Scores of a tile against the block, one piece after another. Returns the number of keys.
template <int Dim>
ATTNSCOPE_INLINE std::int32_t score_block(const Work& work, std::int64_t first_row, Piece* pieces,
                                          int& piece_count) {
  std::int32_t count = 0;
  piece_count = 0;
  for (int i = 0; i < work.span_count; ++i) {
    const Span& span = work.spans[i];
    Piece& piece = pieces[piece_count];
    if (!tile_window(work.chunk->rows, *span.segment, first_row, rows_of_tile(work, first_row),
                     span.first, span.count, piece.window)) {
      continue;
    }
    piece.span = &span;
    piece.first_score = count;
    score_piece<Dim>(work, work.queries + first_row * work.padded, piece);
    count += piece.window.any_end - piece.window.any_begin;
    ++piece_count;
  }
  return count;
}

/// Replaces scores with weights exp2(s - m) and updates m and the sum; factor[r] rescales the
/// earlier sums and outputs.
ATTNSCOPE_INLINE void weigh_block(const Work& work, std::int64_t first_row, std::int32_t count,
                                  float* factor) {
  for (int x = 0; x < row_tile; x += lanes) {
    float* scores = work.scores + x;
    float* maxima = work.maxima + first_row + x;
    float* sums = work.sums + first_row + x;
    const Vector before = load(maxima);
    const Vector m = largest_score(scores, count, before);
    const Vector base = base_of(m);
    const Vector shrink = exp2_of(before - base);
    store(maxima, m);
    store(factor + x, shrink);
    // The block's sum is computed first: if its scores were added one by one to the sum of 16,000
    // earlier keys, each would lose its last digits.
    store(sums, load(sums) * shrink + weigh_scores(scores, count, base));
  }
}

template <int Width>
ATTNSCOPE_INLINE void add_block_values(const Work& work, const Piece* pieces, int piece_count,
                                       int row, const float* factor, std::int64_t column,
                                       float* out) {
  Vector sum[row_group][Width];
#pragma GCC unroll 4
  for (int g = 0; g < row_group; ++g) {
#pragma GCC unroll 4
    for (int x = 0; x < Width; ++x) {
      sum[g][x] = load(out + g * work.padded + x * lanes) * splat(factor[g]);
    }
  }
  add_piece_values(work, pieces, piece_count, row, column, sum);
#pragma GCC unroll 4
  for (int g = 0; g < row_group; ++g) {
#pragma GCC unroll 4
    for (int x = 0; x < Width; ++x) store(out + g * work.padded + x * lanes, sum[g][x]);
  }
}

inline void add_block_values_carefully(const Work& work, const Piece* pieces, int piece_count,
                                       int row, const float* factor, float* out) {
  for (int g = 0; g < row_group; ++g) {
    float* sum = out + g * work.padded;
    for (std::int64_t c = 0; c < work.padded; ++c) sum[c] *= factor[g];
    add_piece_values_carefully(work, pieces, piece_count, row, g, sum);
  }
}

template <int Dim>
ATTNSCOPE_INLINE void visit_tile(const Work& work, std::int64_t first_row) {
  Piece pieces[most_spans];
  int piece_count = 0;
  const std::int32_t count = score_block<Dim>(work, first_row, pieces, piece_count);
  if (count == 0) return;
  float factor[row_tile];
  weigh_block(work, first_row, count, factor);
  if (work.careful) mark_forbidden(work, pieces, piece_count);
  const int rows = rows_of_tile(work, first_row);
  for (int row = 0; row < rows; row += row_group) {
    float* out = work.outputs + (first_row + row) * work.padded;
    if (work.careful) {
      add_block_values_carefully(work, pieces, piece_count, row, factor + row, out);
      continue;
    }
    std::int64_t c = 0;
    for (; c + 2 * lanes <= work.padded; c += 2 * lanes) {
      add_block_values<2>(work, pieces, piece_count, row, factor + row, c, out + c);
    }
    if (c < work.padded) {
      add_block_values<1>(work, pieces, piece_count, row, factor + row, c, out + c);
    }
  }
}

/// One row of a tile of few rows: keys in the lanes; keys outside its window are not read.
inline void visit_row(const Work& work, std::int64_t row) {
  const float* query = work.queries + row * work.padded;
  float* out = work.outputs + row * work.padded;
  for_each_seen(work, row, [&](const Span& span, std::int64_t first, std::int64_t count) {
    score_row(query, span.keys + first * span.key_pitch, span.key_pitch, work.padded, count,
              work.scores);
    const float before = work.maxima[row];
    float& m = work.maxima[row];
    const float sum = weigh_row_scores(work.scores, count, before, m);
    const float shrink = exp2_of(splat(before - (m == -infinity ? 0.0f : m)))[0];
    work.sums[row] = work.sums[row] * shrink + sum;
    for (std::int64_t c = 0; c < work.padded; c += lanes) store(out + c, load(out + c) * shrink);
    add_values_to_row(work.scores, span.values + first * span.value_pitch, span.value_pitch,
                      work.padded, count, out);
  });
}

template <int Dim>
inline void visit_block(Work& work) {
  for (std::int64_t first = 0; first < work.rows; first += row_tile) {
    if (!has_few_rows(work, first)) {
      visit_tile<Dim>(work, first);
    } else {
      for (int r = 0; r < rows_of_tile(work, first); ++r) visit_row(work, first + r);
    }
  }
  work.span_count = 0;
  work.block_size = 0;
}

/// Adds positions [begin, end) of a segment to blocks, and visits each block when it is full.
template <int Dim>
inline void add_keys(Work& work, const Segment& segment, std::int64_t begin, std::int64_t end) {
  const RowChunk& rows = work.chunk->rows;
  while (begin < end) {
    if (work.block_size == work.block_limit || work.span_count == most_spans) {
      visit_block<Dim>(work);
    }
    const std::int64_t count = least(end - begin, work.block_limit - work.block_size);
    Span& span = work.spans[work.span_count++];
    span.segment = &segment;
    span.first = begin;
    span.count = static_cast<std::int32_t>(count);
    if (!use_in_place(work, span)) {
      use_buffers(work, span, work.block_size);
      pack_rows(rows.k, rows, segment, begin, count, span.key_buffer);
      pack_rows(rows.v, rows, segment, begin, count, span.value_buffer);
      span.end = span.count;
    }
    work.block_size += count;
    begin += count;
  }
}

template <int Dim>
inline void visit_all_keys(Work& work) {
  const SegmentChunk& chunk = *work.chunk;
  std::int64_t before = 0;  // keys of earlier segments, for split rows
  for (std::int64_t i = 0; i < chunk.rows.segment_count; ++i) {
    const Segment& segment = chunk.rows.segments[i];
    Positions seen = seen_by_chunk(chunk.rows, segment);
    if (chunk.partial != nullptr) {
      const std::int64_t base = segment.keys.begin - before;
      seen = {most(seen.begin, base + chunk.first_key), least(seen.end, base + chunk.last_key)};
      before += segment.keys.end - segment.keys.begin;
    }
    add_keys<Dim>(work, segment, seen.begin, seen.end);
  }
  visit_block<Dim>(work);
}

inline bool all_finite(const Work& work) {
  Vector nonfinite{};
  for (std::int64_t r = 0; r < work.rows; ++r) {
    const float* out = work.outputs + r * work.padded;
    for (std::int64_t c = 0; c < work.padded; c += lanes) note_strange(nonfinite, load(out + c));
  }
  return is_finite(nonfinite);
}

inline void store_partials(const Work& work) {
  for (std::int64_t r = 0; r < work.rows; ++r) {
    float* to = work.chunk->partial + r * (work.d + 2);
    std::memcpy(to, work.outputs + r * work.padded,
                sizeof(float) * static_cast<std::size_t>(work.d));
    to[work.d] = work.maxima[r];
    to[work.d + 1] = work.sums[r];
  }
}

inline void store_outputs(const Work& work) {
  const RowChunk& rows = work.chunk->rows;
  for (std::int64_t r = 0; r < work.rows; ++r) {
    const std::int64_t token = token_of(rows.queries, rows.indices, r);
    const float* out = work.outputs + r * work.padded;
    const bool empty = work.sums[r] == 0.0f;
    const float inverse = empty ? 0.0f : 1.0f / work.sums[r];
    const std::int64_t to = offset_of(rows.o, token);
    if (r + rows_ahead < work.rows) {
      prefetch_row(rows.o, to + rows_ahead * rows.o.token_stride, work.d);
    }
    store_row(out, work.d, inverse, rows.o, to);
    if (rows.lse != nullptr) {
      rows.lse[token * rows.lse_stride] = lse_of(work.maxima[r], work.sums[r]);
    }
  }
}

template <int Dim>
inline void visit_blocks(const SegmentChunk& chunk, bool careful) {
  Work work = begin_blocks(chunk, careful);
  for (std::int64_t first = 0; first < work.rows; first += row_tile) {
    load_queries(work, first, work.queries + first * work.padded);
  }
  visit_all_keys<Dim>(work);
  if (!careful && !all_finite(work)) return visit_blocks<Dim>(chunk, true);
  if (chunk.partial != nullptr) {
    store_partials(work);
  } else {
    store_outputs(work);
  }
}

template <int Dim>
inline void run_segment_chunk(const SegmentChunk& chunk) {
  if (chunk.tile_keys > 0) {
    visit_whole_tiles<Dim>(chunk, false);
  } else {
    visit_blocks<Dim>(chunk, false);
  }
}

void segment_chunk(const SegmentChunk& chunk) {
  switch (chunk.rows.head_dim) {
    case 16:
      return run_segment_chunk<16>(chunk);
    case 32:
      return run_segment_chunk<32>(chunk);
    case 64:
      return run_segment_chunk<64>(chunk);
    case 128:
      return run_segment_chunk<128>(chunk);
    default:
      return run_segment_chunk<0>(chunk);
  }
}

}  // namespace
}  // namespace attnscope::cpu
