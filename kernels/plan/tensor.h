#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A packed tensor [tokens, heads, dim] with strides, the only form in which kernels receive q, k, v
// and o. The last dimension is contiguous. Both memory orders have the same type:
//
//   token-major  [tokens, heads, dim]           token_stride = heads*dim, head_stride = dim
//   head-major   [batch, heads, tokens, dim]    token_stride = dim, head_stride = n*dim,
//                                               item_tokens = n, item_stride = heads*n*dim
//
// Tokens are counted over the whole batch (item b of n tokens holds b*n ... (b+1)*n - 1). With
// item_tokens == 0 the token axis is one strided run. With item_tokens > 0 a token range that stays
// inside one item is still one strided run.

#include <cstddef>
#include <cstdint>
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

}  // namespace attnscope
