// SPDX-License-Identifier: Apache-2.0
#include "engine/sweep/estimate.h"

#include <gtest/gtest.h>

#include <limits>

namespace attnscope {
namespace {

constexpr double all_memory = std::numeric_limits<double>::infinity();

Heat heat_of(std::int64_t tokens, double max_seconds = 100) {
  Heat heat;
  heat.point.sequence_tokens = tokens;
  heat.contenders = {
      {.pattern = "full", .implementation = "dense", .window = {}, .name = "", .pattern_json = ""}};
  heat.stop = {.relative_interval = 0.02,
               .max_seconds = max_seconds,
               .min_samples = 3,
               .placements = 2,
               .processes = 1};
  return heat;
}

Trial trial_of(std::int64_t tokens, double call_seconds) {
  Trial trial{.point = heat_of(tokens).point, .rounds = {4, 6}, .contenders = {}};
  trial.contenders["full/dense"] = {.check_seconds = 2 * call_seconds,
                                    .call_seconds = call_seconds};
  return trial;
}

/// What a call of an item executes: four times as much at twice the length.
std::vector<ItemCost> quadratic() {
  return {{.tokens = 100, .flop = 1, .bytes = 1e6}, {.tokens = 400, .flop = 16, .bytes = 4e6}};
}

SettingTimes times_with(std::vector<ItemCost> costs, std::vector<Trial> trials,
                        double free_bytes = all_memory) {
  std::map<std::string, std::vector<ItemCost>> by_contender;
  if (!costs.empty()) by_contender["full/dense"] = std::move(costs);
  SettingTimes times(std::move(by_contender), free_bytes);
  for (Trial& trial : trials) times.add(std::move(trial));
  return times;
}

TEST(SettingTimes, ScalesATrialToOtherLengths) {
  const SettingTimes times = times_with(quadratic(), {trial_of(100, 1)});
  // A check of 2 s; two placements of 5 rounds on average with a call of 1 s.
  EXPECT_NEAR(times.seconds(heat_of(100)), 2 + 2 * 5, 1e-9);
  // Calls grow with their work to 16 s, checks with the length to another 4 s.
  EXPECT_NEAR(times.seconds(heat_of(400, 1e4)), 16 + 4 + 2 * 5 * 16, 1e-9);
}

TEST(SettingTimes, TimeLimitEndsRounds) {
  const SettingTimes times = times_with(quadratic(), {trial_of(100, 1)});
  // 2 s of a placement are enough for two calls of 1 s; there are at least two calls of 16 s.
  EXPECT_NEAR(times.seconds(heat_of(100, 4)), 2 + 2 * 2, 1e-9);
  EXPECT_NEAR(times.seconds(heat_of(400, 4)), 16 + 4 + 2 * 2 * 16, 1e-9);
}

TEST(SettingTimes, DisturbancesOfTheTrialCount) {
  Trial trial = trial_of(100, 1);
  trial.overhead = 1.5;
  trial.stretch = 2;
  trial.rounds = {1000};
  // 4 s of a placement, with samples of 1.5 s.
  EXPECT_NEAR(times_with(quadratic(), {trial}).seconds(heat_of(100, 4)), 2 + 2 * 3 * 1.5, 1e-9);
}

TEST(SettingTimes, TwoTrialsWithoutCostsGiveTheTrend) {
  // 1 s and 4 s are a straight line in logarithms with 2 s at 200 tokens.
  const SettingTimes times = times_with({}, {trial_of(100, 1), trial_of(400, 4)});
  EXPECT_NEAR(times.seconds(heat_of(200)), 4 + 2 * 5 * 2, 1e-9);
  EXPECT_NEAR(times.seconds(heat_of(800, 1e4)), 16 + 2 * 5 * 8, 1e-9);
}

TEST(SettingTimes, MemoryLimitsTheBatchOfEveryLength) {
  Heat shorter = heat_of(100, 1e5), longer = heat_of(400, 1e5);
  for (Heat* heat : {&shorter, &longer}) {
    heat->point.batch_max = 100;
    heat->point.batch_memory_mb = 16;  // 16 items of 1 MB, 4 of 4 MB
  }
  Trial trial = trial_of(100, 1);
  trial.point = shorter.point;
  // An item has 16 times the work, and a batch a quarter of the items: a call takes 4 s.
  EXPECT_NEAR(times_with(quadratic(), {trial}).seconds(longer), 4 + 1 + 2 * 5 * 4, 1e-9);
  EXPECT_EQ(times_with(quadratic(), {trial_of(100, 1)}, 2e6).seconds(heat_of(400)), 0)
      << "an item that does not fit is not timed";
}

TEST(SettingTimes, EveryProcessChecksAgain) {
  Heat heat = heat_of(100);
  heat.stop.processes = 2;
  Trial trial = trial_of(100, 1);
  trial.other_seconds = 3;
  EXPECT_NEAR(times_with(quadratic(), {trial}).seconds(heat), 2 * (2 + 3) + 2 * 5, 1e-9);
}

}  // namespace
}  // namespace attnscope
