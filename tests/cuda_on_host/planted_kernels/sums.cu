// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/launch.h"
#include "kernels/cuda/ptx.h"
#include "tests/cuda_on_host/planted_kernels/sums.h"

namespace attnscope::cuda::planted {

namespace {

/// Sums of rows of `columns` numbers: a warp a row, its numbers staged in shared memory.
__global__ void sum_rows(SumArguments arguments) {
  auto* staged = reinterpret_cast<float*>(dynamic_shared());
  const int columns = arguments.columns;
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const int warps = static_cast<int>(blockDim.x) / 32;
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * warps + warp;
  float* mine = staged + warp * columns;
  for (int i = lane; i < columns; i += 32) {
    copy_async<4>(mine + i, arguments.in + row * columns + i, row < arguments.rows);
  }
  commit_copies();
  wait_for_copies<0>();
  __syncthreads();
  float sum = 0;
  for (int i = lane; i < columns; i += 32) sum += mine[i];
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffU, sum, step);
  if (lane == 0 && row < arguments.rows) arguments.out[row] = sum;
}

}  // namespace

Status sum(const SumArguments& arguments) {
  const int warps = 4;
  return launch("sum_rows", sum_rows,
                {(arguments.rows + warps - 1) / warps, warps * 32,
                 warps * arguments.columns * static_cast<std::int64_t>(sizeof(float))},
                nullptr, arguments);
}

}  // namespace attnscope::cuda::planted
