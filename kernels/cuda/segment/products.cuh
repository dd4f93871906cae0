#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The two products that all three passes consist of, for a strip of 16 stationary rows and a slot
// of 16 streamed ones:
//
//   scores      [16 x 16]      += stationary [16 x Columns] * slot^T
//   accumulate  [16 x Kept]    += weights [16 x 16] * slot [16 x Columns], columns of one part
//
// A score fragment has the layout of two tensor-core accumulators for float32, too, so that masks
// and softmax are shared: lane 4 g + t holds in element e the row g + 8 (e / 2 % 2) and the column
// 2 t + e % 2 + 8 (e / 4). Sums [n][e], e < 4, are columns 8 n + 2 t + e % 2 of row g + 8 (e / 2).
//
// A weight of 0 times a NaN or an infinity of a row that was not seen would be NaN. `careful` sums
// differently where the slot is not seen wholly: numbers that are not finite count as 0, which
// changes no bit of rows that do not see them, and sums of rows that do see them become NaN.

#include "kernels/cuda/segment/slab.cuh"

namespace attnscope::cuda {

/// 16-bit numbers: stationary rows lie in the strip's slab, and their fragments are read anew for
/// each step, once for all slots of it: kept in registers they would cost an SM a block.
template <typename T, int Columns>
struct Products {
  using Rows = Slab<T, Columns>;
  static constexpr bool in_slab = true;

  struct Stationary {
    const std::byte* slab;

    __device__ __forceinline__ Stationary(const std::byte* its_slab,
                                          const HeadRows<const std::byte>&, const WorkRun&,
                                          const UnitArguments&)
        : slab(its_slab) {}
  };

  /// Of slots `slot_bytes` apart.
  template <int Slots>
  static __device__ __forceinline__ void scores(float (&s)[Slots][8], const Stationary& strip,
                                                const std::byte* slots, int slot_bytes) {
    const int lane = static_cast<int>(threadIdx.x) & 31;
    const int row = (lane & 7) + 8 * (lane >> 4);
    const int half = (lane >> 3) & 1;
    float left[Slots][4];
    float right[Slots][4];
#pragma unroll
    for (int u = 0; u < Slots; ++u) {
#pragma unroll
      for (int e = 0; e < 4; ++e) left[u][e] = right[u][e] = 0.0f;
    }
    // 128 bytes of the rows at a time, which is as far as the swizzle reaches.
    constexpr int steps = Columns < 64 ? Columns / 16 : 4;
#pragma unroll 1
    for (int block = 0; block < Columns / 16 / steps; ++block) {
#pragma unroll
      for (int step = 0; step < steps; ++step) {
        std::uint32_t a[4];
        load_matrices(a, strip.slab + 128 * block + Rows::place(lane & 15, lane >> 4, 2 * step));
#pragma unroll
        for (int u = 0; u < Slots; ++u) {
          std::uint32_t b[4];
          load_matrices(b, slots + u * slot_bytes + 128 * block + Rows::place(row, half, 2 * step));
          multiply_add<T>(left[u], a, b[0], b[1]);
          multiply_add<T>(right[u], a, b[2], b[3]);
        }
      }
    }
#pragma unroll
    for (int u = 0; u < Slots; ++u) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        s[u][e] = left[u][e];
        s[u][4 + e] = right[u][e];
      }
    }
  }

  template <int Kept>
  static __device__ __forceinline__ void accumulate(float (&sums)[Kept / 8][4],
                                                    const float (&weights)[8],
                                                    const std::byte* slot, int first_column) {
    std::uint32_t a[4];
    pack(a, weights);
#pragma unroll
    for (int n = 0; n < Kept / 8; n += 2) {
      std::uint32_t b[4];
      load_pair(b, slot, first_column, n);
      multiply_add<T>(sums[n], a, b[0], b[1]);
      multiply_add<T>(sums[n + 1], a, b[2], b[3]);
    }
  }

  /// The slot's rows are looked through first; the weight of a row that is seen and not finite
  /// becomes NaN, and so do all of its sums, while its numbers count as 0.
  template <int Kept>
  static __device__ __forceinline__ void accumulate_careful(float (&sums)[Kept / 8][4],
                                                            float (&weights)[8], unsigned seen,
                                                            const std::byte* slot,
                                                            int first_column) {
    std::uint32_t bad[2] = {0, 0};  // of rows 2 t, 2 t + 1 and of rows 2 t + 8, 2 t + 9
#pragma unroll 1
    for (int n = 0; n < Kept / 8; n += 2) {
      std::uint32_t b[4];
      load_pair(b, slot, first_column, n);
#pragma unroll
      for (int i = 0; i < 4; ++i) bad[i & 1] |= non_finite_halves<T>(b[i]);
    }
#pragma unroll
    for (int distance = 4; distance < 32; distance *= 2) {
#pragma unroll
      for (int i = 0; i < 2; ++i) bad[i] |= __shfl_xor_sync(all_lanes, bad[i], distance);
    }
#pragma unroll
    for (int e = 0; e < 8; ++e) {
      const bool spoils = (seen >> e & 1u) != 0 && (bad[e >> 2] >> (16 * (e & 1)) & 1u) != 0;
      if (spoils) weights[e] = __int_as_float(0x7fffffff);
    }
    std::uint32_t a[4];
    pack(a, weights);
#pragma unroll
    for (int n = 0; n < Kept / 8; n += 2) {
      std::uint32_t b[4];
      load_pair(b, slot, first_column, n);
#pragma unroll
      for (int i = 0; i < 4; ++i) b[i] &= ~non_finite_halves<T>(b[i]);
      multiply_add<T>(sums[n], a, b[0], b[1]);
      multiply_add<T>(sums[n + 1], a, b[2], b[3]);
    }
  }

 private:
  static __device__ __forceinline__ void pack(std::uint32_t (&a)[4], const float (&weights)[8]) {
#pragma unroll
    for (int i = 0; i < 4; ++i) a[i] = pair_of<T>(weights[2 * i], weights[2 * i + 1]);
  }
  /// B fragments of column groups n (b[0], b[1]) and n + 1 (b[2], b[3]).
  static __device__ __forceinline__ void load_pair(std::uint32_t (&b)[4], const std::byte* slot,
                                                   int first_column, int n) {
    const int lane = static_cast<int>(threadIdx.x) & 31;
    load_matrices_transposed(b, slot + first_column * static_cast<int>(sizeof(T)) +
                                    Rows::place(lane & 15, lane >> 4, n));
  }
};

/// float32: stationary rows are read where they lie, in 16-byte pieces that the four lanes of a row
/// share and the first-level cache holds: slabs of 11 strips would not leave room for the stages at
/// 256 columns.
template <int Columns>
struct Products<float, Columns> {
  using Rows = Slab<float, Columns>;
  static constexpr bool in_slab = false;

  struct Stationary {
    const float* row[2];
    int head_dim;
    bool vector;

    __device__ __forceinline__ Stationary(const std::byte*, const HeadRows<const std::byte>& rows,
                                          const WorkRun& run, const UnitArguments& arguments)
        : head_dim(arguments.head_dim), vector(arguments.vector) {
      const std::int32_t* indices = arguments.list.indices;
      const int g = (static_cast<int>(threadIdx.x) & 31) >> 2;
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const int position = min(g + 8 * i, run.count - 1);
        row[i] = reinterpret_cast<const float*>(
            rows.at(Place(arguments.items, run.count > 0 ? token_of(run, indices, position) : 0)));
      }
    }
    __device__ __forceinline__ float4 load(int i, int column) const {
      if (vector) return *reinterpret_cast<const float4*>(row[i] + column);
      const int left = head_dim - column;
      return make_float4(row[i][column], left > 1 ? row[i][column + 1] : 0.0f,
                         left > 2 ? row[i][column + 2] : 0.0f,
                         left > 3 ? row[i][column + 3] : 0.0f);
    }
  };

  template <int Slots>
  static __device__ __forceinline__ void scores(float (&s)[Slots][8], const Stationary& strip,
                                                const std::byte* slots, int slot_bytes) {
    const int t = static_cast<int>(threadIdx.x) & 3;
#pragma unroll
    for (int u = 0; u < Slots; ++u) {
#pragma unroll
      for (int e = 0; e < 8; ++e) s[u][e] = 0.0f;
    }
#pragma unroll 1
    for (int column = 0; column < strip.head_dim; column += 4) {
      const float4 a0 = strip.load(0, column);
      const float4 a1 = strip.load(1, column);
#pragma unroll
      for (int u = 0; u < Slots; ++u) {
#pragma unroll
        for (int c = 0; c < 4; ++c) {
          const int key = 2 * t + (c & 1) + 8 * (c >> 1);
          const int e = (c & 1) + 4 * (c >> 1);
          const float4 b = *reinterpret_cast<const float4*>(slots + u * slot_bytes +
                                                            Rows::place(key, column / 4));
          s[u][e] = dot(a0, b, s[u][e]);
          s[u][e + 2] = dot(a1, b, s[u][e + 2]);
        }
      }
    }
  }

  template <int Kept>
  static __device__ __forceinline__ void accumulate(float (&sums)[Kept / 8][4],
                                                    const float (&weights)[8],
                                                    const std::byte* slot, int first_column) {
    sum_up<Kept, false>(sums, weights, 0xff, slot, first_column);
  }
  template <int Kept>
  static __device__ __forceinline__ void accumulate_careful(float (&sums)[Kept / 8][4],
                                                            float (&weights)[8], unsigned seen,
                                                            const std::byte* slot,
                                                            int first_column) {
    sum_up<Kept, true>(sums, weights, seen, slot, first_column);
  }

 private:
  static __device__ __forceinline__ float dot(const float4& a, const float4& b, float sum) {
    return fmaf(a.w, b.w, fmaf(a.z, b.z, fmaf(a.y, b.y, fmaf(a.x, b.x, sum))));
  }

  /// Weights travel from the lane that holds them to the four lanes of their row, key by key.
  template <int Kept, bool Careful>
  static __device__ __forceinline__ void sum_up(float (&sums)[Kept / 8][4],
                                                const float (&weights)[8], unsigned seen,
                                                const std::byte* slot, int first_column) {
    const int lane = static_cast<int>(threadIdx.x) & 31;
    const int t = lane & 3;
#pragma unroll 1
    for (int owner = 0; owner < 4; ++owner) {
      const int from = (lane & ~3) | owner;
      const unsigned pairs = Careful ? __shfl_sync(all_lanes, seen, from) : 0xffu;
#pragma unroll
      for (int c = 0; c < 4; ++c) {
        const int e = (c & 1) + 4 * (c >> 1);
        const int key = 2 * owner + (c & 1) + 8 * (c >> 1);
        const float w0 = __shfl_sync(all_lanes, weights[e], from);
        const float w1 = __shfl_sync(all_lanes, weights[e + 2], from);
#pragma unroll
        for (int n = 0; n < Kept / 8; ++n) {
          const float2 b = *reinterpret_cast<const float2*>(
              slot + first_column * 4 + Rows::place(key, t >> 1, 2 * n) + 8 * (t & 1));
          if (!Careful || (pairs >> e & 1) != 0) {
            sums[n][0] = fmaf(w0, b.x, sums[n][0]);
            sums[n][1] = fmaf(w0, b.y, sums[n][1]);
          }
          if (!Careful || (pairs >> (e + 2) & 1) != 0) {
            sums[n][2] = fmaf(w1, b.x, sums[n][2]);
            sums[n][3] = fmaf(w1, b.y, sums[n][3]);
          }
        }
      }
    }
  }
};

}  // namespace attnscope::cuda
