#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The in-place operations of dense attention on its scores: mask and softmax, their backward, and
// only the mask. All computation is in float32.
//
// Rows of the scores begin `stride` elements apart, a multiple of 16 bytes; the padding between a
// row's last column and the next row is scratch, filled with 0.

#include <cstddef>
#include <cstdint>

#include "base/result.h"
#include "kernels/cuda/devices.h"
#include "kernels/plan/tensor.h"

namespace attnscope::cuda {

/// Scores [items, heads, rows, columns] in device memory.
struct Scores {
  std::int64_t items = 0, heads = 0, rows = 0, columns = 0;
  std::int64_t stride = 0;  // between rows, in elements
  DType dtype = DType::float32;
  const std::uint8_t* mask = nullptr;  // [masks, rows, stride], 0: masked; nullptr: none
  std::int64_t masks = 0;              // 0, 1 or heads
};

/// The least stride of rows with that many columns.
[[nodiscard]] constexpr std::int64_t score_stride(std::int64_t columns, DType dtype) {
  const std::int64_t of_16_bytes = 16 / size_of(dtype);
  return (columns + of_16_bytes - 1) / of_16_bytes * of_16_bytes;
}

/// scores = softmax over the allowed columns of each row; 0 for a row without one. `lse` (nullptr:
/// not written) points to the log-sum-exp of row 0 of item 0; that of row r of item b and head h, a
/// natural logarithm, is written at (b * rows + r) * heads + h. It is -inf for a row without an
/// allowed column.
[[nodiscard]] Status softmax_forward(const Scores& scores, std::byte* values, float* lse,
                                     Stream stream);

/// gradients = weights * (gradients - sum of weights * gradients over the row): converts the
/// gradient of the weights to that of the scores.
[[nodiscard]] Status softmax_backward(Scores scores, const std::byte* weights, std::byte* gradients,
                                      Stream stream);

/// scores = 0 for masked pairs; no effect without a mask.
[[nodiscard]] Status apply_mask(const Scores& scores, std::byte* values, Stream stream);

}  // namespace attnscope::cuda
