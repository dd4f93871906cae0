#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// One strided-batched matrix product, C = alpha op(A) op(B), of row-major matrices in device
// memory, with the fastest of the algorithms that cuBLASLt's heuristics put first. Batches are
// [items, heads].
//
//   Result<Product> scores = Product::prepare(library, handle, {.m = rows, .n = columns, ...});
//   Status queued = scores->run(q, k, s, workspace, stream);
//
// The first run of a shape in this process times each algorithm on its operands - C is written
// again and again - and waits for the device (device_time.h). The choice is kept for the shape and
// device: all later runs, also of other products of that shape, only queue, and give the same bits.

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "kernels/base/result.h"
#include "kernels/cuda/dense/cublaslt.h"
#include "kernels/plan/tensor.h"

namespace attnscope::cuda {

/// How the matrices of one factor lie, in elements.
struct MatrixStrides {
  std::int64_t row = 0;
  std::int64_t head = 0;
  std::int64_t item = 0;
  friend auto operator<=>(const MatrixStrides&, const MatrixStrides&) = default;
};

/// C [m, n] = alpha op(A) [m, k] op(B) [k, n]; a transposed factor lies as [k, m], [n, k].
struct ProductShape {
  std::int64_t m = 0, n = 0, k = 0;
  bool transposed_a = false, transposed_b = false;
  MatrixStrides a, b, c;
  std::int64_t items = 1, heads = 1;
  std::int64_t alignment = 0;  // bytes that each matrix's first element is aligned to
  DType dtype = DType::float32;
  float alpha = 1.0F;
  friend auto operator<=>(const ProductShape&, const ProductShape&) = default;
};

class Product {
 public:
  [[nodiscard]] static Result<Product> prepare(const CublasLt& library, void* handle,
                                               const ProductShape& shape);
  /// Scratch for any of the algorithms.
  [[nodiscard]] std::int64_t workspace_bytes() const;
  /// Not from several threads at once. Errors: cuBLASLt's; the stream is being captured and this
  /// shape's algorithm is not yet chosen.
  [[nodiscard]] Status run(const std::byte* a, const std::byte* b, std::byte* c,
                           std::byte* workspace, Stream stream) const;
  [[nodiscard]] double flop() const;

 private:
  using Multiply = std::function<Status(const lt::Choice&)>;

  Product(const CublasLt& library, void* handle, const ProductShape& shape);
  Status describe();
  Status describe(Descriptor& layout, std::int64_t rows, std::int64_t columns,
                  const MatrixStrides& strides) const;
  Status find_choices();
  [[nodiscard]] Result<lt::Choice> fastest(Stream stream, const Multiply& multiply) const;
  [[nodiscard]] Result<lt::Choice> choose(Stream stream, const Multiply& multiply) const;

  const CublasLt* library_;
  void* handle_;
  ProductShape shape_;  // a call for each item
  Descriptor matmul_, a_, b_, c_;
  std::vector<lt::Choice> choices_;           // in the order of the heuristics
  mutable std::optional<lt::Choice> chosen_;  // since the first run
};

}  // namespace attnscope::cuda
