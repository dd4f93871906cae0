#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Products of a warp. Scores and weights of 16 rows x 16 columns lie in a fragment of 8 numbers a
// lane, for tensor cores and for float32 alike (lane = 4 g + t, ptx.h):
//
//   [0], [1]: row g,   columns 2t, 2t+1     [4], [5]: row g,   columns 2t+8, 2t+9
//   [2], [3]: row g+8, columns 2t, 2t+1     [6], [7]: row g+8, columns 2t+8, 2t+9

#include <type_traits>

#include "kernels/cuda/windowed/operands.cuh"

namespace attnscope::cuda::windowed {

/// Row (or, transposed, key) of element `e` of a fragment, and its column.
__device__ inline int fragment_row(int e) {
  return lane_id() / 4 + (e / 2 % 2) * 8;
}
__device__ inline int fragment_column(int e) {
  return lane_id() % 4 * 2 + e % 2 + e / 4 * 8;
}

/// s = x y^T for 16 rows of x and of y in shared memory.
template <typename T, int dim>
__device__ inline void multiply_rows(float (&s)[8], const std::byte* x, const std::byte* y) {
  constexpr int stride = row_bytes<T, dim>;
  const int lane = lane_id();
  if constexpr (std::is_same_v<T, float>) {
#pragma unroll
    for (int e = 0; e < 8; ++e) s[e] = 0.0f;
    const std::byte* rows = x + lane / 4 * stride;
    const std::byte* keys = y + lane % 4 * 2 * stride;
#pragma unroll 4
    for (int c = 0; c < dim; c += 4) {
      float4 row[2], key[4];
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        row[r] = *reinterpret_cast<const float4*>(rows + r * 8 * stride + c * 4);
      }
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        key[j] = *reinterpret_cast<const float4*>(keys + (j % 2 + j / 2 * 8) * stride + c * 4);
      }
#pragma unroll
      for (int e = 0; e < 8; ++e) {
        const float4 a = row[e / 2 % 2], b = key[e % 2 + e / 4 * 2];
        s[e] = fmaf(a.x, b.x, s[e]);
        s[e] = fmaf(a.y, b.y, s[e]);
        s[e] = fmaf(a.z, b.z, s[e]);
        s[e] = fmaf(a.w, b.w, s[e]);
      }
    }
  } else {
    __syncwarp();  // ldmatrix and mma are for converged warps
    float low[4] = {}, high[4] = {};
    // Matrices of A: rows 0-7 and 8-15 of the first eight columns, then of the next; of B: both
    // halves of the columns for keys 0-7, then for keys 8-15.
    const std::byte* a_row = x + lane % 16 * stride + lane / 16 * 16;
    const std::byte* b_row = y + (lane / 16 * 8 + lane % 8) * stride + lane / 8 % 2 * 16;
#pragma unroll
    for (int c = 0; c < dim; c += 16) {
      std::uint32_t a[4], b[4];
      load_matrices(a, a_row + c * 2);
      load_matrices(b, b_row + c * 2);
      multiply_add<T>(low, a, b[0], b[1]);
      multiply_add<T>(high, a, b[2], b[3]);
    }
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      s[e] = low[e];
      s[e + 4] = high[e];
    }
  }
}

/// Sums of 16 rows x `dim` columns: element e of piece n is row fragment_row(e), column
/// sum_column(n) + e % 2. A lane of float32 holds four neighbouring columns, to read them at once.
template <int dim>
using Sums = float[dim / 8][4];

/// Blocks that a multiprocessor holds as registers go; told to the compiler, which else spills to
/// make room for more.
template <int dim>
inline constexpr int blocks_of_processor = dim <= 32   ? 4
                                           : dim <= 64 ? 3
                                                       : 2;

template <typename T>
__device__ inline int sum_column(int n) {
  const int t = lane_id() % 4;
  return std::is_same_v<T, float> ? n / 2 * 16 + t * 4 + n % 2 * 2 : n * 8 + t * 2;
}

/// The weight that the lane holding column k of this lane's rows has there.
__device__ inline float weight_at(const float (&w)[8], int k, int half) {
  return __shfl_sync(all_lanes, w[k / 8 * 4 + half * 2 + k % 2], (lane_id() & ~3) | (k % 8 / 2));
}

/// How sums are computed. `plain` takes all numbers for finite: a weight of 0 does not undo a NaN.
/// `careful` is for any numbers: pairs that are not seen add nothing, and rows that see finite
/// numbers alone get the same bits as by `plain`.
enum class Care { plain, careful };

template <Care care, int dim>
__device__ inline void accumulate_floats(Sums<dim>& sums, const float (&w)[8], unsigned seen,
                                         const std::byte* y) {
  constexpr int stride = row_bytes<float, dim>;
  const std::byte* columns = y + lane_id() % 4 * 16;
#pragma unroll
  for (int k = 0; k < 16; ++k) {
    const float upper = weight_at(w, k, 0), lower = weight_at(w, k, 1);
    bool see[2] = {true, true};
    if constexpr (care == Care::careful) {
      const unsigned bits =
          __shfl_sync(all_lanes, seen, (lane_id() & ~3) | (k % 8 / 2)) >> (k / 8 * 4 + k % 2);
      see[0] = (bits & 1U) != 0;
      see[1] = (bits & 4U) != 0;
    }
#pragma unroll
    for (int n = 0; n < dim / 8; n += 2) {
      const float4 v = *reinterpret_cast<const float4*>(columns + k * stride + n * 32);
      if (see[0]) {
        sums[n][0] = fmaf(upper, v.x, sums[n][0]);
        sums[n][1] = fmaf(upper, v.y, sums[n][1]);
        sums[n + 1][0] = fmaf(upper, v.z, sums[n + 1][0]);
        sums[n + 1][1] = fmaf(upper, v.w, sums[n + 1][1]);
      }
      if (see[1]) {
        sums[n][2] = fmaf(lower, v.x, sums[n][2]);
        sums[n][3] = fmaf(lower, v.y, sums[n][3]);
        sums[n + 1][2] = fmaf(lower, v.z, sums[n + 1][2]);
        sums[n + 1][3] = fmaf(lower, v.w, sums[n + 1][3]);
      }
    }
  }
}

template <typename T>
inline constexpr float largest_of = 65504.0f;
template <>
inline constexpr float largest_of<__nv_bfloat16> = 3.3895313892515355e38f;

/// Whether T cannot hold the number.
template <typename T>
__device__ inline bool wild(float x) {
  return !(fabsf(x) <= largest_of<T>);
}

/// Adds what multiplying finite numbers left out: seen pairs of a wild weight or value.
template <typename T, int dim>
__device__ inline void accumulate_wild(Sums<dim>& sums, const float (&w)[8], unsigned seen,
                                       const std::byte* y) {
#pragma unroll 1
  for (int k = 0; k < 16; ++k) {
    const int from = (lane_id() & ~3) | (k % 8 / 2);
    const int at = k / 8 * 4 + k % 2;
    const unsigned bits = __shfl_sync(all_lanes, seen, from) >> at;
    float upper = 0.0f, lower = 0.0f;
    // w[] by constants alone, to stay in registers.
#pragma unroll
    for (int e = 0; e < 8; ++e) {
      const float weight = __shfl_sync(all_lanes, w[e], from);
      if (e == at) upper = weight;
      if (e == at + 2) lower = weight;
    }
    const T* row = reinterpret_cast<const T*>(y + k * row_bytes<T, dim>);
#pragma unroll
    for (int n = 0; n < dim / 8; ++n) {
      __syncwarp();  // else the compiler loads all columns at once, into registers it has not
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const float v = to_float(row[sum_column<T>(n) + e]);
        if ((bits & 1U) != 0 && (wild<T>(upper) || wild<T>(v))) {
          sums[n][e] = fmaf(upper, v, sums[n][e]);
        }
        if ((bits & 4U) != 0 && (wild<T>(lower) || wild<T>(v))) {
          sums[n][e + 2] = fmaf(lower, v, sums[n][e + 2]);
        }
      }
    }
  }
}

/// sums += w y for a fragment of weights, of which `seen` has a bit for each that counts (all
/// others are 0), and 16 rows of y in shared memory.
template <typename T, int dim, Care care>
__device__ inline void accumulate(Sums<dim>& sums, const float (&w)[8], unsigned seen,
                                  const std::byte* y) {
  if constexpr (std::is_same_v<T, float>) {
    accumulate_floats<care, dim>(sums, w, seen, y);
  } else {
    __syncwarp();  // what lanes see differs, and with it how they came here
    // A weight is the sum of two 16-bit numbers, so that bands keep more of their float32 than one
    // would hold; the products cost little beside reading the weights.
    std::uint32_t a[4], rest[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      float pair[2] = {w[2 * i], w[2 * i + 1]};
      if constexpr (care == Care::careful) {
        if (wild<T>(pair[0])) pair[0] = 0.0f;
        if (wild<T>(pair[1])) pair[1] = 0.0f;
      }
      a[i] = pair_of<T>(pair[0], pair[1]);
      rest[i] = pair_of<T>(pair[0] - to_float(from_float<T>(pair[0])),
                           pair[1] - to_float(from_float<T>(pair[1])));
    }
    const std::byte* row = y + lane_id() % 16 * row_bytes<T, dim> + lane_id() / 16 * 16;
#pragma unroll
    for (int n = 0; n < dim / 8; n += 2) {
      std::uint32_t b[4];
      load_matrices_transposed(b, row + n * 16);
      if constexpr (care == Care::careful) {
#pragma unroll
        for (int i = 0; i < 4; ++i) b[i] &= ~non_finite_halves<T>(b[i]);
      }
      multiply_add<T>(sums[n], a, b[0], b[1]);
      multiply_add<T>(sums[n + 1], a, b[2], b[3]);
      multiply_add<T>(sums[n], rest, b[0], b[1]);
      multiply_add<T>(sums[n + 1], rest, b[2], b[3]);
    }
    if constexpr (care == Care::careful) accumulate_wild<T, dim>(sums, w, seen, y);
  }
}

template <int dim>
__device__ inline bool all_finite(const Sums<dim>& sums) {
  float check = 0.0f;  // a product of 0 and a number is 0, of 0 and infinity or NaN is NaN
#pragma unroll
  for (int n = 0; n < dim / 8; ++n) {
#pragma unroll
    for (int e = 0; e < 4; ++e) check = fmaf(0.0f, sums[n][e], check);
  }
  return check == 0.0f;
}

template <int dim>
__device__ inline void clear(Sums<dim>& sums) {
#pragma unroll
  for (int n = 0; n < dim / 8; ++n) {
#pragma unroll
    for (int e = 0; e < 4; ++e) sums[n][e] = 0.0f;
  }
}

/// Two neighbouring numbers of a row, of which `columns` are left.
template <typename T>
__device__ inline void store_pair(T* row, bool aligned, std::int32_t columns, float first,
                                  float second) {
  if (!aligned) {
    if (columns > 0) row[0] = from_float<T>(first);
    if (columns > 1) row[1] = from_float<T>(second);
  } else if (columns > 0) {
    if constexpr (std::is_same_v<T, float>) {
      *reinterpret_cast<float2*>(row) = float2{first, second};
    } else {
      *reinterpret_cast<std::uint32_t*>(row) = pair_of<T>(first, second);
    }
  }
}

/// Writes the sums of the 16 tokens of a unit from `first` on to the result, or to the workspace.
template <typename T, int dim>
__device__ inline void store_sums(const Sums<dim>& sums, const Arguments& a, const Unit& unit,
                                  const BlockPlace& place, std::int32_t first) {
  const auto out = rows_from(a.out, unit.first_head + place.head, place.first_column * sizeof(T));
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const std::int32_t position = first + lane_id() / 4 + 8 * h;
    if (position >= unit.tokens.count) continue;
    const auto store = [&](auto* to, bool aligned, float scale) {
#pragma unroll
      for (int n = 0; n < dim / 8; ++n) {
        const int c = sum_column<T>(n);
        store_pair(to + c, aligned, place.columns - c, scale * sums[n][2 * h],
                   scale * sums[n][2 * h + 1]);
      }
    };
    if (unit.partial >= 0) {
      const std::int64_t row = unit.partial + position;
      store(a.partials + (row * a.heads_per_unit + place.head) * a.head_dim + place.first_column,
            false, 1.0f);
    } else {
      std::byte* to = out.at(Place(a.items, token_of(unit.tokens, a.lists.indices, position)));
      store(reinterpret_cast<T*>(to), a.vector, a.scale);
    }
  }
}

}  // namespace attnscope::cuda::windowed
