// SPDX-License-Identifier: Apache-2.0
//
// A database that takes no results while a run measures: they wait in memory, none is announced
// before it is stored, nothing is measured twice, and at the end one file has what is left.
#include <functional>

#include "engine/store/database.h"
#include "tests/faults/fault_fixture.h"

namespace attnscope {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using Kind = RunEvent::Kind;

/// Another program's transaction on the database: nobody else can write until it ends.
class OtherWriter {
 public:
  explicit OtherWriter(const std::filesystem::path& file)
      : database_(store::open_database(store::uri_of(file, ""), SQLite::OPEN_READWRITE)),
        transaction_(database_, SQLite::TransactionBehavior::IMMEDIATE) {}

 private:
  store::Database database_;
  store::Transaction transaction_;
};

class PendingResultsTest : public FaultFixture {
 protected:
  /// Three heats with a store that waits no time for others, and a listener.
  Result<RunOutcome> run_impatiently(std::chrono::milliseconds store_patience,
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
    return run_sweep(sweep_of(R"("full/dense")", "64, 128, 256"), store, how);
  }
  void lock_from_the_second_heat(const RunEvent& event) {
    if (event.kind == Kind::heat_started && event.heat->index == 1) other_.emplace(database());
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
  /// Where a run whose database was taken has gone on.
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

  std::optional<OtherWriter> other_;
  std::atomic<int> cancel_ = 0;
  std::vector<std::string> warnings_;
  std::vector<std::int64_t> announced_;
};

constexpr std::chrono::minutes long_patience{10};
constexpr std::chrono::milliseconds no_patience{0};

TEST_F(PendingResultsTest, ALockedDatabase_GetsWhatWaitedWhenItIsFreeAgain) {
  const auto outcome = run_impatiently(long_patience, [&](const RunEvent& event) {
    lock_from_the_second_heat(event);
    if (event.kind != Kind::heat_started || event.heat->index != 2) return;
    EXPECT_THAT(announced_, ElementsAre(64));
    other_.reset();
  });
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->status, RunStatus::done);
  EXPECT_EQ(outcome->store_refusal, "");
  EXPECT_THAT(announced_, ElementsAre(64, 128, 256));
  EXPECT_EQ(cells_of_last_run(), 3U);
  EXPECT_THAT(warnings_, ElementsAre(AllOf(HasSubstr("is locked by another process"),
                                           HasSubstr("results wait in memory")),
                                     HasSubstr("can be written again")));
  EXPECT_THAT(files(), IsEmpty());
  expect_each_heat_measured_once();
}

TEST_F(PendingResultsTest, ADatabaseLockedAtTheEnd_IsWaitedFor) {
  const auto outcome = run_impatiently(long_patience, [&](const RunEvent& event) {
    lock_from_the_second_heat(event);
    if (!reports_waiting(event)) return;
    EXPECT_THAT(event.text, AllOf(HasSubstr("is locked"), HasSubstr("3 results will be stored")));
    EXPECT_THAT(announced_, ElementsAre(64));
    other_.reset();
  });
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->store_refusal, "");
  EXPECT_THAT(announced_, ElementsAre(64, 128, 256));
  EXPECT_EQ(last().status, RunStatus::done);
  EXPECT_EQ(last().heats_done, 3);
}

TEST_F(PendingResultsTest, ACancelWhileItIsWaitedFor_WritesTheFileAtOnce) {
  const auto outcome = run_impatiently(long_patience, [&](const RunEvent& event) {
    lock_from_the_second_heat(event);
    if (reports_waiting(event)) cancel_ = 1;
  });
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_THAT(outcome->store_refusal, HasSubstr("attnscope import"));
  EXPECT_THAT(files(), SizeIs(1));
}

TEST_F(PendingResultsTest, ARunThatSomebodyTookOutOfTheDatabase_IsNotWaitedFor) {
  const auto outcome = run_impatiently(long_patience, [&](const RunEvent& event) {
    if (event.kind == Kind::heat_started && event.heat->index == 1) {
      store::open_database(store::uri_of(database(), ""), SQLite::OPEN_READWRITE)
          .exec("PRAGMA foreign_keys = ON; DELETE FROM runs");
    }
  });
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_THAT(outcome->store_refusal,
              AllOf(HasSubstr("is no longer in the database"), HasSubstr("attnscope import")));
  EXPECT_THAT(files(), SizeIs(1));
}

TEST_F(PendingResultsTest, ADatabaseThatIsEmptied_IsNotWaitedFor) {
  const auto outcome = run_impatiently(long_patience, [&](const RunEvent& event) {
    if (event.kind == Kind::heat_started && event.heat->index == 1)
      std::filesystem::resize_file(database(), 0);
  });
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_THAT(warnings_, ElementsAre(HasSubstr("results wait in memory")));
  ASSERT_THAT(files(), SizeIs(1));
  EXPECT_THAT(outcome->store_refusal, HasSubstr("--db " + files()[0].string() + " shows it"));
  EXPECT_THAT(announced_, ElementsAre(64));
  auto rest = Store::open(folder_ / "new.db", Store::Mode::read_write);
  EXPECT_EQ(rest->import_file(files()[0])->added, 1);
  EXPECT_THAT(stored_cells(*rest, rest->find_run("last")->id), SizeIs(2));
}

/// What another person or program does to the file of a database that is being written.
struct Seizure {
  const char* name;
  void (*seize)(const std::filesystem::path& database, const std::filesystem::path& other);
  bool leaves_other_there;
};

class ASeizedDatabase : public PendingResultsTest, public testing::WithParamInterface<Seizure> {};

TEST_P(ASeizedDatabase, TheRunGoesOnInACopyAndHarmsNothing) {
  const auto other = folder_ / "other.db";
  {
    auto store = Store::open(other, Store::Mode::read_write);
    NewRun run;
    run.sweep_name = "another";
    ASSERT_TRUE(store->begin_run(run));
  }
  const auto outcome = run_impatiently(long_patience, [&](const RunEvent& event) {
    if (event.kind != Kind::heat_started || event.heat->index != 1) return;
    GetParam().seize(database(), other);
  });
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->status, RunStatus::done);
  EXPECT_THAT(warnings_, ElementsAre(HasSubstr("was moved, deleted or replaced")));
  EXPECT_EQ(outcome->store_refusal, warnings_[0]);
  const std::filesystem::path saved = saved_database();
  EXPECT_THAT(outcome->store_refusal, HasSubstr("--db " + saved.string()));
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
  if (GetParam().leaves_other_there) {
    EXPECT_EQ(open_store().find_run("last")->start.sweep_name, "another");
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, ASeizedDatabase,
    testing::Values(
        Seizure{"Moved",
                [](const auto& database, const auto& other) {
                  std::filesystem::rename(database, other.parent_path() / "elsewhere.db");
                },
                false},
        Seizure{"Deleted",
                [](const auto& database, const auto&) { std::filesystem::remove(database); },
                false},
        Seizure{"Replaced",
                [](const auto& database, const auto& other) {
                  std::filesystem::rename(other, database);
                },
                true},
        Seizure{"MovedBehindALink",
                [](const auto& database, const auto& other) {
                  std::filesystem::rename(database, other.parent_path() / "elsewhere.db");
                  std::filesystem::create_symlink("elsewhere.db", database);
                },
                false}),
    [](const auto& info) { return std::string(info.param.name); });

TEST_F(PendingResultsTest, ACopyThatStaysLocked_IsNamedBesideTheFile) {
  const auto outcome = run_impatiently(no_patience, [&](const RunEvent& event) {
    if (event.kind != Kind::heat_started) return;
    if (event.heat->index == 1) std::filesystem::rename(database(), folder_ / "elsewhere.db");
    if (event.heat->index == 2) other_.emplace(saved_database());
  });
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_THAT(outcome->store_refusal, AllOf(HasSubstr("are in " + saved_database().string()),
                                            HasSubstr("attnscope import")));
  EXPECT_THAT(files(), SizeIs(1));
}

TEST_F(PendingResultsTest, ADatabaseThatStaysLocked_LeavesAFileThatImportBringsIn) {
  const auto outcome = run_impatiently(
      no_patience, [&](const RunEvent& event) { lock_from_the_second_heat(event); });
  ASSERT_TRUE(outcome) << outcome.error().message;
  ASSERT_THAT(files(), SizeIs(1));
  const auto file = files()[0];
  EXPECT_THAT(outcome->store_refusal, AllOf(HasSubstr("attnscope import " + file.string()),
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

TEST_F(PendingResultsTest, ADatabaseThatCannotGrow_LetsTheRunGoOn) {
  const auto outcome = run_impatiently(no_patience, [&](const RunEvent& event) {
    if (event.kind != Kind::heat_started || event.heat->index != 1) return;
    // The database gets longer than the other file will be, and then only short files can be
    // written.
    ASSERT_TRUE(open_store().describe_run(event.run, {.note = std::string(1 << 19, 'x')}));
    limit_file_size(std::filesystem::file_size(database()) / 2);
  });
  limit_file_size(RLIM_INFINITY);
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_THAT(outcome->store_refusal, HasSubstr("attnscope import"));
  EXPECT_EQ(cells_of_last_run(), 1U);
  ASSERT_THAT(files(), SizeIs(1));
  ASSERT_TRUE(open_store().import_file(files()[0]));
  EXPECT_EQ(cells_of_last_run(), 3U);
}

TEST_F(PendingResultsTest, WhenNoDiskTakesAnything_EarlierHeatsAreKeptAndTheLossIsTold) {
  const auto outcome = run_impatiently(no_patience, [&](const RunEvent& event) {
    if (event.kind == Kind::heat_started && event.heat->index == 1) limit_file_size(0);
  });
  limit_file_size(RLIM_INFINITY);
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_THAT(outcome->store_refusal, AllOf(HasSubstr("are lost"), HasSubstr("--resume")));
  EXPECT_THAT(announced_, ElementsAre(64));
  EXPECT_EQ(cells_of_last_run(), 1U);
  EXPECT_THAT(files(), IsEmpty());
}

}  // namespace
}  // namespace attnscope
