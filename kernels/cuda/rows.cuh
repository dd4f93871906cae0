#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Where rows stand in the tensors of a call, and what all kernels know of a row of weights.

#include "kernels/cuda/numbers.cuh"
#include "kernels/cuda/operands.h"
#include "kernels/cuda/work_list.h"

namespace attnscope::cuda {

/// Where a token stands on the token axis of all tensors of a call.
struct Place {
  std::uint32_t item, token_of_item;

  __device__ __forceinline__ Place(const ItemDivision& items, int token) {
    const auto number = static_cast<std::uint32_t>(token);
    item = 0;
    token_of_item = number;
    if (items.tokens == 0) return;
    item = items.tokens == 1 ? number
                             : static_cast<std::uint32_t>(
                                   static_cast<std::uint64_t>(number) * items.multiplier >> 32) >>
                                   items.shift;
    token_of_item = number - item * items.tokens;
  }
};

/// The token rows of a tensor's head; `base` is token 0's row.
template <typename Byte>
struct HeadRows {
  Byte* base;
  std::int64_t token_stride;
  std::int64_t item_stride;

  __device__ __forceinline__ HeadRows(const DeviceTensor<Byte>& tensor, int head)
      : base(tensor.data + head * tensor.head_stride),
        token_stride(tensor.token_stride),
        item_stride(tensor.item_stride) {}

  __device__ __forceinline__ Byte* at(const Place& place) const {
    return base + place.item * item_stride + place.token_of_item * token_stride;
  }
};

/// Token at `position` of a run.
__device__ inline int token_of(const WorkRun& run, const std::int32_t* indices, int position) {
  return run.listed != 0 ? indices[run.begin + position] : run.begin + position;
}

/// A row without keys: output 0, log-sum-exp -inf.
__device__ __forceinline__ float inverse_of(float sum) {
  return sum == 0.0f ? 0.0f : 1.0f / sum;
}

__device__ __forceinline__ float log_sum_exp(float maximum, float sum) {
  return sum == 0.0f ? minus_infinity : fmaf(maximum, ln_2, logf(sum));
}

/// What backward knows of a row, in units of log2. A row without keys has no weights: +inf makes
/// them 0, where -inf would make them infinite.
struct RowNumbers {
  float subtrahend = 0.0f;  // log-sum-exp
  float dot = 0.0f;         // D = grad_o . o

  /// `at`: token * heads + head.
  __device__ __forceinline__ void read_lse(const float* lses, std::int64_t at) {
    const float lse = __ldg(lses + at);
    subtrahend = lse == minus_infinity ? -minus_infinity : lse * log2_e;
  }
  __device__ __forceinline__ void read(const float* lses, const float* dots, std::int64_t at) {
    read_lse(lses, at);
    dot = __ldg(dots + at);
  }
};

}  // namespace attnscope::cuda
