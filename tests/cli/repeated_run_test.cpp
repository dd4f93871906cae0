// SPDX-License-Identifier: Apache-2.0
//
// run --again and show, with a measuring process that needs no LibTorch.

#include "tests/cli/program.h"

namespace attnscope::testing {
namespace {

/// The program, with the fake worker and one finished run of two heats.
class RepeatedRun : public ProgramTest {
 protected:
  RepeatedRun() {
    program.write("sweep.json",
                  R"({"name": "first", "contenders": ["full/dense", "sparse/segment"],
        "windows": [4], "sequence_tokens": [64, 128], "threads": 1,
        "stop": {"min_samples": 3, "placements": 2, "processes": 1}})");
    EXPECT_THAT(run("run sweep.json --quiet"), Succeeds());
  }

  [[nodiscard]] Outcome run(const std::string& arguments,
                            std::vector<std::string> environment = {}) const {
    environment.push_back("ATTNSCOPE_WORKER=" FAKE_WORKER_PROGRAM);
    return program.run(arguments, environment);
  }
  [[nodiscard]] json shown(const std::string& name) const {
    return program.json(fmt::format("show {} --json", name));
  }
  [[nodiscard]] std::size_t runs() const { return program.json("list runs --json").size(); }
};

TEST_F(RepeatedRun, StoresTheOriginalRunAndComparesEveryCell) {
  EXPECT_THAT(run("run --again last"), Prints("of 4 shared cells", "0 only in A"));
  EXPECT_EQ(runs(), 2U);
  const json first = shown("1"), second = shown("2");
  EXPECT_EQ(second.at("provenance").at("again_of"), first.at("uuid"));
  EXPECT_FALSE(first.at("provenance").contains("again_of"));
  EXPECT_EQ(second.at("provenance").at("plan"), first.at("provenance").at("plan"));
  EXPECT_EQ(second.at("sweep_text"), first.at("sweep_text"));
}

TEST_F(RepeatedRun, RepeatsTheStoredSweepNotTheChangedFile) {
  program.write("sweep.json", R"({"name": "first", "contenders": ["full/sdpa"],
                                   "sequence_tokens": [4096], "threads": 1})");
  ASSERT_THAT(run("run --again 1 --quiet"), Succeeds());
  EXPECT_EQ(shown("2").at("provenance").at("plan"), shown("1").at("provenance").at("plan"));
}

TEST_F(RepeatedRun, RepeatsStoredPatternsWithoutTheirFiles) {
  program.write("mine.json", R"({"name": "mine", "title": "Mine",
                                 "attends": {"document": {"document": "window"}}})");
  program.write("own.json", R"({"name": "own", "contenders": ["mine.json/segment"], "windows": [4],
                                 "sequence_tokens": [64], "threads": 1,
                                 "stop": {"min_samples": 3, "placements": 1, "processes": 1}})");
  ASSERT_THAT(run("run own.json --quiet"), Succeeds());
  std::filesystem::remove(program.path("mine.json"));
  EXPECT_THAT(run("run --again last"), Prints("of 1 shared cells"));
}

TEST_F(RepeatedRun, OnlyMeasuresAPartAndReportsMissingCells) {
  EXPECT_THAT(run("run --again 1 --only sequence_tokens=128"),
              Prints("of 2 shared cells", "2 only in A"));
}

TEST_F(RepeatedRun, RepeatsARunOfAFileInTheDatabase) {
  ASSERT_THAT(run("export last -o first.attn"), Succeeds());
  EXPECT_THAT(run("run --again first.attn:last --db other.db"), Prints("of 4 shared cells"));
  EXPECT_EQ(program.json("list runs --json --db other.db").size(), 1U);
}

TEST_F(RepeatedRun, ReportsDifferentSettings) {
  const std::string difference = "governor: performance in A, powersave in B";
  EXPECT_THAT(run("run --again 1", {"FAKE_WORKER=another-governor"}),
              AllOf(Notes(difference), Prints("different: " + difference)));
  EXPECT_THAT(run("run --again 1").err, Not(HasSubstr("governor")));
}

TEST_F(RepeatedRun, FailedCellsSetTheExitCode) {
  program.write("faulty.json", R"({"name": "faulty", "contenders": ["full/wrong", "full/dense"],
                                    "sequence_tokens": [64], "threads": 1,
                                    "stop": {"min_samples": 3, "placements": 1, "processes": 1}})");
  EXPECT_EQ(run("run faulty.json --quiet").exit_code, 1);
  EXPECT_EQ(run("run --again last --quiet").exit_code, 1);
}

TEST_F(RepeatedRun, RefusesWrongUseWithoutMeasuring) {
  EXPECT_THAT(run("run sweep.json --again 1"), Refuses("remove"));
  EXPECT_THAT(run("run --resume 1 --again 1"), Refuses("remove"));
  EXPECT_THAT(run("run --again 77"), RefusesStore("77"));
  EXPECT_THAT(run("run --again 1 --only sequence_tokens=65"), Refuses("sequence_tokens: 64, 128"));
  EXPECT_EQ(runs(), 1U);
}

TEST_F(RepeatedRun, ShowPrintsMachineBuildAndSweep) {
  EXPECT_THAT(run("show 1"),
              Prints("Run 1 (first), done", "attnscope run sweep.json", "governor", "sqlite",
                     "\"sequence_tokens\": [64, 128]", "attnscope run --again "));
  EXPECT_THAT(run("show 77"), RefusesStore());
  program.write("two words.json", program.read("sweep.json"));
  ASSERT_THAT(run("run 'two words.json' --quiet"), Succeeds());
  EXPECT_THAT(run("show 2"), Prints("attnscope run 'two words.json' --quiet"));
}

TEST_F(RepeatedRun, LostEventsAreAnErrorButTheRunIsStored) {
  EXPECT_EQ(
      program.shell(fmt::format("XDG_DATA_HOME=$PWD ATTNSCOPE_WORKER='{}' '{}' run sweep.json "
                                "--events >/dev/full 2>lost",
                                FAKE_WORKER_PROGRAM, ATTNSCOPE_PROGRAM)),
      2);
  EXPECT_THAT(program.read("lost"), HasSubstr("standard output"));
  EXPECT_EQ(shown("2").at("status"), "done");
}

}  // namespace
}  // namespace attnscope::testing
