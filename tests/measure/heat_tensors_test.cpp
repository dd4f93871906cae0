// SPDX-License-Identifier: Apache-2.0
#include "engine/measure/heat_tensors.h"

#include <c10/util/BFloat16.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "engine/measure/heat_device.h"

namespace attnscope::measure {
namespace {

const SequenceLayout layout = SequenceLayout::uniform(3, {.cls = 0, .documents = {40}});

struct With {
  MemoryOrder order = MemoryOrder::head_major;
  DType dtype = DType::float32;
  Direction direction = Direction::forward;
  std::uint64_t seed = 7;
  int placement = 0;
};

CallShape shape_with(const With& with) {
  return {.layout = layout,
          .heads = 4,
          .head_dim = 16,
          .dtype = with.dtype,
          .memory_order = with.order,
          .direction = with.direction};
}

class Placed {
 public:
  explicit Placed(const With& with = {})
      : tensors_(heat_device(DeviceKind::cpu), shape_with(with), with.seed) {
    tensors_.place(with.placement);
    view = tensors_.get().on_host();
  }
  HeatTensors* operator->() { return &tensors_; }
  CallView view;

 private:
  HeatTensors tensors_;
};

const With backward{.direction = Direction::forward_backward};

template <typename Visit>
void for_each_value(const Visit& visit) {
  for (std::int64_t token = 0; token < layout.tokens(); ++token)
    for (std::int64_t head = 0; head < 4; ++head)
      for (std::int64_t d = 0; d < 16; ++d) visit(token, head, d);
}

void expect_alike(const Tensor& one, const Tensor& other) {
  for_each_value([&](std::int64_t token, std::int64_t head, std::int64_t d) {
    ASSERT_EQ(one.at<float>(token, head)[d], other.at<float>(token, head)[d]);
  });
}

TEST(HeatTensors, MemoryOrderAndGradientsDoNotChangeTheInputs) {
  const Placed head_major;
  const Placed token_major({.order = MemoryOrder::token_major});
  const Placed with_gradients(backward);
  for (const Placed* other : {&token_major, &with_gradients}) {
    expect_alike(head_major.view.q, other->view.q);
    expect_alike(head_major.view.k, other->view.k);
    expect_alike(head_major.view.v, other->view.v);
  }
  EXPECT_EQ(head_major.view.q.offset(40 * 2 + 5, 3), ((2 * 4 + 3) * 40 + 5) * 16);
  EXPECT_EQ(token_major.view.q.offset(85, 3), (85 * 4 + 3) * 16);
}

TEST(HeatTensors, PlacementsDifferInAddressesButNotInValues) {
  std::set<std::uintptr_t> places;
  Placed tensors;
  const float first = *tensors.view.k.at<float>(17, 2);
  for (int placement = 0; placement < 4; ++placement) {
    tensors->place(placement);
    const CallView view = tensors->get().on_host();
    EXPECT_EQ(*view.k.at<float>(17, 2), first);
    places.insert(reinterpret_cast<std::uintptr_t>(view.q.data) % 4096);
  }
  EXPECT_GT(places.size(), 1U);
}

TEST(HeatTensors, ValuesAreRandomWithMeanZeroAndVarianceOne) {
  const Placed tensors, other({.seed = 2}), rounded({.dtype = DType::bfloat16});
  const CallView& view = tensors.view;
  EXPECT_NE(*view.q.at<float>(0, 0), *other.view.q.at<float>(0, 0));
  EXPECT_NE(*view.q.at<float>(0, 0), *view.k.at<float>(0, 0));
  EXPECT_NE(*view.k.at<float>(0, 0), *view.v.at<float>(0, 0));
  EXPECT_EQ(*rounded.view.q.at<c10::BFloat16>(9, 1),
            static_cast<c10::BFloat16>(*view.q.at<float>(9, 1)));
  double sum = 0;
  double squares = 0;
  for_each_value([&](std::int64_t token, std::int64_t head, std::int64_t d) {
    const double value = view.q.at<float>(token, head)[d];
    sum += value;
    squares += value * value;
  });
  const double count = 120.0 * 4 * 16;
  EXPECT_NEAR(sum / count, 0, 0.05);
  EXPECT_NEAR(squares / count, 1, 0.05);
}

TEST(HeatTensors, OutputsStartPoisoned) {
  Placed tensors(backward);
  const CallView& view = tensors.view;
  EXPECT_TRUE(std::isnan(view.lse.back()));
  for (const auto& [part, name] :
       {std::pair(view.o, "output"), std::pair(view.grad_q, "grad_q"),
        std::pair(view.grad_k, "grad_k"), std::pair(view.grad_v, "grad_v")}) {
    EXPECT_STREQ(tensors->get().not_finite(Pass::both), name);
    const auto& tensor = part;
    for_each_value([&](std::int64_t token, std::int64_t head, std::int64_t d) {
      tensor.at<float>(token, head)[d] = 1;
    });
  }
  EXPECT_EQ(tensors->get().not_finite(Pass::both), nullptr);
  view.o.at<float>(63, 2)[7] = std::numeric_limits<float>::infinity();
  EXPECT_STREQ(tensors->get().not_finite(Pass::both), "output");
  EXPECT_EQ(tensors->get().not_finite(Pass::backward), nullptr);
  EXPECT_TRUE(Placed().view.lse.empty()) << "forward alone has no log-sum-exps";
}

TEST(HeatTensors, IncomingGradientIsRandomInAllOrSelectedRows) {
  Placed tensors(backward);
  const Placed dense(backward);
  EXPECT_NE(*dense.view.grad_o.at<float>(5, 1), *dense.view.q.at<float>(5, 1));
  const RowId named{.token = 77, .head = 2};
  tensors->fill_grad_o({&named, 1});
  for_each_value([&](std::int64_t token, std::int64_t head, std::int64_t d) {
    const bool is_named = token == named.token && head == named.head;
    const float expected = is_named ? dense.view.grad_o.at<float>(token, head)[d] : 0.0F;
    ASSERT_EQ(tensors.view.grad_o.at<float>(token, head)[d], expected);
  });
  tensors->fill_grad_o();
  expect_alike(tensors.view.grad_o, dense.view.grad_o);
}

TEST(HeatTensors, OverflowingBytesAreAbsent) {
  CallShape huge = shape_with({});
  huge.heads = std::numeric_limits<std::int64_t>::max() / 8;
  EXPECT_EQ(buffer_bytes(huge), std::nullopt);
  HeatTensors tensors(heat_device(DeviceKind::cpu), huge, 1);
  EXPECT_THROW(tensors.place(0), OutOfMemory);
}

TEST(HeatTensors, PredictedBytesCoverTheAllocations) {
  for (const With& with : {With{}, backward}) {
    const std::int64_t before = process_memory().counters().requested;
    Placed tensors(with);
    for (int placement = 0; placement < 8; ++placement) {
      tensors->place(placement);
      EXPECT_LE(process_memory().counters().requested - before,
                buffer_bytes(shape_with(with)).value());
    }
  }
  EXPECT_GT(buffer_bytes(shape_with(backward)).value(), buffer_bytes(shape_with({})).value());
}

}  // namespace
}  // namespace attnscope::measure
