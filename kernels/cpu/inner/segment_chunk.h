// SPDX-License-Identifier: Apache-2.0
//
// The fused kernel's work on one chunk of rows of one task and head: keys are visited block by
// block, each block by every tile of rows that sees some of it, with an online softmax between.
//
// A key at a window's edge is multiplied into all rows of its tile, with weight 0 where the pattern
// forbids it; 0 * NaN would then leak. Testing every value would cost as much as using it, so the
// chunk is first computed as if values were finite. If any output is not, the chunk is computed
// again `carefully`, leaving forbidden pairs out one by one in the same order of operations.
#pragma once

#include "kernels/cpu/inner/segment_work.h"

namespace attnscope::cpu {
namespace {

/// The weight of a forbidden pair in a careful pass.
constexpr float forbidden = -1.0f;

/// The part of a span that a tile sees, and where its scores begin.
struct Piece {
  const Span* span;
  TileWindow window;
  std::int32_t first_score;  // of key window.any_begin
};

/// Forbidden pairs at the edges of the windows get `value`.
ATTNSCOPE_INLINE void mask_edges(const TileWindow& window, float* scores, float value) {
  Integers begin[row_vectors], end[row_vectors];
  for (int x = 0; x < row_vectors; ++x) {
    begin[x] = load(window.begin + x * lanes);
    end[x] = load(window.end + x * lanes);
  }
  for (std::int32_t j = window.any_begin; j < window.any_end; ++j) {
    if (j >= window.all_begin && j < window.all_end) {
      j = window.all_end - 1;
      continue;
    }
    float* s = scores + (j - window.any_begin) * row_tile;
    for (int x = 0; x < row_vectors; ++x) {
      const Integers seen = (begin[x] <= splat(j)) & (splat(j) < end[x]);
      store(s + x * lanes, seen != 0 ? load(s + x * lanes) : splat(value));
    }
  }
}

ATTNSCOPE_INLINE void mask_skipped(const Work& work, const Piece& piece, float value) {
  const Span& span = *piece.span;
  for_each_skipped(
      *span.segment, work.chunk->rows.indices, span.first + piece.window.any_begin,
      span.first + piece.window.any_end, [&](std::int64_t position) {
        float* s = work.scores +
                   (piece.first_score + position - span.first - piece.window.any_begin) * row_tile;
        for (int r = 0; r < row_tile; ++r) s[r] = value;
      });
}

/// Scores of a tile against the block, pieces one after another. Returns how many keys.
template <int Dim>
ATTNSCOPE_INLINE std::int32_t score_block(const Work& work, std::int64_t first_row, Piece* pieces,
                                          int& piece_count) {
  std::int32_t count = 0;
  piece_count = 0;
  for (int i = 0; i < work.span_count; ++i) {
    Piece& piece = pieces[piece_count];
    piece.span = &work.spans[i];
    if (!tile_window(work.chunk->rows, *piece.span->segment, first_row,
                     rows_of_tile(work, first_row), piece.span->first, piece.span->count,
                     piece.window)) {
      continue;
    }
    const TileWindow& window = piece.window;
    piece.first_score = count;
    float* scores = work.scores + count * row_tile;
    score_tile<Dim>(work.queries + first_row * work.padded,
                    piece.span->keys + window.any_begin * work.padded, work.padded, work.d,
                    window.any_end - window.any_begin, scores);
    mask_skipped(work, piece, -infinity);
    mask_edges(window, scores, -infinity);
    count += window.any_end - window.any_begin;
    ++piece_count;
  }
  return count;
}

/// Turns scores into weights exp2(s - m), takes m and the sum on; factor[r] is what earlier sums
/// and outputs shrink by.
ATTNSCOPE_INLINE void weigh(const Work& work, std::int64_t first_row, std::int32_t count,
                            float* factor) {
  for (int x = 0; x < row_vectors; ++x) {
    float* scores = work.scores + x * lanes;
    float* maxima = work.maxima + first_row + x * lanes;
    float* sums = work.sums + first_row + x * lanes;
    const Vector before = load(maxima);
    Vector m = before;
    Vector peak[4] = {m, m, m, m};  // four chains hide the latency of a maximum
    std::int32_t i = 0;
    for (; i + 4 <= count; i += 4) {
#pragma GCC unroll 4
      for (int y = 0; y < 4; ++y) peak[y] = larger(load(scores + (i + y) * row_tile), peak[y]);
    }
    for (; i < count; ++i) peak[0] = larger(load(scores + i * row_tile), peak[0]);
    m = larger(larger(peak[0], peak[1]), larger(peak[2], peak[3]));
    store(maxima, m);
    // A row without keys so far has m = -inf; 0 in its place keeps -inf - -inf out.
    const Vector base = m == splat(-infinity) ? Vector{} : m;
    const Vector shrink = exp2_of(before - base);
    store(factor + x * lanes, shrink);
    Vector sum = load(sums) * shrink;
    std::int32_t j = 0;
    for (; j + 2 <= count; j += 2) {
      const Vector p0 = exp2_of(load(scores + j * row_tile) - base);
      const Vector p1 = exp2_of(load(scores + (j + 1) * row_tile) - base);
      store(scores + j * row_tile, p0);
      store(scores + (j + 1) * row_tile, p1);
      sum += p0 + p1;
    }
    if (j < count) {
      const Vector p = exp2_of(load(scores + j * row_tile) - base);
      store(scores + j * row_tile, p);
      sum += p;
    }
    store(sums, sum);
  }
}

/// The keys of a piece that rows [row, row + row_group) of the tile see, from window.any_begin.
ATTNSCOPE_INLINE Positions seen_by_group(const TileWindow& window, int row) {
  const std::int64_t begin = window.begin[row];
  // Lanes beyond the tile's rows may look past the last key.
  const std::int64_t end = least(window.end[row + row_group - 1], window.any_end);
  return {begin - window.any_begin, most(begin, end) - window.any_begin};
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
  for (int i = 0; i < piece_count; ++i) {
    const Piece& piece = pieces[i];
    const Positions seen = seen_by_group(piece.window, row);
    const float* weight = work.scores + (piece.first_score + seen.begin) * row_tile + row;
    const float* const weights[row_group] = {weight, weight + 1, weight + 2, weight + 3};
    add_values(weights, row_tile,
               piece.span->values + (piece.window.any_begin + seen.begin) * work.padded + column,
               work.padded, seen.end - seen.begin, sum);
  }
#pragma GCC unroll 4
  for (int g = 0; g < row_group; ++g) {
#pragma GCC unroll 4
    for (int x = 0; x < Width; ++x) store(out + g * work.padded + x * lanes, sum[g][x]);
  }
}

/// The same pair by pair, leaving out the forbidden ones.
inline void add_block_values_carefully(const Work& work, const Piece* pieces, int piece_count,
                                       int row, const float* factor, float* out) {
  for (int g = 0; g < row_group; ++g) {
    float* sum = out + g * work.padded;
    for (std::int64_t c = 0; c < work.padded; ++c) sum[c] *= factor[g];
    for (int i = 0; i < piece_count; ++i) {
      const Piece& piece = pieces[i];
      const std::int32_t count = piece.window.any_end - piece.window.any_begin;
      for (std::int32_t j = 0; j < count; ++j) {
        const float p = work.scores[(piece.first_score + j) * row_tile + row + g];
        if (p == forbidden) continue;
        const float* value = piece.span->values + (piece.window.any_begin + j) * work.padded;
        for (std::int64_t c = 0; c < work.padded; ++c) sum[c] += p * value[c];
      }
    }
  }
}

template <int Dim>
ATTNSCOPE_INLINE void visit_tile(const Work& work, std::int64_t first_row) {
  Piece pieces[most_spans];
  int piece_count = 0;
  const std::int32_t count = score_block<Dim>(work, first_row, pieces, piece_count);
  if (count == 0) return;
  float factor[row_tile];
  weigh(work, first_row, count, factor);
  if (work.careful) {
    for (int i = 0; i < piece_count; ++i) {
      mask_skipped(work, pieces[i], forbidden);
      mask_edges(pieces[i].window, work.scores + pieces[i].first_score * row_tile, forbidden);
    }
  }
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

/// weigh() for one row whose scores stand one after another.
inline float weigh_row(const Work& work, std::int64_t row, std::int64_t count) {
  float* scores = work.scores;
  for (std::int64_t j = count; j < count + lanes; ++j) scores[j] = -infinity;
  Vector peak = splat(-infinity);
  for (std::int64_t j = 0; j < count; j += lanes) peak = larger(load(scores + j), peak);
  const float before = work.maxima[row];
  const float highest = largest_of(peak);
  const float m = highest > before ? highest : before;
  const float base = m == -infinity ? 0.0f : m;
  const float shrink = exp2_of(splat(before - base))[0];
  Vector sum{};
  for (std::int64_t j = 0; j < count; j += lanes) {
    const Vector p = exp2_of(load(scores + j) - base);
    store(scores + j, p);
    sum += p;
  }
  work.maxima[row] = m;
  work.sums[row] = work.sums[row] * shrink + sum_of(sum);
  return shrink;
}

/// One row of a tile of few: keys in the lanes, and no key outside its window is touched.
inline void visit_row(const Work& work, std::int64_t first_row, int r) {
  const RowChunk& rows = work.chunk->rows;
  const std::int64_t row = first_row + r;
  const float* query = work.queries + row * work.padded;
  float* out = work.outputs + row * work.padded;
  const std::int64_t token = token_of(rows.queries, rows.indices, row);
  for (int i = 0; i < work.span_count; ++i) {
    const Span& span = work.spans[i];
    const Positions seen = seen_by(*span.segment, rows.indices, token);
    const std::int64_t begin = clamped(seen.begin - span.first, 0, span.count);
    const std::int64_t end = clamped(seen.end - span.first, begin, span.count);
    const auto visit = [&](std::int64_t kept, std::int64_t kept_end) {
      const std::int64_t at = (kept - span.first) * work.padded;
      const std::int64_t count = kept_end - kept;
      score_row(query, span.keys + at, work.padded, count, work.scores);
      const float shrink = weigh_row(work, row, count);
      for (std::int64_t c = 0; c < work.padded; c += lanes) store(out + c, load(out + c) * shrink);
      add_values_to_row(work.scores, span.values + at, work.padded, count, out);
    };
    for_each_kept(*span.segment, rows.indices, span.first + begin, span.first + end, visit);
  }
}

template <int Dim>
inline void visit_block(Work& work) {
  for (std::int64_t first = 0; first < work.rows; first += row_tile) {
    const int rows = rows_of_tile(work, first);
    if (rows > few_rows) {
      visit_tile<Dim>(work, first);
    } else {
      for (int r = 0; r < rows; ++r) visit_row(work, first, r);
    }
  }
  work.span_count = 0;
  work.block_size = 0;
}

/// Takes positions [begin, end) of a segment into blocks, visiting each as it fills.
template <int Dim>
inline void add_keys(Work& work, const Segment& segment, std::int64_t begin, std::int64_t end) {
  const RowChunk& rows = work.chunk->rows;
  while (begin < end) {
    if (work.block_size == work.block_limit || work.span_count == most_spans) {
      visit_block<Dim>(work);
    }
    const std::int64_t count = least(end - begin, work.block_limit - work.block_size);
    const std::int64_t place = work.block_size * work.padded;
    Span& span = work.spans[work.span_count++];
    span.segment = &segment;
    span.first = begin;
    span.count = static_cast<std::int32_t>(count);
    span.keys = packed_rows(rows.k, rows, segment, begin, count, work.key_room + place);
    span.values = packed_rows(rows.v, rows, segment, begin, count, work.value_room + place);
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

/// x - x is 0 for every finite x and NaN for all others, and NaN stays in a sum.
inline bool all_finite(const Work& work) {
  Vector sum{};
  for (std::int64_t r = 0; r < work.rows; ++r) {
    const float* out = work.outputs + r * work.padded;
    for (std::int64_t c = 0; c < work.padded; c += lanes) sum += load(out + c) - load(out + c);
  }
  return sum_of(sum) == 0.0f;
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
    if (rows.lse == nullptr) continue;
    rows.lse[token * rows.lse_stride] =
        empty ? -infinity
              : static_cast<float>(ln_2) * (work.maxima[r] + __builtin_log2f(work.sums[r]));
  }
}

template <int Dim>
inline void run_segment_chunk(const SegmentChunk& chunk) {
  Work work = begin_work(chunk, false);
  load_queries(work);
  visit_all_keys<Dim>(work);
  if (!all_finite(work)) {
    work = begin_work(chunk, true);
    visit_all_keys<Dim>(work);
  }
  if (chunk.partial != nullptr) {
    store_partials(work);
  } else {
    store_outputs(work);
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
