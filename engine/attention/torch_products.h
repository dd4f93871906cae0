#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The batched products shared by the implementations made of LibTorch. The scale is part of the
// product. Only for engine/attention, since it includes LibTorch.

#include <ATen/core/Tensor.h>

namespace attnscope {

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
