// SPDX-License-Identifier: Apache-2.0
//
// What was reported stored survives the end of the process that stored it.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/store/sample_runs.h"

namespace attnscope {
namespace {

using namespace test;

/// Stores heats without end and announces each on the pipe once it is stored.
[[noreturn]] void store_heats(const std::filesystem::path& file, int announce) {
  Store store = open_or_throw(file);
  NewRun start = sample_run();
  start.process_id = getpid();
  start.process_start_ticks = own_process_start_ticks();
  const RunId run = begin_or_throw(store, start);
  std::mt19937_64 random(1);
  for (int index = 0;; ++index) {
    if (!store.add_heat(run, random_heat(random, index, 4))) _exit(1);
    if (write(announce, &index, sizeof index) != sizeof index) _exit(2);
  }
}

/// Lets a child store until it has announced `heats`, kills it, and counts all it announced.
int kill_after(const std::filesystem::path& file, int heats) {
  int ends[2];
  if (pipe(ends) != 0) return -1;
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    store_heats(file, ends[1]);
  }
  close(ends[1]);
  int announced = 0, index = 0;
  while (read(ends[0], &index, sizeof index) == static_cast<ssize_t>(sizeof index)) {
    if (++announced == heats) kill(child, SIGKILL);
  }
  close(ends[0]);
  waitpid(child, nullptr, 0);
  return announced;
}

TEST(Survival, EveryAnnouncedHeat_IsThereAfterTheWriterWasKilled) {
  for (int round = 0; round < 12; ++round) {
    const TemporaryFolder folder;
    const int announced = kill_after(folder / "results.db", 1 + 3 * round);
    ASSERT_GE(announced, 1 + 3 * round);
    const Store store = open_or_throw(folder / "results.db");
    const auto info = store.find_run("last");
    ASSERT_TRUE(info) << info.error().message;
    EXPECT_EQ(info->status, RunStatus::interrupted);
    EXPECT_GE(info->heats_done, announced);

    std::mt19937_64 random(1);
    const auto cells = store.cells(info->id, true);
    ASSERT_TRUE(cells);
    ASSERT_EQ(cells->size(), 4U * static_cast<std::size_t>(info->heats_done));
    for (int index = 0; index < info->heats_done; ++index) {
      const HeatResult heat = random_heat(random, index, 4);
      for (std::size_t i = 0; i < 4; ++i) {
        const StoredCell& stored = (*cells)[static_cast<std::size_t>(index) * 4 + i];
        EXPECT_TRUE(same(stored.cell, heat.cells[i]));
        EXPECT_FALSE(stored.damaged);
      }
    }
    EXPECT_TRUE(store.check_integrity());
  }
}

}  // namespace
}  // namespace attnscope
