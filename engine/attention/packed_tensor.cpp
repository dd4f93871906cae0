// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/packed_tensor.h"

#include "kernels/plan/number_formats.h"

namespace attnscope {

std::int64_t packed_bytes(const SequenceLayout& layout, std::int64_t heads, std::int64_t head_dim,
                          DType dtype) {
  return layout.tokens() * heads * head_dim * size_of(dtype);
}

Tensor packed_tensor(const SequenceLayout& layout, std::int64_t heads, std::int64_t head_dim,
                     DType dtype, MemoryOrder order, std::byte* data) {
  Tensor tensor{.data = data, .dtype = dtype, .head_dim = head_dim};
  if (order == MemoryOrder::token_major) {
    tensor.token_stride = heads * head_dim;
    tensor.head_stride = head_dim;
    return tensor;
  }
  const bool uniform = layout.is_uniform() && layout.item_count() > 0 && layout.tokens() > 0;
  const std::int64_t run = uniform ? layout.tokens() / layout.item_count() : layout.tokens();
  tensor.token_stride = head_dim;
  tensor.head_stride = run * head_dim;
  if (uniform) {
    tensor.item_tokens = run;
    tensor.item_stride = heads * run * head_dim;
  }
  return tensor;
}

void pack(std::span<const float> values, std::int64_t tokens, std::int64_t heads,
          const Tensor& tensor) {
  const float* source = values.data();
  for (std::int64_t token = 0; token < tokens; ++token) {
    for (std::int64_t head = 0; head < heads; ++head) {
      const std::int64_t row = tensor.offset(token, head);
      for (std::int64_t i = 0; i < tensor.head_dim; ++i) {
        write_value(tensor.data, tensor.dtype, row + i, *source++);
      }
    }
  }
}

void unpack(const ConstTensor& tensor, std::int64_t tokens, std::int64_t heads,
            std::span<float> values) {
  float* target = values.data();
  for (std::int64_t token = 0; token < tokens; ++token) {
    for (std::int64_t head = 0; head < heads; ++head) {
      const std::int64_t row = tensor.offset(token, head);
      for (std::int64_t i = 0; i < tensor.head_dim; ++i) {
        *target++ = read_value(tensor.data, tensor.dtype, row + i);
      }
    }
  }
}

}  // namespace attnscope
