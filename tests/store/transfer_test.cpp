// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/gzip.h"
#include "engine/store/implementation.h"
#include "tests/base/packed.h"
#include "tests/store/sample_runs.h"

namespace attnscope {
namespace {

using namespace test;
using testing::AllOf;
using testing::HasSubstr;

class Transfer : public StoreTest {
 protected:
  Transfer() {
    for (const char* name : {"one", "two", "three"}) {
      runs_.push_back(begin_or_throw(store_, sample_run(name)));
      for (int i = 0; i < 4; ++i) need(store_.add_heat(runs_.back(), random_heat(random_, i, 3)));
      need(store_.add_ceilings(runs_.back(), random_ceilings(random_)));
      need(store_.finish_run(runs_.back(), RunStatus::done));
    }
  }
  void expect_equal_run(const Store& other, const RunId& run) {
    const auto mine = store_.cells(run, true), theirs = other.cells(run, true);
    ASSERT_TRUE(theirs) << theirs.error().message;
    ASSERT_EQ(mine->size(), theirs->size());
    for (std::size_t i = 0; i < mine->size(); ++i) {
      EXPECT_TRUE(same((*mine)[i].cell, (*theirs)[i].cell));
      EXPECT_TRUE(same((*mine)[i].summary, (*theirs)[i].summary));
      EXPECT_EQ((*mine)[i].point, (*theirs)[i].point);
      EXPECT_EQ((*mine)[i].outliers, (*theirs)[i].outliers);
      EXPECT_FALSE((*theirs)[i].damaged);
    }
    const auto a = store_.find_run(run.uuid), b = other.find_run(run.uuid);
    EXPECT_TRUE(same(a->start, b->start));
    EXPECT_EQ(a->started_unix_ms, b->started_unix_ms);
    EXPECT_FALSE(b->damaged);
    EXPECT_EQ(store_.ceilings(run)->size(), other.ceilings(run)->size());
    EXPECT_TRUE(other.check_integrity());
  }

  std::mt19937_64 random_{21};
  std::vector<RunId> runs_;
};

TEST_F(Transfer, AnExportedFile_HasOnlyTheNamedRunsAndIsReadOnly) {
  const auto file = folder_ / "two.attn";
  const auto files = folder_.files();
  const Status done = store_.export_runs({runs_[1]}, file);
  ASSERT_TRUE(done) << done.error().message;
  const std::string bytes = bytes_of(file);
  EXPECT_EQ(bytes.find(runs_[0].uuid), std::string::npos);
  EXPECT_EQ(bytes[18], 1) << "a write-ahead log";
  {
    Store exported = open_or_throw(file, Store::Mode::read_write);
    EXPECT_EQ(exported.runs()->size(), 1U);
    expect_equal_run(exported, runs_[1]);
    EXPECT_EQ(folder_.files(), files + 1);
    EXPECT_THAT(error_in(exported.begin_run(sample_run())), HasSubstr("import it"));
  }
  EXPECT_EQ(bytes_of(file), bytes);
}

TEST_F(Transfer, LeftoversOfAKilledExport_AreRemovedByTheNext) {
  write_bytes(folder_ / "all.attn.part-aB3xYz", "half");
  write_bytes(folder_ / "all.attn.part-aB3xYz-journal", "half");
  write_bytes(folder_ / "other.attn.part-aB3xYz", "half");
  ASSERT_TRUE(store_.export_runs(runs_, folder_ / "all.attn"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "all.attn.part-aB3xYz"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "all.attn.part-aB3xYz-journal"));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "other.attn.part-aB3xYz"));
}

TEST_F(Transfer, APackedExport_IsReadAndImported) {
  const mode_t mask = ::umask(0);
  ASSERT_TRUE(store_.export_runs(runs_, folder_ / "all.attn.GZ"));
  ::umask(mask);
  ASSERT_TRUE(store_.export_runs({runs_[0]}, folder_ / "one.attn"));
  EXPECT_TRUE(bytes_of(folder_ / "all.attn.GZ").starts_with(gzip_mark));
  struct stat info {};
  ASSERT_EQ(::stat((folder_ / "all.attn.GZ").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
  write_bytes(folder_ / "packed.attn", bytes_of(folder_ / "all.attn.GZ"));
  write_bytes(folder_ / "plain.attn.gz", bytes_of(folder_ / "one.attn"));
  const auto before = folder_.files();
  {
    const Store packed = open_or_throw(folder_ / "all.attn.GZ", Store::Mode::read_write);
    Store misnamed = open_or_throw(folder_ / "packed.attn", Store::Mode::read_only);
    const Store plain = open_or_throw(folder_ / "plain.attn.gz", Store::Mode::read_only);
    for (const RunId& run : runs_) expect_equal_run(packed, run);
    expect_equal_run(misnamed, runs_[2]);
    EXPECT_EQ(plain.runs()->size(), 1U);
    EXPECT_THAT(
        misnamed.describe_run(runs_[0], {.name = "mine"}).error().message,
        AllOf(HasSubstr("packed.attn was opened for reading only"), HasSubstr("import it")));
    EXPECT_TRUE(packed.is_at_its_place());
    EXPECT_EQ(packed.file(), folder_ / "all.attn.GZ");
    EXPECT_EQ(folder_.files(), before);
    ASSERT_TRUE(packed.export_runs({runs_[1]}, folder_ / "again.attn"));
  }
  expect_equal_run(open_or_throw(folder_ / "again.attn", Store::Mode::read_only), runs_[1]);
  Store other = open_or_throw(folder_ / "other.db");
  const auto imported = need(other.import_file(folder_ / "all.attn.GZ"));
  EXPECT_EQ(imported.added, 3);
  for (const RunId& run : runs_) expect_equal_run(other, run);
}

TEST_F(Transfer, AnIncompletePackedFile_IsRefused) {
  ASSERT_TRUE(store_.export_runs(runs_, folder_ / "all.attn.gz"));
  const std::string whole = bytes_of(folder_ / "all.attn.gz");
  Store other = open_or_throw(folder_ / "other.db");
  const auto refused = [&](const std::string& bytes, const std::string& words) {
    write_bytes(folder_ / "damaged.attn.gz", bytes);
    EXPECT_THAT(error_in(other.import_file(folder_ / "damaged.attn.gz")),
                AllOf(HasSubstr("damaged.attn.gz"), HasSubstr(words)));
    EXPECT_EQ(bytes_of(folder_ / "damaged.attn.gz"), bytes);
  };
  refused(whole.substr(0, whole.size() / 2), "truncated");
  refused(whole.substr(0, whole.size() - 1), "truncated");
  std::string damaged = whole;
  damaged[whole.size() - 6] = static_cast<char>(damaged[whole.size() - 6] ^ 1);
  refused(damaged, "are damaged");
  ASSERT_TRUE(store_.export_runs(runs_, folder_ / "all.attn"));
  std::string unknown_version = bytes_of(folder_ / "all.attn");
  unknown_version[18] = 3;
  unknown_version[19] = 9;
  refused(tests::packed(unknown_version), "");
  refused(tests::packed("no database"), "is not an AttnScope database");
  refused(tests::packed(""), "is empty");
  EXPECT_TRUE(other.runs()->empty());
  EXPECT_THAT(store::read_packed(folder_ / "all.attn.gz", 1 << 16).error().message,
              AllOf(HasSubstr("all.attn.gz"), HasSubstr("too much to read at once")));
}

TEST_F(Transfer, AnExistingFile_IsNeverOverwritten) {
  write_bytes(folder_ / "taken.attn", "mine");
  EXPECT_THAT(error_in(store_.export_runs({runs_[0]}, folder_ / "taken.attn")),
              HasSubstr("is not overwritten"));
  EXPECT_EQ(bytes_of(folder_ / "taken.attn"), "mine");
}

TEST_F(Transfer, NameOfAnSqliteSideFile_IsRefused) {
  { const Store other = open_or_throw(folder_ / "other.db"); }
  for (const char* ending : {"-wal", "-journal", "-shm"}) {
    EXPECT_THAT(
        error_in(store_.export_runs({runs_[0]}, folder_ / (std::string("other.db") + ending))),
        HasSubstr("name another file"));
  }
}

TEST_F(Transfer, AnExportThatFails_LeavesNoFile) {
  const auto before = folder_.files();
  EXPECT_FALSE(store_.export_runs({runs_[0], RunId{"no such run"}}, folder_ / "x.attn"));
  EXPECT_FALSE(store_.export_runs({}, folder_ / "x.attn"));
  EXPECT_FALSE(store_.export_runs({runs_[0]}, folder_ / "none/x.attn"));
  EXPECT_EQ(folder_.files(), before);
}

TEST_F(Transfer, Import_AddsEveryRunOnceUnderNewNumbers) {
  ASSERT_TRUE(store_.export_runs({runs_[1], runs_[2], runs_[1]}, folder_ / "two.attn"));
  Store other = open_or_throw(folder_ / "other.db");
  const RunId own = begin_or_throw(other, sample_run("own"));
  const auto first = need(other.import_file(folder_ / "two.attn"));
  EXPECT_EQ(first.added, 2);
  EXPECT_EQ(first.already_there, 0);
  EXPECT_EQ(other.find_run("1")->id, own);
  EXPECT_EQ(other.find_run("2")->id, runs_[1]);
  EXPECT_EQ(other.find_run("3")->id, runs_[2]);
  EXPECT_EQ(other.find_run("last")->id, runs_[2]);  // the last import, regardless of dates
  expect_equal_run(other, runs_[1]);
  expect_equal_run(other, runs_[2]);

  const auto again = other.import_file(folder_ / "two.attn");
  EXPECT_EQ(again->added, 0);
  EXPECT_EQ(again->already_there, 2);
  EXPECT_EQ(other.runs()->size(), 3U);
}

TEST_F(Transfer, AHeat_KeepsTheStartThatMeasuredIt) {
  NewRun start = sample_run("parts");
  const RunId run = begin_or_throw(store_, start);
  need(store_.add_heat(run, random_heat(random_, 0, 1)));
  start.command_line = "a later start";
  need(store_.resume_run(run, start));
  need(store_.add_heat(run, random_heat(random_, 1, 1)));
  {
    // A connection that neither started nor resumed the run: the start of its heat is unknown.
    Store other = open_or_throw(folder_ / "results.db");
    need(other.add_heat(run, random_heat(random_, 2, 1)));
  }
  need(store_.finish_run(run, RunStatus::done));
  const auto starts = [&](const Store& store) {
    std::vector<std::optional<std::size_t>> found;
    const auto by_heat = store.starts_of_heats(run);
    for (const auto& [heat, place] : *by_heat) found.push_back(place);
    return found;
  };
  const std::vector<std::optional<std::size_t>> expected{0, 1, std::nullopt};
  EXPECT_EQ(starts(store_), expected);
  ASSERT_TRUE(store_.export_runs({run}, folder_ / "parts.attn"));
  Store other = open_or_throw(folder_ / "other.db");
  ASSERT_TRUE(other.import_file(folder_ / "parts.attn"));
  EXPECT_EQ(starts(other), expected);
  EXPECT_TRUE(other.check_integrity());
}

TEST_F(Transfer, ARunThatIsBeingMeasured_IsExportedAsInterrupted) {
  const RunId run = begin_or_throw(store_, live_run());
  ASSERT_TRUE(store_.export_runs({run}, folder_ / "live.attn"));
  const Store exported = open_or_throw(folder_ / "live.attn", Store::Mode::read_only);
  EXPECT_EQ(exported.find_run("last")->status, RunStatus::interrupted);
  EXPECT_EQ(store_.find_run("last")->status, RunStatus::running);
}

TEST_F(Transfer, NameTagAndNote_AreExported) {
  const RunWords words{.name = "for the paper", .tag = "camera-ready laptop", .note = "quiet room"};
  ASSERT_TRUE(store_.describe_run(runs_[1], words));
  ASSERT_TRUE(store_.export_runs({runs_[1]}, folder_ / "one.attn"));
  Store other = open_or_throw(folder_ / "other.db");
  ASSERT_TRUE(other.import_file(folder_ / "one.attn"));
  const auto run = need(other.find_run("for the paper"));
  EXPECT_EQ(run.id, runs_[1]);
  EXPECT_EQ(run.tag, words.tag);
  EXPECT_EQ(run.note, words.note);
  EXPECT_FALSE(run.damaged);

  ASSERT_TRUE(other.describe_run(runs_[1], {.name = "mine"}));
  ASSERT_TRUE(other.import_file(folder_ / "one.attn"));
  EXPECT_EQ(other.find_run("last")->name, "mine") << "an import never replaces an existing run";
}

TEST_F(Transfer, ARunInTheTrash_IsExportedOutsideItAndRestoredByAnImport) {
  ASSERT_TRUE(store_.put_in_trash({runs_[1]}));
  ASSERT_TRUE(store_.export_runs({runs_[0], runs_[1]}, folder_ / "two.attn"));
  const Store exported = open_or_throw(folder_ / "two.attn", Store::Mode::read_only);
  EXPECT_FALSE(is_in_trash(*exported.find_run(runs_[1].uuid)));
  expect_equal_run(exported, runs_[1]);
  const auto imported = need(store_.import_file(folder_ / "two.attn"));
  EXPECT_EQ(imported.already_there, 2);
  EXPECT_EQ(imported.taken_from_trash, 1);
  EXPECT_EQ(store_.runs()->size(), 3U);
}

TEST_F(Transfer, ALiveDatabase_IsImportedWithoutTheRunsInItsTrash) {
  ASSERT_TRUE(store_.put_in_trash({runs_[1]}));
  Store other = open_or_throw(folder_ / "other.db");
  const auto imported = need(other.import_file(folder_ / "results.db"));
  EXPECT_EQ(imported.added, 2);
  expect_equal_run(other, runs_[0]);
  EXPECT_FALSE(other.find_run(runs_[1].uuid));
}

TEST_F(Transfer, AnImportOfAnotherFile_IsRefusedAndChangesNothing) {
  write_bytes(folder_ / "notes.attn", "not a database at all");
  const std::int64_t before = *store_.data_version();
  EXPECT_FALSE(store_.import_file(folder_ / "notes.attn"));
  EXPECT_FALSE(store_.import_file(folder_ / "missing.attn"));
  EXPECT_FALSE(store_.import_file(folder_.path()));
  EXPECT_EQ(*store_.data_version(), before);
}

}  // namespace
}  // namespace attnscope
