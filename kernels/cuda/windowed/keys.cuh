#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The transposed product: a warp has 16 keys of its block's 64, and the rows that see any of the
// block's keys stream past through shared memory, 16 at a step, of which a warp takes those that
// its own keys are seen by. Not finite sums are computed once more, as in values.cuh.

#include "kernels/cuda/windowed/values.cuh"

namespace attnscope::cuda::windowed {

template <typename T, int dim>
inline constexpr int keys_shared = chunk_bytes<T, dim> + chunk_rows<T, dim> * 4 + 64;

inline constexpr std::int32_t no_place = -1;

/// The place of `token` in the rule's run, if it is there and not skipped.
__device__ inline std::int32_t place_of(const DeviceLists& lists, const Rule& rule,
                                        std::int32_t token) {
  std::int32_t place = token;
  if (rule.listed != 0) {
    std::int32_t low = rule.begin, high = rule.end;
    while (low < high) {
      const std::int32_t middle = low + (high - low) / 2;
      if (lists.indices[middle] >= token) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    place = low < rule.end && lists.indices[low] == token ? low : no_place;
  } else if (token < rule.begin || token >= rule.end) {
    place = no_place;
  }
  return place != no_place && Skips(lists, rule).hold(place) ? no_place : place;
}

/// A warp's 16 keys against one part of rows.
struct KeyPlaces {
  std::int32_t place[2];   // of keys g and g + 8
  std::int32_t low, high;  // of all 16

  __device__ KeyPlaces(const DeviceLists& lists, const WorkRun& unit, const Rule& rule) {
    constexpr std::int32_t far = 0x7fffffff;
    low = far;
    high = no_place;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const std::int32_t key = warp_id() * strip_rows + lane_id() / 4 + 8 * h;
      place[h] = key < unit.count ? place_of(lists, rule, unit.begin + key) : no_place;
      if (place[h] != no_place) low = smaller(low, place[h]);
      high = larger(high, place[h]);
    }
#pragma unroll
    for (int lanes = 4; lanes < 32; lanes *= 2) {
      low = smaller(low, __shfl_xor_sync(all_lanes, low, lanes));
      high = larger(high, __shfl_xor_sync(all_lanes, high, lanes));
    }
  }
};

/// The first of `count` ascending places that is at least `place`.
__device__ inline std::int32_t first_from(const std::int32_t* seen, std::int32_t count,
                                          std::int32_t place) {
  std::int32_t low = 0, high = count;
  while (low < high) {
    const std::int32_t middle = (low + high) / 2;
    if (seen[middle] >= place) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

/// The weights that a chunk of rows gives to the warp's keys.
struct WeightColumns {
  const float* first;  // of the chunk's first row, at the rule's first column
  std::int32_t columns;
  const std::int32_t* seen;  // the first place of each row
  std::int32_t reach, begin;
  bool by_key;  // column 0 is `begin`, else the first place that the row sees

  __device__ void load(Weights& to, const KeyPlaces& keys, std::int32_t row,
                       std::int32_t end) const {
    to.seen = 0;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const int e = j % 2 + j / 2 * 4;
      const std::int32_t r = row + fragment_column(e);
      const std::int32_t first_seen = r < end ? seen[r] : 0;
      const float* from = first + (std::int64_t{r} * columns - (by_key ? begin : first_seen));
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const std::int32_t place = keys.place[h];
        const bool sees =
            r < end && place != no_place && place >= first_seen && place - first_seen < reach;
        to.w[e + 2 * h] = sees ? from[place] : 0.0f;
        if (sees) to.seen |= 1U << (e + 2 * h);
      }
    }
  }
};

/// Adds the staged rows [begin, end) of a chunk.
template <typename T, int dim, Care care>
__device__ inline void add_rows(Sums<dim>& sums, const WeightColumns& weights,
                                const KeyPlaces& keys, const std::byte* x, std::int32_t begin,
                                std::int32_t end) {
  if (begin >= end) return;
  constexpr bool ahead = loads_ahead<care>;
  Weights next;
  if constexpr (ahead) weights.load(next, keys, begin, end);
#pragma unroll 1
  for (std::int32_t r = begin; r < end; r += 16) {
    if constexpr (!ahead) weights.load(next, keys, r, end);
    const Weights now = next;
    if (ahead && r + 16 < end) weights.load(next, keys, r + 16, end);
    const std::byte* rows = x + r * row_bytes<T, dim>;
    accumulate<T, dim, care>(sums, now.w, now.seen, rows);
  }
}

template <typename T, int dim, Care care>
__device__ inline void sum_parts(Sums<dim>& sums, const Arguments& a, const Unit& unit,
                                 const BlockPlace& place, std::byte* x, std::int32_t* seen) {
  constexpr std::int32_t chunk = chunk_rows<T, dim>;
  const auto rows = rows_from(a.x, unit.first_head + place.head, place.first_column * sizeof(T));
  clear<dim>(sums);
  for (std::int32_t i = 0; i < unit.parts; ++i) {
    const KeyPart& part = a.lists.key_parts[unit.first_part + i];
    const Rule& rule = a.lists.rules[part.rule];
    const KeyPlaces keys(a.lists, unit.tokens, rule);
    for (std::int32_t c = 0; c < part.rows.count; c += chunk) {
      const std::int32_t count = smaller(chunk, part.rows.count - c);
      __syncthreads();  // all have done with the chunk before
      stage<T, dim>(x, rows, place.columns, a, {part.rows.begin + c, count, part.rows.listed});
      for (auto r = static_cast<std::int32_t>(threadIdx.x); r < count; r += block_threads) {
        seen[r] = first_seen(rule, token_of(part.rows, a.lists.indices, c + r));
      }
      staged();
      if (keys.high == no_place) continue;
      const WeightColumns weights{a.weights + part.first_score + place.head * part.head_stride +
                                      std::int64_t{c} * part.columns,
                                  part.columns,
                                  seen,
                                  rule.reach,
                                  rule.begin,
                                  rule.by_key != 0};
      add_rows<T, dim, care>(sums, weights, keys, x,
                             first_from(seen, count, keys.low - rule.reach + 1),
                             first_from(seen, count, keys.high + 1));
    }
  }
}

template <typename T, int dim>
__global__ __launch_bounds__(block_threads,
                             blocks_of_processor<dim>) void keys_kernel(Arguments a) {
  std::byte* x = dynamic_shared();
  auto* seen = reinterpret_cast<std::int32_t*>(x + chunk_bytes<T, dim>);
  int* flags = seen + chunk_rows<T, dim>;
  const BlockPlace place(a, dim);
  const Unit& unit = a.lists.key_units[place.unit];
  Sums<dim> sums;
  sum_parts<T, dim, Care::plain>(sums, a, unit, place, x, seen);
  if (any_not_finite<dim>(sums, flags)) {
    sum_parts<T, dim, Care::careful>(sums, a, unit, place, x, seen);
  }
  store_sums<T, dim>(sums, a, unit, place, warp_id() * strip_rows);
}

}  // namespace attnscope::cuda::windowed
