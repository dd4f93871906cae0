// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/torch_products.h"

#include <ATen/ops/baddbmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

namespace attnscope {

at::Tensor as_matrices(const at::Tensor& view) {
  return view.reshape({view.size(0) * view.size(1), view.size(2), view.size(3)});
}

void scaled_product_into(at::Tensor out, const at::Tensor& a, const at::Tensor& b, double scale) {
  at::baddbmm_out(out, out, a, b, /*beta=*/0, scale);
}

at::Tensor scaled_product(const at::Tensor& a, const at::Tensor& b, double scale) {
  at::Tensor result = at::empty({a.size(0), a.size(1), b.size(2)}, a.options());
  scaled_product_into(result, a, b, scale);
  return result;
}

at::Tensor scaled_product_in_graph(const at::Tensor& a, const at::Tensor& b, double scale) {
  // The added tensor is ignored (beta = 0) and only needs a shape.
  const at::Tensor nothing = at::zeros({1, 1, 1}, a.options().requires_grad(false));
  return at::baddbmm(nothing, a, b, /*beta=*/0, scale);
}

}  // namespace attnscope
