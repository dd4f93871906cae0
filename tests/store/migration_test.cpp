// SPDX-License-Identifier: Apache-2.0
//
// The step mechanism on made-up versions: the schema itself has had only one so far.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "engine/store/open.h"
#include "tests/store/sample_runs.h"

namespace attnscope::store {
namespace {

using namespace test;
using testing::HasSubstr;

constexpr std::array steps{
    MigrationStep{1, "ALTER TABLE runs ADD COLUMN place TEXT NOT NULL DEFAULT 'here'"},
    MigrationStep{2, "CREATE TABLE weather (run_number INTEGER, degrees REAL)"},
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
    return folder_ / "results.db.version-1.backup";
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
  const Status done = migrate(db, file_, steps, 3);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(db.integer("PRAGMA user_version"), 3);
  EXPECT_EQ(db.text("SELECT uuid FROM runs WHERE place = 'here'"), run_.uuid);
  EXPECT_EQ(db.integer("SELECT count(*) FROM weather"), 0);
}

TEST_F(Migration, TheBackup_IsTheOldVersionAndOpens) {
  Database db = database();
  ASSERT_TRUE(migrate(db, file_, steps, 3));
  const Store old = open_or_throw(backup(), Store::Mode::read_only);
  EXPECT_EQ(old.find_run("last")->id, run_);
}

TEST_F(Migration, AnEarlierBackup_IsNotOverwritten) {
  write_bytes(backup(), "an earlier one");
  Database db = database();
  ASSERT_TRUE(migrate(db, file_, steps, 3));
  EXPECT_EQ(bytes_of(backup()), "an earlier one");
  EXPECT_TRUE(std::filesystem::exists(folder_ / "results.db.version-1.backup-2"));
}

TEST_F(Migration, AStepThatFails_LeavesEverythingAsItWas) {
  constexpr std::array broken{steps[0], MigrationStep{2, "CREATE TABLE runs (x)"}};
  {
    Database db = database();
    const Status done = migrate(db, file_, broken, 3);
    ASSERT_FALSE(done);
    EXPECT_THAT(done.error().message, HasSubstr("from version 2 to 3"));
    EXPECT_THAT(done.error().message, HasSubstr(backup().string()));
    EXPECT_EQ(db.integer("PRAGMA user_version"), 1);
    EXPECT_EQ(db.integer("SELECT count(*) FROM pragma_table_info('runs') WHERE name = 'place'"), 0);
  }
  EXPECT_EQ(open_or_throw(file_).find_run("last")->id, run_);
}

TEST_F(Migration, AVersionWithoutAWayOn_IsRefusedAndKept) {
  Database db = database();
  EXPECT_FALSE(migrate(db, file_, std::span(steps).subspan(1), 3));
  EXPECT_EQ(db.integer("PRAGMA user_version"), 1);
}

}  // namespace
}  // namespace attnscope::store
