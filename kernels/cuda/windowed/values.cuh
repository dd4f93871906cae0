#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The values' kernel: as the scores' one, but keys are summed with the rows' weights, which each
// lane reads where it needs them as the next step's are on their way.
//
// Sums are first computed as if all numbers were finite, also for pairs that are not seen (weight
// 0). If one is not finite - a NaN in a key that some other row sees, a weight beyond float16 - the
// unit is computed once more with care.

#include "kernels/cuda/windowed/products.cuh"

namespace attnscope::cuda::windowed {

template <typename T, int dim>
inline constexpr int values_shared = [] {
  constexpr int shares = (warps - 1) * 32 * dim / 2 * 4;  // sums of the warps that share a strip
  constexpr int chunk = chunk_bytes<T, dim>;
  return (shares > chunk ? shares : chunk) + 64;
}();

/// A step's weights, 0 where `seen` has no bit.
struct Weights {
  float w[8];
  unsigned seen = 0;
};

/// Whether a step's weights are loaded before the step before is computed.
template <Care care>
inline constexpr bool loads_ahead = care == Care::plain;

inline constexpr std::int32_t nowhere = 0x7fffffff;

/// The weights of one span for the strip's rows.
struct WeightRows {
  const float* row[2];   // of rows g and g + 8: the weight of place p is row[h][p]
  std::int32_t seen[2];  // their first seen places; nowhere, behind all, if they are not there
  std::int32_t reach;
  Skips skips;

  __device__ void load(Weights& to, std::int32_t place, std::int32_t end) const {
    to.seen = 0;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const int e = j % 2 + j / 2 * 4;
      const std::int32_t p = place + fragment_column(e);
      const bool key = p < end && !skips.hold(p);
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const bool sees =
            key && static_cast<std::uint32_t>(p - seen[h]) < static_cast<std::uint32_t>(reach);
        to.w[e + 2 * h] = sees ? row[h][p] : 0.0f;
        if (sees) to.seen |= 1U << (e + 2 * h);
      }
    }
  }
};

/// Adds the staged keys [begin, end), of which `y` holds the first.
template <typename T, int dim, Care care>
__device__ inline void add_keys(Sums<dim>& sums, const WeightRows& rows, const Strip& strip,
                                const std::byte* y, std::int32_t begin, std::int32_t end) {
  std::int32_t p = begin + strip.share * 16;
  if (p >= end) return;
  constexpr bool ahead = loads_ahead<care>;
  Weights next;
  if constexpr (ahead) rows.load(next, p, end);
#pragma unroll 1
  while (p < end) {
    if constexpr (!ahead) rows.load(next, p, end);
    const Weights now = next;
    const std::byte* keys = y + (p - begin) * row_bytes<T, dim>;
    p += strip.shares * 16;
    if (ahead && p < end) rows.load(next, p, end);
    accumulate<T, dim, care>(sums, now.w, now.seen, keys);
  }
}

/// Whether any warp's sums are not finite. The block takes part.
template <int dim>
__device__ inline bool any_not_finite(const Sums<dim>& sums, int* flags) {
  const bool here = __any_sync(all_lanes, all_finite<dim>(sums) ? 0 : 1) != 0;
  if (lane_id() == 0) flags[warp_id()] = here ? 1 : 0;
  __syncthreads();
  int any = 0;
  for (int w = 0; w < warps; ++w) any += flags[w];
  return any != 0;
}

/// The sums of a unit, for one head.
template <typename T, int dim, Care care>
__device__ inline void sum_unit(Sums<dim>& sums, const Arguments& a, const Unit& unit,
                                const BlockPlace& place, const Strip& strip, std::byte* y) {
  constexpr std::int32_t chunk = chunk_rows<T, dim>;
  const auto keys = rows_from(a.y, unit.first_head + place.head, place.first_column * sizeof(T));
  clear<dim>(sums);
  for (std::int32_t s = 0; s < unit.parts; ++s) {
    // By reference: what outlives a barrier in registers is missed in the inner loop.
    const Span& span = a.lists.spans[unit.first_part + s];
    const Rule& rule = a.lists.rules[span.rule];
    const StripPlaces places(a.lists, unit.tokens, rule, strip.strip);
    const int g = lane_id() / 4;
    const float* first = a.weights + unit.first_score + place.head * unit.head_stride +
                         std::int64_t{strip.strip * strip_rows + g} * unit.columns +
                         span.first_column;
    const std::int32_t seen[2] = {places.seen_by_row(g), places.seen_by_row(g + 8)};
    const WeightRows rows{
        {first - origin_of(rule, seen[0]),
         first + (std::int64_t{8} * unit.columns - origin_of(rule, seen[1]))},
        {g < places.rows ? seen[0] : nowhere, g + 8 < places.rows ? seen[1] : nowhere},
        rule.reach,
        Skips(a.lists, rule)};
    const std::int32_t last = smaller(span.end, rule.end);
    for (std::int32_t c = larger(span.begin, rule.begin); c < last; c += chunk) {
      const std::int32_t c_end = smaller(c + chunk, last);
      __syncthreads();  // all have done with the chunk before
      stage<T, dim>(y, keys, place.columns, a, {c, c_end - c, rule.listed});
      staged();
      const std::int32_t begin = larger(c, places.low), end = smaller(c_end, places.high);
      if (strip.active && begin < end) {
        add_keys<T, dim, care>(sums, rows, strip, y + (begin - c) * row_bytes<T, dim>, begin, end);
      }
    }
  }
}

/// Adds up the sums of the warps that share a strip, in their order, in the first of them.
template <int dim>
__device__ inline void add_shares(Sums<dim>& sums, const Strip& strip, float* room) {
  if (strip.shares == 1) return;
  const int strips = warps / strip.shares;
  __syncthreads();  // all have done with the staged keys
  if (strip.active && strip.share > 0) {
    float* to = room + (warp_id() - strips) * 32 * (dim / 2) + lane_id();
#pragma unroll
    for (int i = 0; i < dim / 2; ++i) to[i * 32] = sums[i / 4][i % 4];
  }
  __syncthreads();
  if (strip.share > 0) return;
  for (int share = 1; share < strip.shares; ++share) {
    const float* from = room + (strip.strip + (share - 1) * strips) * 32 * (dim / 2) + lane_id();
#pragma unroll
    for (int i = 0; i < dim / 2; ++i) sums[i / 4][i % 4] += from[i * 32];
  }
}

template <typename T, int dim>
__global__ __launch_bounds__(block_threads,
                             blocks_of_processor<dim>) void values_kernel(Arguments a) {
  std::byte* y = dynamic_shared();
  int* flags = reinterpret_cast<int*>(y + values_shared<T, dim> - 64);
  const BlockPlace place(a, dim);
  const Unit& unit = a.lists.row_units[place.unit];
  const Strip strip(unit.tokens.count);
  Sums<dim> sums;
  sum_unit<T, dim, Care::plain>(sums, a, unit, place, strip, y);
  if (any_not_finite<dim>(sums, flags)) {
    sum_unit<T, dim, Care::careful>(sums, a, unit, place, strip, y);
  }
  add_shares<dim>(sums, strip, reinterpret_cast<float*>(y));
  if (!strip.active || strip.share > 0) return;
  store_sums<T, dim>(sums, a, unit, place, strip.strip * strip_rows);
}

}  // namespace attnscope::cuda::windowed
