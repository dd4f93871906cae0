// SPDX-License-Identifier: Apache-2.0
#include "engine/statistics/between_runs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/statistics/worlds.h"

namespace attnscope::statistics {
namespace {

using namespace test;

struct Repeat {
  double machine = 0.02;  // of all cells of a run alike
  double cell = 0.01;     // of each cell on its own
  double planted = 1;     // of the first cell of the second run
};

/// Two runs of one sweep with 12 cells: every verdict, the first cell's first.
std::vector<Verdict> compared(const Repeat& repeat, std::uint32_t seed) {
  constexpr std::uint32_t cells = 12;
  const World world{.process = 0.005, .placement = 0.01, .noise = 0.02};
  Dice dice(seed);
  const double machine = repeat.machine * dice.normal();
  std::vector<Pair> pairs;
  std::vector<Ratio> ratios;
  for (std::uint32_t cell = 0; cell < cells; ++cell) {
    const double moved = std::exp(machine + repeat.cell * dice.normal());
    pairs.push_back(draw(world, moved * (cell == 0 ? repeat.planted : 1), seed * cells + cell));
    ratios.push_back(unpaired_ratio(pairs.back().a, pairs.back().b));
  }
  const BetweenRuns between = between_runs(ratios, 0.03);
  std::vector<Verdict> verdicts;
  for (const Pair& pair : pairs) {
    verdicts.push_back(unpaired_ratio(pair.a, pair.b, between).verdict);
  }
  return verdicts;
}

TEST(BetweenRuns, RepeatsOfOneSweep_DifferInAtMostFivePercentOfTheirCells) {
  constexpr int runs = 100;
  for (const Repeat& repeat : {Repeat{}, Repeat{.machine = 0.04}, Repeat{.cell = 0.03}}) {
    int wrong = 0, all = 0;
    for (std::uint32_t run = 0; run < runs; ++run) {
      for (const Verdict verdict : compared(repeat, 70 + run)) {
        ++all;
        if (verdict != Verdict::no_difference_shown) ++wrong;
      }
    }
    EXPECT_LE(wrong, all * 5 / 100) << repeat.machine << ", " << repeat.cell;
  }
}

TEST(BetweenRuns, OneContenderThatBecameATenthSlower_IsFound) {
  constexpr int runs = 100;
  int found = 0;
  for (std::uint32_t run = 0; run < runs; ++run) {
    if (compared({.planted = 1.1}, 70 + run).front() == Verdict::slower) ++found;
  }
  EXPECT_GE(found, runs * 90 / 100);
}

Ratio exactly(double ratio) {
  return {.ratio = ratio, .low = ratio / 1.01, .high = ratio * 1.01};
}

TEST(BetweenRuns, WhatAllCellsShare_IsTheMachinesUpToWhatTheMachineMovedBy) {
  const std::vector<Ratio> little{exactly(1.03), exactly(1.03), exactly(1.03)};
  EXPECT_NEAR(between_runs(little, 0).shift, std::log(1.03), 1e-12);
  const std::vector<Ratio> much{exactly(0.6), exactly(0.6), exactly(0.6)};
  EXPECT_DOUBLE_EQ(between_runs(much, 0).shift, least_machine_shift);
  EXPECT_DOUBLE_EQ(between_runs(much, 0.1).shift, 0.1);
  EXPECT_DOUBLE_EQ(between_runs(much, 3).shift, most_machine_shift);
}

TEST(BetweenRuns, AFewCellsThatChanged_AreNoSpreadOfTheOthers) {
  std::vector<Ratio> ratios(10, exactly(1));
  ratios[0] = exactly(2);
  ratios[1] = exactly(0.5);
  EXPECT_DOUBLE_EQ(between_runs(ratios, 0).spread, least_cell_shift);
  EXPECT_DOUBLE_EQ(between_runs(ratios, 0).shift, 0);
}

TEST(BetweenRuns, WithoutAnyCell_OnlyWhatIsPresumedIsThere) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_DOUBLE_EQ(between_runs({}, 0.1).spread, least_cell_shift);
  const std::vector<Ratio> unknown{{.ratio = nan, .low = nan, .high = nan}};
  EXPECT_DOUBLE_EQ(between_runs(unknown, 0.1).shift, 0);
  const std::vector<Ratio> single{{.ratio = 1.02, .low = nan, .high = nan}};
  EXPECT_NEAR(between_runs(single, 0.1).shift, std::log(1.02), 1e-12);
}

}  // namespace
}  // namespace attnscope::statistics
