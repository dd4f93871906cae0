// SPDX-License-Identifier: Apache-2.0
#include "engine/measure/inputs.h"

#include <c10/util/BFloat16.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "engine/measure/block_cache.h"

namespace attnscope::measure {
namespace {

constexpr InputShape shape{.tokens = 3 * 40, .items = 3, .heads = 4, .head_dim = 16};

InputShape with(MemoryOrder order, DType dtype = DType::float32) {
  InputShape changed = shape;
  changed.memory_order = order;
  changed.dtype = dtype;
  return changed;
}

template <typename Visit>
void for_each_value(const Visit& visit) {
  for (std::int64_t token = 0; token < shape.tokens; ++token)
    for (std::int64_t head = 0; head < shape.heads; ++head)
      for (std::int64_t d = 0; d < shape.head_dim; ++d) visit(token, head, d);
}

TEST(Inputs, BothMemoryOrdersHoldTheSameValues) {
  BlockCache memory;
  const PlacementBuffers head_major(memory, with(MemoryOrder::head_major), 7, 0);
  const PlacementBuffers token_major(memory, with(MemoryOrder::token_major), 7, 0);
  for_each_value([&](std::int64_t token, std::int64_t head, std::int64_t d) {
    ASSERT_EQ(head_major.q().at<float>(token, head)[d], token_major.q().at<float>(token, head)[d]);
    ASSERT_EQ(head_major.v().at<float>(token, head)[d], token_major.v().at<float>(token, head)[d]);
  });
}

TEST(Inputs, HeadMajorIsBatchHeadsTokensDim) {
  const Tensor tensor = tensor_of(with(MemoryOrder::head_major), nullptr);
  EXPECT_EQ(tensor.offset(40 * 2 + 5, 3), ((2 * 4 + 3) * 40 + 5) * 16);
}

TEST(Inputs, TokenMajorIsTokensHeadsDim) {
  const Tensor tensor = tensor_of(with(MemoryOrder::token_major), nullptr);
  EXPECT_EQ(tensor.offset(85, 3), (85 * 4 + 3) * 16);
}

TEST(Inputs, PlacementsDifferInAddressesAndAgreeInValues) {
  BlockCache memory;
  std::set<std::uintptr_t> places;
  float first = 0;
  for (int placement = 0; placement < 4; ++placement) {
    memory.empty_cache();
    const PlacementBuffers buffers(memory, shape, 7, placement);
    const float value = *buffers.k().at<float>(17, 2);
    if (placement == 0) first = value;
    EXPECT_EQ(value, first);
    places.insert(reinterpret_cast<std::uintptr_t>(buffers.q().data) % 4096);
  }
  EXPECT_GT(places.size(), 1U);
}

TEST(Inputs, SeedsAndTensorsDiffer) {
  BlockCache memory;
  const PlacementBuffers one(memory, shape, 1, 0);
  const PlacementBuffers two(memory, shape, 2, 0);
  EXPECT_NE(*one.q().at<float>(0, 0), *two.q().at<float>(0, 0));
  EXPECT_NE(*one.q().at<float>(0, 0), *one.k().at<float>(0, 0));
  EXPECT_NE(*one.k().at<float>(0, 0), *one.v().at<float>(0, 0));
}

TEST(Inputs, ValuesHaveMeanZeroAndVarianceOne) {
  BlockCache memory;
  const PlacementBuffers buffers(memory, shape, 7, 0);
  double sum = 0;
  double squares = 0;
  for_each_value([&](std::int64_t token, std::int64_t head, std::int64_t d) {
    const double value = buffers.q().at<float>(token, head)[d];
    sum += value;
    squares += value * value;
  });
  const double count = 120.0 * 4 * 16;
  EXPECT_NEAR(sum / count, 0, 0.05);
  EXPECT_NEAR(squares / count, 1, 0.05);
}

TEST(Inputs, SixteenBitValuesAreTheRoundedOnes) {
  BlockCache memory;
  const PlacementBuffers exact(memory, shape, 7, 0);
  const PlacementBuffers rounded(memory, with(MemoryOrder::head_major, DType::bfloat16), 7, 0);
  EXPECT_EQ(*rounded.q().at<c10::BFloat16>(9, 1),
            static_cast<c10::BFloat16>(*exact.q().at<float>(9, 1)));
}

TEST(Inputs, OutputStartsPoisoned) {
  BlockCache memory;
  const PlacementBuffers buffers(memory, shape, 7, 0);
  EXPECT_TRUE(std::isnan(*buffers.o().at<float>(119, 3)));
  EXPECT_STREQ(buffers.not_finite(), "output");
  for_each_value([&](std::int64_t token, std::int64_t head, std::int64_t d) {
    buffers.o().at<float>(token, head)[d] = 1;
  });
  EXPECT_EQ(buffers.not_finite(), nullptr);
  buffers.o().at<float>(63, 2)[7] = std::numeric_limits<float>::infinity();
  EXPECT_STREQ(buffers.not_finite(), "output");
}

InputShape with_gradients() {
  InputShape changed = shape;
  changed.direction = Direction::forward_backward;
  return changed;
}

TEST(Inputs, ForwardAloneHasNoLogSumExps) {
  BlockCache memory;
  EXPECT_TRUE(PlacementBuffers(memory, shape, 7, 0).lse().empty());
  EXPECT_EQ(PlacementBuffers(memory, with_gradients(), 7, 0).lse().size(), 120U * 4);
}

TEST(Inputs, GradientsDoNotChangeTheInputs) {
  BlockCache memory;
  const PlacementBuffers without(memory, shape, 7, 0);
  const PlacementBuffers with(memory, with_gradients(), 7, 0);
  for_each_value([&](std::int64_t token, std::int64_t head, std::int64_t d) {
    ASSERT_EQ(without.k().at<float>(token, head)[d], with.k().at<float>(token, head)[d]);
  });
}

TEST(Inputs, GradientsStartPoisoned) {
  BlockCache memory;
  const PlacementBuffers buffers(memory, with_gradients(), 7, 0);
  EXPECT_TRUE(std::isnan(buffers.lse().back()));
  const auto fill = [&](const Tensor& tensor) {
    for_each_value([&](std::int64_t token, std::int64_t head, std::int64_t d) {
      tensor.at<float>(token, head)[d] = 1;
    });
  };
  EXPECT_STREQ(buffers.not_finite(), "output");
  fill(buffers.o());
  EXPECT_STREQ(buffers.not_finite(), "grad_q");
  fill(buffers.grad_q());
  EXPECT_STREQ(buffers.not_finite(), "grad_k");
  fill(buffers.grad_k());
  EXPECT_STREQ(buffers.not_finite(), "grad_v");
  fill(buffers.grad_v());
  EXPECT_EQ(buffers.not_finite(), nullptr);
  buffers.poison_outputs();
  EXPECT_TRUE(std::isnan(*buffers.grad_v().at<float>(119, 3)));
}

TEST(Inputs, ArrivingGradientIsRandomEverywhere_OrInTheNamedRowsAlone) {
  BlockCache memory;
  const PlacementBuffers buffers(memory, with_gradients(), 7, 0);
  const PlacementBuffers dense(memory, with_gradients(), 7, 0);
  EXPECT_NE(*dense.grad_o().at<float>(5, 1), *dense.q().at<float>(5, 1));
  const RowId named{.token = 77, .head = 2};
  buffers.fill_grad_o({&named, 1});
  for_each_value([&](std::int64_t token, std::int64_t head, std::int64_t d) {
    const bool is_named = token == named.token && head == named.head;
    const float expected = is_named ? dense.grad_o().at<float>(token, head)[d] : 0.0F;
    ASSERT_EQ(buffers.grad_o().at<float>(token, head)[d], expected);
  });
  buffers.fill_grad_o();
  for_each_value([&](std::int64_t token, std::int64_t head, std::int64_t d) {
    ASSERT_EQ(buffers.grad_o().at<float>(token, head)[d], dense.grad_o().at<float>(token, head)[d]);
  });
}

TEST(Inputs, MoreBytesThanCanBeCounted_AreNoNumber) {
  InputShape huge = shape;
  huge.tokens = std::numeric_limits<std::int64_t>::max() / 8;
  EXPECT_EQ(buffer_bytes(huge), std::nullopt);
  BlockCache memory;
  EXPECT_THROW(PlacementBuffers(memory, huge, 1, 0), OutOfMemory);
}

TEST(Inputs, PredictedBytesCoverWhatIsAllocated) {
  BlockCache memory;
  for (int placement = 0; placement < 8; ++placement) {
    const PlacementBuffers buffers(memory, shape, 7, placement);
    EXPECT_LE(memory.counters().requested, buffer_bytes(shape).value());
  }
  const std::int64_t before = memory.counters().requested;
  const PlacementBuffers buffers(memory, with_gradients(), 7, 0);
  EXPECT_LE(memory.counters().requested - before, buffer_bytes(with_gradients()).value());
  EXPECT_GT(buffer_bytes(with_gradients()).value(), buffer_bytes(shape).value());
}

}  // namespace
}  // namespace attnscope::measure
