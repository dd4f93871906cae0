#include "engine/model/model_weights.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/equal.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <set>
#include <utility>

#include "engine/checkpoint/checkpoint.h"
#include "engine/model/family.h"
#include "engine/model/served_model.h"
#include "tests/model/drawn_pairs.h"

namespace attnscope::test {
namespace {

const char* some_layer = "encoder.layer.1.output.dense.weight";

TEST(ModelWeights, SameSeedGivesTheSameWeights) {
  const auto a = ModelWeights::random(small_config(), {.seed = 3});
  const auto b = ModelWeights::random(small_config(), {.seed = 3});
  const auto c = ModelWeights::random(small_config(), {.seed = 4});
  EXPECT_TRUE(at::equal(a->tensor(some_layer), b->tensor(some_layer)));
  EXPECT_FALSE(at::equal(a->tensor(some_layer), c->tensor(some_layer)));
  EXPECT_EQ(a->fingerprint(), b->fingerprint());
  EXPECT_NE(a->fingerprint(), c->fingerprint());
}

TEST(ModelWeights, FingerprintChangesWithPairsOfSigns) {
  const auto weights = ModelWeights::random(small_config(), {.seed = 3});
  std::set<std::uint64_t> all{weights->fingerprint()};
  // Odd positions are the upper halves of words of 8 bytes.
  for (const auto& [first, second] : {std::pair(1, 3), {1, 101}, {3, 101}, {5, 7}}) {
    ModelWeights::Tensors tensors = weights->tensors();
    at::Tensor& changed = tensors[some_layer];
    changed = changed.clone();
    for (const int place : {first, second}) changed.data_ptr<float>()[place] *= -1;
    all.insert(ModelWeights(weights->config(), std::move(tensors)).fingerprint());
  }
  EXPECT_EQ(all.size(), 5U);
}

TEST(ModelWeights, GlobalProjectionsDoNotChangeOtherWeights) {
  const auto with = ModelWeights::random(small_config({"global-projections"}), {.seed = 3});
  const auto without = ModelWeights::random(small_config(), {.seed = 3});
  EXPECT_TRUE(at::equal(with->tensor("classifier.weight"), without->tensor("classifier.weight")));
  EXPECT_TRUE(with->has("encoder.layer.2.attention.self.key_global.bias"));
  EXPECT_FALSE(without->has("encoder.layer.2.attention.self.key_global.bias"));
}

TEST(ModelWeights, RoundsDoublesToFloats) {
  const double tenth = 0.1;
  const Checkpoint checkpoint{
      .config = small_config(),
      .tensors = {{"x", {"F64", {1}, std::as_bytes(std::span(&tenth, 1))}}}};
  const auto weights = ModelWeights::of(checkpoint);
  ASSERT_TRUE(weights) << weights.error().message;
  EXPECT_EQ((*weights)->tensor("x").item<float>(), 0.1F);
}

TEST(ModelWeights, InterpolatesNewPositions) {
  ModelShape shape = small_shape();
  shape.positions = 5;
  shape.first_position = 2;
  const auto old = ModelWeights::random(small_config({}, shape), {});
  const auto extended = families().front()->extended_to(old, 9);
  ASSERT_TRUE(extended);
  EXPECT_EQ((*extended)->shape().positions, 9);
  const at::Tensor& before = old->tensor("embeddings.position_embeddings.weight");
  const at::Tensor& after = (*extended)->tensor("embeddings.position_embeddings.weight");
  ASSERT_EQ(after.size(0), 2 + 9);
  for (std::int64_t padding = 0; padding < 2; ++padding) {
    EXPECT_TRUE(at::equal(after[padding], before[padding]));
  }
  for (std::int64_t p = 0; p < 5; ++p) EXPECT_TRUE(at::equal(after[2 + 2 * p], before[2 + p])) << p;
  const at::Tensor middle = (before[2] + before[3]) * 0.5;
  EXPECT_LT((after[3] - middle).abs().max().item<float>(), 1e-7F);
}

TEST(CheckpointFolder, ReadsBackTheSameModelWithoutGlobalProjections) {
  const auto weights = ModelWeights::random(small_config({"global-projections"}), {.seed = 3});
  const auto expected = ModelWeights::random(small_config(), {.seed = 3});
  const auto folder = CheckpointFolder::write(*weights);
  ASSERT_TRUE(folder) << folder.error().message;
  const auto checkpoint = Checkpoint::open((*folder)->path());
  ASSERT_TRUE(checkpoint) << checkpoint.error().message;
  EXPECT_EQ(checkpoint->config.shape, small_shape());
  EXPECT_TRUE(checkpoint->gives_scores);
  EXPECT_TRUE(checkpoint->left_out.empty());
  const auto read = ModelWeights::of(*checkpoint);
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ((*read)->tensors().size(), expected->tensors().size());
  for (const auto& [name, tensor] : (*read)->tensors())
    EXPECT_TRUE(at::equal(tensor, expected->tensor(name))) << name;
}

TEST(CheckpointFolder, InfiniteAndNanWeightsAreRefused) {
  for (const float bad : {HUGE_VALF, -HUGE_VALF, std::nanf("")}) {
    const auto folder = CheckpointFolder::write(*ModelWeights::random(small_config(), {}));
    ASSERT_TRUE(folder) << folder.error().message;
    {
      std::fstream file((*folder)->path() / "model.safetensors",
                        std::ios::in | std::ios::out | std::ios::binary);
      file.seekp(-static_cast<std::streamoff>(sizeof(bad)), std::ios::end);
      file.write(reinterpret_cast<const char*>(&bad), sizeof(bad));
    }
    const auto checkpoint = Checkpoint::open((*folder)->path());
    ASSERT_TRUE(checkpoint) << checkpoint.error().message;
    const auto read = ModelWeights::of(*checkpoint);
    ASSERT_FALSE(read) << bad;
    EXPECT_THAT(read.error().message, testing::HasSubstr("has values that are infinite or NaN"));
  }
}

TEST(CheckpointFolder, DestructorRemovesOnlyItsOwnFolder) {
  const auto weights = ModelWeights::random(small_config(), {});
  auto first = CheckpointFolder::write(*weights);
  ASSERT_TRUE(first) << first.error().message;
  const std::filesystem::path of_first = (*first)->path();
  {
    const auto second = CheckpointFolder::write(*weights);
    ASSERT_TRUE(second) << second.error().message;
    EXPECT_NE((*second)->path(), of_first);
    EXPECT_TRUE(std::filesystem::exists(of_first / "model.safetensors"));
  }
  EXPECT_TRUE(std::filesystem::exists(of_first / "config.json"));
  first->reset();
  EXPECT_FALSE(std::filesystem::exists(of_first));
}

}  // namespace
}  // namespace attnscope::test
