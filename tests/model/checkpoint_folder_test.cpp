// SPDX-License-Identifier: Apache-2.0
//
// Random weights, written for another program and read back like any checkpoint.
#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "engine/checkpoint/checkpoint.h"
#include "engine/model/model_weights.h"
#include "engine/model/served_model.h"
#include "tests/model/drawn_pairs.h"

namespace attnscope::test {
namespace {

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
