// SPDX-License-Identifier: Apache-2.0
#include "engine/sweep/job_array.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <random>

#include "engine/sweep/run_plan.h"
#include "engine/sweep/sweep.h"

namespace attnscope {
namespace {

using testing::ElementsAre;

/// Heats of so many seconds, each of one contender.
std::vector<Heat> heats_of(const std::vector<double>& seconds) {
  std::vector<Heat> heats;
  for (const double one : seconds) {
    Heat heat;
    heat.index = static_cast<int>(heats.size());
    heat.point.sequence_tokens = 64 + heat.index;
    heat.contenders.resize(1);
    heat.contenders.front().pattern_json = "{}";
    heat.stop.max_seconds = one;
    heats.push_back(heat);
  }
  return heats;
}

std::vector<int> indices_of(const RunPart& part) {
  std::vector<int> indices;
  std::ranges::transform(part.heats, std::back_inserter(indices), &Heat::index);
  return indices;
}

TEST(DivideHeats, PartsDifferByAtMostTheShortestHeatOfTheLongest) {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    std::vector<double> seconds(1 + random() % 60);
    for (double& one : seconds) one = 1 + static_cast<double>(random() % 100);
    const auto parts = divide_heats(heats_of(seconds), 8);
    ASSERT_EQ(parts.size(), std::min<std::size_t>(8, seconds.size()));
    const auto [least, most] = std::ranges::minmax(parts, {}, &RunPart::seconds);
    const double shortest = std::ranges::min_element(most.heats, {}, [](const Heat& heat) {
                              return heat.stop.max_seconds;
                            })->stop.max_seconds;
    EXPECT_LE(most.seconds - least.seconds, shortest);
    double together = 0;
    for (const RunPart& part : parts) together += part.seconds;
    EXPECT_EQ(together, std::accumulate(seconds.begin(), seconds.end(), 0.0));
  }
}

TEST(DivideHeats, EveryHeatIsInOnePartInTheOrderOfTheSweep) {
  const auto heats = heats_of({5, 1, 9, 1, 3, 9, 2});
  for (int round = 0; round < 2; ++round) {
    const auto parts = divide_heats(heats, 3);
    ASSERT_EQ(parts.size(), 3U);
    EXPECT_THAT(indices_of(parts[0]), ElementsAre(1, 2));
    EXPECT_THAT(indices_of(parts[1]), ElementsAre(3, 5));
    EXPECT_THAT(indices_of(parts[2]), ElementsAre(0, 4, 6));
  }
}

TEST(DivideHeats, GivesAtMostAsManyPartsAsHeatsAndDividesHeatsWithoutTime) {
  EXPECT_EQ(divide_heats(heats_of({1, 1}), 8).size(), 2U);
  EXPECT_TRUE(divide_heats({}, 8).empty());
  const auto parts = divide_heats(heats_of({0, 0, 0, 0}), 2);
  EXPECT_EQ(parts[0].heats.size(), 2U);
  EXPECT_EQ(parts[1].heats.size(), 2U);
}

TEST(RunPart, IsTheSameRunWithSomeOfItsHeats) {
  const auto heats = heats_of({1, 2, 3, 4});
  RunInfo run;
  run.id.uuid = "e58ed763-928c-4155-bee9-fdbaaadc15f3";
  run.start.heats_planned = 4;
  run.start.provenance = nlohmann::json({{"plan", plan_json(heats)}}).dump();
  EXPECT_FALSE(is_part(run));
  const RunInfo part = part_of(run, {heats[1], heats[3]});
  EXPECT_TRUE(is_part(part));
  EXPECT_EQ(part.id, run.id);
  EXPECT_EQ(part.start.heats_planned, 2);
  const auto planned = stored_heats(part);
  ASSERT_TRUE(planned) << planned.error().message;
  EXPECT_EQ((*planned)[0].index, 1);
  EXPECT_EQ((*planned)[1].index, 3);
  EXPECT_EQ((*planned)[1].point, heats[3].point);
}

std::vector<Heat> some_heats() {
  return parse_sweep(R"({"contenders": ["full/sdpa", "sparse/segment"], "windows": [4, 64],
                         "sequence_tokens": [64, 512], "cache": ["warm", "cold"],
                         "documents": [1, 4]})",
                     "some.json")
      .value()
      .heats;
}

TEST(RunPlan, ReadsBackEveryHeat) {
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

TEST(RunPlan, AxesAndModelsMissingFromOldPlansHaveTheirDefaults) {
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

TEST(RunPlan, RefusesDamagedPlans) {
  EXPECT_FALSE(read_plan(nlohmann::json()));
  EXPECT_FALSE(read_plan({{"heats", {{{"contenders", {5}}, {"point", 1}, {"stop", 9}}}}}));
  nlohmann::json plan = plan_json(some_heats());
  plan["heats"][1]["contenders"][0] = 99;
  const auto read = read_plan(plan);
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message, testing::HasSubstr("damaged"));
}

}  // namespace
}  // namespace attnscope
