#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Arguments of the fused kernels, by value, and their launch functions. Included by the host's
// segment.cpp, which needs no CUDA headers, and by the kernels.

#include <cstddef>
#include <cstdint>

#include "base/result.h"
#include "kernels/cuda/devices.h"
#include "kernels/cuda/operands.h"
#include "kernels/cuda/work_list.h"
#include "kernels/plan/tensor.h"

namespace attnscope::cuda {

/// For walks, strides of tokens are below 2^31 bytes and rows begin at multiples of 16.
struct ForwardTensors {
  Input q, k, v;
  Output o;
  float* lse = nullptr;  // [tokens, heads], or null
};
/// Data of a row for the backward pass: its log-sum-exp in units of log2, but +inf for a row
/// without keys, which makes its weights 0; and -D, D = grad_o . o.
struct alignas(8) RowNumbers {
  float subtrahend = 0.0f;
  float minus_dot = 0.0f;
};
struct BackwardTensors {
  Input q, k, v, o, grad_o;
  Output grad_q, grad_k, grad_v;
  const float* lse = nullptr;     // [tokens, heads]
  RowNumbers* numbers = nullptr;  // [heads, tokens]: written by the row kernel for the key kernel
  std::int64_t tokens = 0;
};

/// Arguments of the plain kernels in both directions.
struct UnitArguments {
  DeviceList list;
  ItemDivision items;           // the same for all tensors, so that a token's item is found once
  std::int32_t first_unit = 0;  // of the launch
  std::int32_t units = 0;
  std::int32_t heads = 0;
  std::int32_t heads_per_unit = 0;
  std::int32_t head_dim = 0;
  bool vector = false;  // rows of all tensors begin and end at multiples of 16 bytes
  float scale = 0.0f;
};

/// Arguments of walks in both directions.
struct WalkArguments {
  DeviceWalks list;
  ItemDivision items;  // a walk's rows and its band's keys are within one item
  std::int32_t walks = 0;
  std::int32_t merges = 0;
  std::int32_t widest_merge = 0;
  std::int32_t heads = 0;
  std::int32_t head_dim = 0;
  bool by_head = false;  // WalkList::by_head
  float scale = 0.0f;
  // Scores are multiplied by `factor` after masked ones have become -inf, so it is positive: the
  // absolute value of the scale in units of log2, or for scale 0 a value that keeps masked scores
  // at -inf.
  float factor = 0.0f;
  std::uint32_t signs = 0;  // sign bits to flip in queries or keys for a negative scale
  // Partial rows, [head, row, pitch]: forward o, maximum and sum; backward grad_q, or grad_k and
  // grad_v.
  float* partials = nullptr;
  std::int64_t partial_rows = 0;
  std::int32_t partial_pitch = 0;
};

struct ForwardArguments : UnitArguments, ForwardTensors {};
struct BackwardArguments : UnitArguments, BackwardTensors {};
struct ForwardWalkArguments : WalkArguments, ForwardTensors {};
struct BackwardWalkArguments : WalkArguments, BackwardTensors {};

/// The stationary operand: queries, or keys.
enum class Standing : std::uint8_t { rows, keys };

/// For the plain kernels: warps of a block, and floats of shared memory per warp in addition to two
/// rows.
inline constexpr int plain_warps = 4, plain_floats = 96;
/// The units of one direction, for any head dimension (plain.cu).
[[nodiscard]] Status plain_forward(DType dtype, const ForwardArguments& arguments, Stream stream);
[[nodiscard]] Status plain_backward(DType dtype, const BackwardArguments& arguments, Standing what,
                                    Stream stream);

/// The walks of one direction, then their merges.
struct WalkKernels {
  Status (*forward)(const ForwardWalkArguments& arguments, WalkShape shape,
                    Stream stream) = nullptr;
  Status (*backward)(const BackwardWalkArguments& arguments, Standing what,
                     Stream stream) = nullptr;
};
/// The kernels of a 16-bit type and head dimension 32 or 64, each compiled in a separate file that
/// the build generates from instantiation.cu.in.
template <DType type, int columns>
[[nodiscard]] WalkKernels walk_kernels();

}  // namespace attnscope::cuda
