#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// D_i = grad_o_i . o_i of every row, float32. A row takes as many neighbouring lanes as it has
// pieces of 16 bytes, at most 32.

#include "kernels/cuda/segment/slab.cuh"

namespace attnscope::cuda {

inline constexpr int row_dot_threads = 256;

template <typename T, int Columns>
struct RowDotShape {
  static constexpr int piece = 16 / static_cast<int>(sizeof(T));
  static constexpr int lanes = Columns / piece > 32 ? 32 : Columns / piece;
  static constexpr int rows_per_block = row_dot_threads / lanes;
};

template <typename T>
__device__ __forceinline__ float dot_of_piece(const std::byte* a, const std::byte* b) {
  const uint4 left = *reinterpret_cast<const uint4*>(a);
  const uint4 right = *reinterpret_cast<const uint4*>(b);
  constexpr int numbers = 16 / static_cast<int>(sizeof(T));
  T x[numbers];
  T y[numbers];
  memcpy(x, &left, sizeof left);
  memcpy(y, &right, sizeof right);
  float sum = 0.0f;
#pragma unroll
  for (int i = 0; i < numbers; ++i) sum = fmaf(to_float(x[i]), to_float(y[i]), sum);
  return sum;
}

template <typename T, int Columns>
__global__ void __launch_bounds__(row_dot_threads) row_dots_kernel(RowDotArguments call) {
  using Shape = RowDotShape<T, Columns>;
  const int lane = static_cast<int>(threadIdx.x) % Shape::lanes;
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * Shape::rows_per_block +
                           static_cast<int>(threadIdx.x) / Shape::lanes;
  float sum = 0.0f;
  if (row < call.rows) {
    const Place token(call.items, static_cast<int>(row / call.heads));
    const int head = static_cast<int>(row % call.heads);
    const std::byte* a = HeadRows<const std::byte>(call.a, head).at(token);
    const std::byte* b = HeadRows<const std::byte>(call.b, head).at(token);
    if (call.vector) {
      for (int column = Shape::piece * lane; column < call.head_dim;
           column += Shape::piece * Shape::lanes) {
        const int at = column * static_cast<int>(sizeof(T));
        sum += dot_of_piece<T>(a + at, b + at);
      }
    } else {
      for (int column = lane; column < call.head_dim; column += Shape::lanes) {
        sum = fmaf(to_float(reinterpret_cast<const T*>(a)[column]),
                   to_float(reinterpret_cast<const T*>(b)[column]), sum);
      }
    }
  }
#pragma unroll
  for (int distance = Shape::lanes / 2; distance > 0; distance /= 2)
    sum += __shfl_xor_sync(all_lanes, sum, distance);
  if (row < call.rows && lane == 0) call.dots[row] = sum;
}

}  // namespace attnscope::cuda
