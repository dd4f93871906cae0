#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A linear layer by the fastest route on this machine, the same for every model. For engine/model
// alone: LibTorch inside.
//
//   const Linear qkv(weights.weight, weights.bias, fastest_route(dtype, device, shape));
//   at::Tensor y = qkv(x);                 // [tokens, out]

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string_view>

#include "engine/pattern/axes.h"
#include "kernels/cpu/linear.h"

namespace attnscope {

/// plain: at::linear, which on the CPU is MKL's GEMM in float32 and on CUDA cuBLAS's. packed:
/// oneDNN on 16-bit weights that were laid out for it once. kernel: cpu::linear on float32 weights
/// that were laid out for it once; a row's results do not depend on the rows beside it. bfloat16
/// and int8: the same, whose products are those.
enum class LinearRoute : std::uint8_t { plain, packed, kernel, bfloat16, int8 };
[[nodiscard]] std::string_view name_of(LinearRoute route);

/// The kernel's.
[[nodiscard]] LinearRoute route_of(Products products);

/// Which is faster for the layers of a feed-forward network of these widths with LibTorch's number
/// of threads, `plain` or the other that the dtype has: timed against each other once a process,
/// dtype, size and number of threads, in some milliseconds, on as many rows as documents have and
/// as a query has. Elsewhere than on the CPU it is `plain`.
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
  /// weight [out, in] and bias [out] in the dtype and on the device of what comes.
  Linear(const at::Tensor& weight, at::Tensor bias, LinearRoute route);
  /// The activation of x weight^T + bias of [tokens, in].
  [[nodiscard]] at::Tensor operator()(const at::Tensor& x,
                                      cpu::Activation activation = cpu::Activation::none) const;
  /// The same and `rest` [tokens, out] added, a residual connection.
  [[nodiscard]] at::Tensor plus(const at::Tensor& x, const at::Tensor& rest) const;
  /// The norm of that, in `to` [tokens, out], which is neither of both.
  void plus_normed(const at::Tensor& x, const at::Tensor& rest, const Norm& norm,
                   at::Tensor& to) const;
  /// `gate` [tokens, out] becomes the product of it and x weight^T + bias: what is left of a gated
  /// linear unit (Dauphin et al., ICML 2017) once the gate is computed.
  void times(const at::Tensor& x, at::Tensor& gate) const;
  [[nodiscard]] std::int64_t out() const { return bias_.size(0); }

 private:
  at::Tensor weight_;  // [out, in], or as its route packs it
  at::Tensor bias_;
  LinearRoute route_ = LinearRoute::plain;
};

}  // namespace attnscope
