// SPDX-License-Identifier: Apache-2.0
//
// Several programs on one file: two writers and a reader, readers of an exported file, and a copy
// of a live database.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <set>

#include "base/open_file.h"
#include "base/written_file.h"
#include "tests/store/sample_runs.h"
#include "tests/store/sql.h"

namespace attnscope {
namespace {

using namespace test;
using testing::AllOf;
using testing::HasSubstr;

constexpr int heats_each = 60;
constexpr int cells_each = 3;

HeatResult heat_of(int program, int index) {
  std::mt19937_64 random(static_cast<std::uint64_t>(1000 * program + index));
  HeatResult heat = random_heat(random, index, cells_each);
  for (Cell& cell : heat.cells) cell.contender.name = "program " + std::to_string(program);
  return heat;
}

NewRun own_run(int program) {
  return live_run("program " + std::to_string(program));
}

/// Waits for the end of a child; -1 if a signal ended it.
int exit_code_of(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void add_run(const std::filesystem::path& file, int program) {
  Store store = open_or_throw(file);
  begin_or_throw(store, own_run(program));
}

/// A driver process: opens or creates the file and stores a whole run.
[[noreturn]] void store_a_run(const std::filesystem::path& file, int program) {
  Result<Store> store = Store::open(file, Store::Mode::read_write);
  if (!store) _exit(1);
  const Result<RunId> run = store->begin_run(own_run(program));
  if (!run) _exit(2);
  for (int index = 0; index < heats_each; ++index) {
    if (!store->add_heat(*run, heat_of(program, index))) _exit(3);
    static_cast<void>(store->set_progress(*run, {index, heats_each, "here", 1.0}));
  }
  _exit(store->finish_run(*run, RunStatus::done) ? 0 : 4);
}

/// The run so far consists of whole heats of its own program, in order.
void expect_unmixed(const Store& store, const RunInfo& run) {
  const int program = run.start.sweep_name == "program 0" ? 0 : 1;
  EXPECT_FALSE(run.damaged);
  const auto cells = need(store.cells(run.id, true));
  ASSERT_EQ(cells.size() % cells_each, 0U);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const StoredCell& stored = cells[i];
    const HeatResult heat = heat_of(program, static_cast<int>(i / cells_each));
    EXPECT_FALSE(stored.damaged);
    EXPECT_EQ(stored.point, heat.point);
    EXPECT_TRUE(same(stored.cell, heat.cells[i % cells_each]));
  }
}

/// Waits for a byte, then checks that another process has locked the database.
[[noreturn]] void expect_locked_after_byte(const std::filesystem::path& file, int reported) {
  char byte = 0;
  if (read(reported, &byte, 1) != 1) _exit(1);
  Result<Store> store = Store::open(file, Store::Mode::existing);
  if (!store) _exit(2);
  store->set_busy_timeout(std::chrono::milliseconds(0));
  _exit(store->begin_run(own_run(1)) ? 3 : 0);
}

/// Limits file sizes, like ulimit -f, in its scope.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before_);
    rlimit limit = before_;
    limit.rlim_cur = std::min(bytes, limit.rlim_max);
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, signal_);
  }

 private:
  void (*signal_)(int) = std::signal(SIGXFSZ, SIG_IGN);
  rlimit before_{};
};

class Sharing : public FolderTest {};

TEST_F(Sharing, ADatabaseIsReadUnderAFileSizeLimit) {
  const auto file = folder_ / "closed.db";
  add_run(file, 0);
  for (const rlim_t bytes : {0, 1024, 16384}) {
    const FileSizeLimit limit(bytes);
    const Store store = open_or_throw(file, Store::Mode::read_only);
    EXPECT_EQ(store.runs().value().size(), 1U) << bytes;
  }
}

TEST_F(Sharing, ASecondConnectionInTheSameProcess_KeepsTheFirstsLocks) {
  const auto file = folder_ / "shared.db";
  add_run(file, 0);
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  const pid_t other = fork();
  if (other == 0) expect_locked_after_byte(file, ends[0]);

  const OtherWriter first(file);
  for (const Store::Mode mode : {Store::Mode::read_only, Store::Mode::existing}) {
    EXPECT_EQ(open_or_throw(file, mode).runs().value().size(), 1U);  // opened and closed again
  }
  for (int i = 0; i < 2; ++i) {  // the same file given as another kind of file
    EXPECT_FALSE(may_be_written(file));
    EXPECT_TRUE(read_text_file(file, "sweep", 1 << 20));
  }
  ASSERT_EQ(write(ends[1], "x", 1), 1);
  EXPECT_EQ(exit_code_of(other), 0);
  close(ends[0]);
  close(ends[1]);
}

TEST_F(Sharing, ALinkToADatabase_IsTheDatabase) {
  std::filesystem::create_directory(folder_ / "elsewhere");
  std::filesystem::create_symlink("elsewhere/real.db", folder_ / "link.db");
  add_run(folder_ / "elsewhere/real.db", 0);
  add_run(folder_ / "link.db", 0);
  EXPECT_TRUE(std::filesystem::is_symlink(folder_ / "link.db"));
  EXPECT_EQ(open_or_throw(folder_ / "link.db", Store::Mode::read_only).runs()->size(), 2U);
}

TEST_F(Sharing, AMovedOrReplacedFile_IsNotWrittenAndCanBeSaved) {
  const auto file = folder_ / "own.db";
  for (const bool is_replaced : {false, true}) {
    Store store = open_or_throw(file);
    EXPECT_TRUE(store.is_at_its_place());
    begin_or_throw(store, own_run(0));
    std::filesystem::remove(file);
    if (is_replaced) add_run(file, 1);
    EXPECT_FALSE(store.is_at_its_place());
    EXPECT_THAT(store.begin_run(own_run(0)).error().message, HasSubstr("open it again"));
    const auto saved = folder_ / (is_replaced ? "b.db" : "a.db");
    const Status status = store.continue_in(saved);
    ASSERT_TRUE(status) << status.error().message;
    EXPECT_FALSE(store.continue_in(saved)) << "nothing is replaced";
    begin_or_throw(store, own_run(0));
    const Store copy = open_or_throw(saved, Store::Mode::read_only);
    EXPECT_EQ(copy.runs()->size(), 2U);
    EXPECT_TRUE(copy.check_integrity());
  }
}

TEST_F(Sharing, ADatabaseWithASecondName_IsReadButNotWritten) {
  const auto first = folder_ / "first.db", second = folder_ / "second.db";
  add_run(first, 1);
  std::filesystem::create_hard_link(first, second);
  for (const auto& name : {first, second}) {
    EXPECT_EQ(open_or_throw(name, Store::Mode::read_only).runs()->size(), 1U);
    EXPECT_THAT(error_in(Store::open(name, Store::Mode::read_write)),
                AllOf(HasSubstr("second name"), HasSubstr("cp")));
  }
  std::filesystem::remove(second);
  add_run(first, 1);
}

TEST_F(Sharing, TwoDriversAndAReader_WorkOnOneDatabaseAndNoRunIsMixed) {
  const auto file = folder_ / "shared.db";
  std::array<pid_t, 2> drivers{};
  for (int program = 0; program < 2; ++program) {
    drivers[static_cast<std::size_t>(program)] = fork();
    if (drivers[static_cast<std::size_t>(program)] == 0) store_a_run(file, program);
  }
  std::set<pid_t> running(drivers.begin(), drivers.end());
  int reads = 0;
  while (!running.empty()) {
    int status = 0;
    if (const pid_t ended = waitpid(-1, &status, WNOHANG); ended > 0) {
      EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
      running.erase(ended);
    }
    const Result<Store> reader = Store::open(file, Store::Mode::read_only);
    if (!reader) continue;  // not created yet
    const auto runs = need(reader->runs());
    for (const RunInfo& run : runs) expect_unmixed(*reader, run);
    ++reads;
  }
  EXPECT_GT(reads, 0);
  const Store store = open_or_throw(file);
  const auto runs = store.runs();
  ASSERT_EQ(runs->size(), 2U);
  EXPECT_NE((*runs)[0].number, (*runs)[1].number);
  EXPECT_NE((*runs)[0].start.sweep_name, (*runs)[1].start.sweep_name);
  for (const RunInfo& run : *runs) {
    EXPECT_EQ(run.status, RunStatus::done);
    EXPECT_EQ(run.heats_done, heats_each);
    expect_unmixed(store, run);
  }
  EXPECT_TRUE(store.check_integrity());
}

TEST_F(Sharing, AnExportedFile_IsReadByTwoProcessesUnchanged) {
  const auto file = folder_ / "run.attn";
  {
    Store store = open_or_throw(folder_ / "results.db");
    const RunId run = begin_or_throw(store, sample_run());
    ASSERT_TRUE(store.add_heat(run, heat_of(0, 0)));
    ASSERT_TRUE(store.export_runs({run}, file));
  }
  const std::string bytes = bytes_of(file);
  const auto has_all_cells = [](const Store& store) {
    return store.cells(store.find_run("last")->id, true)->size() == cells_each;
  };
  const Store one = open_or_throw(file), other = open_or_throw(file, Store::Mode::read_only);
  EXPECT_TRUE(has_all_cells(one) && has_all_cells(other));
  const pid_t reader = fork();
  if (reader == 0) _exit(has_all_cells(open_or_throw(file)) ? 0 : 1);
  EXPECT_EQ(exit_code_of(reader), 0);
  EXPECT_EQ(bytes_of(file), bytes);
}

TEST_F(Sharing, ALiveDatabaseThatIsCopied_IsWhole) {
  Store live = open_or_throw(folder_ / "live.db");
  const RunId run = begin_or_throw(live, own_run(0));
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(live.add_heat(run, heat_of(0, i)));
  std::filesystem::copy_file(folder_ / "live.db", folder_ / "copy.db");
  const Store copy = open_or_throw(folder_ / "copy.db");
  EXPECT_EQ(copy.cells(run, true)->size(), 2U * cells_each);
  expect_unmixed(copy, copy.runs()->front());
  EXPECT_TRUE(copy.check_integrity());
}

}  // namespace
}  // namespace attnscope
