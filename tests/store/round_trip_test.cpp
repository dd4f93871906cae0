// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "tests/store/sample_runs.h"

namespace attnscope {
namespace {

using namespace test;

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

void expect_stored(const Store& store, const RunId& run, const std::vector<HeatResult>& heats) {
  const auto cells = need(store.cells(run, true));
  std::size_t at = 0;
  std::vector<std::string> keys;
  keys.reserve(heats.size());
  std::set<std::int64_t> numbers;
  for (const HeatResult& heat : heats) {
    keys.push_back(point_key(heat.point));
    if (!heat.cells.empty()) {
      ASSERT_LT(at, cells.size());
      EXPECT_TRUE(numbers.insert(cells[at].heat_number).second);
    }
    for (const Cell& cell : heat.cells) {
      ASSERT_LT(at, cells.size());
      const StoredCell& stored = cells[at++];
      EXPECT_TRUE(numbers.contains(stored.heat_number));
      EXPECT_EQ(stored.point, heat.point);
      EXPECT_TRUE(same(stored.cell, cell));
      EXPECT_FALSE(stored.damaged);
    }
  }
  EXPECT_EQ(at, cells.size());
  EXPECT_EQ(*store.finished_points(run), keys);
}

class RoundTrip : public StoreTest {};

TEST_F(RoundTrip, RandomHeats_AreEqualFromAnotherConnection) {
  std::mt19937_64 random(7);
  std::vector<HeatResult> heats;
  RunId run;
  {
    Store store = open_or_throw(folder_ / "results.db");
    run = begin_or_throw(store, sample_run());
    for (int i = 0; i < 60; ++i) {
      heats.push_back(random_heat(random, i, static_cast<int>(random() % 6)));
      ASSERT_TRUE(store.add_heat(run, heats.back()));
    }
    expect_stored(store, run, heats);
  }
  expect_stored(open_or_throw(folder_ / "results.db", Store::Mode::read_only), run, heats);
}

TEST_F(RoundTrip, WithoutSamples_EverythingElseIsReadAndChecked) {
  const RunId run = begin_or_throw(store_, sample_run());
  std::mt19937_64 random(8);
  HeatResult heat = random_heat(random, 0, 5);
  ASSERT_TRUE(store_.add_heat(run, heat));
  const auto cells = need(store_.cells(run, false));
  ASSERT_EQ(cells.size(), 5U);
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(cells[i].summary.samples, static_cast<int>(heat.cells[i].samples.size()));
    heat.cells[i].samples.clear();
    EXPECT_TRUE(same(cells[i].cell, heat.cells[i]));
    EXPECT_FALSE(cells[i].damaged);
  }
}

TEST_F(RoundTrip, NumbersThatAreNotFinite_AreKept) {
  const RunId run = begin_or_throw(store_, sample_run());
  std::mt19937_64 random(9);
  HeatResult heat = random_heat(random, 0, 1);
  Cell& cell = heat.cells.front();
  cell.relative_error = nan;
  cell.error_bound = inf;
  cell.work = {nan, inf, -inf, -0.0, std::numeric_limits<double>::denorm_min()};
  cell.samples = {{.time_ns = nan}, {.time_ns = inf, .foreign_load = -inf}, {.time_ns = 5}};
  ASSERT_TRUE(store_.add_heat(run, heat));
  const auto cells = store_.cells(run, true);
  EXPECT_TRUE(same(cells->front().cell, cell));
  ASSERT_TRUE(cells->front().cell.relative_error.has_value());
  EXPECT_TRUE(std::isnan(*cells->front().cell.relative_error));
  EXPECT_DOUBLE_EQ(cells->front().summary.median_ns, 5);
}

TEST_F(RoundTrip, SummaryAndOutliers_AreComputedWhenAHeatIsAdded) {
  const RunId run = begin_or_throw(store_, sample_run());
  HeatResult heat;
  heat.cells.resize(1);
  for (int round = 0; round < 9; ++round) {
    heat.cells[0].samples.push_back({.round = round, .time_ns = round == 4 ? 500.0 : 10.0 + round});
  }
  ASSERT_TRUE(store_.add_heat(run, heat));
  const auto cells = need(store_.cells(run, true));
  const StoredCell& stored = cells.front();
  EXPECT_NEAR(stored.summary.median_ns, 15, 1e-12);
  EXPECT_EQ(stored.summary.samples, 9);
  EXPECT_EQ(stored.summary.placements, 1);
  ASSERT_EQ(stored.outliers.size(), 9U);
  for (std::size_t i = 0; i < 9; ++i) EXPECT_EQ(stored.outliers[i], i == 4) << i;
}

TEST_F(RoundTrip, RunsCeilingsAndProgress_AreEqual) {
  NewRun start = sample_run(std::string("na\0me 'ß'", 10));
  const RunId run = begin_or_throw(store_, start);
  std::mt19937_64 random(11);
  std::vector<Ceilings> ceilings;
  for (int i = 0; i < 4; ++i) {
    ceilings.push_back(random_ceilings(random));
    ASSERT_TRUE(store_.add_ceilings(run, ceilings.back()));
  }
  const auto info = need(store_.find_run("last"));
  EXPECT_TRUE(same(info.start, start));
  EXPECT_FALSE(info.damaged);
  const auto stored = store_.ceilings(run);
  ASSERT_EQ(stored->size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_TRUE(same((*stored)[i], ceilings[i]));

  EXPECT_FALSE(store_.progress(run)->has_value());
  ASSERT_TRUE(store_.set_progress(run, {2, 7, "2048 tokens, sparse/segment/4", 12.5}));
  ASSERT_TRUE(store_.set_progress(run, {3, 7, "4096 tokens", std::nullopt}));
  const auto progress = store_.progress(run);
  ASSERT_TRUE(progress->has_value());
  EXPECT_EQ((*progress)->heats_done, 3);
  EXPECT_EQ((*progress)->current, "4096 tokens");
  EXPECT_FALSE((*progress)->seconds_left.has_value());
}

}  // namespace
}  // namespace attnscope
