// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/sdpa/sdpa_kernels.h"

#include <ATen/detail/CUDAHooksInterface.h>
#include <ATen/ops/_scaled_dot_product_cudnn_attention.h>
#include <ATen/ops/_scaled_dot_product_efficient_attention.h>
#include <ATen/ops/_scaled_dot_product_flash_attention.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/scaled_dot_product_attention.h>

#include <tuple>

#include "engine/attention/cuda_runtime.h"

namespace attnscope {
namespace {

constexpr double no_dropout = 0.0;
constexpr bool not_causal = false;

/// A single mask for all items and heads (or all items) is stored once; strides of 0 repeat it.
std::optional<at::Tensor> repeated(const SdpaOperands& operands) {
  if (!operands.bias) return std::nullopt;
  const at::Tensor& q = operands.q;
  return operands.bias->expand({q.size(0), q.size(1), q.size(2), operands.k.size(2)});
}

SdpaResult on_cpu(const SdpaOperands& operands, double scale) {
  auto [o, lse] = at::_scaled_dot_product_flash_attention_for_cpu(
      operands.q, operands.k, operands.v, no_dropout, not_causal, repeated(operands), scale);
  return {.o = o, .lse = lse};
}

/// The kernel needs multiples of 8; LibTorch pads to them in every call, and so does this.
SdpaResult flash(const SdpaOperands& operands, double scale) {
  const std::int64_t dim = operands.q.size(3);
  const std::int64_t missing = (8 - dim % 8) % 8;
  const auto padded = [&](const at::Tensor& tensor) {
    return missing == 0 ? tensor : at::constant_pad_nd(tensor, {0, missing});
  };
  const auto result = at::_scaled_dot_product_flash_attention(
      padded(operands.q), padded(operands.k), padded(operands.v), no_dropout, not_causal,
      /*return_debug_mask=*/false, scale);
  const at::Tensor& o = std::get<0>(result);
  return {.o = missing == 0 ? o : o.narrow(3, 0, dim), .lse = std::get<1>(result)};
}

SdpaResult efficient(const SdpaOperands& operands, double scale, bool with_lse) {
  auto [o, lse, seed, offset] = at::_scaled_dot_product_efficient_attention(
      operands.q, operands.k, operands.v, repeated(operands), with_lse, no_dropout, not_causal,
      scale);
  // The log-sum-exps are padded to whole tiles.
  return {.o = o, .lse = with_lse ? lse.narrow(2, 0, operands.q.size(2)) : at::Tensor()};
}

/// The operator broadcasts a bias of one item or head itself.
SdpaResult cudnn(const SdpaOperands& operands, double scale, bool with_lse) {
  const auto result = at::_scaled_dot_product_cudnn_attention(
      operands.q, operands.k, operands.v, operands.bias, with_lse, no_dropout, not_causal,
      /*return_debug_mask=*/false, scale);
  // [batch, heads, rows, 1]
  const at::Tensor& lse = std::get<1>(result);
  const at::Tensor& q = operands.q;
  return {.o = std::get<0>(result),
          .lse = with_lse ? lse.view({q.size(0), q.size(1), q.size(2)}) : at::Tensor()};
}

}  // namespace

SdpaResult run_sdpa_kernel(SdpaKernel kernel, const SdpaOperands& operands, double scale,
                           bool with_lse) {
  switch (kernel) {
    case SdpaKernel::flash:
      return operands.q.is_cpu() ? on_cpu(operands, scale) : flash(operands, scale);
    case SdpaKernel::efficient:
      return efficient(operands, scale, with_lse);
    case SdpaKernel::cudnn:
      return cudnn(operands, scale, with_lse);
    case SdpaKernel::chosen_by_libtorch:
      break;
  }
  return {.o = at::scaled_dot_product_attention(operands.q, operands.k, operands.v,
                                                repeated(operands), no_dropout, not_causal, scale),
          .lse = {}};
}

SdpaDevice current_sdpa_device() {
  if (!cuda::usable()) return {};
  const CudaDevice device = cuda_devices().devices.front();
  const at::CUDAHooksInterface& hooks = at::detail::getCUDAHooks();
  return {.compute_major = device.compute_major,
          .compute_minor = device.compute_minor,
          .cudnn_version = hooks.hasCuDNN() ? hooks.versionRuntimeCuDNN() : 0};
}

}  // namespace attnscope
