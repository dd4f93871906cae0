#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Packed tensors, masks and batched products for the implementations made of LibTorch. Included
// only by these: LibTorch's headers cost seconds per file.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <limits>
#include <vector>

#include "engine/attention/blocks.h"
#include "engine/attention/implementation.h"

namespace attnscope {

/// The value that a mask adds to the score of a masked pair, and the log-sum-exp of a row without
/// keys.
inline constexpr float minus_infinity = -std::numeric_limits<float>::infinity();

[[nodiscard]] at::ScalarType scalar_type(DType dtype);

/// The CPU, or the current CUDA device.
[[nodiscard]] at::Device torch_device(DeviceKind device);

/// [batch, heads, tokens of `range`, dim] in the caller's memory, for `batch` consecutive items.
[[nodiscard]] at::Tensor view_of(const Tensor& tensor, TokenRange range, std::int64_t batch,
                                 std::int64_t heads, at::Device device = at::kCPU);
[[nodiscard]] at::Tensor view_of(const ConstTensor& tensor, TokenRange range, std::int64_t batch,
                                 std::int64_t heads, at::Device device = at::kCPU);

/// The keys (or values) of a block, [batch, heads, columns, dim]: a view or, for a shared query
/// outside the item, a copy of both parts.
[[nodiscard]] at::Tensor columns_of(const ConstTensor& tensor, const Block& block,
                                    std::int64_t heads, at::Device device = at::kCPU);

/// Sets LibTorch's number of threads if it differs.
void use_torch_threads(int threads);

struct TorchMask {
  at::Tensor mask;        // [1 or heads, rows, columns] in the requested dtype
  at::Tensor empty_rows;  // bool [1 or heads, rows, 1]; undefined if every row has a key
};

/// `visible` where a row attends to a column, `hidden` elsewhere. A row without keys is visible
/// everywhere, and its output must be set to zero: the softmax of no keys would be NaN, and a
/// gradient of zero does not remove it. On CUDA rows begin at multiples of 8 values; otherwise
/// LibTorch would copy the mask in every call.
[[nodiscard]] TorchMask make_mask(const AttentionPlan& plan, const TaskIndex& tasks,
                                  const Block& block, DType dtype, float visible, float hidden,
                                  at::Device device = at::kCPU);

/// Size of that mask in bytes.
[[nodiscard]] std::int64_t mask_bytes(const TaskIndex& tasks, const Block& block, DType dtype,
                                      std::int64_t heads);

/// [batch, heads, n, dim] as [batch*heads, n, dim]; a copy if the strides do not allow a view.
[[nodiscard]] at::Tensor as_matrices(const at::Tensor& view);

/// scale * a b of [matrices, rows, inner] and [matrices, inner, columns], outside any graph.
[[nodiscard]] at::Tensor scaled_product(const at::Tensor& a, const at::Tensor& b, double scale);
/// The same into contiguous `out`.
void scaled_product_into(at::Tensor out, const at::Tensor& a, const at::Tensor& b, double scale);
/// The same as a graph for autograd.
[[nodiscard]] at::Tensor scaled_product_in_graph(const at::Tensor& a, const at::Tensor& b,
                                                 double scale);

}  // namespace attnscope
