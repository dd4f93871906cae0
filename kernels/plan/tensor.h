#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Number formats, and the packed tensor [tokens, heads, dim] with strides, the only form in which
// kernels receive q, k, v and o. The last dimension is contiguous. Both memory orders have the same
// type:
//
//   token-major  [tokens, heads, dim]           token_stride = heads*dim, head_stride = dim
//   head-major   [batch, heads, tokens, dim]    token_stride = dim, head_stride = n*dim,
//                                               item_tokens = n, item_stride = heads*n*dim
//
// Tokens are counted over the whole batch (item b of n tokens is b*n ... (b+1)*n - 1). With
// item_tokens == 0 the token axis is one strided run. With item_tokens > 0 a token range that stays
// inside one item is still one strided run.

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

namespace attnscope {

enum class DType : std::uint8_t { float32, float16, bfloat16 };

[[nodiscard]] constexpr std::int64_t size_of(DType dtype) {
  return dtype == DType::float32 ? 4 : 2;
}

template <typename Byte>
struct StridedTensor {
  Byte* data = nullptr;
  DType dtype = DType::float32;
  std::int64_t head_dim = 0;
  std::int64_t token_stride = 0;  // in elements
  std::int64_t head_stride = 0;   // in elements
  std::int64_t item_tokens = 0;   // 0: the token axis is not split into items
  std::int64_t item_stride = 0;   // in elements

  /// Offset in elements of (token, head, 0).
  [[nodiscard]] std::int64_t offset(std::int64_t token, std::int64_t head) const {
    if (item_tokens == 0) return token * token_stride + head * head_stride;
    return token / item_tokens * item_stride + token % item_tokens * token_stride +
           head * head_stride;
  }
  /// Address of (token, head, 0); T must match dtype.
  template <typename T>
  [[nodiscard]] auto* at(std::int64_t token, std::int64_t head) const {
    if constexpr (std::is_const_v<Byte>) {
      return reinterpret_cast<const T*>(data) + offset(token, head);
    } else {
      return reinterpret_cast<T*>(data) + offset(token, head);
    }
  }
};

using Tensor = StridedTensor<std::byte>;
using ConstTensor = StridedTensor<const std::byte>;

[[nodiscard]] inline ConstTensor as_const(const Tensor& t) {
  return {t.data, t.dtype, t.head_dim, t.token_stride, t.head_stride, t.item_tokens, t.item_stride};
}

/// The number format in which a document's vectors are stored. int8 has one scale per row.
enum class VectorFormat : std::uint8_t { float32, float16, bfloat16, int8 };

/// Size of one number in bytes.
[[nodiscard]] constexpr std::int64_t size_of(VectorFormat format) {
  if (format == VectorFormat::float32) return 4;
  return format == VectorFormat::int8 ? 1 : 2;
}

/// The number format of a linear layer's products; all other computation is float32.
/// bfloat16: both operands are rounded to it, sums are float32. int8: weights are quantised with
/// one scale per output to -127 ... 127, rows with one scale each to 16 bits, whose upper and lower
/// 8 bits are multiplied separately; sums are integers (Jacob et al., CVPR 2018, Sec. 2; scales per
/// row as in Yao et al., NeurIPS 2022, Sec. 4). Rows of 8 bits would lose the most accuracy:
/// rankings of similar documents then had an RBO of 0.955, and have 0.99 with 16 bits.
enum class Products : std::uint8_t { float32, bfloat16, int8 };

/// Inputs and outputs of a backward pass: the inputs of a forward call, its outputs (o and the
/// log-sum-exp), the incoming gradient, and the three gradients to write. With P = softmax(scale q
/// k^T) over the plan's pairs and D_i = grad_o_i . o_i:
///
///   grad_v_j = sum_i P_ij grad_o_i              dS_ij = P_ij (grad_o_i . v_j - D_i)
///   grad_q_i = scale sum_j dS_ij k_j            grad_k_j = scale sum_i dS_ij q_i
///
/// All tensors are packed over the same tokens, heads and head dimension, and have one dtype.
struct GradientTensors {
  ConstTensor q, k, v;
  ConstTensor o;
  std::span<const float> lse;  // [tokens, heads], natural logarithm, -inf for a row without keys
  ConstTensor grad_o;
  Tensor grad_q, grad_k, grad_v;  // every element is written; 0 where nothing contributes
};

}  // namespace attnscope
