// SPDX-License-Identifier: Apache-2.0
//
// Products of a few queries with rows in memory: a single query is multiplied along the row.
// Several queries are multiplied in tiles of rows x vectors of queries: each lane is a query, so
// the largest product needs no sum across lanes. Rows of other types than float32 are widened a
// piece at a time.
#pragma once

#include "kernels/cpu/inner/rows.h"
#include "kernels/cpu/inner/vector.h"
#include "kernels/cpu/kernel_table.h"

namespace attnscope::cpu {
namespace {

/// Rows of a tile for this many vectors of queries: with AVX2, the sums, the queries and a
/// broadcast number of a row fill all 16 registers.
constexpr int vector_tile_rows(int vectors) {
  if (lanes == 16) return 8;
  return vectors == 1 ? 8 : (vectors == 2 ? 6 : 4);
}

typedef std::int8_t UnalignedInt8s __attribute__((vector_size(lanes), aligned(1), may_alias));

ATTNSCOPE_INLINE Vector from_int8(const std::int8_t* p) {
#if defined(__AVX512F__)
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  return reinterpret_cast<Vector>(
      _mm512_maskz_cvtepi32_ps(0xffff, _mm512_maskz_cvtepi8_epi32(0xffff, bytes)));
#elif defined(__AVX2__)
  const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
  return reinterpret_cast<Vector>(_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes)));
#else
  return Vector{static_cast<float>(p[0]), static_cast<float>(p[1]), static_cast<float>(p[2]),
                static_cast<float>(p[3])};
#endif
}

ATTNSCOPE_INLINE std::int64_t bytes_of(VectorFormat format) {
  if (format == VectorFormat::float32) return 4;
  return format == VectorFormat::int8 ? 1 : 2;
}

/// The larger value, or NaN if either is NaN.
ATTNSCOPE_INLINE Vector larger_or_nan(Vector a, Vector b) {
  return ((b > a) | (b != b)) ? b : a;
}

// The largest of `count` rows' vectors `v`, reduced pairwise so that comparisons are independent.
template <int first, int count, int tile, int vectors>
ATTNSCOPE_INLINE Vector largest_of(const Vector (&sums)[tile][vectors], int v) {
  if constexpr (count == 1) {
    return sums[first][v];
  } else {
    return larger_or_nan(largest_of<first, count / 2>(sums, v),
                         largest_of<first + count / 2, count - count / 2>(sums, v));
  }
}

ATTNSCOPE_INLINE const std::byte* row_at(const VectorCall& call, std::int64_t number) {
  return call.data + number * call.width * bytes_of(call.format);
}

/// A row's numbers as float32, readable up to a multiple of the lanes.
ATTNSCOPE_INLINE void widen_row(const VectorCall& call, std::int64_t number, float* to) {
  const std::byte* from = row_at(call, number);
  const std::int64_t padded = (call.width + lanes - 1) / lanes * lanes;
  switch (call.format) {
    case VectorFormat::float32:
      return copy_padded(reinterpret_cast<const float*>(from), call.width, padded, to);
    case VectorFormat::float16:
      return widen_padded(reinterpret_cast<const std::uint16_t*>(from), call.width, padded, to,
                          [](Halves h) { return from_float16(h); });
    case VectorFormat::bfloat16:
      return widen_padded(reinterpret_cast<const std::uint16_t*>(from), call.width, padded, to,
                          [](Halves h) { return from_bfloat16(h); });
    case VectorFormat::int8: {
      const auto* numbers = reinterpret_cast<const std::int8_t*>(from);
      std::int64_t c = 0;
      for (; c + lanes <= call.width; c += lanes) store(to + c, from_int8(numbers + c));
      for (; c < call.width; ++c) to[c] = static_cast<float>(numbers[c]);
      for (; c < padded; ++c) to[c] = 0.0f;
      return;
    }
  }
}

/// Product of one query with the numbers that `load_at` returns. Four sums hide the latency.
/// Numbers after the last whole vector are left to the caller. Prefetches the row `ahead`.
template <typename LoadAt>
ATTNSCOPE_INLINE float product_along(const float* query, std::int64_t width, const std::byte* ahead,
                                     std::int64_t size, const LoadAt& load_at) {
  Vector sums[4] = {};
  std::int64_t c = 0;
  for (; c + 4 * lanes <= width; c += 4 * lanes) {
    for (std::int64_t line = 0; line < 4 * lanes * size; line += 64)
      __builtin_prefetch(ahead + c * size + line, 0, 2);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i)
      sums[i] = multiply_add(load(query + c + i * lanes), load_at(c + i * lanes), sums[i]);
  }
  for (; c + lanes <= width; c += lanes)
    sums[0] = multiply_add(load(query + c), load_at(c), sums[0]);
  return sum_of((sums[0] + sums[1]) + (sums[2] + sums[3]));
}

ATTNSCOPE_INLINE float product_with_row(const VectorCall& call, std::int64_t number,
                                        std::int64_t number_ahead) {
  const std::byte* row = row_at(call, number);
  const std::byte* ahead = row_at(call, number_ahead);
  const std::int64_t width = call.width, whole = width / lanes * lanes;
  const float* query = call.queries;
  float sum = 0, tail = 0;
  switch (call.format) {
    case VectorFormat::float32: {
      const auto* numbers = reinterpret_cast<const float*>(row);
      sum =
          product_along(query, width, ahead, 4, [&](std::int64_t c) { return load(numbers + c); });
      for (std::int64_t c = whole; c < width; ++c) tail += query[c] * numbers[c];
      return sum + tail;
    }
    case VectorFormat::float16: {
      const auto* numbers = reinterpret_cast<const std::uint16_t*>(row);
      sum = product_along(query, width, ahead, 2,
                          [&](std::int64_t c) { return from_float16(load_halves(numbers + c)); });
      break;
    }
    case VectorFormat::bfloat16: {
      const auto* numbers = reinterpret_cast<const std::uint16_t*>(row);
      sum = product_along(query, width, ahead, 2,
                          [&](std::int64_t c) { return from_bfloat16(load_halves(numbers + c)); });
      break;
    }
    case VectorFormat::int8: {
      const auto* numbers = reinterpret_cast<const std::int8_t*>(row);
      sum = product_along(query, width, ahead, 1,
                          [&](std::int64_t c) { return from_int8(numbers + c); });
      for (std::int64_t c = whole; c < width; ++c)
        tail += query[c] * static_cast<float>(numbers[c]);
      return (sum + tail) * call.scales[number];
    }
  }
  if (whole < width) {
    std::uint16_t last[lanes] = {};
    const auto* numbers = reinterpret_cast<const std::uint16_t*>(row);
    for (std::int64_t c = whole; c < width; ++c) last[c - whole] = numbers[c];
    const Halves h = load_halves(last);
    const Vector wide = call.format == VectorFormat::float16 ? from_float16(h) : from_bfloat16(h);
    float widened[lanes];
    store(widened, wide);
    for (std::int64_t c = whole; c < width; ++c) tail += query[c] * widened[c - whole];
  }
  return sum + tail;
}

/// sums[r][v] = the products of some rows with `vectors` vectors of queries starting at `queries`.
/// Prefetches the rows `ahead` meanwhile, a few lines at a time, since a burst of prefetches would
/// stall.
template <int tile, int vectors>
ATTNSCOPE_INLINE void tile_products(const float* const (&rows)[tile],
                                    const std::byte* const (&ahead)[tile], std::int64_t width,
                                    const float* queries, std::int64_t padded,
                                    Vector (&sums)[tile][vectors]) {
#pragma GCC unroll 8
  for (int r = 0; r < tile; ++r) {
#pragma GCC unroll 3
    for (int v = 0; v < vectors; ++v) sums[r][v] = Vector{};
  }
  constexpr std::int64_t line = 64, numbers_of_a_line = line / 4;
  int row_ahead = 0;
  std::int64_t place_ahead = 0;
  for (std::int64_t c = 0; c < width; ++c) {
    if (c % numbers_of_a_line == 0) {
      // One line after the other, in the order of the hardware prefetcher.
      for (int r = 0; r < tile && row_ahead < tile; ++r) {
        __builtin_prefetch(ahead[row_ahead] + place_ahead, 0, 2);
        place_ahead += line;
        if (place_ahead >= width * 4) {
          place_ahead = 0;
          ++row_ahead;
        }
      }
    }
    Vector query[vectors];
#pragma GCC unroll 3
    for (int v = 0; v < vectors; ++v) query[v] = load(queries + c * padded + v * lanes);
#pragma GCC unroll 8
    for (int r = 0; r < tile; ++r) {
      const Vector number = splat(rows[r][c]);
#pragma GCC unroll 3
      for (int v = 0; v < vectors; ++v) sums[r][v] = multiply_add(number, query[v], sums[r][v]);
    }
  }
}

/// Rows of a piece, in place or widened, and their scales.
struct RowPiece {
  const VectorCall& call;
  std::int64_t count;

  template <typename NumberOf>
  ATTNSCOPE_INLINE void widen(const NumberOf& number_of) const {
    if (call.format == VectorFormat::float32) return;
    const std::int64_t pitch = (call.width + lanes - 1) / lanes * lanes;
    for (std::int64_t i = 0; i < count; ++i)
      widen_row(call, number_of(i), call.scratch + i * pitch);
  }
  /// Row i of the piece, or the last row if a tile extends beyond the piece.
  template <typename NumberOf>
  ATTNSCOPE_INLINE const float* row(std::int64_t i, const NumberOf& number_of) const {
    const std::int64_t at = i < count ? i : count - 1;
    if (call.format == VectorFormat::float32)
      return reinterpret_cast<const float*>(row_at(call, number_of(at)));
    return call.scratch + at * ((call.width + lanes - 1) / lanes * lanes);
  }
};

/// Calls `visit(i, first query, sums)` for every tile, whose first row is row i of the piece. If
/// the piece ends within a tile, its last row replaces the missing ones. `number_of` may be called
/// for rows beyond the piece, which are only prefetched.
template <int vectors, typename NumberOf, typename Visit>
ATTNSCOPE_INLINE void products_of_piece(const RowPiece& piece, std::int64_t first_query,
                                        const NumberOf& number_of, const Visit& visit) {
  constexpr int tile = vector_tile_rows(vectors);
  const VectorCall& call = piece.call;
  for (std::int64_t i = 0; i < piece.count; i += tile) {
    const float* rows[tile];
    const std::byte* ahead[tile];
    for (int r = 0; r < tile; ++r) {
      rows[r] = piece.row(i + r, number_of);
      ahead[r] = call.format == VectorFormat::float32 ? row_at(call, number_of(i + r + tile))
                                                      : reinterpret_cast<const std::byte*>(rows[r]);
    }
    Vector sums[tile][vectors];
    tile_products<tile, vectors>(rows, ahead, call.width, call.queries + first_query,
                                 call.padded_queries, sums);
    if (call.format == VectorFormat::int8) {
#pragma GCC unroll 8
      for (int r = 0; r < tile; ++r) {
        const std::int64_t at = i + r < piece.count ? i + r : piece.count - 1;
        const Vector scale = splat(call.scales[number_of(at)]);
#pragma GCC unroll 3
        for (int v = 0; v < vectors; ++v) sums[r][v] *= scale;
      }
    }
    visit(i, first_query, sums);
  }
}

template <typename NumberOf, typename Visit>
ATTNSCOPE_INLINE void products_of_rows(const RowPiece& piece, const NumberOf& number_of,
                                       const Visit& visit) {
  piece.widen(number_of);
  std::int64_t vectors = (piece.call.query_count + lanes - 1) / lanes;
  std::int64_t q = 0;
  // Four are processed as two and two.
  for (; vectors == 3 || vectors > 4; vectors -= 3, q += 3 * lanes)
    products_of_piece<3>(piece, q, number_of, visit);
  for (; vectors >= 2; vectors -= 2, q += 2 * lanes)
    products_of_piece<2>(piece, q, number_of, visit);
  if (vectors == 1) products_of_piece<1>(piece, q, number_of, visit);
}

void row_products_of(const VectorCall& call, const std::int64_t* numbers, std::int64_t count,
                     float* products) {
  if (call.query_count == 1) {
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t next = i + 2 < count ? i + 2 : count - 1;
      products[i] = product_with_row(call, numbers[i], numbers[next]);
    }
    return;
  }
  for (std::int64_t first = 0; first < count; first += call.rows_at_once) {
    const std::int64_t piece_rows =
        call.rows_at_once < count - first ? call.rows_at_once : count - first;
    const auto write = [&]<int tile, int vectors>(std::int64_t i, std::int64_t query,
                                                  const Vector(&sums)[tile][vectors]) {
      for (int r = 0; r < tile && i + r < piece_rows; ++r) {
        float* to = products + (first + i + r) * call.query_count + query;
        const std::int64_t left = call.query_count - query;
        if (left >= vectors * lanes) {
          for (int v = 0; v < vectors; ++v) store(to + v * lanes, sums[r][v]);
          continue;
        }
        float tail[vectors * lanes];
        for (int v = 0; v < vectors; ++v) store(tail + v * lanes, sums[r][v]);
        for (std::int64_t q = 0; q < left; ++q) to[q] = tail[q];
      }
    };
    products_of_rows(
        RowPiece{call, piece_rows},
        [&](std::int64_t i) { return numbers[first + i < count ? first + i : count - 1]; }, write);
  }
}

void largest_products_of(const VectorCall& call, TokenRange rows, float least, float* largest) {
  // The maxima follow the widened rows in the scratch memory.
  float* const maxima =
      call.scratch + call.rows_at_once * ((call.width + lanes - 1) / lanes * lanes);
  for (std::int64_t q = 0; q < call.padded_queries; q += lanes) store(maxima + q, splat(least));
  for (std::int64_t first = rows.begin; first < rows.end; first += call.rows_at_once) {
    const std::int64_t piece_rows =
        call.rows_at_once < rows.end - first ? call.rows_at_once : rows.end - first;
    const auto keep_largest = [&]<int tile, int vectors>(std::int64_t, std::int64_t query,
                                                         const Vector(&sums)[tile][vectors]) {
#pragma GCC unroll 3
      for (int v = 0; v < vectors; ++v) {
        float* kept = maxima + query + v * lanes;
        store(kept, larger_or_nan(load(kept), largest_of<0, tile>(sums, v)));
      }
    };
    products_of_rows(
        RowPiece{call, piece_rows}, [&](std::int64_t i) { return first + i; }, keep_largest);
  }
  for (std::int64_t q = 0; q < call.query_count; ++q) largest[q] = maxima[q];
}

}  // namespace
}  // namespace attnscope::cpu
