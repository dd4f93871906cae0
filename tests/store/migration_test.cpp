// SPDX-License-Identifier: Apache-2.0
//
// The step mechanism on made-up versions, and the schema's own steps on a file of each version.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "engine/store/open.h"
#include "tests/store/sample_runs.h"

namespace attnscope::store {
namespace {

using namespace test;
using testing::HasSubstr;

constexpr int now = schema_version;
constexpr std::array steps{
    MigrationStep{now, "ALTER TABLE runs ADD COLUMN place TEXT NOT NULL DEFAULT 'here'"},
    MigrationStep{now + 1, "CREATE TABLE weather (run_number INTEGER, degrees REAL)"},
};

class Migration : public testing::Test {
 protected:
  Migration() : file_(folder_ / "results.db") {
    Store store = open_or_throw(file_);
    run_ = begin_or_throw(store, sample_run());
  }
  [[nodiscard]] Database database() const {
    return Database(uri_of(file_, ""), Database::Access::read_write);
  }
  [[nodiscard]] std::filesystem::path backup() const {
    return folder_ / fmt::format("results.db.version-{}.backup", now);
  }

  TemporaryFolder folder_;
  std::filesystem::path file_;
  RunId run_;
};

TEST_F(Migration, TheCurrentVersion_NeedsNoStepAndNoBackup) {
  Database db = database();
  EXPECT_TRUE(migrate(db, file_, migration_steps, schema_version));
  EXPECT_FALSE(std::filesystem::exists(backup()));
}

TEST_F(Migration, AllSteps_LeadToTheTargetWithTheRowsKept) {
  Database db = database();
  const Status done = migrate(db, file_, steps, now + 2);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(db.integer("PRAGMA user_version"), now + 2);
  EXPECT_EQ(db.text("SELECT uuid FROM runs WHERE place = 'here'"), run_.uuid);
  EXPECT_EQ(db.integer("SELECT count(*) FROM weather"), 0);
}

TEST_F(Migration, TheBackup_IsTheOldVersionAndOpens) {
  Database db = database();
  ASSERT_TRUE(migrate(db, file_, steps, now + 2));
  const Store old = open_or_throw(backup(), Store::Mode::read_only);
  EXPECT_EQ(old.find_run("last")->id, run_);
}

TEST_F(Migration, AnEarlierBackup_IsNotOverwritten) {
  write_bytes(backup(), "an earlier one");
  Database db = database();
  ASSERT_TRUE(migrate(db, file_, steps, now + 2));
  EXPECT_EQ(bytes_of(backup()), "an earlier one");
  EXPECT_TRUE(std::filesystem::exists(backup().string() + "-2"));
}

TEST_F(Migration, AStepThatFails_LeavesEverythingAsItWas) {
  constexpr std::array broken{steps[0], MigrationStep{now + 1, "CREATE TABLE runs (x)"}};
  {
    Database db = database();
    const Status done = migrate(db, file_, broken, now + 2);
    ASSERT_FALSE(done);
    EXPECT_THAT(done.error().message,
                HasSubstr(fmt::format("from version {} to {}", now + 1, now + 2)));
    EXPECT_THAT(done.error().message, HasSubstr(backup().string()));
    EXPECT_EQ(db.integer("PRAGMA user_version"), now);
    EXPECT_EQ(db.integer("SELECT count(*) FROM pragma_table_info('runs') WHERE name = 'place'"), 0);
  }
  EXPECT_EQ(open_or_throw(file_).find_run("last")->id, run_);
}

TEST_F(Migration, AVersionWithoutAWayOn_IsRefusedAndKept) {
  Database db = database();
  EXPECT_FALSE(migrate(db, file_, std::span(steps).subspan(1), now + 2));
  EXPECT_EQ(db.integer("PRAGMA user_version"), now);
}

/// A run of two heats that version 1 exported.
class Version1 : public testing::Test {
 protected:
  /// Its cells as this version reads them: whole, sound, and measured with warm caches.
  static void expect_its_cells(const Store& store) {
    const auto run = store.find_run("last");
    ASSERT_TRUE(run) << run.error().message;
    EXPECT_EQ(run->start.sweep_name, "version-1");
    EXPECT_FALSE(run->damaged);
    EXPECT_EQ(run->name, "");
    EXPECT_FALSE(is_in_trash(*run));
    const auto cells = store.cells(run->id, true);
    ASSERT_TRUE(cells) << cells.error().message;
    ASSERT_EQ(cells->size(), 4U);
    for (const StoredCell& cell : *cells) {
      EXPECT_FALSE(cell.damaged);
      EXPECT_FALSE(cell.cell.samples.empty());
      for (const Sample& sample : cell.cell.samples) {
        EXPECT_FALSE(sample.clock_mhz || sample.temperature_c || sample.throttled);
      }
      EXPECT_EQ(cell.cell.memory.process_peak_bytes, std::nullopt);
      EXPECT_EQ(cell.point.cache, CacheState::warm);
      EXPECT_EQ(cell.point.documents, 1);
      EXPECT_EQ(cell.point.layers, 0);
      EXPECT_EQ(cell.cell.contender.model, "");
      EXPECT_EQ(cell.point.memory_order, MemoryOrder::head_major);
      EXPECT_EQ(cell.point.threads, 2);
    }
    EXPECT_EQ(store.ceilings(run->id)->size(), 2U);
    EXPECT_TRUE(store.check_integrity());
  }
  [[nodiscard]] std::filesystem::path copied_to(const std::string& name) const {
    std::filesystem::copy_file(fixture_, folder_ / name);
    return folder_ / name;
  }

  const std::filesystem::path fixture_ =
      std::filesystem::path(ATTNSCOPE_SOURCE_DIR) / "tests/store/version-1.attn";
  TemporaryFolder folder_;
};

TEST_F(Version1, AFileOnlyToBeRead_IsReadAndLeftAsItIs) {
  const auto file = copied_to("old.attn");
  expect_its_cells(open_or_throw(file, Store::Mode::read_only));
  EXPECT_EQ(bytes_of(file), bytes_of(fixture_));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_.path()), {}), 1);
}

TEST_F(Version1, ADatabase_IsBroughtUpToDateAfterABackup) {
  const auto file = copied_to("old.db");
  expect_its_cells(open_or_throw(file));
  EXPECT_EQ(Database(uri_of(file, ""), Database::Access::read_only).integer("PRAGMA user_version"),
            schema_version);
  expect_its_cells(open_or_throw(folder_ / "old.db.version-1.backup", Store::Mode::read_only));
}

TEST_F(Version1, ALiveDatabaseWithALog_IsReadWithoutBeingChanged) {
  const auto file = copied_to("live.db");
  Database writer(uri_of(file, ""), Database::Access::read_write);
  static_cast<void>(writer.text("PRAGMA journal_mode = WAL"));
  writer.execute("UPDATE runs SET tag = 'in the log'");
  const std::string before = bytes_of(file);
  const Store store = open_or_throw(file, Store::Mode::read_only);
  EXPECT_EQ(store.find_run("last")->tag, "in the log");
  expect_its_cells(store);
  EXPECT_EQ(bytes_of(file), before);
}

TEST_F(Version1, AnOldFile_IsImported) {
  Store store = open_or_throw(folder_ / "results.db");
  const auto imported = store.import_file(fixture_);
  ASSERT_TRUE(imported) << imported.error().message;
  EXPECT_EQ(imported->added, 1);
  expect_its_cells(store);
}

TEST_F(Version1, AnOldFile_IsExportedAsANewOne) {
  const Store store = open_or_throw(fixture_, Store::Mode::read_only);
  const Status done = store.export_runs({store.find_run("last")->id}, folder_ / "new.attn");
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(Database(uri_of(folder_ / "new.attn", ""), Database::Access::read_only)
                .integer("PRAGMA user_version"),
            schema_version);
  expect_its_cells(open_or_throw(folder_ / "new.attn", Store::Mode::read_only));
}

TEST_F(Version1, WhatLaterVersionsStore_FitsBesideTheOldRows) {
  const auto file = copied_to("old.db");
  Store store = open_or_throw(file);
  const RunId run = begin_or_throw(store, sample_run());
  std::mt19937_64 random(4);
  HeatResult heat = random_heat(random, 0, 2);
  heat.point.cache = CacheState::cold;
  heat.point.documents = 4;
  heat.point.layers = 6;
  heat.point.batch_per_contender = true;
  for (Cell& cell : heat.cells) {
    cell.contender.model = "sparse-without-kernel";
    cell.memory.process_peak_bytes = 5;
    cell.samples = {{.clock_mhz = 2000, .temperature_c = 60, .throttled = true}};
  }
  ASSERT_TRUE(store.add_heat(run, heat));
  const auto cells = store.cells(run, true);
  ASSERT_EQ(cells->size(), 2U);
  for (const StoredCell& cell : *cells) {
    EXPECT_FALSE(cell.damaged);
    EXPECT_EQ(cell.point.cache, CacheState::cold);
    EXPECT_EQ(cell.point.documents, 4);
    EXPECT_EQ(cell.point.layers, 6);
    EXPECT_TRUE(cell.point.batch_per_contender);
    EXPECT_EQ(cell.cell.contender.model, "sparse-without-kernel");
    EXPECT_EQ(cell.cell.memory.process_peak_bytes, 5);
    ASSERT_EQ(cell.cell.samples.size(), 1U);
    EXPECT_EQ(cell.cell.samples[0].clock_mhz, 2000);
    EXPECT_EQ(cell.cell.samples[0].temperature_c, 60);
    EXPECT_TRUE(cell.cell.samples[0].throttled);
  }
}

TEST_F(Version1, ARunOfIt_IsNamedAndPutInTheTrash) {
  Store store = open_or_throw(copied_to("old.db"));
  const RunId run = store.find_run("last")->id;
  ASSERT_TRUE(store.describe_run(run, {.name = "the first"}));
  ASSERT_TRUE(store.put_in_trash({run}));
  EXPECT_TRUE(store.run_list()->empty());
  ASSERT_EQ(store.run_list(RunsOf::trash)->size(), 1U);
  EXPECT_EQ(store.run_list(RunsOf::trash)->front().name, "the first");
  ASSERT_TRUE(store.take_from_trash({run}));
  EXPECT_EQ(title_of(*store.find_run("last")), "the first");
  EXPECT_TRUE(store.check_integrity());
}

TEST(PublishedRuns, OfEarlierVersions_AreSoundWhetherReadOrMigrated) {
  const TemporaryFolder folder;
  const auto results = std::filesystem::path(ATTNSCOPE_SOURCE_DIR) / "results";
  int runs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(results)) {
    const auto published = entry.path() / "run.attn";
    if (!std::filesystem::exists(published)) continue;
    SCOPED_TRACE(published);
    const auto copy = folder / (entry.path().filename().string() + ".db");
    std::filesystem::copy_file(published, copy);
    for (const auto mode : {Store::Mode::read_only, Store::Mode::read_write}) {
      const Store store = open_or_throw(copy, mode);
      const auto run = store.find_run("last");
      ASSERT_TRUE(run) << run.error().message;
      EXPECT_FALSE(run->damaged);
      const auto cells = store.cells(run->id, true);
      ASSERT_TRUE(cells) << cells.error().message;
      EXPECT_FALSE(cells->empty());
      for (const StoredCell& cell : *cells) EXPECT_FALSE(cell.damaged);
    }
    ++runs;
  }
  EXPECT_GE(runs, 6);
}

}  // namespace
}  // namespace attnscope::store
