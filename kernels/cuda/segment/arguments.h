#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What the host hands to the fused kernels, by value, and how it starts them. Read by the host's
// segment.cpp, which needs no CUDA headers, and by the kernels.

#include <cstddef>
#include <cstdint>

#include "kernels/base/result.h"
#include "kernels/cuda/stream.h"
#include "kernels/cuda/walk_list.h"
#include "kernels/cuda/work/device_list.h"
#include "kernels/plan/tensor.h"

namespace attnscope::cuda {

/// Division of token numbers below 2^31 by an item's tokens: a multiplication and a shift
/// (Granlund and Montgomery, 1994). A 64-bit division would cost more than a row's products.
struct ItemDivision {
  std::uint32_t tokens = 0;  // 0: the token axis is not split into items
  std::uint32_t multiplier = 0;
  std::uint32_t shift = 0;
};

/// StridedTensor for kernels; strides in bytes.
template <typename Byte>
struct DeviceTensor {
  Byte* data = nullptr;
  std::int64_t token_stride = 0;
  std::int64_t head_stride = 0;
  std::int64_t item_stride = 0;
};

using Input = DeviceTensor<const std::byte>;
using Output = DeviceTensor<std::byte>;

/// What both directions need.
struct UnitArguments {
  DeviceList list;
  ItemDivision items;           // of all tensors alike, so that a token's item is found once
  std::int32_t first_unit = 0;  // of the launch
  std::int32_t heads = 0;
  std::int32_t heads_per_unit = 0;
  std::int32_t main_warps = 0;
  std::int32_t head_dim = 0;
  bool vector = false;  // rows of all tensors begin and end at multiples of 16 bytes
  float scale = 0.0f;
  // Arrivals, [merge, column part, head], 0 before and after each launch.
  unsigned* counters = nullptr;
  // Partial rows, [head, row, pitch]: forward o, maximum and sum; backward grad_q, or grad_k and
  // grad_v.
  float* partials = nullptr;
  std::int64_t partial_rows = 0;
  std::int32_t partial_pitch = 0;
};

struct ForwardArguments {
  UnitArguments units;
  Input q, k, v;
  Output o;
  float* lse = nullptr;  // [tokens, heads], or null
};

struct WalkArguments {
  DeviceWalks list;
  ItemDivision items;  // a walk's rows and its band's keys lie within one item
  std::int32_t walks = 0;
  std::int32_t merges = 0;
  std::int32_t widest_merge = 0;
  std::int32_t heads = 0;
  std::int32_t head_dim = 0;
  float scale = 0.0f;
  Input q, k, v;  // strides of tokens below 2^31 bytes, rows at multiples of 16
  Output o;
  float* lse = nullptr;       // [tokens, heads], or null
  float* partials = nullptr;  // as of UnitArguments
  std::int64_t partial_rows = 0;
  std::int32_t partial_pitch = 0;
};

struct BackwardArguments {
  UnitArguments units;
  Input q, k, v, grad_o;
  Output grad_q, grad_k, grad_v;
  const float* lse = nullptr;   // [tokens, heads]
  const float* dots = nullptr;  // [tokens, heads], D = grad_o . o of each row
};

/// Of one direction; `walk.o` and `walk.lse` are not used.
struct BackwardWalkArguments {
  WalkArguments walk;
  Input grad_o;
  Output gradients[2];         // grad_q; or grad_k and grad_v
  const float* lse = nullptr;  // as of BackwardArguments
  const float* dots = nullptr;
};

struct RowDotArguments {
  Input a, b;
  ItemDivision items;
  float* dots = nullptr;
  std::int64_t rows = 0;  // tokens * heads
  std::int32_t heads = 0;
  std::int32_t head_dim = 0;
  bool vector = false;
};

/// Head dimensions are padded with zeros to 16, 32, 64, 128 or 256; each class and type is compiled
/// in a file of its own, which the build writes from instantiation.cu.in.
struct SegmentKernels {
  Status (*forward)(const ForwardArguments& arguments, std::int64_t units, int warps,
                    Stream stream) = nullptr;
  Status (*row_dots)(const RowDotArguments& arguments, Stream stream) = nullptr;
  Status (*backward)(const BackwardArguments& arguments, std::int64_t units, int warps,
                     Stream stream) = nullptr;
  // The walks, then their merges; null where there are none (has_walks).
  Status (*walk)(const WalkArguments& arguments, WalkShape shape, Stream stream) = nullptr;
  // The same backward (has_backward_walks), `kind` the direction.
  Status (*walk_backward)(const BackwardWalkArguments& arguments, UnitKind kind, WalkShape shape,
                          Stream stream) = nullptr;
};

template <DType type, int columns>
[[nodiscard]] SegmentKernels segment_kernels();

/// Columns of a gradient that a block of the backward pass sums in registers; wider heads are taken
/// by several blocks, a part of the columns each, which compute the weights anew. More of them
/// would be spilled: two gradients of 128 columns at 255 registers a thread; at 64, where a block
/// of 11 warps has 168, those of float32, whose stationary rows are held by pointers.
[[nodiscard]] constexpr int gradient_columns(int columns, std::int64_t number_bytes) {
  if (columns > 64) return 64;
  return columns == 64 && number_bytes == 4 ? 32 : columns;
}

/// Warps of a block: 8 main ones (4 beyond head dimension 64) and 3 extra ones.
[[nodiscard]] constexpr int most_warps(int columns) {
  return columns <= 64 ? 11 : 7;
}

}  // namespace attnscope::cuda
