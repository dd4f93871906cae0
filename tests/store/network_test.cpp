// SPDX-License-Identifier: Apache-2.0
//
// A database on a simulated network file system: statfs reports NFS for one folder.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <string_view>

#include "tests/store/sample_runs.h"

namespace {

constexpr std::string_view network_folder = "/on-a-network";

}  // namespace

/// Replaces the C library's function.
extern "C" int statfs(const char* path, struct statfs* information) noexcept {
  const long code = syscall(SYS_statfs, path, information);
  if (code == 0 && std::string_view(path).ends_with(network_folder)) information->f_type = 0x6969;
  return static_cast<int>(code);
}

namespace attnscope {
namespace {

using namespace test;
using testing::AllOf;
using testing::HasSubstr;

class Network : public testing::Test {
 protected:
  Network() {
    std::filesystem::create_directory(folder_.path().string() + std::string(network_folder));
    file_ = folder_ / "on-a-network/results.db";
  }

  TemporaryFolder folder_;
  std::filesystem::path file_;
};

TEST_F(Network, Database_IsWrittenWithAWarning) {
  Store store = open_or_throw(file_);
  EXPECT_THAT(store.warning(), AllOf(HasSubstr("network file system"), HasSubstr("--db")));
  const RunId run = begin_or_throw(store, sample_run());
  std::mt19937_64 random(3);
  ASSERT_TRUE(store.add_heat(run, random_heat(random, 0, 3)));
  EXPECT_EQ(open_or_throw(file_, Store::Mode::read_only).cells(run, true)->size(), 3U);
}

TEST_F(Network, ASecondWriter_IsRefused) {
  Store store = open_or_throw(file_);
  const RunId run = begin_or_throw(store, sample_run());
  sqlite3* other = nullptr;
  ASSERT_EQ(sqlite3_open(file_.c_str(), &other), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(other, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
  store.set_busy_timeout(std::chrono::milliseconds(1));
  std::mt19937_64 random(3);
  const HeatResult heat = random_heat(random, 0, 3);
  EXPECT_THAT(store.add_heat(run, heat).error().message, HasSubstr("locked by another process"));
  sqlite3_close(other);
  EXPECT_TRUE(store.add_heat(run, heat));
  EXPECT_EQ(store.cells(run, true)->size(), 3U);
}

TEST_F(Network, AnUnfinishedChange_IsRolledBackBeforeReading) {
  RunId run;
  {
    Store store = open_or_throw(file_);
    run = begin_or_throw(store, sample_run());
    ASSERT_TRUE(store.describe_run(run, {.tag = "before"}));
  }
  // The file contains pages of an uncommitted change, and its journal exists.
  sqlite3* writer = nullptr;
  ASSERT_EQ(sqlite3_open(file_.c_str(), &writer), SQLITE_OK);
  for (const char* sql :
       {"PRAGMA cache_size = 1", "BEGIN", "UPDATE runs SET tag = 'halfway'",
        "INSERT INTO restarts (run_number, restarted_unix_ms, command_line, provenance, "
        "fingerprint) VALUES (1, 1, hex(zeroblob(400000)), '', 0)"}) {
    ASSERT_EQ(sqlite3_exec(writer, sql, nullptr, nullptr, nullptr), SQLITE_OK);
  }
  const std::string database = bytes_of(file_);
  const std::string journal = bytes_of(file_.string() + "-journal");
  sqlite3_close(writer);
  ASSERT_NE(database.find("halfway"), std::string::npos);
  write_bytes(file_, database);
  write_bytes(file_.string() + "-journal", journal);
  const Store store = open_or_throw(file_, Store::Mode::read_only);
  EXPECT_EQ(store.find_run("last")->tag, "before");
}

}  // namespace
}  // namespace attnscope
