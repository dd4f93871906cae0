#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Conversions of the three types, locations of rows in the tensors of a call, and common functions
// on a row of weights, for all kernels. Sums are float32; a result is rounded to nearest. CUDA's
// conversions in use: __float2half_rn, __float2bfloat16_rn, __half2float, __bfloat162float,
// __floats2half2_rn, __floats2bfloat162_rn.

#include <cstring>
#include <type_traits>

#include "kernels/cuda/operands.h"
#include "kernels/cuda/ptx.h"
#include "kernels/cuda/work_list.h"
#include "kernels/plan/tensor.h"

namespace attnscope::cuda {

inline constexpr unsigned all_lanes = 0xffffffffu;
inline constexpr float log2_e = 1.4426950408889634f;
inline constexpr float ln_2 = 0.6931471805599453f;
inline constexpr float minus_infinity = -__builtin_inff();

template <DType type>
struct NumberOf {
  using T = std::conditional_t<type == DType::float32, float,
                               std::conditional_t<type == DType::float16, __half, __nv_bfloat16>>;
};

__device__ inline float to_float(float x) {
  return x;
}
__device__ inline float to_float(__half x) {
  return __half2float(x);
}
__device__ inline float to_float(__nv_bfloat16 x) {
  return __bfloat162float(x);
}

template <typename T>
__device__ inline T from_float(float x) {
  if constexpr (std::is_same_v<T, __half>) {
    return __float2half_rn(x);
  } else if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    return __float2bfloat16_rn(x);
  } else {
    return x;
  }
}

/// A pair of 16-bit numbers, `low` in the low half.
template <typename T>
__device__ inline std::uint32_t pair_of(float low, float high) {
  const auto pair = [&] {
    if constexpr (std::is_same_v<T, __half>) {
      return __floats2half2_rn(low, high);
    } else {
      return __floats2bfloat162_rn(low, high);
    }
  }();
  std::uint32_t bits = 0;
  memcpy(&bits, &pair, sizeof bits);
  return bits;
}

/// x with the bits of `signs` flipped.
__device__ inline float flipped(float x, std::uint32_t signs) {
  std::uint32_t bits = 0;
  memcpy(&bits, &x, sizeof bits);
  bits ^= signs;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/// A mask of the halves of `pair` that are not finite.
template <typename T>
__device__ std::uint32_t non_finite_halves(std::uint32_t pair) {
  constexpr std::uint32_t low = std::is_same_v<T, __half> ? 0x7c00u : 0x7f80u;
  constexpr std::uint32_t high = low << 16;
  return ((pair & low) == low ? 0x0000ffffu : 0u) | ((pair & high) == high ? 0xffff0000u : 0u);
}

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
