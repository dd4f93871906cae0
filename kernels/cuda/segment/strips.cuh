#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What the passes' strips have in common: their place in shared memory, their sums.

#include "kernels/cuda/segment/partials.cuh"

namespace attnscope::cuda {

/// Whether a sum is infinite or NaN.
template <int Kept>
__device__ __forceinline__ bool has_non_finite(const float (&sums)[Kept / 8][4]) {
  float zero = 0.0f;
#pragma unroll
  for (int n = 0; n < Kept / 8; ++n) {
#pragma unroll
    for (int e = 0; e < 4; ++e) zero = fmaf(sums[n][e], 0.0f, zero);
  }
  return !(zero == 0.0f);
}

template <int Kept>
__device__ __forceinline__ void set_zero(float (&sums)[Kept / 8][4]) {
#pragma unroll
  for (int n = 0; n < Kept / 8; ++n) {
#pragma unroll
    for (int e = 0; e < 4; ++e) sums[n][e] = 0.0f;
  }
}

/// This warp's slab `number`, behind the stages.
template <typename T, int Columns, bool RowNumbers>
__device__ __forceinline__ std::byte* slab_of_warp(int warp, int warps, int number) {
  return stages_of_block() + 2 * Stage<T, Columns, RowNumbers>::bytes +
         (number * warps + warp) * Slab<T, Columns>::bytes;
}
__device__ __forceinline__ int* votes_of_block() {
  return reinterpret_cast<int*>(dynamic_shared());
}

template <typename T, int Columns>
__device__ __forceinline__ void fill_slab(const UnitOfBlock& block, std::byte* slab,
                                          const HeadRows<const std::byte>& rows) {
  using Rows = Slab<T, Columns>;
  if (!Products<T, Columns>::in_slab || !block.has_strip) return;
  const WorkRun run = block.run();
#pragma unroll 1
  for (int row = 0; row < 16; row += Rows::filled_rows) {
    Rows::template fill<1>(slab, {rows}, {0}, run, 0, run.count, row, block.arguments);
  }
}

}  // namespace attnscope::cuda
