#include "engine/model/model_weights.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include "engine/model/weight_tensors.h"
#include "tests/model/drawn_pairs.h"

namespace attnscope::test {
namespace {

TEST(ModelWeights, AreTheSameForTheSameSeed) {
  const auto a = ModelWeights::random(small_shape(), {.seed = 3});
  const auto b = ModelWeights::random(small_shape(), {.seed = 3});
  const auto c = ModelWeights::random(small_shape(), {.seed = 4});
  EXPECT_TRUE(
      at::equal(a->tensors().layers[1].output.weight, b->tensors().layers[1].output.weight));
  EXPECT_FALSE(
      at::equal(a->tensors().layers[1].output.weight, c->tensors().layers[1].output.weight));
}

TEST(ModelWeights, DoNotDependOnWhetherGlobalProjectionsAreDrawn) {
  const auto with = ModelWeights::random(small_shape(), {.seed = 3});
  const auto without =
      ModelWeights::random(small_shape(), {.seed = 3, .global_projections = false});
  EXPECT_TRUE(at::equal(with->tensors().classifier.weight, without->tensors().classifier.weight));
  EXPECT_TRUE(with->has_global_projections());
  EXPECT_FALSE(without->has_global_projections());
}

TEST(ModelWeights, MorePositionsLieBetweenTheOldOnes) {
  ModelShape shape = small_shape();
  shape.positions = 5;
  shape.first_position = 2;
  const auto old = ModelWeights::random(shape, {});
  const auto extended = old->extended_to(9);
  EXPECT_EQ(extended->shape().positions, 9);
  const at::Tensor& before = old->tensors().positions;
  const at::Tensor& after = extended->tensors().positions;
  ASSERT_EQ(after.size(0), 2 + 9);
  for (std::int64_t padding = 0; padding < 2; ++padding) {
    EXPECT_TRUE(at::equal(after[padding], before[padding]));
  }
  for (std::int64_t p = 0; p < 5; ++p) EXPECT_TRUE(at::equal(after[2 + 2 * p], before[2 + p])) << p;
  const at::Tensor middle = (before[2] + before[3]) * 0.5;
  EXPECT_LT((after[3] - middle).abs().max().item<float>(), 1e-7F);
}

TEST(ModelWeights, GlobalProjectionsBeginAsTheOthers) {
  const auto plain = ModelWeights::random(small_shape(), {.seed = 3, .global_projections = false});
  const auto with = plain->with_global_projections();
  ASSERT_TRUE(with->has_global_projections());
  const LayerWeights& layer = with->tensors().layers[2];
  EXPECT_TRUE(at::equal(layer.global->key.weight, layer.key.weight));
}

}  // namespace
}  // namespace attnscope::test
