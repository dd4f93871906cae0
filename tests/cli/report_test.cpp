// SPDX-License-Identifier: Apache-2.0
//
// report and export: complete files, never partly written or replaced by accident.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/cli/program.h"

namespace attnscope::testing {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

/// A database with one run.
class ReportCommand : public ::testing::Test {
 protected:
  const std::string file_ = ATTNSCOPE_SOURCE_DIR "/tests/store/small_run.attn";

  ReportCommand() { EXPECT_EQ(program_.run({"import", file_, "--db", "runs.db"}).exit_code, 0); }
  [[nodiscard]] Outcome report(const std::vector<std::string>& arguments) const {
    return program_.run(joined(joined({"report"}, arguments), {"--db", "runs.db"}));
  }
  void refused(const std::vector<std::string>& arguments, int code,
               const std::string& words) const {
    expect_refusal(report(arguments), code, {words});
    EXPECT_FALSE(std::filesystem::exists(program_.path("r.html")));
  }

  Program program_;
};

TEST_F(ReportCommand, WritesAPage) {
  const Outcome outcome = report({"last", "-o", "r.html"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(outcome.err, "r.html written\n");
  const std::string page = program_.read("r.html");
  EXPECT_THAT(page, AllOf(StartsWith("<!doctype html>"), EndsWith("</html>\n"),
                          HasSubstr("Content-Security-Policy")));
  EXPECT_EQ(report({"last", "-o", "-"}).out, page);
  // What was there is not replaced unless that is meant, as by export.
  program_.write("r.html", "old");
  const Outcome again = report({file_ + ":1", "-o", "r.html"});
  EXPECT_EQ(again.exit_code, 2);
  EXPECT_THAT(again.err, AllOf(HasSubstr("is not overwritten"), HasSubstr("--force replaces it")));
  EXPECT_EQ(program_.read("r.html"), "old");
  EXPECT_EQ(report({file_ + ":1", "-o", "r.html", "--force"}).exit_code, 0);
  EXPECT_THAT(program_.read("r.html"), EndsWith("</html>\n"));
}

TEST_F(ReportCommand, ReplacesOnlyExportsAndOnlyWithForce) {
  const auto exported = [&](const std::vector<std::string>& more) {
    return program_.run(joined({"export", "last", "--db", "runs.db", "-o"}, more));
  };
  ASSERT_EQ(exported({"run.attn"}).exit_code, 0);
  const std::string before = program_.read("run.attn");
  const Outcome again = exported({"run.attn"});
  EXPECT_EQ(again.exit_code, 3);
  EXPECT_THAT(again.err, AllOf(HasSubstr("run.attn already exists and is not overwritten"),
                               HasSubstr("--force replaces it")));
  EXPECT_EQ(program_.read("run.attn"), before);
  EXPECT_EQ(exported({"run.attn", "--force"}).exit_code, 0);
  EXPECT_EQ(program_.run({"import", "run.attn", "--db", "other.db"}).exit_code, 0);
  EXPECT_FALSE(std::filesystem::exists(program_.path(".new-run.attn")));
  // Never a database, nor what is no export.
  EXPECT_THAT(exported({"runs.db", "--force"}).err, HasSubstr("is not an exported file"));
  program_.write("notes.txt", "mine");
  EXPECT_EQ(exported({"notes.txt", "--force"}).exit_code, 3);
  EXPECT_EQ(program_.read("notes.txt"), "mine");
  for (const char* stream : {"-", "/dev/null"})
    EXPECT_THAT(exported({stream}).err, HasSubstr("an export is a database"));
}

TEST_F(ReportCommand, AcceptsDisplayedNamesAndRepeatedOnly) {
  const auto table = [&](const std::vector<std::string>& arguments) {
    return program_.run(
        joined(joined({"table"}, arguments), {"--db", "runs.db", "--format", "json"}));
  };
  const auto rows = nlohmann::json::parse(table({"last"}).out);
  const std::string id = rows.at(0).at("contender"), name = rows.at(0).at("name");
  const std::string tokens = std::to_string(rows.at(0).at("sequence_tokens").get<int>());
  const auto runs =
      nlohmann::json::parse(program_.run({"list", "runs", "--db", "runs.db", "--json"}).out);
  const std::string sweep = runs.at(0).at("sweep");
  const Outcome chosen = table(
      {sweep, "--baseline", name, "--only", "contender=" + name, "--only", "length=" + tokens});
  ASSERT_EQ(chosen.exit_code, 0) << chosen.err;
  for (const auto& row : nlohmann::json::parse(chosen.out)) EXPECT_EQ(row.at("contender"), id);
}

TEST_F(ReportCommand, RefusesWrongUseWithoutAPage) {
  refused({"last", "-o", "r.pdf"}, 2, "r.pdf: a report is an HTML page");
  refused({"last"}, 2, "--output");
  refused({"-o", "r.html"}, 2, "runs");
  refused({"7", "-o", "r.html"}, 3, "7");
  refused({"last", "1", "-o", "r.html"}, 2, "give every run once");
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
