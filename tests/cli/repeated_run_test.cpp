// SPDX-License-Identifier: Apache-2.0
//
// run --again and show, with a measuring process that needs no LibTorch.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <tuple>

#include "tests/cli/program.h"

namespace attnscope::testing {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const char* const pattern =
    R"({"name": "mine", "title": "Mine", "attends": {"document": {"document": "window"}}})";

/// The program, with the fake worker and one finished run of two heats.
class RepeatedRun : public ::testing::Test {
 protected:
  RepeatedRun() {
    program_.write("sweep.json",
                   R"({"name": "first", "contenders": ["full/dense", "sparse/segment"],
        "windows": [4], "sequence_tokens": [64, 128], "threads": 1,
        "stop": {"min_samples": 3, "placements": 2, "processes": 1}})");
    const Outcome first = run({"run", "sweep.json", "--quiet"});
    EXPECT_EQ(first.exit_code, 0) << first.err;
  }

  [[nodiscard]] Outcome run(const std::vector<std::string>& arguments,
                            std::vector<std::string> environment = {}) const {
    environment.push_back("ATTNSCOPE_WORKER=" FAKE_WORKER_PROGRAM);
    return program_.run(arguments, environment);
  }
  [[nodiscard]] json shown(const std::string& name) const {
    const Outcome outcome = run({"show", name, "--json"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return json::parse(outcome.out);
  }
  [[nodiscard]] std::size_t runs() const {
    return json::parse(run({"list", "runs", "--json"}).out).size();
  }

  Program program_;
};

TEST_F(RepeatedRun, StoresTheOriginalRunAndComparesEveryCell) {
  const Outcome again = run({"run", "--again", "last"});
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(runs(), 2U);
  const json first = shown("1"), second = shown("2");
  EXPECT_EQ(second.at("provenance").at("again_of"), first.at("uuid"));
  EXPECT_FALSE(first.at("provenance").contains("again_of"));
  EXPECT_EQ(second.at("provenance").at("plan"), first.at("provenance").at("plan"));
  EXPECT_EQ(second.at("sweep_text"), first.at("sweep_text"));
  EXPECT_THAT(again.out, AllOf(HasSubstr("of 4 shared cells"), HasSubstr("0 only in A")));
}

TEST_F(RepeatedRun, RepeatsTheStoredSweepNotTheChangedFile) {
  program_.write("sweep.json", R"({"name": "first", "contenders": ["full/sdpa"],
                                   "sequence_tokens": [4096], "threads": 1})");
  ASSERT_EQ(run({"run", "--again", "1", "--quiet"}).exit_code, 0);
  EXPECT_EQ(shown("2").at("provenance").at("plan"), shown("1").at("provenance").at("plan"));
}

TEST_F(RepeatedRun, RepeatsStoredPatternsWithoutTheirFiles) {
  program_.write("mine.json", pattern);
  program_.write("own.json", R"({"name": "own", "contenders": ["mine.json/segment"], "windows": [4],
                                 "sequence_tokens": [64], "threads": 1,
                                 "stop": {"min_samples": 3, "placements": 1, "processes": 1}})");
  const Outcome first = run({"run", "own.json", "--quiet"});
  ASSERT_EQ(first.exit_code, 0) << first.err;
  std::filesystem::remove(program_.path("mine.json"));
  EXPECT_THAT(run({"run", "--again", "last"}), Prints("of 1 shared cells"));
}

TEST_F(RepeatedRun, OnlyMeasuresAPartAndReportsMissingCells) {
  const Outcome again = run({"run", "--again", "1", "--only", "sequence_tokens=128"});
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_THAT(again.out, AllOf(HasSubstr("of 2 shared cells"), HasSubstr("2 only in A")));
}

TEST_F(RepeatedRun, RepeatsARunOfAFileInTheDatabase) {
  ASSERT_EQ(run({"export", "last", "-o", "first.attn"}).exit_code, 0);
  EXPECT_THAT(run({"run", "--again", "first.attn:last", "--db", "other.db"}),
              Prints("of 4 shared cells"));
  EXPECT_EQ(json::parse(run({"list", "runs", "--json", "--db", "other.db"}).out).size(), 1U);
}

TEST_F(RepeatedRun, ReportsDifferentSettings) {
  const Outcome again = run({"run", "--again", "1"}, {"FAKE_WORKER=another-governor"});
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_THAT(again.err, HasSubstr("governor: performance in A, powersave in B"));
  EXPECT_THAT(again.out, HasSubstr("different: governor: performance in A, powersave in B"));
  const Outcome same = run({"run", "--again", "1"});
  EXPECT_THAT(same.err, Not(HasSubstr("governor")));
}

TEST_F(RepeatedRun, FailedCellsSetTheExitCode) {
  program_.write("faulty.json", R"({"name": "faulty", "contenders": ["full/wrong", "full/dense"],
                                    "sequence_tokens": [64], "threads": 1,
                                    "stop": {"min_samples": 3, "placements": 1, "processes": 1}})");
  EXPECT_EQ(run({"run", "faulty.json", "--quiet"}).exit_code, 1);
  EXPECT_EQ(run({"run", "--again", "last", "--quiet"}).exit_code, 1);
}

TEST_F(RepeatedRun, RefusesWrongUseWithoutMeasuring) {
  for (const auto& [arguments, word, code] :
       {std::tuple{std::vector<std::string>{"run", "sweep.json", "--again", "1"}, "remove", 2},
        {{"run", "--resume", "1", "--again", "1"}, "remove", 2},
        {{"run", "--again", "77"}, "77", 3},
        {{"run", "--again", "1", "--only", "sequence_tokens=65"}, "sequence_tokens: 64, 128", 2}}) {
    expect_refusal(run(arguments), code, {word});
  }
  EXPECT_EQ(runs(), 1U);
}

TEST_F(RepeatedRun, ShowPrintsMachineBuildAndSweep) {
  const Outcome outcome = run({"show", "1"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const char* part : {"Run 1 (first), done", "attnscope run sweep.json", "governor", "sqlite",
                           "\"sequence_tokens\": [64, 128]", "attnscope run --again "}) {
    EXPECT_THAT(outcome.out, HasSubstr(part));
  }
  EXPECT_EQ(run({"show", "77"}).exit_code, 3);
}

TEST_F(RepeatedRun, StoresTheCommandQuotedForAShell) {
  program_.write("two words.json", program_.read("sweep.json"));
  ASSERT_EQ(run({"run", "two words.json", "--quiet"}).exit_code, 0);
  EXPECT_THAT(run({"show", "2"}).out, HasSubstr("attnscope run 'two words.json' --quiet"));
}

TEST_F(RepeatedRun, LostEventsAreAnErrorButTheRunIsStored) {
  const std::string command =
      fmt::format("ATTNSCOPE_WORKER='{}' '{}' run '{}' --events --db '{}' >/dev/full 2>'{}'",
                  FAKE_WORKER_PROGRAM, ATTNSCOPE_PROGRAM, program_.path("sweep.json").string(),
                  program_.path("attnscope/attnscope.db").string(), program_.path("lost").string());
  const int status = std::system(command.c_str());
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 2);
  EXPECT_THAT(program_.read("lost"), HasSubstr("standard output"));
  EXPECT_EQ(shown("2").at("status"), "done");
}

}  // namespace
}  // namespace attnscope::testing
