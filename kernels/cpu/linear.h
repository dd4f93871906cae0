#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A linear layer on many rows, y = x w^T + bias, with the transformer operations that follow it.
// The weights are packed once in the order in which they are read, so that a call streams them.
//
//   std::vector<std::byte> packed(packed_linear_bytes(Products::int8, out, in));
//   pack_linear(weights, Products::int8, out, in, packed);
//   std::vector<float> workspace(linear_workspace_floats(rows, threads));
//   linear({.x = {x, in}, .rows = rows, .in = in, .products = Products::int8, .weights = packed,
//           .out = out, .bias = bias, .y = {y, out}}, threads, workspace);

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"
#include "kernels/plan/tensor.h"

namespace attnscope::cpu {

/// Rows of contiguous numbers, `stride` apart.
template <typename Float>
struct RowsOf {
  Float* data = nullptr;
  std::int64_t stride = 0;
};

/// Bytes of packed weights: those of [out, in], padding of the last panel, and their scales.
[[nodiscard]] std::int64_t packed_linear_bytes(Products products, std::int64_t out,
                                               std::int64_t in);
/// Packs weights [out, in], rounded to the operands of the products; `packed` is aligned for
/// floats. The layout is the same on every processor. Errors: inconsistent sizes.
[[nodiscard]] Status pack_linear(std::span<const float> weights, Products products,
                                 std::int64_t out, std::int64_t in, std::span<std::byte> packed);

/// gelu: the exact form, with the error function.
enum class Activation : std::uint8_t { none, gelu, relu };

/// (y - mean) / sqrt(variance + epsilon) weight + bias of a row (Ba et al., 2016, Layer
/// Normalization).
struct LayerNorm {
  std::span<const float> weight = {}, bias = {};  // one value per element of a row
  float epsilon = 0;
};

/// y = norm(activation(x w^T + bias) + rest), or times `rest`; y must differ from x, and from
/// `rest` if there is a norm.
struct LinearCall {
  RowsOf<const float> x;  // [rows, in]
  std::int64_t rows = 0;
  std::int64_t in = 0;
  Products products = Products::float32;
  std::span<const std::byte> weights;  // as packed by pack_linear()
  std::int64_t out = 0;
  std::span<const float> bias = {};  // [out], or none
  Activation activation = Activation::none;
  RowsOf<const float> rest = {};  // [rows, out], or none
  bool rest_multiplies = false;   // a gate (Dauphin et al., ICML 2017) instead of a residual
  LayerNorm norm = {};            // or none
  RowsOf<float> y;                // [rows, out]
};

/// Floats of workspace: a piece of x and of sums for each thread.
[[nodiscard]] std::int64_t linear_workspace_floats(std::int64_t rows, int threads);

/// Sums are float32, those of int8 integers. Uses at most `threads` OpenMP threads. A row's results
/// depend neither on their number nor on other rows. Errors: inconsistent sizes, a workspace that
/// is too small.
[[nodiscard]] Status linear(const LinearCall& call, int threads, std::span<float> workspace);

}  // namespace attnscope::cpu
