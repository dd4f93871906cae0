// SPDX-License-Identifier: Apache-2.0
#include "tests/store/store_life.h"

#include <gmock/gmock.h>

#include <algorithm>

namespace attnscope::test {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

HeatResult heat_of_life(int index) {
  std::mt19937_64 random(static_cast<std::uint64_t>(100 + index));
  return random_heat(random, index, 3);
}

Announced live(const std::filesystem::path& file) {
  Announced announced;
  Result<Store> store = Store::open(file, Store::Mode::read_write);
  if (!store) {
    announced.errors.push_back(store.error().message);
    return announced;
  }
  const Result<RunId> run = store->begin_run(sample_run());
  if (!run) {
    announced.errors.push_back(run.error().message);
    return announced;
  }
  announced.run = *run;
  std::mt19937_64 random(7);
  announced.note(store->add_ceilings(*run, random_ceilings(random)));
  for (int index = 0; index < heats_of_life; ++index) {
    announced.note(store->set_progress(*run, {index, heats_of_life, "64 tokens", 1.0}));
    const Status added = store->add_heat(*run, heat_of_life(index));
    announced.note(added);
    if (added) announced.heats.push_back(index);
  }
  const Status finished = store->finish_run(*run, RunStatus::done);
  announced.note(finished);
  announced.finished = finished.has_value();
  return announced;
}

void expect_sentences(const Announced& announced, const std::string& name) {
  for (const std::string& error : announced.errors) {
    EXPECT_THAT(error, AllOf(HasSubstr(name), HasSubstr(";"), Not(HasSubstr("\n"))));
  }
}

void expect_heat(const Store& store, const RunId& run, int index) {
  const auto cells = store.cells(run, true);
  ASSERT_TRUE(cells) << cells.error().message;
  const HeatResult heat = heat_of_life(index);
  std::size_t ordinal = 0;
  for (const StoredCell& stored : *cells) {
    if (stored.point != heat.point) continue;
    ASSERT_LT(ordinal, heat.cells.size());
    EXPECT_TRUE(same(stored.cell, heat.cells[ordinal++]));
    EXPECT_FALSE(stored.damaged);
  }
  EXPECT_EQ(ordinal, heat.cells.size()) << "heat " << index;
}

void expect_kept_and_resumable(const std::filesystem::path& file, const Announced& announced) {
  Result<Store> store = Store::open(file, Store::Mode::read_write);
  ASSERT_TRUE(store) << store.error().message;
  const Status sound = store->check_integrity();
  EXPECT_TRUE(sound) << sound.error().message;
  if (!announced.run) return;
  for (const int index : announced.heats) expect_heat(*store, *announced.run, index);
  const auto info = store->find_run(announced.run->uuid);
  ASSERT_TRUE(info) << info.error().message;
  EXPECT_FALSE(info->damaged);
  if (announced.finished) {
    EXPECT_EQ(info->status, RunStatus::done);
  }
  const auto points = store->finished_points(*announced.run);
  ASSERT_TRUE(points);
  ASSERT_TRUE(store->resume_run(*announced.run, sample_run()));
  for (int index = 0; index < heats_of_life; ++index) {
    const HeatResult heat = heat_of_life(index);
    const bool is_there = std::ranges::find(*points, point_key(heat.point)) != points->end();
    if (!is_there) {
      EXPECT_TRUE(store->add_heat(*announced.run, heat));
    }
    expect_heat(*store, *announced.run, index);
  }
  EXPECT_TRUE(store->finish_run(*announced.run, RunStatus::done));
  EXPECT_EQ(store->find_run(announced.run->uuid)->heats_done, heats_of_life);
}

}  // namespace attnscope::test
