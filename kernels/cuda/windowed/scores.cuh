#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The scores' kernel: a block stages its rows once and the keys opposite them chunk by chunk; a
// warp computes only the steps of 16 keys that its own 16 rows lie opposite. Rows of a band start
// anywhere, so that scores go through shared memory and leave it row by row, 32 neighbours at once.

#include "kernels/cuda/windowed/row_tile.cuh"

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

/// Writes `outside` to the columns within places [begin, end), which hold no keys.
__device__ inline void fill_outside(const ScoreRows& scores, const StripPlaces& places,
                                    const Strip& strip, std::int32_t width, std::int32_t begin,
                                    std::int32_t end, float outside) {
  if (begin >= end) return;
  for (int r = 0; r < places.rows; ++r) {
    const std::int32_t origin = places.origin_of_row(r);
    if (r % strip.shares != strip.share) continue;
    const std::int32_t last = smaller(end, origin + width);
    for (std::int32_t p = larger(begin, origin) + lane_id(); p < last; p += 32) {
      *scores.at(r, origin, p) = outside;
    }
  }
}

/// Scores of the strip's rows with the staged keys [begin, end) of which `y` holds the first;
/// `step` is this warp's room for 16 x 32 scores.
template <typename T, int dim>
__device__ inline void score_keys(const ProductArguments& a, const ScoreRows& scores,
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
      const std::int32_t origin = places.origin_of_row(r);
      if (place < end && place >= origin && place - origin < rule.width) {
        *scores.at(r, origin, place) = key ? step[r * score_stride + lane] : a.outside;
      }
    }
    __syncwarp();
  }
}

template <typename T, int dim, int rows>
__global__ __launch_bounds__(block_threads, 4) void scores_kernel(ProductArguments a) {
  std::byte* x = dynamic_shared();
  std::byte* y = x + (rows + 16) * row_bytes<T, dim>;
  float* step =
      reinterpret_cast<float*>(y + chunk_bytes<T, dim>) + warp_id() * strip_rows * score_stride;
  const auto heads = static_cast<unsigned>(a.heads_per_unit);
  const RowUnit unit = a.lists.row_units[blockIdx.x / heads];
  const auto local_head = static_cast<std::int32_t>(blockIdx.x % heads);
  const std::int32_t head = unit.first_head + local_head;
  const HeadRows<const T> queries(a.x, head), keys(a.y, head);
  stage<T, dim>(x, queries, a.head_dim, a.lists.indices, unit.rows.listed != 0, unit.rows.begin,
                unit.rows.count);
  const Strip strip(unit.rows.count);
  constexpr std::int32_t chunk = chunk_rows<T, dim>;
  for (std::int32_t s = 0; s < unit.spans; ++s) {
    const Span span = a.lists.spans[unit.first_span + s];
    const Rule rule = a.lists.rules[span.rule];
    const StripPlaces places(a.lists, unit, rule, strip.strip);
    const ScoreRows scores{a.scores + unit.first_score + local_head * unit.head_stride +
                               std::int64_t{strip.strip} * strip_rows * unit.columns +
                               span.first_column,
                           unit.columns};
    for (std::int32_t c = span.begin; c < span.end; c += chunk) {
      const std::int32_t c_end = smaller(c + chunk, span.end);
      const std::int32_t first = larger(c, rule.begin), last = smaller(c_end, rule.end);
      if (first < last) {
        __syncthreads();  // all have done with the chunk before
        stage<T, dim>(y, keys, a.head_dim, a.lists.indices, rule.listed != 0, first, last - first);
        staged();
      }
      if (!strip.active) continue;
      const std::int32_t low = larger(c, places.low), high = smaller(c_end, places.high);
      const std::int32_t begin = larger(low, first), end = smaller(high, last);
      if (begin < end) {
        fill_outside(scores, places, strip, rule.width, low, begin, a.outside);
        score_keys<T, dim>(a, scores, places, strip, rule,
                           x + strip.strip * strip_rows * row_bytes<T, dim>,
                           y + (begin - first) * row_bytes<T, dim>, begin, end, step);
        fill_outside(scores, places, strip, rule.width, end, high, a.outside);
      } else {
        fill_outside(scores, places, strip, rule.width, low, high, a.outside);
      }
    }
  }
}

}  // namespace attnscope::cuda::windowed
