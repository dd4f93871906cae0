#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Locations of rows in the tensors of a call, and common functions on a row of weights.

#include "kernels/cuda/numbers.cuh"
#include "kernels/cuda/operands.h"
#include "kernels/cuda/work_list.h"

namespace attnscope::cuda {

/// The position of a token on the token axis of all tensors of a call.
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

/// Position in the run of its first token that is at least `token`.
__device__ inline int position_of(const WorkRun& run, const std::int32_t* indices, int token) {
  if (run.listed == 0) return max(0, min(token - run.begin, run.count));
  int low = 0, high = run.count;
  while (low < high) {
    const int middle = (low + high) / 2;
    if (indices[run.begin + middle] < token) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/// Whether a listed run contains the token.
__device__ inline bool is_listed(const WorkRun& run, const std::int32_t* indices, int token) {
  const int at = position_of(run, indices, token);
  return at < run.count && indices[run.begin + at] == token;
}

/// The thread's lane in its warp, 4 g + t in the numbering of fragments (ptx.h).
__device__ __forceinline__ int lane_of_warp() {
  return static_cast<int>(threadIdx.x) & 31;
}
__device__ __forceinline__ int g_of_lane() {
  return lane_of_warp() >> 2;
}
__device__ __forceinline__ int t_of_lane() {
  return static_cast<int>(threadIdx.x) & 3;
}

/// Copies a row to shared memory as float32. All lanes of the warp participate, and synchronise
/// afterwards.
template <typename T>
__device__ __forceinline__ void hold(float* to, const std::byte* row, int columns) {
  for (int c = lane_of_warp(); c < columns; c += 32)
    to[c] = to_float(reinterpret_cast<const T*>(row)[c]);
}

/// Calls visit(column, number) for all numbers of a row; `in_pieces`: 16 bytes at a time.
template <typename T, typename Visit>
__device__ __forceinline__ void for_each_number(const std::byte* row, int columns, bool in_pieces,
                                                const Visit& visit) {
  if (!in_pieces) {
    for (int c = 0; c < columns; ++c) visit(c, to_float(reinterpret_cast<const T*>(row)[c]));
    return;
  }
  constexpr int width = 16 / static_cast<int>(sizeof(T));
  for (int c = 0; c < columns; c += width) {
    const uint4 piece = __ldg(reinterpret_cast<const uint4*>(row + c * sizeof(T)));
    T numbers[width];
    memcpy(numbers, &piece, sizeof piece);
#pragma unroll
    for (int i = 0; i < width; ++i) visit(c + i, to_float(numbers[i]));
  }
}

/// The sum or the largest of the numbers of `lanes` adjacent lanes, returned in all of them.
template <int lanes = 32>
__device__ __forceinline__ float sum_of_lanes(float sum) {
#pragma unroll
  for (int distance = 1; distance < lanes; distance *= 2)
    sum += __shfl_xor_sync(all_lanes, sum, distance);
  return sum;
}

template <int lanes = 32>
__device__ __forceinline__ float largest_of_lanes(float largest) {
#pragma unroll
  for (int distance = 1; distance < lanes; distance *= 2)
    largest = fmaxf(largest, __shfl_xor_sync(all_lanes, largest, distance));
  return largest;
}

/// The value subtracted from scores before the exponential: the largest score, or 0 without scores.
__device__ __forceinline__ float base_of(float largest) {
  return largest == minus_infinity ? 0.0f : largest;
}

/// The inverse of a row's sum; for a row without keys: output 0, log-sum-exp -inf.
__device__ __forceinline__ float inverse_of(float sum) {
  return sum == 0.0f ? 0.0f : 1.0f / sum;
}

__device__ __forceinline__ float log_sum_exp(float maximum, float sum) {
  return sum == 0.0f ? minus_infinity : fmaf(maximum, ln_2, logf(sum));
}

/// A log-sum-exp in units of log2 for subtraction; +inf for a row without keys.
__device__ __forceinline__ float subtrahend_of(float lse) {
  return lse == minus_infinity ? -minus_infinity : lse * log2_e;
}

}  // namespace attnscope::cuda
