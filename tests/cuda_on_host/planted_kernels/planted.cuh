#pragma once
// SPDX-License-Identifier: Apache-2.0

#include "kernels/cuda/launch.h"
#include "kernels/cuda/ptx.h"
#include "tests/cuda_on_host/planted_kernels/planted.h"

namespace attnscope::cuda::planted {

/// The thread of the grid, and its number in its block.
__device__ inline int place() {
  return static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
}
__device__ inline int thread() {
  return static_cast<int>(threadIdx.x);
}
__device__ inline float* shared_numbers() {
  return reinterpret_cast<float*>(dynamic_shared());
}

/// Shared memory for a number of each thread.
template <void (*kernel)(Memory)>
Status run(const Memory& memory) {
  return launch("planted", kernel, {blocks, threads, threads * 4}, nullptr, memory);
}

}  // namespace attnscope::cuda::planted
