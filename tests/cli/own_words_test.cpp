// SPDX-License-Identifier: Apache-2.0
//
// describe and trash: names, tags and notes of runs, and the trash.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/cli/program.h"

namespace attnscope::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

/// A database with one run.
class StoredRunCommands : public ::testing::Test {
 protected:
  StoredRunCommands() {
    const std::string file = ATTNSCOPE_SOURCE_DIR "/tests/store/small_run.attn";
    EXPECT_EQ(in_database({"import", file}).exit_code, 0);
  }
  [[nodiscard]] Outcome in_database(std::vector<std::string> arguments) const {
    return program_.run(joined(std::move(arguments), {"--db", "runs.db"}));
  }
  [[nodiscard]] json runs(bool trash = false) const {
    std::vector<std::string> arguments{"list", "runs", "--json"};
    if (trash) arguments.emplace_back("--trash");
    return json::parse(in_database(arguments).out);
  }
  void refused(const std::vector<std::string>& arguments, int code, const std::string& word) const {
    expect_refusal(in_database(arguments), code, {word});
  }

  Program program_;
};

TEST_F(StoredRunCommands, DescribeSetsNameTagsAndNote) {
  ASSERT_EQ(in_database({"describe", "1", "--name", "first one", "--tag", "old", "--tag", "quiet",
                         "--note", "kept for tests"})
                .exit_code,
            0);
  ASSERT_EQ(in_database({"describe", "last", "--tag", "more", "--untag", "old"}).exit_code, 0);
  const json run = runs().at(0);
  EXPECT_EQ(run.at("name"), "first one");
  EXPECT_EQ(run.at("tags"), json({"quiet", "more"}));
  EXPECT_EQ(run.at("note"), "kept for tests");
  EXPECT_EQ(run.at("sweep"), "version-1");
  const std::string listed = in_database({"list", "runs"}).out;
  EXPECT_THAT(listed, HasSubstr("first one"));
  EXPECT_THAT(listed, HasSubstr("quiet more"));
  const std::string shown = in_database({"show", "first one"}).out;
  EXPECT_THAT(shown, HasSubstr("kept for tests"));
  EXPECT_THAT(shown, HasSubstr("quiet more"));
}

TEST_F(StoredRunCommands, OmitsColumnsThatAreEmptyInEveryRun) {
  EXPECT_THAT(in_database({"list", "runs"}).out, Not(HasSubstr("tags")));
}

TEST_F(StoredRunCommands, DescribeRefusesInvalidNamesTagsAndNotes) {
  refused({"describe", "1"}, 2, "--name");
  refused({"describe", "7", "--tag", "x"}, 3, "'7'");
  refused({"describe", "1", "--tag", "two words"}, 2, "'two words' is not a tag");
  refused({"describe", "1", "--tag", " "}, 2, "is not a tag");
  refused({"describe", "1", "last", "--name", "x"}, 2, "one run");
  refused({"describe", "1", "--name", "two\nlines"}, 2, "control characters");
  refused({"describe", "1", "--note", "bell\a"}, 2, "control characters");
  refused({"describe", "1", "--note", std::string(10'001, 'x')}, 2, "at most 10000");
}

TEST_F(StoredRunCommands, MovesARunToTheTrashAndBack) {
  EXPECT_THAT(in_database({"trash", "1"}).err, HasSubstr("1 run moved to the trash"));
  EXPECT_TRUE(runs().empty());
  EXPECT_EQ(runs(true).size(), 1U);
  refused({"table", "last"}, 3, "trash --restore");
  EXPECT_THAT(in_database({"table", "1"}), Notes("run 1 is in the trash"));
  refused({"trash", "1"}, 2, "is already in the trash");
  EXPECT_EQ(in_database({"trash", "--restore", "1"}).exit_code, 0);
  refused({"trash", "--restore", "1"}, 2, "is not in the trash");
  EXPECT_EQ(runs().size(), 1U);
  EXPECT_THAT(in_database({"list", "runs", "--trash"}).err, HasSubstr("The trash is empty."));
}

TEST_F(StoredRunCommands, DeletesRunsOnlyFromTheTrashAndWithConfirmation) {
  refused({"trash", "--delete", "1", "--yes"}, 2, "not in the trash");
  ASSERT_EQ(in_database({"trash", "1"}).exit_code, 0);
  refused({"trash", "--empty"}, 2, "--yes");
  refused({"trash", "--delete", "1"}, 2, "--yes");
  EXPECT_EQ(runs(true).size(), 1U);
  EXPECT_THAT(in_database({"trash", "--empty", "--yes"}).err,
              HasSubstr("1 run deleted permanently"));
  EXPECT_TRUE(runs(true).empty());
  refused({"trash"}, 2, "--empty");
  refused({"trash", "1", "--empty"}, 2, "--empty");
}

TEST_F(StoredRunCommands, DeletesARunByNumber) {
  ASSERT_EQ(in_database({"trash", "1"}).exit_code, 0);
  EXPECT_EQ(in_database({"trash", "--delete", "1", "--yes"}).exit_code, 0);
  EXPECT_TRUE(runs(true).empty());
}

}  // namespace
}  // namespace attnscope::testing
