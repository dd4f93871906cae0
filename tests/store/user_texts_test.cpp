// SPDX-License-Identifier: Apache-2.0
//
// The user's texts for runs, and the trash.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/store/sample_runs.h"

namespace attnscope {
namespace {

using namespace test;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

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

TEST_F(UserTexts, AName_ReplacesTheSweepsNameInTitles) {
  ASSERT_TRUE(store_.describe_run(runs_[0], {.name = "it's \"mine\""}));
  const auto run = store_.find_run("1");
  EXPECT_EQ(title_of(*run), "it's \"mine\"");
  EXPECT_EQ(run->start.sweep_name, "one");
  EXPECT_FALSE(run->damaged);
  ASSERT_TRUE(store_.describe_run(runs_[0], {.name = ""}));
  EXPECT_EQ(title_of(*store_.find_run("1")), "one");
}

TEST_F(UserTexts, OmittedFields_AreUnchanged) {
  const std::string note = "with 'quotes'\nand lines";
  ASSERT_TRUE(store_.describe_run(runs_[0], {.name = "n", .tag = "t", .note = note}));
  ASSERT_TRUE(store_.describe_run(runs_[0], {.tag = "u"}));
  const auto run = store_.find_run("1");
  EXPECT_EQ(run->name, "n");
  EXPECT_EQ(run->tag, "u");
  EXPECT_EQ(run->note, note);
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

TEST_F(UserTexts, ARunInTheTrash_IsHiddenButFoundByNumberAndUuid) {
  ASSERT_TRUE(store_.put_in_trash({runs_[2]}));
  EXPECT_THAT(listed(RunsOf::list), ElementsAre("two", "one"));
  EXPECT_THAT(listed(RunsOf::trash), ElementsAre("three"));
  EXPECT_THAT(listed(RunsOf::both), ElementsAre("three", "two", "one"));
  EXPECT_EQ(store_.runs()->size(), 2U);
  EXPECT_EQ(store_.find_run("last")->id, runs_[1]);
  EXPECT_TRUE(is_in_trash(*store_.find_run("3")));
  EXPECT_TRUE(is_in_trash(*store_.find_run(runs_[2].uuid)));
}

TEST_F(UserTexts, RestoredRuns_AreUnchanged) {
  ASSERT_TRUE(store_.describe_run(runs_[1], {.name = "kept"}));
  ASSERT_TRUE(store_.put_in_trash({runs_[1], runs_[2]}));
  ASSERT_TRUE(store_.take_from_trash({runs_[1], runs_[2]}));
  EXPECT_THAT(listed(RunsOf::list), ElementsAre("three", "kept", "one"));
  EXPECT_THAT(listed(RunsOf::trash), IsEmpty());
  EXPECT_FALSE(store_.find_run("2")->damaged);
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

TEST_F(UserTexts, ARunInTheTrash_IsNotResumed) {
  ASSERT_TRUE(store_.put_in_trash({runs_[0]}));
  EXPECT_THAT(store_.resume_run(runs_[0], sample_run()).error().message,
              HasSubstr("trash --restore "));
}

TEST_F(UserTexts, IfAllRunsAreInTheTrash_TheErrorNamesTheTrash) {
  ASSERT_TRUE(store_.put_in_trash(runs_));
  EXPECT_THAT(store_.find_run("last").error().message, HasSubstr("is in the trash"));
  EXPECT_THAT(store_.find_run("last").error().message, HasSubstr("2 (two)"));
}

TEST_F(UserTexts, AnUnknownRun_IsAnErrorWithItsUuid) {
  const RunId gone{"00000000-0000-4000-8000-000000000000"};
  EXPECT_THAT(store_.describe_run(gone, {.name = "x"}).error().message, HasSubstr(gone.uuid));
  EXPECT_THAT(store_.put_in_trash({gone}).error().message, HasSubstr(gone.uuid));
}

}  // namespace
}  // namespace attnscope
