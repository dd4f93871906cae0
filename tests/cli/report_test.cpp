// SPDX-License-Identifier: Apache-2.0
//
// report: a page of stored runs, whole or not at all; wrong use in one sentence.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "tests/cli/program.h"

namespace attnscope::testing {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

/// A database of its own with one run.
class ReportCommandLine : public ::testing::Test {
 protected:
  const std::string file_ = ATTNSCOPE_SOURCE_DIR "/tests/store/small_run.attn";

  ReportCommandLine() {
    EXPECT_EQ(program_.run({"import", file_, "--db", "runs.db"}).exit_code, 0);
  }
  [[nodiscard]] Outcome report(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "report");
    arguments.insert(arguments.end(), {"--db", "runs.db"});
    return program_.run(arguments);
  }
  void refused(const std::vector<std::string>& arguments, int code,
               const std::string& words) const {
    const Outcome outcome = report(arguments);
    EXPECT_EQ(outcome.exit_code, code) << outcome.err;
    EXPECT_EQ(std::ranges::count(outcome.err, '\n'), 1) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(words));
    EXPECT_FALSE(std::filesystem::exists(program_.path("r.html")));
  }

  Program program_;
};

TEST_F(ReportCommandLine, WritesAPageAndSaysSo) {
  const Outcome outcome = report({"last", "-o", "r.html"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(outcome.err, "r.html written\n");
  const std::string page = program_.read("r.html");
  EXPECT_THAT(page, AllOf(StartsWith("<!doctype html>"), EndsWith("</html>\n"),
                          HasSubstr("Content-Security-Policy")));
  // What was there is replaced, as by plot.
  program_.write("r.html", "old");
  EXPECT_EQ(report({file_ + ":1", "-o", "r.html"}).exit_code, 0);
  EXPECT_THAT(program_.read("r.html"), EndsWith("</html>\n"));
}

TEST_F(ReportCommandLine, WrongUse_IsASentenceAndNoPage) {
  refused({"last", "-o", "r.pdf"}, 2, "r.pdf: a report is a page for a browser");
  refused({"last"}, 2, "--output");
  refused({"-o", "r.html"}, 2, "runs");
  refused({"7", "-o", "r.html"}, 3, "7");
  refused({"last", "1", "-o", "r.html"}, 2, "name every run once");
  refused({"last", "-o", "r.html", "--baseline", "full/none"}, 2, "--baseline");
  refused({"last", "-o", "r.html", "--only", "colour=red"}, 2, "--only");
  refused({"last", "-o", "nowhere/r.html"}, 2, "nowhere/r.html");
  std::filesystem::copy_file(program_.path("runs.db"), program_.path("db.html"));
  const std::string before = program_.read("db.html");
  refused({"last", "-o", "db.html"}, 2, "is a database");
  EXPECT_EQ(program_.read("db.html"), before);
}

}  // namespace
}  // namespace attnscope::testing
