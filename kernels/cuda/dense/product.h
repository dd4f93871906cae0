#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// One strided-batched matrix product, C = alpha op(A) op(B), of row-major matrices in device
// memory, with the fastest of the first algorithms of cuBLASLt's heuristics. Batches are [items,
// heads].
//
//   Result<Product> scores = Product::prepare(library, handle, {.a = rows, .b = columns, ...});
//   Status queued = scores->run(scale, q, k, s, workspace, stream);
//
// The first run of a shape on a device selects the algorithm by timing (docs/cuda-kernels.md) and
// writes C repeatedly. All later runs, also of other products of that shape, give the same bits.

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "kernels/cuda/dense/cublaslt.h"
#include "kernels/plan/tensor.h"

namespace attnscope::cuda {

/// Layout of an operand's matrices, one for each item and head; strides in elements.
struct Matrix {
  std::int64_t rows = 0, columns = 0;
  std::int64_t row = 0, head = 0, item = 0;                         // strides
  friend auto operator<=>(const Matrix&, const Matrix&) = default;  // NOLINT: no null pointer
};

/// A transposed operand is stored as [k, m] or [n, k].
struct ProductShape {
  Matrix a, b, c;
  bool transposed_a = false, transposed_b = false;
  std::int64_t items = 1, heads = 1;
  std::int64_t alignment = 0;  // alignment of each matrix's first element in bytes
  DType dtype = DType::float32;
  friend auto operator<=>(const ProductShape&, const ProductShape&) = default;  // NOLINT: the same
};

class Product {
 public:
  [[nodiscard]] static Result<Product> prepare(const CublasLt& library, void* handle,
                                               const ProductShape& shape);
  /// Workspace sufficient for any of the algorithms.
  [[nodiscard]] std::int64_t workspace_bytes() const {
    return static_cast<std::int64_t>(choices_.front().workspace_bytes);
  }
  /// Not thread-safe. Errors: cuBLASLt's; the stream is being captured before the algorithm of this
  /// shape is selected.
  [[nodiscard]] Status run(float alpha, const std::byte* a, const std::byte* b, std::byte* c,
                           std::byte* workspace, Stream stream) const;

 private:
  Product(const CublasLt& library, void* handle, const ProductShape& shape);
  Status describe();
  Status describe(const Matrix& matrix, Descriptor& layout) const;
  Status find_choices();

  const CublasLt* library_;
  void* handle_;
  ProductShape shape_;  // one call per item
  Descriptor matmul_, a_, b_, c_;
  std::vector<lt::Choice> choices_;           // in the order of the heuristics
  mutable std::optional<lt::Choice> chosen_;  // set by the first run
};

}  // namespace attnscope::cuda
