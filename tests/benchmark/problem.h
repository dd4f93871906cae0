#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A problem as a heat would pose it, for tools that time kernels without a heat: 12 heads of 32,
// the sparse pattern, [CLS] and 11 query tokens, inputs of normal numbers.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "kernels/plan/attention_plan.h"
#include "kernels/plan/tensor.h"

namespace attnscope::cpu {

inline constexpr std::int32_t heads = 12;
inline constexpr std::int64_t head_dim = 32;
inline const float scale = 1.0f / std::sqrt(static_cast<float>(head_dim));

struct Free {
  void operator()(std::byte* p) const { std::free(p); }
};
using Buffer = std::unique_ptr<std::byte[], Free>;

/// Bytes as the programs hand them in: on a cache line, in huge pages where they are many.
[[nodiscard]] Buffer buffer(std::int64_t bytes);

struct Problem {
  AttentionPlan plan;
  DType dtype = DType::float32;
  bool token_major = false;
  std::int64_t item_tokens = 0;
  Buffer q, k, v, o;

  template <typename Byte>
  [[nodiscard]] StridedTensor<Byte> tensor(Byte* data) const {
    if (token_major) return {data, dtype, head_dim, heads * head_dim, head_dim, 0, 0};
    return {data,
            dtype,
            head_dim,
            head_dim,
            item_tokens * head_dim,
            item_tokens,
            heads * item_tokens * head_dim};
  }
  [[nodiscard]] ConstTensor in(const Buffer& x) const {
    return tensor(static_cast<const std::byte*>(x.get()));
  }
  [[nodiscard]] Tensor out() { return tensor(o.get()); }
};

struct ProblemShape {
  std::int64_t item_tokens = 0, window = 0, items = 1;
  bool token_major = false;
  DType dtype = DType::float32;
};
[[nodiscard]] Problem make_problem(const ProblemShape& shape);

}  // namespace attnscope::cpu
