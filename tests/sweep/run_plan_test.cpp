// SPDX-License-Identifier: Apache-2.0
#include "engine/sweep/run_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/sweep/sweep.h"

namespace attnscope {
namespace {

using testing::HasSubstr;

std::vector<Heat> some_heats() {
  auto sweep = parse_sweep(R"({"contenders": ["full/sdpa", "sparse/segment"], "windows": [4, 64],
                               "sequence_tokens": [64, 512], "cache": ["warm", "cold"],
                               "documents": [1, 4]})",
                           "some.json");
  if (!sweep) throw std::runtime_error(sweep.error().message);
  return sweep->heats;
}

TEST(RunPlan, EveryHeat_ReadsBackAsItWas) {
  const std::vector<Heat> heats = some_heats();
  const auto read = read_plan(plan_json(heats));
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->size(), heats.size());
  for (std::size_t i = 0; i < heats.size(); ++i) {
    EXPECT_EQ((*read)[i].index, heats[i].index);
    EXPECT_EQ((*read)[i].point, heats[i].point);
    EXPECT_EQ((*read)[i].contenders, heats[i].contenders);
    EXPECT_EQ((*read)[i].stop, heats[i].stop);
  }
}

TEST(RunPlan, APlanFromBeforeThereWasAnAxis_HasItAtItsDefault) {
  nlohmann::json plan = plan_json(some_heats());
  for (nlohmann::json& heat : plan["heats"]) heat["point"].erase("cache");
  for (nlohmann::json& contender : plan["contenders"]) contender.erase("model");
  const auto read = read_plan(plan);
  ASSERT_TRUE(read) << read.error().message;
  for (const Heat& heat : *read) {
    EXPECT_EQ(heat.point.cache, CacheState::warm);
    EXPECT_EQ(heat.contenders[0].model, "");
  }
}

TEST(RunPlan, Damaged_IsRefused) {
  EXPECT_FALSE(read_plan(nlohmann::json()));
  EXPECT_FALSE(read_plan({{"heats", {{{"contenders", {5}}, {"point", 1}, {"stop", 9}}}}}));
}

TEST(RunPlan, APlaceThatDoesNotExist_IsAnErrorAndNoCrash) {
  nlohmann::json plan = plan_json(some_heats());
  plan["heats"][1]["contenders"][0] = 99;
  const auto read = read_plan(plan);
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message, HasSubstr("damaged"));
}

}  // namespace
}  // namespace attnscope
