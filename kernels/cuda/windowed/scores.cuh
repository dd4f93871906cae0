#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The scores' kernel: a block stages its rows once and the keys opposite them chunk by chunk; a
// warp computes only the steps of 16 keys that its own 16 rows lie opposite. Rows of a band start
// anywhere, so that scores go through shared memory and leave it row by row, 32 neighbours at once.

#include "kernels/cuda/windowed/products.cuh"

namespace attnscope::cuda::windowed {

/// Floats from one row of a warp's staged scores to the next: writes of two floats by eight rows
/// of four lanes touch each bank once.
inline constexpr int score_stride = 40;
inline constexpr int score_columns = 32;
inline constexpr int score_bytes = warps * strip_rows * score_stride * 4;

template <typename T, int dim, int rows>
inline constexpr int scores_shared =
    (rows + 16) * row_bytes<T, dim> + chunk_bytes<T, dim> + score_bytes;

/// Where a strip writes: the score of row r (of the strip) and place p.
struct ScoreRows {
  float* first;  // of the strip's first row, at the span's first column
  std::int32_t columns;

  __device__ float* at(int row, std::int32_t origin, std::int32_t place) const {
    return first + std::int64_t{row} * columns + (place - origin);
  }
};

/// Writes `outside` to the columns within places [begin, end), of which no row sees any.
__device__ inline void fill_outside(const ScoreRows& scores, const StripPlaces& places,
                                    const Strip& strip, const Rule& rule, std::int32_t begin,
                                    std::int32_t end, float outside) {
  if (begin >= end) return;
  for (int r = 0; r < places.rows; ++r) {
    const std::int32_t origin = origin_of(rule, places.seen_by_row(r));
    if (r % strip.shares != strip.share) continue;
    const std::int32_t last = smaller(end, origin + rule.width);
    for (std::int32_t p = larger(begin, origin) + lane_id(); p < last; p += 32) {
      *scores.at(r, origin, p) = outside;
    }
  }
}

/// Scores of the strip's rows with the staged keys [begin, end) of which `y` holds the first;
/// `step` is this warp's room for 16 x 32 scores.
template <typename T, int dim>
__device__ inline void score_keys(const Arguments& a, const ScoreRows& scores,
                                  const StripPlaces& places, const Strip& strip, const Rule& rule,
                                  const std::byte* x, const std::byte* y, std::int32_t begin,
                                  std::int32_t end, float* step) {
  const int lane = lane_id();
  const Skips skips(a.lists, rule);
  for (std::int32_t p = begin + strip.share * score_columns; p < end;
       p += strip.shares * score_columns) {
#pragma unroll 1
    for (int half = 0; half < 2 && p + half * 16 < end; ++half) {
      float s[8];
      multiply_rows<T, dim>(s, x, y + (p - begin + half * 16) * row_bytes<T, dim>);
#pragma unroll
      for (int e = 0; e < 8; e += 2) {
        float* to = step + fragment_row(e) * score_stride + half * 16 + fragment_column(e);
        *reinterpret_cast<float2*>(to) = float2{a.scale * s[e], a.scale * s[e + 1]};
      }
    }
    __syncwarp();
    const std::int32_t place = p + lane;
    const bool key = place < end && !skips.hold(place);
    for (int r = 0; r < places.rows; ++r) {
      const std::int32_t first = places.seen_by_row(r);
      const bool sees = place >= first && place - first < rule.reach;
      if (place < end && (sees || rule.by_key != 0)) {
        *scores.at(r, origin_of(rule, first), place) =
            key && sees ? step[r * score_stride + lane] : a.outside;
      }
    }
    __syncwarp();
  }
}

template <typename T, int dim, int rows>
__global__ __launch_bounds__(block_threads, 4) void scores_kernel(Arguments a) {
  std::byte* x = dynamic_shared();
  std::byte* y = x + (rows + 16) * row_bytes<T, dim>;
  float* step =
      reinterpret_cast<float*>(y + chunk_bytes<T, dim>) + warp_id() * strip_rows * score_stride;
  const auto heads = static_cast<unsigned>(a.heads_per_unit);
  const Unit unit = a.lists.row_units[blockIdx.x / heads];
  const auto local_head = static_cast<std::int32_t>(blockIdx.x % heads);
  const std::int32_t head = unit.first_head + local_head;
  const HeadRows<const std::byte> queries(a.x, head), keys(a.y, head);
  stage<T, dim>(x, queries, a.head_dim, a, unit.tokens);
  const Strip strip(unit.tokens.count);
  constexpr std::int32_t chunk = chunk_rows<T, dim>;
  for (std::int32_t s = 0; s < unit.parts; ++s) {
    const Span span = a.lists.spans[unit.first_part + s];
    const Rule rule = a.lists.rules[span.rule];
    const StripPlaces places(a.lists, unit.tokens, rule, strip.strip);
    const ScoreRows scores{a.scores + unit.first_score + local_head * unit.head_stride +
                               std::int64_t{strip.strip} * strip_rows * unit.columns +
                               span.first_column,
                           unit.columns};
    for (std::int32_t c = span.begin; c < span.end; c += chunk) {
      const std::int32_t c_end = smaller(c + chunk, span.end);
      const std::int32_t first = larger(c, rule.begin), last = smaller(c_end, rule.end);
      if (first < last) {
        __syncthreads();  // all have done with the chunk before
        stage<T, dim>(y, keys, a.head_dim, a, {first, last - first, rule.listed});
        staged();
      }
      if (!strip.active) continue;
      const bool by_key = rule.by_key != 0;  // columns for the whole chunk
      const std::int32_t low = by_key ? c : larger(c, places.low);
      const std::int32_t high = by_key ? c_end : smaller(c_end, places.high);
      const std::int32_t begin = larger(larger(low, first), places.low);
      const std::int32_t end = smaller(smaller(high, last), places.high);
      if (begin < end) {
        fill_outside(scores, places, strip, rule, low, begin, a.outside);
        score_keys<T, dim>(a, scores, places, strip, rule,
                           x + strip.strip * strip_rows * row_bytes<T, dim>,
                           y + (begin - first) * row_bytes<T, dim>, begin, end, step);
        fill_outside(scores, places, strip, rule, end, high, a.outside);
      } else {
        fill_outside(scores, places, strip, rule, low, high, a.outside);
      }
    }
  }
}

}  // namespace attnscope::cuda::windowed
