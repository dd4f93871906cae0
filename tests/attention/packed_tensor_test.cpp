// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/packed_tensor.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace attnscope {
namespace {

constexpr std::int64_t pack_heads = 2;
constexpr std::int64_t pack_dim = 4;

SequenceLayout uniform_layout() {
  LayoutItem item;
  item.query = 2;
  item.documents = {3};
  return SequenceLayout::uniform(3, item);
}

SequenceLayout ragged_layout() {
  LayoutItem small;
  LayoutItem large;
  large.documents = {5};
  return SequenceLayout::make({small, large}).value();
}

std::vector<float> counting(const SequenceLayout& layout) {
  std::vector<float> values(static_cast<std::size_t>(layout.tokens() * pack_heads * pack_dim));
  std::iota(values.begin(), values.end(), 1.0F);
  return values;
}

TEST(PackedTensor, HeadMajorOfAUniformBatchIsBatchHeadsTokensDim) {
  const Tensor t = packed_tensor(uniform_layout(), pack_heads, pack_dim, DType::float32,
                                 MemoryOrder::head_major, nullptr);
  const std::int64_t n = 6;
  EXPECT_EQ(t.offset(0, 1), n * pack_dim);
  EXPECT_EQ(t.offset(1, 0), pack_dim);
  EXPECT_EQ(t.offset(n, 0), pack_heads * n * pack_dim);
  EXPECT_EQ(t.offset(2 * n + 5, 1), ((2 * pack_heads + 1) * n + 5) * pack_dim);
}

TEST(PackedTensor, HeadMajorOfARaggedBatchIsHeadsTokensDim) {
  const Tensor t = packed_tensor(ragged_layout(), pack_heads, pack_dim, DType::float32,
                                 MemoryOrder::head_major, nullptr);
  EXPECT_EQ(t.offset(0, 1), 7 * pack_dim);
  EXPECT_EQ(t.offset(6, 1), 13 * pack_dim);
}

TEST(PackedTensor, TokenMajorIsTokensHeadsDim) {
  const Tensor t = packed_tensor(uniform_layout(), pack_heads, pack_dim, DType::float32,
                                 MemoryOrder::token_major, nullptr);
  EXPECT_EQ(t.offset(17, 1), (17 * pack_heads + 1) * pack_dim);
}

TEST(PackedTensor, WhatIsPackedIsUnpackedInEveryOrderAndDtype) {
  for (const SequenceLayout& layout : {uniform_layout(), ragged_layout()}) {
    const std::vector<float> values = counting(layout);
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
