// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/packed_tensor.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "tests/attention/small_problem.h"

namespace attnscope {
namespace {

constexpr std::int64_t pack_heads = 2;
constexpr std::int64_t pack_dim = 4;

SequenceLayout uniform_layout() {
  return SequenceLayout::uniform(3, tests::item(1, 2, 3));
}
SequenceLayout ragged_layout() {
  return SequenceLayout::make({tests::item(1, 0, 0), tests::item(1, 0, 5)}).value();
}

TEST(PackedTensor, HasTheStridesOfItsMemoryOrder) {
  const auto tensor = [](const SequenceLayout& layout, MemoryOrder order) {
    return packed_tensor(layout, pack_heads, pack_dim, DType::float32, order, nullptr);
  };
  const std::int64_t n = 6;
  const Tensor uniform =
      tensor(uniform_layout(), MemoryOrder::head_major);  // [batch, heads, n, dim]
  EXPECT_EQ(uniform.offset(0, 1), n * pack_dim);
  EXPECT_EQ(uniform.offset(1, 0), pack_dim);
  EXPECT_EQ(uniform.offset(n, 0), pack_heads * n * pack_dim);
  EXPECT_EQ(uniform.offset(2 * n + 5, 1), ((2 * pack_heads + 1) * n + 5) * pack_dim);
  const Tensor ragged = tensor(ragged_layout(), MemoryOrder::head_major);  // [heads, tokens, dim]
  EXPECT_EQ(ragged.offset(0, 1), 7 * pack_dim);
  EXPECT_EQ(ragged.offset(6, 1), 13 * pack_dim);
  const Tensor by_token = tensor(uniform_layout(), MemoryOrder::token_major);
  EXPECT_EQ(by_token.offset(17, 1), (17 * pack_heads + 1) * pack_dim);
}

TEST(PackedTensor, RoundTripsInEveryOrderAndDtype) {
  for (const SequenceLayout& layout : {uniform_layout(), ragged_layout()}) {
    std::vector<float> values(static_cast<std::size_t>(layout.tokens() * pack_heads * pack_dim));
    std::iota(values.begin(), values.end(), 1.0F);
    for (const MemoryOrder order : {MemoryOrder::head_major, MemoryOrder::token_major}) {
      for (const DType dtype : {DType::float32, DType::float16, DType::bfloat16}) {
        std::vector<std::byte> bytes(
            static_cast<std::size_t>(packed_bytes(layout, pack_heads, pack_dim, dtype)));
        const Tensor t = packed_tensor(layout, pack_heads, pack_dim, dtype, order, bytes.data());
        pack(values, layout.tokens(), pack_heads, t);
        std::vector<float> back(values.size());
        unpack(attnscope::as_const(t), layout.tokens(), pack_heads, back);
        EXPECT_EQ(back, values);
      }
    }
  }
}

}  // namespace
}  // namespace attnscope
