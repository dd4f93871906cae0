// SPDX-License-Identifier: Apache-2.0
//
// A database that takes no results while a run measures: they lie aside, nothing is measured twice,
// and they come in by themselves or by one command.
#include "engine/sweep/heat_keeper.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
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
      : database_(store::uri_of(file, ""), store::Database::Access::read_write),
        transaction_(database_, store::Transaction::Kind::exclusive) {}

 private:
  store::Database database_;
  store::Transaction transaction_;
};

class HeatKeeperTest : public FaultFixture {
 protected:
  /// Runs with a store that waits no time for others, and a listener.
  Result<RunOutcome> run_impatiently(const Sweep& sweep,
                                     const std::function<void(const RunEvent&)>& listener) {
    Store store = open_store();
    store.set_busy_timeout(std::chrono::milliseconds(0));
    DriverOptions how = options();
    how.on_event = [&](const RunEvent& event) {
      if (event.kind == Kind::warning) warnings_.push_back(event.text);
      listener(event);
    };
    return run_sweep(sweep, store, how);
  }
  [[nodiscard]] std::vector<std::filesystem::path> files_aside() const {
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_)) {
      if (entry.path().extension() == ".attn") files.push_back(entry.path());
    }
    return files;
  }
  [[nodiscard]] std::size_t cells_of_last_run() const {
    const Store store = open_store();
    return store.cells(store.find_run("last")->id, true)->size();
  }

  std::vector<std::string> warnings_;
};

TEST_F(HeatKeeperTest, ALockedDatabase_GetsWhatLayAsideWhenItIsFreeAgain) {
  std::optional<OtherWriter> other;
  std::vector<std::string> lying_aside;
  const auto outcome = run_impatiently(
      sweep_of(R"("full/dense", "full/sdpa")", "64, 128, 256"), [&](const RunEvent& event) {
        if (event.kind == Kind::heat_started && event.heat->index == 1) {
          other.emplace(database());
        }
        if (event.kind != Kind::heat_finished) return;
        for (const auto& file : files_aside()) lying_aside.push_back(file.string());
        other.reset();
      });
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->status, RunStatus::done);
  EXPECT_EQ(outcome->store_refusal, "");
  EXPECT_EQ(cells_of_last_run(), 6U);
  ASSERT_THAT(lying_aside, SizeIs(1));
  ASSERT_THAT(warnings_, SizeIs(2));
  EXPECT_THAT(warnings_[0], AllOf(HasSubstr("is locked by another process"),
                                  HasSubstr("attnscope import " + lying_aside[0])));
  EXPECT_THAT(warnings_[1], HasSubstr("are in it now"));
  EXPECT_THAT(files_aside(), IsEmpty());
  EXPECT_EQ(open_store().find_run("last")->status, RunStatus::done);
  EXPECT_THAT(requests(),
              ElementsAre("hello", "ceilings", "heat 64", "heat 128", "heat 256", "ceilings"));
}

TEST_F(HeatKeeperTest, ADatabaseThatStaysLocked_LeavesAFileThatImportBringsIn) {
  std::optional<OtherWriter> other;
  const auto outcome =
      run_impatiently(sweep_of(R"("full/dense")", "64, 128, 256"), [&](const RunEvent& event) {
        if (event.kind == Kind::heat_started && event.heat->index == 1) other.emplace(database());
      });
  ASSERT_TRUE(outcome) << outcome.error().message;
  const auto aside = files_aside();
  ASSERT_THAT(aside, SizeIs(1));
  EXPECT_EQ(aside[0].parent_path(), folder_);
  EXPECT_THAT(outcome->store_refusal, AllOf(HasSubstr("attnscope import " + aside[0].string()),
                                            HasSubstr("--db " + database().string())));
  EXPECT_THAT(requests(),
              ElementsAre("hello", "ceilings", "heat 64", "heat 128", "heat 256", "ceilings"));
  other.reset();

  EXPECT_EQ(cells_of_last_run(), 1U);
  const auto imported = open_store().import_file(aside[0]);
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
  EXPECT_EQ(store.import_file(aside[0])->heats_added, 0) << "a second time adds nothing";
}

TEST_F(HeatKeeperTest, ARunResumed_TakesInWhatItsFirstDriverLeftAside) {
  const pid_t child = fork();
  if (child == 0) {
    std::optional<OtherWriter> other;
    std::atomic<int> cancel = 0;
    Store store = open_store();
    store.set_busy_timeout(std::chrono::milliseconds(0));
    DriverOptions how = options();
    how.cancel = &cancel;
    how.on_event = [&](const RunEvent& event) {
      if (event.kind == Kind::heat_started && event.heat->index == 1) other.emplace(database());
      if (event.kind == Kind::heat_finished && event.heat->index == 1) cancel = 1;
    };
    _exit(run_sweep(sweep_of(R"("full/dense")", "64, 128, 256"), store, how) ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  ASSERT_THAT(files_aside(), SizeIs(1));
  static_cast<void>(requests());

  Store store = open_store();
  const auto resumed = resume_run(*store.find_run("last"), store, options());
  ASSERT_TRUE(resumed) << resumed.error().message;
  EXPECT_EQ(resumed->status, RunStatus::done);
  EXPECT_THAT(files_aside(), IsEmpty());
  EXPECT_THAT(stored_cells(store, resumed->run), SizeIs(3));
  EXPECT_THAT(requests(), ElementsAre("hello", "ceilings", "heat 256", "ceilings"));
}

/// As a full disk does: no file of this process may grow beyond `bytes`.
void limit_file_size(rlim_t bytes) {
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  getrlimit(RLIMIT_FSIZE, &limit);
  limit.rlim_cur = std::min(bytes, limit.rlim_max);
  setrlimit(RLIMIT_FSIZE, &limit);
}

TEST_F(HeatKeeperTest, ADatabaseThatCannotGrow_LetsTheRunGoOnAside) {
  const auto outcome =
      run_impatiently(sweep_of(R"("full/dense")", "64, 128, 256"), [&](const RunEvent& event) {
        if (event.kind != Kind::heat_started || event.heat->index != 1) return;
        // The log gets longer than the file aside will be, and then no file may grow beyond it.
        ASSERT_TRUE(open_store().describe_run(event.run, {.note = std::string(1 << 19, 'x')}));
        limit_file_size(std::filesystem::file_size(database().string() + "-wal"));
      });
  limit_file_size(RLIM_INFINITY);
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_THAT(outcome->store_refusal, HasSubstr("attnscope import"));
  EXPECT_EQ(cells_of_last_run(), 1U);
  ASSERT_THAT(files_aside(), SizeIs(1));
  ASSERT_TRUE(open_store().import_file(files_aside()[0]));
  EXPECT_EQ(cells_of_last_run(), 3U);
}

}  // namespace
}  // namespace attnscope
