// SPDX-License-Identifier: Apache-2.0
//
// A database that cannot be written while a run measures: results wait in memory, none is announced
// before it is stored, nothing is measured twice, and at the end one file contains the rest.
#include <functional>

#include "tests/faults/fault_fixture.h"
#include "tests/store/sql.h"

namespace attnscope {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using Kind = RunEvent::Kind;

class PendingResultsTest : public FaultFixture {
 protected:
  /// Runs three heats, without waiting for locks of the database.
  RunOutcome run_impatiently(std::chrono::milliseconds store_patience,
                             const std::function<void(const RunEvent&)>& listener) {
    Store store = open_store();
    store.set_busy_timeout(std::chrono::milliseconds(0));
    DriverOptions how = options();
    how.store_patience = store_patience;
    how.cancel = &cancel_;
    how.on_event = [&](const RunEvent& event) {
      if (event.kind == Kind::warning) warnings_.push_back(event.text);
      if (event.kind == Kind::heat_finished)
        announced_.push_back(event.heat->point.sequence_tokens);
      listener(event);
    };
    auto outcome = run_sweep(sweep_of(R"("full/dense")", "64, 128, 256"), store, how);
    if (!outcome) throw std::runtime_error(outcome.error().message);
    return *outcome;
  }
  static bool is_second_heat(const RunEvent& event) {
    return event.kind == Kind::heat_started && event.heat->index == 1;
  }
  void lock_from_the_second_heat(const RunEvent& event) {
    if (is_second_heat(event)) other_.emplace(database());
  }
  static bool reports_waiting(const RunEvent& event) {
    return event.kind == Kind::warning &&
           event.text.find("will be stored as soon") != std::string::npos;
  }
  [[nodiscard]] std::vector<std::filesystem::path> files() const {
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      if (entry.path().extension() == ".attn") files.push_back(entry.path());
    }
    return files;
  }
  /// The database in which a run continues after its own was moved or replaced.
  [[nodiscard]] std::filesystem::path saved_database() const {
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      if (entry.path().extension() == ".db" &&
          entry.path().string().find(".saved-") != std::string::npos)
        return entry.path();
    }
    return {};
  }
  [[nodiscard]] std::size_t cells_of_last_run() const {
    const Store store = open_store();
    return store.cells(store.find_run("last")->id, true)->size();
  }
  void expect_each_heat_measured_once() {
    EXPECT_THAT(requests(),
                ElementsAre("hello", "ceilings", "heat 64", "heat 128", "heat 256", "ceilings"));
  }

  std::optional<test::OtherWriter> other_;
  std::vector<std::string> warnings_;
  std::vector<std::int64_t> announced_;
};

constexpr std::chrono::minutes long_patience{10};
constexpr std::chrono::milliseconds no_patience{0};

TEST_F(PendingResultsTest, AnUnlockedDatabase_ReceivesTheWaitingResults) {
  const RunOutcome outcome = run_impatiently(long_patience, [&](const RunEvent& event) {
    lock_from_the_second_heat(event);
    if (event.kind != Kind::heat_started || event.heat->index != 2) return;
    EXPECT_THAT(announced_, ElementsAre(64));
    other_.reset();
  });
  EXPECT_EQ(outcome.status, RunStatus::done);
  EXPECT_EQ(outcome.store_refusal, "");
  EXPECT_THAT(announced_, ElementsAre(64, 128, 256));
  EXPECT_EQ(cells_of_last_run(), 3U);
  EXPECT_THAT(warnings_, ElementsAre(AllOf(HasSubstr("is locked by another process"),
                                           HasSubstr("results wait in memory")),
                                     HasSubstr("can be written again")));
  EXPECT_THAT(files(), IsEmpty());
  expect_each_heat_measured_once();
}

TEST_F(PendingResultsTest, ADatabaseLockedAtTheEnd_DelaysTheEnd) {
  const RunOutcome outcome = run_impatiently(long_patience, [&](const RunEvent& event) {
    lock_from_the_second_heat(event);
    if (!reports_waiting(event)) return;
    EXPECT_THAT(event.text, AllOf(HasSubstr("is locked"), HasSubstr("3 results will be stored")));
    EXPECT_THAT(announced_, ElementsAre(64));
    other_.reset();
  });
  EXPECT_EQ(outcome.store_refusal, "");
  EXPECT_THAT(announced_, ElementsAre(64, 128, 256));
  EXPECT_EQ(last().status, RunStatus::done);
  EXPECT_EQ(last().heats_done, 3);
}

TEST_F(PendingResultsTest, ACancelWhileTheEndIsDelayed_WritesTheFileAtOnce) {
  const RunOutcome outcome = run_impatiently(long_patience, [&](const RunEvent& event) {
    lock_from_the_second_heat(event);
    if (reports_waiting(event)) cancel_ = 1;
  });
  EXPECT_THAT(outcome.store_refusal, HasSubstr("attnscope import"));
  EXPECT_THAT(files(), SizeIs(1));
}

TEST_F(PendingResultsTest, ARunRemovedFromTheDatabase_IsWrittenToAFileAtOnce) {
  const RunOutcome outcome = run_impatiently(long_patience, [&](const RunEvent& event) {
    if (!is_second_heat(event)) return;
    test::run_sql(database(), "PRAGMA foreign_keys = ON; DELETE FROM runs");
  });
  EXPECT_THAT(outcome.store_refusal,
              AllOf(HasSubstr("is no longer in the database"), HasSubstr("attnscope import")));
  EXPECT_THAT(files(), SizeIs(1));
}

TEST_F(PendingResultsTest, AnEmptiedDatabase_WritesTheFileAtOnce) {
  const RunOutcome outcome = run_impatiently(long_patience, [&](const RunEvent& event) {
    if (is_second_heat(event)) std::filesystem::resize_file(database(), 0);
  });
  EXPECT_THAT(warnings_, ElementsAre(HasSubstr("results wait in memory")));
  ASSERT_THAT(files(), SizeIs(1));
  EXPECT_THAT(outcome.store_refusal, HasSubstr("--db " + files()[0].string() + " shows it"));
  EXPECT_THAT(announced_, ElementsAre(64));
  auto rest = Store::open(folder_ / "new.db", Store::Mode::read_write);
  EXPECT_EQ(rest->import_file(files()[0])->added, 1);
  EXPECT_THAT(stored_cells(*rest, rest->find_run("last")->id), SizeIs(2));
}

/// How another program moves or replaces the file of a database that is being written.
struct Seizure {
  const char* name;
  void (*seize)(const std::filesystem::path& database, const std::filesystem::path& other);
};

void PrintTo(const Seizure& seizure, std::ostream* to) {
  *to << seizure.name;
}

class ASeizedDatabase : public PendingResultsTest, public testing::WithParamInterface<Seizure> {};

TEST_P(ASeizedDatabase, TheRunContinuesInACopyAndChangesNoOtherFile) {
  const auto other = folder_ / "other.db";
  {
    auto store = Store::open(other, Store::Mode::read_write);
    NewRun run;
    run.sweep_name = "another";
    ASSERT_TRUE(store->begin_run(run));
  }
  const RunOutcome outcome = run_impatiently(long_patience, [&](const RunEvent& event) {
    if (is_second_heat(event)) GetParam().seize(database(), other);
  });
  EXPECT_EQ(outcome.status, RunStatus::done);
  EXPECT_THAT(warnings_, ElementsAre(HasSubstr("was moved, deleted or replaced")));
  EXPECT_EQ(outcome.store_refusal, warnings_[0]);
  const std::filesystem::path saved = saved_database();
  EXPECT_THAT(outcome.store_refusal, HasSubstr("--db " + saved.string()));
  const auto store = Store::open(saved, Store::Mode::read_only);
  ASSERT_TRUE(store) << store.error().message;
  EXPECT_EQ(store->find_run("last")->status, RunStatus::done);
  EXPECT_EQ(store->find_run("last")->heats_done, 3);
  EXPECT_TRUE(store->check_integrity());
  for (const char* name : {"runs.db", "elsewhere.db"}) {
    if (!std::filesystem::exists(folder_ / name)) continue;
    const auto rest = Store::open(folder_ / name, Store::Mode::read_write);
    ASSERT_TRUE(rest) << rest.error().message;
    EXPECT_TRUE(rest->check_integrity()) << name;
  }
  if (GetParam().name == std::string_view("replaced")) {
    EXPECT_EQ(open_store().find_run("last")->start.sweep_name, "another");
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, ASeizedDatabase,
    testing::Values(
        Seizure{"moved",
                [](const auto& database, const auto& other) {
                  std::filesystem::rename(database, other.parent_path() / "elsewhere.db");
                }},
        Seizure{"deleted",
                [](const auto& database, const auto&) { std::filesystem::remove(database); }},
        Seizure{"replaced", [](const auto& database,
                               const auto& other) { std::filesystem::rename(other, database); }},
        Seizure{"moved and linked", [](const auto& database, const auto& other) {
                  std::filesystem::rename(database, other.parent_path() / "elsewhere.db");
                  std::filesystem::create_symlink("elsewhere.db", database);
                }}));

TEST_F(PendingResultsTest, ALockedCopy_IsNamedWithTheFile) {
  const RunOutcome outcome = run_impatiently(no_patience, [&](const RunEvent& event) {
    if (event.kind != Kind::heat_started) return;
    if (event.heat->index == 1) std::filesystem::rename(database(), folder_ / "elsewhere.db");
    if (event.heat->index == 2) other_.emplace(saved_database());
  });
  EXPECT_THAT(outcome.store_refusal, AllOf(HasSubstr("are in " + saved_database().string()),
                                           HasSubstr("attnscope import")));
  EXPECT_THAT(files(), SizeIs(1));
}

TEST_F(PendingResultsTest, ADatabaseThatStaysLocked_LeavesAFileToImport) {
  const RunOutcome outcome = run_impatiently(
      no_patience, [&](const RunEvent& event) { lock_from_the_second_heat(event); });
  ASSERT_THAT(files(), SizeIs(1));
  const auto file = files()[0];
  EXPECT_THAT(outcome.store_refusal, AllOf(HasSubstr("attnscope import " + file.string()),
                                           HasSubstr("--db " + database().string())));
  EXPECT_THAT(announced_, ElementsAre(64));
  expect_each_heat_measured_once();
  other_.reset();

  EXPECT_EQ(cells_of_last_run(), 1U);
  const auto imported = open_store().import_file(file);
  ASSERT_TRUE(imported) << imported.error().message;
  EXPECT_EQ(imported->added, 0);
  EXPECT_EQ(imported->heats_added, 2);
  Store store = open_store();
  const RunInfo info = *store.find_run("last");
  EXPECT_EQ(info.status, RunStatus::done);
  EXPECT_EQ(info.heats_done, 3);
  EXPECT_THAT(stored_cells(store, info.id), SizeIs(3));
  EXPECT_THAT(*store.ceilings(info.id), SizeIs(2));
  EXPECT_TRUE(store.check_integrity());
  EXPECT_EQ(store.import_file(file)->heats_added, 0) << "a second time adds nothing";
}

TEST_F(PendingResultsTest, ADatabaseThatCannotGrow_DoesNotEndTheRun) {
  const RunOutcome outcome = run_impatiently(no_patience, [&](const RunEvent& event) {
    if (!is_second_heat(event)) return;
    // The database gets longer than the other file will be, and then only short files can be
    // written.
    ASSERT_TRUE(open_store().describe_run(event.run, {.note = std::string(1 << 19, 'x')}));
    limit_file_size(std::filesystem::file_size(database()) / 2);
  });
  limit_file_size(RLIM_INFINITY);
  EXPECT_THAT(outcome.store_refusal, HasSubstr("attnscope import"));
  EXPECT_EQ(cells_of_last_run(), 1U);
  ASSERT_THAT(files(), SizeIs(1));
  ASSERT_TRUE(open_store().import_file(files()[0]));
  EXPECT_EQ(cells_of_last_run(), 3U);
}

TEST_F(PendingResultsTest, WithoutAnyDiskSpace_EarlierHeatsAreKeptAndTheLossIsReported) {
  const RunOutcome outcome = run_impatiently(no_patience, [&](const RunEvent& event) {
    if (is_second_heat(event)) limit_file_size(0);
  });
  limit_file_size(RLIM_INFINITY);
  EXPECT_THAT(outcome.store_refusal, AllOf(HasSubstr("are lost"), HasSubstr("--resume")));
  EXPECT_THAT(announced_, ElementsAre(64));
  EXPECT_EQ(cells_of_last_run(), 1U);
  EXPECT_THAT(files(), IsEmpty());
}

}  // namespace
}  // namespace attnscope
