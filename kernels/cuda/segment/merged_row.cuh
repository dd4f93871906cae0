#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A row of the output that several walks left in float32 parts: each part its sums of
// weighted values, its maximum (in units of log2) and its sum of weights.

#include "kernels/cuda/segment/rows.cuh"

namespace attnscope::cuda {

struct RowParts {
  const float* first;
  std::int64_t step;  // floats from part to part
  int count;
};

/// Merges the parts of a row of `head_dim` numbers, in their order, into `row` and, unless null,
/// its log-sum-exp. Lanes look for the maximum over the parts, then each lane sums its columns part
/// by part.
template <typename T>
__device__ __forceinline__ void merge_row(const RowParts& parts, int head_dim, std::byte* row,
                                          float* lse) {
  const int lane = static_cast<int>(threadIdx.x) & 31;
  const float* first = parts.first;
  float maximum = minus_infinity;
  for (int p = lane; p < parts.count; p += 32) {
    maximum = fmaxf(maximum, first[p * parts.step + head_dim]);
  }
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2)
    maximum = fmaxf(maximum, __shfl_xor_sync(all_lanes, maximum, distance));
  const float base = maximum == minus_infinity ? 0.0f : maximum;
  float sum = 0.0f;
  for (int p = 0; p < parts.count; ++p) {
    const float* part = first + p * parts.step + head_dim;
    sum = fmaf(exp2_approx(part[0] - base), part[1], sum);
  }
  const float inverse = inverse_of(sum);
  for (int column = lane; column < head_dim; column += 32) {
    float total = 0.0f;
#pragma unroll 4
    for (int p = 0; p < parts.count; ++p) {
      const float* part = first + p * parts.step;
      total = fmaf(exp2_approx(part[head_dim] - base), part[column], total);
    }
    reinterpret_cast<T*>(row)[column] = from_float<T>(total * inverse);
  }
  if (lse != nullptr && lane == 0) *lse = log_sum_exp(maximum, sum);
}

}  // namespace attnscope::cuda
