// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "tests/store/failing_disk.h"
#include "tests/store/sample_runs.h"

namespace attnscope {
namespace {

using namespace test;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr int heats_of_life = 3;

/// What a store has reported about a run.
struct Announced {
  std::optional<RunId> run;
  std::vector<int> heats;
  bool finished = false;
  std::vector<std::string> errors;
  void note(const Status& status) {
    if (!status) errors.push_back(status.error().message);
  }
};

HeatResult heat_of_life(int index) {
  std::mt19937_64 random(static_cast<std::uint64_t>(100 + index));
  return random_heat(random, index, 3);
}

/// Creates the database and stores a whole run. Continues after errors, which are noted.
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

/// Checks that each error is one sentence that names the file and a remedy.
void expect_sentences(const Announced& announced, const std::string& name) {
  for (const std::string& error : announced.errors) {
    EXPECT_THAT(error, AllOf(HasSubstr(name), HasSubstr(";"), Not(HasSubstr("\n"))));
  }
}

void expect_heat(const Store& store, const RunId& run, int index) {
  const auto cells = need(store.cells(run, true));
  const HeatResult heat = heat_of_life(index);
  std::size_t ordinal = 0;
  for (const StoredCell& stored : cells) {
    if (stored.point != heat.point) continue;
    ASSERT_LT(ordinal, heat.cells.size());
    EXPECT_TRUE(same(stored.cell, heat.cells[ordinal++]));
    EXPECT_FALSE(stored.damaged);
  }
  EXPECT_EQ(ordinal, heat.cells.size()) << "heat " << index;
}

/// Checks that everything announced is stored, nothing is damaged, and the run can be completed.
void expect_kept_and_resumable(const std::filesystem::path& file, const Announced& announced) {
  Store store = open_or_throw(file, Store::Mode::read_write);
  const Status sound = store.check_integrity();
  EXPECT_TRUE(sound) << sound.error().message;
  if (!announced.run) return;
  for (const int index : announced.heats) expect_heat(store, *announced.run, index);
  const auto info = need(store.find_run(announced.run->uuid));
  EXPECT_FALSE(info.damaged);
  if (announced.finished) {
    EXPECT_EQ(info.status, RunStatus::done);
  }
  const auto points = need(store.finished_points(*announced.run));
  ASSERT_TRUE(store.resume_run(*announced.run, sample_run()));
  for (int index = 0; index < heats_of_life; ++index) {
    const HeatResult heat = heat_of_life(index);
    const bool is_there = std::ranges::find(points, point_key(heat.point)) != points.end();
    if (!is_there) {
      EXPECT_TRUE(store.add_heat(*announced.run, heat));
    }
    expect_heat(store, *announced.run, index);
  }
  EXPECT_TRUE(store.finish_run(*announced.run, RunStatus::done));
  EXPECT_EQ(store.find_run(announced.run->uuid)->heats_done, heats_of_life);
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
    const Store store = open_or_throw(file, Store::Mode::read_write);
    const auto cells = store.cells(store.find_run("last")->id, true);
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
  const auto before = made.folder.files();
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
    EXPECT_EQ(made.folder.files(), before);
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

TEST(PowerCut, LosesNoAnnouncedHeatWhateverUnsyncedDataReachedTheDisk) {
  std::mt19937_64 random(5);
  int n = 1;
  for (; !testing::Test::HasFailure(); ++n) {
    SCOPED_TRACE(fmt::format("operation {}", n));
    bool died = continues_after_power_cut_at(n, nullptr);
    for (int draw = 0; draw < 3; ++draw) died = continues_after_power_cut_at(n, &random) || died;
    if (!died) break;
  }
  EXPECT_GT(n, 50);
}

}  // namespace
}  // namespace attnscope
