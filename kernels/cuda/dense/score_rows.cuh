#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Rows of scores in 16-byte vectors, for the kernels of softmax.cu. Built-ins used:
// __shfl_xor_sync, __syncthreads, logf.

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernels/cuda/numbers.cuh"

namespace attnscope::cuda {

template <typename T>
constexpr int vector_width = 16 / static_cast<int>(sizeof(T));

template <typename T>
struct alignas(16) Vector {
  T values[vector_width<T>];
};

/// The columns of `row` that begin at `first`; 0 past the last column, which nobody has written.
template <typename T>
__device__ Vector<T> load_vector(const T* row, std::int64_t first, std::int64_t columns) {
  Vector<T> vector;
  if (first + vector_width<T> <= columns) {
    *reinterpret_cast<uint4*>(&vector) = *reinterpret_cast<const uint4*>(row + first);
  } else {
#pragma unroll
    for (int i = 0; i < vector_width<T>; ++i) {
      vector.values[i] = first + i < columns ? row[first + i] : from_float<T>(0.0F);
    }
  }
  return vector;
}

template <typename T>
__device__ void store_vector(T* row, std::int64_t first, const Vector<T>& vector) {
  *reinterpret_cast<uint4*>(row + first) = *reinterpret_cast<const uint4*>(&vector);
}

/// Which of a vector's columns take part, a bit each. `mask` is the row's, or nullptr.
template <typename T>
__device__ unsigned allowed_columns(const std::uint8_t* mask, std::int64_t first,
                                    std::int64_t columns) {
  constexpr int width = vector_width<T>;
  unsigned allowed = 0;
  const bool whole =
      (reinterpret_cast<std::uintptr_t>(mask) | static_cast<std::uintptr_t>(columns)) % width == 0;
  if (mask != nullptr && whole) {
    using Bytes = std::conditional_t<width == 8, uint2, unsigned>;
    alignas(8) unsigned words[2] = {};
    *reinterpret_cast<Bytes*>(words) = *reinterpret_cast<const Bytes*>(mask + first);
#pragma unroll
    for (int i = 0; i < width; ++i) {
      const bool there = (words[i / 4] >> (8 * (i % 4)) & 0xffU) != 0;
      allowed |= static_cast<unsigned>(there) << i;
    }
    return allowed;
  }
#pragma unroll
  for (int i = 0; i < width; ++i) {
    const bool there = first + i < columns && (mask == nullptr || mask[first + i] != 0);
    allowed |= static_cast<unsigned>(there) << i;
  }
  return allowed;
}

struct Maximum {
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};
struct Sum {
  __device__ float operator()(float a, float b) const { return a + b; }
};

/// One value from the `Threads` threads that share a row: a warp's, or a block's through `shared`,
/// Threads / 32 floats that nothing else uses in this launch.
template <int Threads, typename Operation>
__device__ float over_row(float value, Operation operation, float* shared) {
#pragma unroll
  for (int lanes = 16; lanes > 0; lanes /= 2) {
    value = operation(value, __shfl_xor_sync(all_lanes, value, lanes));
  }
  if constexpr (Threads > 32) {
    const int thread = static_cast<int>(threadIdx.x);
    if (thread % 32 == 0) shared[thread / 32] = value;
    __syncthreads();
    value = shared[0];
#pragma unroll
    for (int warp = 1; warp < Threads / 32; ++warp) value = operation(value, shared[warp]);
  }
  return value;
}

}  // namespace attnscope::cuda
