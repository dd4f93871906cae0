#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Memory layout of q, k, v and o, and conversion from and to plain token-major floats.
//
//   std::vector<std::byte> bytes(packed_bytes(layout, heads, head_dim, dtype));
//   Tensor q = packed_tensor(layout, heads, head_dim, dtype, order, bytes.data());
//   pack(values, layout.tokens(), heads, q);       // rounds to the dtype
//
// head-major is [batch, heads, n, dim] for a uniform layout and [heads, tokens, dim] for any other;
// token-major is [tokens, heads, dim] always.

#include <cstdint>
#include <span>

#include "engine/pattern/axes.h"
#include "engine/pattern/sequence_layout.h"
#include "kernels/plan/tensor.h"

namespace attnscope {

[[nodiscard]] std::int64_t packed_bytes(const SequenceLayout& layout, std::int64_t heads,
                                        std::int64_t head_dim, DType dtype);

[[nodiscard]] Tensor packed_tensor(const SequenceLayout& layout, std::int64_t heads,
                                   std::int64_t head_dim, DType dtype, MemoryOrder order,
                                   std::byte* data);

/// Writes `values` [tokens, heads, head_dim], rounded to the tensor's dtype.
void pack(std::span<const float> values, std::int64_t tokens, std::int64_t heads,
          const Tensor& tensor);

/// Reads a tensor back into `values` [tokens, heads, head_dim].
void unpack(const ConstTensor& tensor, std::int64_t tokens, std::int64_t heads,
            std::span<float> values);

}  // namespace attnscope
