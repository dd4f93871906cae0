// SPDX-License-Identifier: Apache-2.0
//
// Adds up the sums that several units left of the same rows or keys, in the units' order: a thread
// a number.

#include "kernels/cuda/launch.h"
#include "kernels/cuda/windowed/operands.cuh"

namespace attnscope::cuda::windowed {
namespace {

template <typename T>
__device__ void merge(const MergeArguments& a) {
  const auto heads = static_cast<unsigned>(a.heads_per_unit);
  const Merge merge = a.merges[blockIdx.x / heads];
  const auto head = static_cast<std::int32_t>(blockIdx.x % heads);
  const HeadRows<T> out(a.out, merge.first_head + head);
  const std::int64_t row_floats = std::int64_t{a.heads_per_unit} * a.head_dim;
  const std::int64_t part_floats = merge.stride * row_floats;
  for (auto i = static_cast<std::int32_t>(threadIdx.x); i < merge.rows.count * a.head_dim;
       i += block_threads) {
    const std::int32_t row = i / a.head_dim, column = i % a.head_dim;
    const float* from =
        a.partials + (merge.first + row) * row_floats + std::int64_t{head} * a.head_dim + column;
    float sum = 0.0f;
#pragma unroll 8
    for (std::int32_t p = 0; p < merge.parts; ++p) sum += from[p * part_floats];
    out.row(token_of(a.indices, merge.rows.listed != 0, merge.rows.begin + row))[column] =
        from_float<T>(a.scale * sum);
  }
}

__global__ __launch_bounds__(block_threads) void merge_kernel(MergeArguments a) {
  switch (a.dtype) {
    case DType::float32:
      return merge<float>(a);
    case DType::float16:
      return merge<__half>(a);
    case DType::bfloat16:
      return merge<__nv_bfloat16>(a);
  }
}

}  // namespace

Status launch_merges(const MergeArguments& arguments, std::int64_t blocks, Stream stream) {
  return launch("windowed merges", merge_kernel, {blocks, block_threads, 0}, stream, arguments);
}

}  // namespace attnscope::cuda::windowed
