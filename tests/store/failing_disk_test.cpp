// SPDX-License-Identifier: Apache-2.0
//
// A disk that fails or fills up at the n-th operation, for every n: one sentence, everything that
// was announced is still there, and the run goes on once the disk is sound again.

#include "tests/store/failing_disk.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <ostream>

#include "tests/store/store_life.h"

namespace attnscope {
namespace {

using namespace test;
using testing::AllOf;
using testing::HasSubstr;

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

TEST_P(FailingAtEveryWrite, AnnouncedHeatsAreKeptAndTheRunGoesOn) {
  for_every_operation([](FailingDisk& disk) {
    const TemporaryFolder folder;
    const Announced announced = live(folder / "results.db");
    expect_sentences(announced, "results.db");
    if (GetParam().kind == FailingDisk::Kind::full &&
        GetParam().lasting == FailingDisk::Lasting::for_good && !announced.errors.empty()) {
      EXPECT_THAT(announced.errors, testing::Contains(HasSubstr("is full")));
      EXPECT_THAT(announced.errors, testing::Contains(HasSubstr("free some space")));
    }
    disk.mend();
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
    disk.mend();
    const Result<Store> store = Store::open(file, Store::Mode::read_write);
    ASSERT_TRUE(store) << store.error().message;
    const auto cells = store->cells(store->find_run("last")->id, true);
    ASSERT_EQ(cells->size(), 4U);
    for (const StoredCell& cell : *cells) EXPECT_FALSE(cell.damaged);
  });
}

/// A sound database with two runs, made before the disk begins to fail.
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
    disk.mend();
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

TEST_P(FailingAtEveryWrite, AnImportIsWholeOrHasNotBeen) {
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
    disk.mend();
    Store store = open_or_throw(folder / "other.db");
    const std::size_t there = store.runs()->size();
    EXPECT_TRUE(there == 0 || there == 2) << there;
    ASSERT_TRUE(store.import_file(made.folder / "travels.attn"));
    for (const RunId& run : made.runs) expect_heat(store, run, heats_of_life - 1);
    EXPECT_TRUE(store.check_integrity());
  });
}

TEST_P(FailingAtEveryWrite, ARemovalIsWholeOrHasNotBeen) {
  const TwoRuns made;
  for_every_operation([&](FailingDisk& disk) {
    const TemporaryFolder folder;
    std::filesystem::copy_file(made.folder / "results.db", folder / "copy.db");
    {
      Result<Store> store = Store::open(folder / "copy.db", Store::Mode::read_write);
      if (store) static_cast<void>(store->remove_run(made.runs[0]));
    }
    disk.mend();
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

}  // namespace
}  // namespace attnscope
