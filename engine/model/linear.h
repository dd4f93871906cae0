#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A linear layer by the fastest route on this machine, shared by all models. For engine/model only:
// Uses LibTorch.
//
//   const Linear qkv(weights.weight, weights.bias, fastest_route(dtype, device, shape));
//   at::Tensor y = qkv(x);                 // [tokens, out]

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string_view>

#include "engine/model/model_weights.h"
#include "engine/pattern/axes.h"
#include "kernels/cpu/linear.h"

namespace attnscope {

/// plain: at::linear, which uses MKL's GEMM in float32 on the CPU and cuBLAS on CUDA. packed:
/// oneDNN on 16-bit weights that are packed once. kernel: cpu::linear on float32 weights that are
/// packed once; a row's results do not depend on the other rows. bfloat16 and int8: the same kernel
/// with products in that type.
enum class LinearRoute : std::uint8_t { plain, packed, kernel, bfloat16, int8 };
[[nodiscard]] std::string_view name_of(LinearRoute route);

/// The kernel route with these products.
[[nodiscard]] LinearRoute route_of(Products products);

/// The fastest route for feed-forward layers of these widths with LibTorch's number of threads:
/// `plain` or the dtype's other route. Timed once per process, dtype, size and number of threads,
/// within some milliseconds, on the row counts of documents and of a query. `plain` on devices
/// other than the CPU.
[[nodiscard]] LinearRoute fastest_route(DType dtype, DeviceKind device, std::int64_t hidden,
                                        std::int64_t feed_forward);

/// LayerNorm.
class Norm {
 public:
  Norm() = default;
  Norm(at::Tensor weight, at::Tensor bias, double epsilon);  // [hidden]
  [[nodiscard]] at::Tensor operator()(const at::Tensor& x) const;

 private:
  friend class Linear;
  at::Tensor weight_, bias_;
  double epsilon_ = 0;
};

class Linear {
 public:
  Linear() = default;
  /// weight [out, in] and bias [out], in the dtype and on the device of the input.
  Linear(const at::Tensor& weight, at::Tensor bias, LinearRoute route);
  /// activation(x weight^T + bias) for x [tokens, in].
  [[nodiscard]] at::Tensor operator()(const at::Tensor& x,
                                      cpu::Activation activation = cpu::Activation::none) const;
  /// The same plus `rest` [tokens, out], a residual connection.
  [[nodiscard]] at::Tensor plus(const at::Tensor& x, const at::Tensor& rest) const;
  /// Writes the norm of that sum to `to` [tokens, out], which must not alias x or rest.
  void plus_normed(const at::Tensor& x, const at::Tensor& rest, const Norm& norm,
                   at::Tensor& to) const;
  /// `gate` [tokens, out] is multiplied by x weight^T + bias: the second part of a gated linear
  /// unit (Dauphin et al., ICML 2017), after the gate is computed.
  void times(const at::Tensor& x, at::Tensor& gate) const;
  [[nodiscard]] std::int64_t out() const { return bias_.size(0); }

 private:
  at::Tensor weight_;  // [out, in], or in its route's packed format
  at::Tensor bias_;
  LinearRoute route_ = LinearRoute::plain;
};

/// Dtype, device and route of a model's computation; makes its layers from weights.
struct Computing {
  DType dtype = DType::float32;
  at::Device device = at::kCPU;
  LinearRoute route = LinearRoute::plain;

  [[nodiscard]] at::Tensor of(const at::Tensor& weight) const;
  [[nodiscard]] Linear of(const LinearWeights& weights) const;
  [[nodiscard]] Norm of(const NormWeights& weights, double epsilon) const;
};

}  // namespace attnscope
