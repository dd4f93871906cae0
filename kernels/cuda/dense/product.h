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
#include <memory>

#include "kernels/base/result.h"
#include "kernels/cuda/dense/cublaslt.h"
#include "kernels/plan/tensor.h"

namespace attnscope::cuda {

/// How the matrices of one factor lie, in elements. `alignment` is the bytes that every matrix's
/// first element is aligned to.
struct MatrixStrides {
  std::int64_t row = 0;
  std::int64_t head = 0;
  std::int64_t item = 0;
  std::int64_t alignment = 0;
  friend auto operator<=>(const MatrixStrides&, const MatrixStrides&) = default;
};

/// C [m, n] = alpha op(A) [m, k] op(B) [k, n]; a transposed factor lies as [k, m], [n, k].
struct ProductShape {
  std::int64_t m = 0, n = 0, k = 0;
  bool transposed_a = false, transposed_b = false;
  MatrixStrides a, b, c;
  std::int64_t items = 1, heads = 1;
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

  Product();
  Product(Product&&) noexcept;
  Product& operator=(Product&&) noexcept;
  ~Product();

 private:
  struct Operands;
  struct Prepared;
  std::unique_ptr<Prepared> prepared_;
};

}  // namespace attnscope::cuda
