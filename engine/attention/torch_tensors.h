#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Packed tensors and masks as LibTorch sees them. Only the implementations made of LibTorch include
// this: its headers cost seconds a file.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <limits>
#include <vector>

#include "engine/attention/blocks.h"
#include "engine/attention/implementation.h"

namespace attnscope {

/// What a mask adds to the score of a pair that is not allowed, and the log-sum-exp of no key at
/// all.
inline constexpr float minus_infinity = -std::numeric_limits<float>::infinity();

[[nodiscard]] at::ScalarType scalar_type(DType dtype);

/// The CPU, or the current CUDA device.
[[nodiscard]] at::Device torch_device(DeviceKind device);

/// [batch, heads, tokens of `range`, dim] on the caller's memory, for `batch` items in a row.
[[nodiscard]] at::Tensor view_of(const Tensor& tensor, TokenRange range, std::int64_t batch,
                                 std::int64_t heads, at::Device device = at::kCPU);
[[nodiscard]] at::Tensor view_of(const ConstTensor& tensor, TokenRange range, std::int64_t batch,
                                 std::int64_t heads, at::Device device = at::kCPU);

/// The keys (or values) of a block, [batch, heads, columns, dim]: a view, or, where a shared query
/// stands apart from the item, a copy beside the item's own.
[[nodiscard]] at::Tensor columns_of(const ConstTensor& tensor, const Block& block,
                                    std::int64_t heads, at::Device device = at::kCPU);

/// Whether batch and heads are one strided axis, so that [batch*heads, tokens, dim] is a view.
[[nodiscard]] bool merges_batch_and_heads(const at::Tensor& view);

/// Sets LibTorch's threads if they are not set so already.
void use_torch_threads(int threads);

struct TorchMask {
  at::Tensor mask;        // [1 or heads, rows, columns] in the asked dtype
  at::Tensor empty_rows;  // bool [1 or heads, rows, 1]; undefined when every row sees a key
};

/// `visible` where a row sees a column, `hidden` elsewhere. A row without keys is left visible
/// everywhere, and its output is to be zeroed: the softmax of nothing would be NaN, which a
/// gradient of zero does not silence. On CUDA rows begin at multiples of 8 values, without which
/// LibTorch would copy the mask in every call.
[[nodiscard]] TorchMask make_mask(const AttentionPlan& plan, const TaskIndex& tasks,
                                  const Block& block, DType dtype, float visible, float hidden,
                                  at::Device device = at::kCPU);

/// Bytes of that mask.
[[nodiscard]] std::int64_t mask_bytes(const TaskIndex& tasks, const Block& block, DType dtype,
                                      std::int64_t heads);

}  // namespace attnscope
