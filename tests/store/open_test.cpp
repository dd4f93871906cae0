// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cstdlib>
#include <latch>
#include <string_view>
#include <thread>
#include <tuple>

#include "engine/store/location.h"
#include "tests/base/packed.h"
#include "tests/store/sample_runs.h"
#include "tests/store/sql.h"

namespace {

constexpr std::string_view network_folder = "/on-a-network";

}  // namespace

/// Replaces the C library's function: network_folder is on NFS.
extern "C" int statfs(const char* path, struct statfs* information) noexcept {
  const long code = syscall(SYS_statfs, path, information);
  if (code == 0 && std::string_view(path).ends_with(network_folder)) information->f_type = 0x6969;
  return static_cast<int>(code);
}

namespace attnscope {
namespace {

using namespace test;
using store::schema_version;
using testing::AllOf;
using testing::Each;
using testing::HasSubstr;

std::string refusal(const std::filesystem::path& file, Store::Mode mode) {
  return error_in(Store::open(file, mode));
}

/// Both modes refuse the file with `words` and change neither it nor its folder.
void expect_refused_untouched(const TemporaryFolder& folder, const std::filesystem::path& file,
                              const std::string& words) {
  const std::string before = bytes_of(file);
  const auto files = folder.files();
  EXPECT_THAT(refusal(file, Store::Mode::read_write), HasSubstr(words));
  EXPECT_THAT(refusal(file, Store::Mode::read_only), HasSubstr(words));
  EXPECT_EQ(bytes_of(file), before);
  EXPECT_EQ(folder.files(), files);
}

class Open : public FolderTest {};
class OlderVersion : public FolderTest {};

TEST_F(Open, ANewFile_HasItsIdAndVersion) {
  { const Store store = open_or_throw(folder_ / "new.db"); }
  const std::string bytes = bytes_of(folder_ / "new.db");
  EXPECT_EQ(bytes.substr(68, 4), "AtSc");
  EXPECT_EQ(bytes[63], schema_version);
}

TEST_F(Open, ADatabaseOnANetworkFileSystem_IsWrittenWithAWarning) {
  std::filesystem::create_directory(folder_.path().string() + std::string(network_folder));
  const auto file = folder_ / "on-a-network/results.db";
  Store store = open_or_throw(file);
  EXPECT_THAT(store.warning(), AllOf(HasSubstr("network file system"), HasSubstr("--db")));
  const RunId run = begin_or_throw(store, sample_run());
  std::mt19937_64 random(3);
  ASSERT_TRUE(store.add_heat(run, random_heat(random, 0, 3)));
  EXPECT_EQ(open_or_throw(file, Store::Mode::read_only).cells(run, true)->size(), 3U);
  EXPECT_TRUE(open_or_throw(folder_ / "local.db").warning().empty());
}

TEST_F(Open, ADatabaseAndItsExports_AreReadableOnlyByTheirOwner) {
  const mode_t mask = ::umask(0);
  Store store = open_or_throw(folder_ / "new.db");
  const RunId run = begin_or_throw(store, sample_run());
  EXPECT_TRUE(store.export_runs({run}, folder_ / "run.attn"));
  ::umask(mask);
  for (const char* name : {"new.db", "run.attn"}) {
    struct stat info {};
    ASSERT_EQ(::stat((folder_ / name).c_str(), &info), 0) << name;
    EXPECT_EQ(info.st_mode & 0777U, 0600U) << name;
  }
}

TEST_F(Open, AnEmptyFile_IsFilledForWritingAndRefusedForReading) {
  write_bytes(folder_ / "empty.db", "");
  EXPECT_THAT(refusal(folder_ / "empty.db", Store::Mode::read_only), HasSubstr("is empty"));
  EXPECT_EQ(refusal(folder_ / "empty.db", Store::Mode::read_write), "no error");
}

TEST_F(Open, ADatabaseOfAnotherProgram_IsRefusedUntouched) {
  run_sql(folder_ / "foreign.db", "CREATE TABLE runs(x); INSERT INTO runs VALUES (1);");
  expect_refused_untouched(folder_, folder_ / "foreign.db", "database of another program");
  run_sql(folder_ / "wal.db", "PRAGMA journal_mode=WAL; CREATE TABLE t(x);");
  expect_refused_untouched(folder_, folder_ / "wal.db", "database of another program");
}

TEST_F(Open, AnUnsupportedVersion_IsRefusedUntouchedNamingBothVersions) {
  for (const auto& [version, age] : {std::pair(42, "a newer"), std::pair(3, "an older")}) {
    const TemporaryFolder folder;
    const auto file = folder / "results.db";
    { const Store store = open_or_throw(file); }
    run_sql(file, fmt::format("PRAGMA user_version = {}", version).c_str());
    expect_refused_untouched(
        folder, file,
        fmt::format("written by {} AttnScope (database version {}; this one reads {})", age,
                    version, schema_version));
  }
}

/// A run in the format of the previous version, without columns that were added later.
std::filesystem::path older_run() {
  return std::filesystem::path(ATTNSCOPE_SOURCE_DIR) / "tests/store/small_run.attn";
}

std::filesystem::path older_copy(const TemporaryFolder& folder, const char* name,
                                 const char* change = "SELECT 1") {
  std::filesystem::copy_file(older_run(), folder / name);
  run_sql(folder / name, change);
  return folder / name;
}

/// Checks the contents of the older run.
void expect_older_run(const Store& store) {
  const auto run = need(store.find_run("last"));
  EXPECT_EQ(run.id.uuid, "d7f7d1ce-49e6-497e-b607-ce391bd6d3e3");
  EXPECT_EQ(run.heats_stored, 2);
  const auto cells = need(store.cells(run.id, true));
  ASSERT_EQ(cells.size(), 4U);
  for (const StoredCell& cell : cells) {
    EXPECT_FALSE(cell.damaged);
    EXPECT_EQ(cell.cell.samples.size(), 4U);
    EXPECT_EQ(cell.point.stage, Stage::whole);
    EXPECT_GT(cell.summary.median_ns, 0);
  }
  EXPECT_EQ(store.ceilings(run.id)->size(), 2U);
  const Status sound = store.check_integrity();
  EXPECT_TRUE(sound) << sound.error().message;
}

TEST_F(OlderVersion, IsReadUnchanged) {
  const auto file = older_copy(folder_, "old.db");
  const std::string before = bytes_of(file);
  {
    const Store store = open_or_throw(file, Store::Mode::read_only);
    expect_older_run(store);
    ASSERT_TRUE(store.export_runs({store.find_run("last")->id}, folder_ / "new.attn"));
  }
  EXPECT_EQ(bytes_of(file), before);
  EXPECT_EQ(bytes_of(folder_ / "new.attn")[63], schema_version);
  expect_older_run(open_or_throw(folder_ / "new.attn", Store::Mode::read_only));
}

TEST_F(OlderVersion, IsReadFromAPackedFile) {
  const auto file = older_copy(folder_, "old.db", "PRAGMA journal_mode = WAL");
  write_bytes(folder_ / "old.db.gz", tests::packed(bytes_of(file)));
  expect_older_run(open_or_throw(folder_ / "old.db.gz", Store::Mode::read_only));
}

TEST_F(OlderVersion, WithAWriteAheadLogIsConvertedOnWriting) {
  const auto file = older_copy(folder_, "old.db", "PRAGMA journal_mode = WAL");
  run_sql(file, "UPDATE sqlite_sequence SET seq = 7");
  for (int i = 0; i < 2; ++i) {
    Store store = open_or_throw(file);
    expect_older_run(store);
    EXPECT_EQ(bytes_of(file)[18], 1);  // the log is gone
  }
  Store store = open_or_throw(file);
  begin_or_throw(store, sample_run());
  EXPECT_EQ(store.find_run("last")->number, 8);
  EXPECT_EQ(bytes_of(file)[63], schema_version);
}

TEST_F(OlderVersion, IsImportedOnce) {
  Store store = open_or_throw(folder_ / "results.db");
  EXPECT_EQ(store.import_file(older_run())->added, 1);
  const auto again = store.import_file(older_run());
  EXPECT_EQ(again->already_there, 1);
  EXPECT_EQ(again->heats_added, 0);
  expect_older_run(store);
}

TEST_F(OlderVersion, KeepsItsDamage) {
  const auto damage_after = [](const char* change) {
    const TemporaryFolder folder;
    const Store store = open_or_throw(older_copy(folder, "old.db", change));
    const RunInfo run = *store.find_run("last");
    std::int64_t damaged = run.damaged_ceilings + run.missing_cells + (run.damaged ? 1 : 0);
    const auto cells = store.cells(run.id, true);
    for (const StoredCell& cell : *cells) damaged += cell.damaged ? 1 : 0;
    EXPECT_EQ(store.check_integrity().has_value(), damaged == 0) << change;
    return damaged;
  };
  EXPECT_EQ(damage_after("SELECT 1"), 0);
  EXPECT_EQ(damage_after("UPDATE runs SET device = 'a faster one'"), 1);
  EXPECT_EQ(damage_after("UPDATE samples SET time_ns = time_ns + 1 WHERE cell_id = 1"), 1);
  EXPECT_EQ(damage_after("UPDATE samples SET outlier = 1 WHERE cell_id = 2 AND ordinal = 3"), 1);
  EXPECT_EQ(damage_after("DELETE FROM samples WHERE cell_id = 2 AND ordinal = 3"), 1);
  EXPECT_EQ(damage_after("UPDATE cells SET batch = batch + 1 WHERE id = 3"), 1);
  EXPECT_EQ(damage_after("UPDATE cells SET samples_fingerprint = 1 WHERE id = 3"), 0)
      << "the samples are unchanged";
  EXPECT_EQ(damage_after("UPDATE heats SET threads = threads + 1 WHERE id = 1"), 2);
  EXPECT_EQ(damage_after("DELETE FROM cells WHERE id = 1"), 1);
  EXPECT_EQ(damage_after("UPDATE ceilings SET flop_per_second = flop_per_second * 2 WHERE id = 1"),
            1);
}

/// A published run in the format of version 9, unpacked.
std::filesystem::path copy_of_version_9(const TemporaryFolder& folder, const char* change) {
  const auto packed =
      std::filesystem::path(ATTNSCOPE_SOURCE_DIR) / "results/paper-table3/run.attn.gz";
  write_bytes(folder / "nine.db", tests::unpacked(packed));
  run_sql(folder / "nine.db", change);
  return folder / "nine.db";
}

TEST_F(OlderVersion, WithoutLaterAxesKeepsItsFingerprintsAndItsDamage) {
  const auto damaged_cells = [](const char* change) {
    const TemporaryFolder folder;
    const auto file = copy_of_version_9(folder, change);
    for (const Store::Mode mode : {Store::Mode::read_only, Store::Mode::read_write}) {
      const Store store = open_or_throw(file, mode);
      const auto cells = need(store.cells(store.find_run("last")->id, true));
      for (const StoredCell& cell : cells) EXPECT_EQ(cell.point.launch, LaunchMode::eager);
      const auto damaged = std::ranges::count(cells, true, &StoredCell::damaged);
      EXPECT_EQ(store.check_integrity().has_value(), damaged == 0) << change;
      if (mode == Store::Mode::read_write) return damaged;
    }
    return std::ptrdiff_t{-1};
  };
  EXPECT_EQ(damaged_cells("SELECT 1"), 0);
  EXPECT_EQ(
      damaged_cells("UPDATE cells SET batch = batch + 1 WHERE id = (SELECT min(id) FROM cells)"),
      1);
}

TEST(PublishedRuns, AreSound) {
  const auto results = std::filesystem::path(ATTNSCOPE_SOURCE_DIR) / "results";
  int runs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(results)) {
    const auto published = entry.path() / "run.attn.gz";
    if (!std::filesystem::exists(published)) continue;
    SCOPED_TRACE(published);
    const Store store = open_or_throw(published, Store::Mode::read_only);
    const Status sound = store.check_integrity();
    EXPECT_TRUE(sound) << sound.error().message;
    ++runs;
  }
  EXPECT_GE(runs, 11);
}

TEST_F(Open, GarbageTextAndTruncatedFiles_AreRefusedUntouched) {
  { const Store store = open_or_throw(folder_ / "whole.db"); }
  for (const std::string& bytes : {bytes_of(folder_ / "whole.db").substr(0, 60),
                                   std::string(5000, '\x5a'), std::string("shopping list")}) {
    write_bytes(folder_ / "other.db", bytes);
    expect_refused_untouched(folder_, folder_ / "other.db", "is not an AttnScope database");
  }
}

TEST_F(Open, WhatIsNoFile_IsRefusedWithAReasonAndNotCreated) {
  const std::filesystem::path pipe = folder_ / "pipe", views = folder_ / "views.db";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  { static_cast<void>(open_or_throw(views)); }
  run_sql(views,
          "ALTER TABLE runs RENAME TO kept; CREATE VIEW runs AS WITH RECURSIVE n(i) AS (SELECT 1 "
          "UNION ALL SELECT i + 1 FROM n) SELECT kept.* FROM n LEFT JOIN kept");
  const auto files = folder_.files();
  const auto expect_refused = [](const std::filesystem::path& file, Store::Mode mode,
                                 const char* words) {
    EXPECT_THAT(refusal(file, mode), HasSubstr(words)) << file;
  };
  for (const auto mode : {Store::Mode::read_write, Store::Mode::read_only}) {
    expect_refused(folder_.path(), mode, "is a folder");
    expect_refused(folder_.path(), mode, "attnscope.db");
    expect_refused(views, mode, "has views or triggers");
  }
  expect_refused(pipe, Store::Mode::read_only, "is not a file");
  expect_refused("", Store::Mode::read_write, "empty");
  expect_refused(folder_ / "none.db", Store::Mode::read_only, "there is no file");
  expect_refused(folder_ / "none.attn", Store::Mode::read_write, "check its name");
  expect_refused(folder_ / "none/at/all.db", Store::Mode::read_write, "does not exist");
  expect_refused("/proc/attnscope.db", Store::Mode::read_write, "cannot be");
  EXPECT_EQ(folder_.files(), files);
}

TEST_F(Open, TheDefaultPlace_FollowsTheDataFolderAndIsCreated) {
  const char* before = std::getenv("XDG_DATA_HOME");
  const std::string saved = before != nullptr ? before : "";
  setenv("XDG_DATA_HOME", (folder_ / "data home").c_str(), 1);
  EXPECT_EQ(default_database(), folder_ / "data home/attnscope/attnscope.db");
  EXPECT_EQ(refusal(default_database(), Store::Mode::read_write), "no error");
  setenv("XDG_DATA_HOME", "relative", 1);
  EXPECT_TRUE(default_database().is_absolute());
  before != nullptr ? setenv("XDG_DATA_HOME", saved.c_str(), 1) : unsetenv("XDG_DATA_HOME");
}

TEST_F(Open, AReadOnlyFile_IsReadableButNotWritable) {
  { const Store store = open_or_throw(folder_ / "fixed.db"); }
  std::filesystem::permissions(folder_ / "fixed.db", std::filesystem::perms{0444});
  std::filesystem::permissions(folder_.path(), std::filesystem::perms{0555});
  const bool root = geteuid() == 0;  // permissions do not restrict root
  if (root) {
    ASSERT_EQ(seteuid(65534), 0);
  }
  const std::string before = bytes_of(folder_ / "fixed.db");
  EXPECT_THAT(refusal(folder_ / "fixed.db", Store::Mode::read_write), HasSubstr("cannot be"));
  EXPECT_EQ(refusal(folder_ / "fixed.db", Store::Mode::read_only), "no error");
  EXPECT_EQ(bytes_of(folder_ / "fixed.db"), before);
  if (root) {
    ASSERT_EQ(seteuid(0), 0);
  }
  std::filesystem::permissions(folder_.path(), std::filesystem::perms{0755});
}

TEST_F(Open, OddNames_AreAccepted) {
  const std::filesystem::path file = folder_ / "50% of #1? & file:x ünï'.db";
  { const Store store = open_or_throw(file); }
  EXPECT_TRUE(std::filesystem::exists(file));
  EXPECT_EQ(refusal(file, Store::Mode::read_only), "no error");
}

TEST_F(Open, ManyAtOnce_CreateOrConvertOneDatabase) {
  for (const auto& [file, runs_before, count] :
       {std::tuple(folder_ / "new.db", 0U, 8U),
        std::tuple(older_copy(folder_, "old.db"), 1U, 4U)}) {
    std::latch start(count);
    std::vector<std::string> outcome(count);
    std::vector<std::thread> threads;
    threads.reserve(count);
    for (std::string& text : outcome) {
      threads.emplace_back([&start, &text, file = file] {
        start.arrive_and_wait();
        Result<Store> store = Store::open(file, Store::Mode::read_write);
        text = !store ? store.error().message : (store->begin_run(sample_run()) ? "ok" : "no run");
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_THAT(outcome, Each("ok")) << file;
    EXPECT_EQ(open_or_throw(file).runs()->size(), runs_before + count) << file;
  }
}

TEST(NetworkFileSystems, AreKnownByTheirNumbers) {
  EXPECT_TRUE(store::is_network_file_system(0x6969));
  EXPECT_TRUE(store::is_network_file_system(0xFF534D42));
  EXPECT_TRUE(store::is_network_file_system(static_cast<std::int32_t>(0xFF534D42)));
  EXPECT_TRUE(store::is_network_file_system(0x65735546));
  EXPECT_FALSE(store::is_network_file_system(0xEF53));      // ext4
  EXPECT_FALSE(store::is_network_file_system(0x01021994));  // tmpfs
}

}  // namespace
}  // namespace attnscope
