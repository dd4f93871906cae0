// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <vector>

#include "tests/store/sample_runs.h"
#include "tests/store/sql.h"

namespace attnscope {
namespace {

using namespace test;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Runs : public StoreTest {};

TEST_F(Runs, NumbersGrowAndLastIsTheNewest) {
  const RunId first = begin_or_throw(store_, sample_run("one"));
  const RunId second = begin_or_throw(store_, sample_run("two"));
  const auto runs = store_.runs();
  ASSERT_EQ(runs->size(), 2U);
  EXPECT_EQ((*runs)[0].id, second);
  EXPECT_EQ((*runs)[1].number, 1);
  EXPECT_EQ(store_.find_run("last")->id, second);
  EXPECT_EQ(store_.find_run("1")->id, first);
  EXPECT_EQ(store_.find_run(first.uuid)->id, first);
  EXPECT_EQ(store_.find_run(first.uuid.substr(0, 8))->id, first);
  EXPECT_NE(first.uuid, second.uuid);
  EXPECT_THAT(first.uuid,
              testing::MatchesRegex("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-"
                                    "[0-9a-f]{12}"));
}

TEST_F(Runs, LastIsTheNewestRunEvenIfTheClockWasSetBack) {
  const RunId first = begin_or_throw(store_, sample_run("before"));
  run_sql(folder_ / "results.db", "UPDATE runs SET started_unix_ms = started_unix_ms + 86400000");
  const RunId second = begin_or_throw(store_, sample_run("after"));
  ASSERT_LT(store_.find_run(second.uuid)->started_unix_ms,
            store_.find_run(first.uuid)->started_unix_ms);
  EXPECT_EQ(store_.find_run("last")->id, second);
  EXPECT_EQ(store_.runs()->front().id, second);
  EXPECT_EQ(store_.run_list()->front().id, second);
}

TEST_F(Runs, UnknownNames_AreErrorsThatListTheRuns) {
  EXPECT_THAT(store_.find_run("last").error().message, HasSubstr("contains no runs yet"));
  const RunId run = begin_or_throw(store_, sample_run("quick"));
  for (const std::string text : {"2", "abc", "", "latest", "99999999999999999999"}) {
    EXPECT_THAT(error_in(store_.find_run(text)), HasSubstr("1 (quick)"));
  }
  EXPECT_FALSE(store_.find_run(run.uuid.substr(0, 3)));
}

TEST_F(Runs, ARunWithoutItsProcess_IsInterrupted) {
  const RunId alive = begin_or_throw(store_, live_run());
  NewRun reused = live_run();
  reused.process_start_ticks += 1;  // the number belongs to a later process now
  const RunId gone = begin_or_throw(store_, reused);
  EXPECT_EQ(store_.find_run(alive.uuid)->status, RunStatus::running);
  EXPECT_EQ(store_.find_run(gone.uuid)->status, RunStatus::interrupted);
}

TEST_F(Runs, AProcessThatHasEnded_IsNotAlive) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    const std::uint64_t ticks = own_process_start_ticks();
    const bool sent = write(ends[1], &ticks, sizeof ticks) == sizeof ticks;
    close(ends[0]);
    close(ends[1]);
    if (sent) pause();
    _exit(0);
  }
  close(ends[1]);
  std::uint64_t ticks = 0;
  ASSERT_EQ(read(ends[0], &ticks, sizeof ticks), static_cast<ssize_t>(sizeof ticks));
  close(ends[0]);
  EXPECT_TRUE(is_alive(child, ticks));
  EXPECT_FALSE(is_alive(child, ticks + 1));
  kill(child, SIGKILL);
  siginfo_t information{};
  waitid(P_PID, static_cast<id_t>(child), &information, WEXITED | WNOWAIT);
  EXPECT_FALSE(is_alive(child, ticks)) << "a zombie";
  waitpid(child, nullptr, 0);
  EXPECT_FALSE(is_alive(child, ticks));
  EXPECT_FALSE(is_alive(0, 0));
  EXPECT_FALSE(is_alive(-1, 0));
}

TEST_F(Runs, FinishingAndResuming_ChangeStatusAndProcess) {
  const RunId run = begin_or_throw(store_, sample_run());
  ASSERT_TRUE(store_.finish_run(run, RunStatus::cancelled));
  const auto cancelled = store_.find_run("last");
  EXPECT_EQ(cancelled->status, RunStatus::cancelled);
  EXPECT_GE(cancelled->finished_unix_ms, cancelled->started_unix_ms);

  NewRun restart = live_run();
  restart.sweep_text = "not the run's";
  restart.command_line = "attnscope run --resume last";
  restart.provenance = R"({"build":{"commit":"another"}})";
  ASSERT_TRUE(store_.resume_run(run, restart));
  const auto resumed = store_.find_run("last");
  EXPECT_EQ(resumed->status, RunStatus::running);
  EXPECT_EQ(resumed->start.process_id, getpid());
  EXPECT_EQ(resumed->start.sweep_text, sample_run().sweep_text);
  const auto restarts = need(store_.restarts(run));
  ASSERT_EQ(restarts.size(), 1U);
  EXPECT_EQ(restarts.front().command_line, restart.command_line);
  EXPECT_EQ(restarts.front().provenance, restart.provenance);
  EXPECT_GT(restarts.front().restarted_unix_ms, 0);
  EXPECT_EQ(resumed->finished_unix_ms, 0);
  EXPECT_FALSE(resumed->damaged);
}

TEST_F(Runs, ARunThatIsBeingMeasured_IsNeitherResumedNorRemoved) {
  const RunId run = begin_or_throw(store_, live_run()),
              other = begin_or_throw(store_, sample_run());
  EXPECT_THAT(store_.resume_run(run, live_run()).error().message, HasSubstr("is being measured"));
  EXPECT_THAT(store_.remove_run(run).error().message, HasSubstr("is being measured"));
  EXPECT_THAT(store_.put_in_trash({other, run}).error().message, HasSubstr("is being measured"));
  EXPECT_TRUE(store_.run_list(RunsOf::trash)->empty());
}

TEST_F(Runs, Counts_AreOfHeatsAndFailedCells) {
  const RunId run = begin_or_throw(store_, sample_run());
  HeatResult heat;
  for (const CellStatus status :
       {CellStatus::ok, CellStatus::unsupported, CellStatus::oom, CellStatus::wrong,
        CellStatus::crashed, CellStatus::timeout, CellStatus::cancelled}) {
    heat.cells.emplace_back().status = status;
  }
  ASSERT_TRUE(store_.add_heat(run, heat));
  heat.cells.resize(1);
  ASSERT_TRUE(store_.add_heat(run, heat));
  EXPECT_EQ(store_.find_run("last")->heats_done, 2);
  EXPECT_EQ(store_.find_run("last")->cells_failed, 3);
}

TEST_F(Runs, ARemovedRun_LeavesNothingAndItsNumberIsNotUsedAgain) {
  const RunId run = begin_or_throw(store_, sample_run());
  std::mt19937_64 random(4);
  ASSERT_TRUE(store_.add_heat(run, random_heat(random, 0, 3)));
  ASSERT_TRUE(store_.add_ceilings(run, random_ceilings(random)));
  ASSERT_TRUE(store_.remove_run(run));
  EXPECT_TRUE(store_.runs()->empty());
  EXPECT_FALSE(store_.cells(run, true));
  EXPECT_FALSE(store_.add_heat(run, random_heat(random, 0, 3)));
  begin_or_throw(store_, sample_run());
  EXPECT_EQ(store_.find_run("last")->number, 2);
  EXPECT_TRUE(store_.check_integrity());
}

TEST_F(Runs, DataVersion_GrowsWithOwnAndOthersCommitsOnly) {
  Store other = open_or_throw(folder_ / "results.db");
  const RunId run = begin_or_throw(store_, sample_run());
  const std::int64_t first = *store_.data_version();
  EXPECT_EQ(*store_.data_version(), first);
  ASSERT_TRUE(other.set_progress(run, {1, 2, "a", 1.0}));
  const std::int64_t second = *store_.data_version();
  EXPECT_GT(second, first);
  ASSERT_TRUE(store_.set_progress(run, {2, 2, "b", 0.0}));
  EXPECT_GT(*store_.data_version(), second);
}

TEST_F(Runs, ALockOfAnotherProcess_IsAnErrorAndNothingIsLost) {
  const RunId run = begin_or_throw(store_, sample_run());
  std::optional<OtherWriter> other(std::in_place, folder_ / "results.db");
  store_.set_busy_timeout(std::chrono::milliseconds(1));
  std::mt19937_64 random(5);
  const HeatResult heat = random_heat(random, 0, 2);
  EXPECT_THAT(error_in(store_.add_heat(run, heat)), HasSubstr("locked by another process"));
  EXPECT_TRUE(store_.runs()) << "reading continues";
  other.reset();
  EXPECT_TRUE(store_.add_heat(run, heat));
  EXPECT_EQ(store_.cells(run, true)->size(), 2U);
}

TEST_F(Runs, AStoreForReading_RefusesToWrite) {
  const RunId run = begin_or_throw(store_, sample_run());
  Store store = open_or_throw(folder_ / "results.db", Store::Mode::read_only);
  for (const Status& refused :
       {store.finish_run(run, RunStatus::done), store.describe_run(run, {.name = "x"}),
        store.put_in_trash({run}), store.take_from_trash({run})}) {
    EXPECT_THAT(refused.error().message, HasSubstr("reading only"));
  }
  EXPECT_THAT(store.begin_run(sample_run()).error().message, HasSubstr("reading only"));
  EXPECT_THAT(store.empty_trash().error().message, HasSubstr("reading only"));
}

/// The user's texts for runs, and the trash.
class UserTexts : public StoreTest {
 protected:
  UserTexts() {
    for (const char* name : {"one", "two", "three"}) {
      runs_.push_back(begin_or_throw(store_, sample_run(name)));
    }
  }
  [[nodiscard]] std::vector<std::string> listed(RunsOf which) const {
    std::vector<std::string> names;
    const auto runs = store_.run_list(which);
    EXPECT_TRUE(runs);
    if (runs) {
      names.reserve(runs->size());
      for (const RunInfo& run : *runs) names.push_back(title_of(run));
    }
    return names;
  }

  std::vector<RunId> runs_;
};

TEST_F(UserTexts, ANameReplacesTheSweepsNameInTitles_AndOmittedFieldsAreUnchanged) {
  const std::string name = "it's \"mine\"", note = "with 'quotes'\nand lines";
  ASSERT_TRUE(store_.describe_run(runs_[0], {.name = name, .tag = "t", .note = note}));
  ASSERT_TRUE(store_.describe_run(runs_[0], {.tag = "u"}));
  const RunInfo run = need(store_.find_run("1"));
  EXPECT_EQ(title_of(run), name);
  EXPECT_EQ(run.name, name);
  EXPECT_EQ(run.tag, "u");
  EXPECT_EQ(run.note, note);
  EXPECT_EQ(run.start.sweep_name, "one");
  EXPECT_FALSE(run.damaged);
  ASSERT_TRUE(store_.describe_run(runs_[0], {.name = ""}));
  EXPECT_EQ(title_of(*store_.find_run("1")), "one");
}

TEST_F(UserTexts, ARun_IsFoundByItsUniqueName) {
  ASSERT_TRUE(store_.describe_run(runs_[0], {.name = "laptop"}));
  EXPECT_EQ(store_.find_run("laptop")->id, runs_[0]);
  ASSERT_TRUE(store_.describe_run(runs_[2], {.name = "laptop"}));
  EXPECT_THAT(store_.find_run("laptop").error().message, HasSubstr("1 (laptop)"));
  ASSERT_TRUE(store_.describe_run(runs_[2], {.name = "1"}));
  EXPECT_EQ(store_.find_run("1")->id, runs_[0]) << "a number is a number first";
}

TEST_F(UserTexts, ARun_IsFoundByItsUniqueSweepName) {
  EXPECT_EQ(store_.find_run("two")->id, runs_[1]);
  const RunId again = begin_or_throw(store_, sample_run("two"));
  EXPECT_THAT(store_.find_run("two").error().message, HasSubstr("2 runs are called 'two'"));
  ASSERT_TRUE(store_.finish_run(again, RunStatus::done));
  ASSERT_TRUE(store_.put_in_trash({again}));
  EXPECT_EQ(store_.find_run("two")->id, runs_[1]);
}

TEST(TagWords, AreSplitAtSpacesAndCommasWithoutDuplicates) {
  EXPECT_THAT(tag_words(" laptop, quiet  laptop\nfinal"), ElementsAre("laptop", "quiet", "final"));
  EXPECT_THAT(tag_words(""), IsEmpty());
  EXPECT_THAT(tag_words(" ,, "), IsEmpty());
  EXPECT_EQ(tag_of({"laptop", "quiet"}), "laptop quiet");
  EXPECT_EQ(tag_of({}), "");
}

TEST_F(UserTexts, ARunInTheTrash_IsHiddenNotResumedAndRestoredUnchanged) {
  ASSERT_TRUE(store_.describe_run(runs_[2], {.name = "kept"}));
  ASSERT_TRUE(store_.put_in_trash({runs_[2]}));
  EXPECT_THAT(listed(RunsOf::list), ElementsAre("two", "one"));
  EXPECT_THAT(listed(RunsOf::trash), ElementsAre("kept"));
  EXPECT_THAT(listed(RunsOf::both), ElementsAre("kept", "two", "one"));
  EXPECT_EQ(store_.runs()->size(), 2U);
  EXPECT_EQ(store_.find_run("last")->id, runs_[1]);
  EXPECT_TRUE(is_in_trash(*store_.find_run("3")));
  EXPECT_TRUE(is_in_trash(*store_.find_run(runs_[2].uuid)));
  EXPECT_THAT(store_.resume_run(runs_[2], sample_run()).error().message,
              HasSubstr("trash --restore "));
  ASSERT_TRUE(store_.put_in_trash({runs_[0], runs_[1]}));
  EXPECT_THAT(store_.find_run("last").error().message,
              AllOf(HasSubstr("is in the trash"), HasSubstr("2 (two)")));
  ASSERT_TRUE(store_.take_from_trash(runs_));
  EXPECT_THAT(listed(RunsOf::list), ElementsAre("kept", "two", "one"));
  EXPECT_THAT(listed(RunsOf::trash), IsEmpty());
  EXPECT_FALSE(store_.find_run("3")->damaged);
  EXPECT_TRUE(store_.check_integrity());
}

TEST_F(UserTexts, EmptyingTheTrash_RemovesOnlyItsRuns) {
  std::mt19937_64 random(4);
  ASSERT_TRUE(store_.add_heat(runs_[1], random_heat(random, 0, 3)));
  ASSERT_TRUE(store_.put_in_trash({runs_[1], runs_[2]}));
  EXPECT_EQ(store_.empty_trash().value(), 2);
  EXPECT_THAT(listed(RunsOf::both), ElementsAre("one"));
  EXPECT_FALSE(store_.find_run(runs_[1].uuid));
  EXPECT_FALSE(store_.cells(runs_[1], true));
  EXPECT_EQ(store_.empty_trash().value(), 0);
  EXPECT_TRUE(store_.check_integrity());
}

TEST_F(UserTexts, AnUnknownRun_IsAnErrorWithItsUuid) {
  const RunId gone{"00000000-0000-4000-8000-000000000000"};
  EXPECT_THAT(store_.describe_run(gone, {.name = "x"}).error().message, HasSubstr(gone.uuid));
  EXPECT_THAT(store_.put_in_trash({gone}).error().message, HasSubstr(gone.uuid));
}

}  // namespace
}  // namespace attnscope
