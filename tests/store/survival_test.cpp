// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <ostream>

#include "tests/store/failing_disk.h"
#include "tests/store/sample_runs.h"
#include "tests/store/store_life.h"

namespace attnscope {
namespace {

using namespace test;
using testing::AllOf;
using testing::HasSubstr;

/// Stores heats until it is killed, and writes the index of each stored heat to the pipe.
[[noreturn]] void store_heats(const std::filesystem::path& file, int announce) {
  Store store = open_or_throw(file);
  const RunId run = begin_or_throw(store, live_run());
  std::mt19937_64 random(1);
  for (int index = 0;; ++index) {
    if (!store.add_heat(run, random_heat(random, index, 4))) _exit(1);
    if (write(announce, &index, sizeof index) != sizeof index) _exit(2);
  }
}

/// Kills a storing child after it has announced `heats` heats; returns how many it announced.
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

TEST(Survival, EveryAnnouncedHeat_SurvivesAKilledWriter) {
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

struct Failure {
  FailingDisk::Kind kind;
  FailingDisk::Lasting lasting;
};

void PrintTo(const Failure& failure, std::ostream* to) {
  *to << (failure.kind == FailingDisk::Kind::full ? "full" : "error")
      << (failure.lasting == FailingDisk::Lasting::once ? " once" : " for good");
}

class FailingAtEveryWrite : public testing::TestWithParam<Failure> {
 protected:
  /// Calls `attempt` with a failure at operation 1, 2, 3, ... until none is met.
  void for_every_operation(const std::function<void(FailingDisk&)>& attempt) {
    int met = 0;
    for (int n = 1;; ++n) {
      FailingDisk disk;
      disk.fail_at(n, GetParam().kind, GetParam().lasting);
      SCOPED_TRACE(fmt::format("operation {}", n));
      attempt(disk);
      if (HasFatalFailure()) return;
      if (!disk.has_failed()) break;
      ++met;
    }
    EXPECT_GT(met, 10);
  }
};

TEST_P(FailingAtEveryWrite, AnnouncedHeatsAreKeptAndTheRunContinues) {
  for_every_operation([](FailingDisk& disk) {
    const TemporaryFolder folder;
    const Announced announced = live(folder / "results.db");
    expect_sentences(announced, "results.db");
    if (GetParam().kind == FailingDisk::Kind::full &&
        GetParam().lasting == FailingDisk::Lasting::for_good && !announced.errors.empty()) {
      EXPECT_THAT(announced.errors, testing::Contains(HasSubstr("is full")));
      EXPECT_THAT(announced.errors, testing::Contains(HasSubstr("free disk space")));
    }
    disk.repair();
    expect_kept_and_resumable(folder / "results.db", announced);
  });
}

TEST_P(FailingAtEveryWrite, AnOlderFileIsConvertedWholeOrNotAtAll) {
  for_every_operation([&](FailingDisk& disk) {
    const TemporaryFolder folder;
    const auto file = folder / "old.db";
    std::filesystem::copy_file(
        std::filesystem::path(ATTNSCOPE_SOURCE_DIR) / "tests/store/small_run.attn", file);
    {
      const Result<Store> store = Store::open(file, Store::Mode::read_write);
      if (!store) {
        EXPECT_THAT(store.error().message, AllOf(HasSubstr("old.db"), HasSubstr(";")));
      }
    }
    disk.repair();
    const Result<Store> store = Store::open(file, Store::Mode::read_write);
    ASSERT_TRUE(store) << store.error().message;
    const auto cells = store->cells(store->find_run("last")->id, true);
    ASSERT_EQ(cells->size(), 4U);
    for (const StoredCell& cell : *cells) EXPECT_FALSE(cell.damaged);
  });
}

/// A sound database with two runs, created before the disk fails.
struct TwoRuns {
  TwoRuns() {
    Store store = open_or_throw(folder / "results.db");
    for (RunId& run : runs) {
      run = begin_or_throw(store, sample_run());
      for (int index = 0; index < heats_of_life; ++index) {
        EXPECT_TRUE(store.add_heat(run, heat_of_life(index)));
      }
    }
  }
  TemporaryFolder folder;
  std::array<RunId, 2> runs;
};

TEST_P(FailingAtEveryWrite, AnExportIsWholeOrLeavesNothing) {
  const TwoRuns made;
  const auto file = made.folder / "travels.attn";
  const Store store = open_or_throw(made.folder / "results.db", Store::Mode::read_only);
  const auto files = [&] {
    return std::distance(std::filesystem::directory_iterator(made.folder.path()), {});
  };
  const auto before = files();
  for_every_operation([&](FailingDisk& disk) {
    const Status done = store.export_runs({made.runs[0], made.runs[1]}, file);
    disk.repair();
    if (done) {
      const Store exported = open_or_throw(file, Store::Mode::read_only);
      for (const RunId& run : made.runs) expect_heat(exported, run, heats_of_life - 1);
      std::filesystem::remove(file);
    } else {
      EXPECT_THAT(done.error().message, AllOf(HasSubstr("travels.attn"), HasSubstr(";")));
    }
    EXPECT_EQ(files(), before);
  });
}

TEST_P(FailingAtEveryWrite, AnImportIsWholeOrAbsent) {
  const TwoRuns made;
  ASSERT_TRUE(open_or_throw(made.folder / "results.db", Store::Mode::read_only)
                  .export_runs({made.runs[0], made.runs[1]}, made.folder / "travels.attn"));
  for_every_operation([&](FailingDisk& disk) {
    const TemporaryFolder folder;
    {
      Result<Store> store = Store::open(folder / "other.db", Store::Mode::read_write);
      if (!store) return;
      const auto imported = store->import_file(made.folder / "travels.attn");
      if (!imported) {
        EXPECT_THAT(imported.error().message, AllOf(HasSubstr("other.db"), HasSubstr(";")));
      }
    }
    disk.repair();
    Store store = open_or_throw(folder / "other.db");
    const std::size_t there = store.runs()->size();
    EXPECT_TRUE(there == 0 || there == 2) << there;
    ASSERT_TRUE(store.import_file(made.folder / "travels.attn"));
    for (const RunId& run : made.runs) expect_heat(store, run, heats_of_life - 1);
    EXPECT_TRUE(store.check_integrity());
  });
}

TEST_P(FailingAtEveryWrite, ARemovalIsWholeOrAbsent) {
  const TwoRuns made;
  for_every_operation([&](FailingDisk& disk) {
    const TemporaryFolder folder;
    std::filesystem::copy_file(made.folder / "results.db", folder / "copy.db");
    {
      Result<Store> store = Store::open(folder / "copy.db", Store::Mode::read_write);
      if (store) static_cast<void>(store->remove_run(made.runs[0]));
    }
    disk.repair();
    const Store store = open_or_throw(folder / "copy.db");
    const auto runs = store.runs();
    ASSERT_GE(runs->size(), 1U);
    for (const RunInfo& run : *runs) {
      for (int index = 0; index < heats_of_life; ++index) expect_heat(store, run.id, index);
    }
    EXPECT_TRUE(runs->front().id == made.runs[1] || runs->back().id == made.runs[1]);
    EXPECT_TRUE(store.check_integrity());
  });
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, FailingAtEveryWrite,
    testing::Values(Failure{FailingDisk::Kind::io_error, FailingDisk::Lasting::once},
                    Failure{FailingDisk::Kind::io_error, FailingDisk::Lasting::for_good},
                    Failure{FailingDisk::Kind::full, FailingDisk::Lasting::once},
                    Failure{FailingDisk::Kind::full, FailingDisk::Lasting::for_good}));

/// Cuts the power at operation n and continues the run. False if the run has fewer operations.
bool continues_after_power_cut_at(int n, std::mt19937_64* survivors) {
  const TemporaryFolder folder;
  FailingDisk disk;
  disk.fail_at(n, FailingDisk::Kind::io_error, FailingDisk::Lasting::for_good);
  const Announced announced = live(folder / "results.db");
  disk.cut_power(survivors);
  disk.repair();
  expect_kept_and_resumable(folder / "results.db", announced);
  return disk.has_failed();
}

TEST(PowerCut, LosesNoAnnouncedHeatIfNothingUnsyncedReachedTheDisk) {
  int n = 1;
  for (; !testing::Test::HasFailure(); ++n) {
    SCOPED_TRACE(fmt::format("operation {}", n));
    if (!continues_after_power_cut_at(n, nullptr)) break;
  }
  EXPECT_GT(n, 50);
}

TEST(PowerCut, LosesNoAnnouncedHeatIfSomeUnsyncedDataReachedTheDisk) {
  std::mt19937_64 random(5);
  int n = 1;
  for (; !testing::Test::HasFailure(); ++n) {
    SCOPED_TRACE(fmt::format("operation {}", n));
    bool died = false;
    for (int draw = 0; draw < 3; ++draw) died = continues_after_power_cut_at(n, &random) || died;
    if (!died) break;
  }
  EXPECT_GT(n, 50);
}

}  // namespace
}  // namespace attnscope
