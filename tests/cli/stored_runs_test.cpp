// SPDX-License-Identifier: Apache-2.0
//
// Commands for stored runs: describe and trash; report and export, whose files are complete and
// never replaced by accident; run --again and show, with a measuring process that needs no
// LibTorch.

#include "tests/cli/program.h"

namespace attnscope::testing {
namespace {

using ::testing::EndsWith;
using ::testing::StartsWith;

/// A database with one run.
class StoredRunCommands : public ProgramTest {
 protected:
  StoredRunCommands() { EXPECT_THAT(run("import " + small_run), Succeeds()); }
  [[nodiscard]] Outcome run(const std::string& arguments) const {
    return program.run(arguments + " --db runs.db");
  }
  [[nodiscard]] json runs(const std::string& more = "") const {
    return json::parse(run("list runs --json " + more).out);
  }
};
class ReportCommand : public StoredRunCommands {};

TEST_F(StoredRunCommands, DescribeSetsNameTagsAndNote) {
  EXPECT_THAT(run("list runs").out, Not(HasSubstr("tags"))) << "a column that is empty in each run";
  ASSERT_THAT(run("describe 1 --name 'first one' --tag old --tag quiet --note 'kept for tests'"),
              Succeeds());
  ASSERT_THAT(run("describe last --tag more --untag old"), Succeeds());
  const json described = runs().at(0);
  EXPECT_EQ(described.at("name"), "first one");
  EXPECT_EQ(described.at("tags"), json({"quiet", "more"}));
  EXPECT_EQ(described.at("note"), "kept for tests");
  EXPECT_EQ(described.at("sweep"), "version-1");
  EXPECT_THAT(run("list runs"), Prints("first one", "quiet more"));
  EXPECT_THAT(run("show 'first one'"), Prints("kept for tests", "quiet more"));
}

TEST_F(StoredRunCommands, DescribeRefusesInvalidNamesTagsAndNotes) {
  EXPECT_THAT(run("describe 1"), Refuses("--name"));
  EXPECT_THAT(run("describe 7 --tag x"), RefusesStore("'7'"));
  EXPECT_THAT(run("describe 1 --tag 'two words'"), Refuses("'two words' is not a tag"));
  EXPECT_THAT(run("describe 1 --tag ' '"), Refuses("is not a tag"));
  EXPECT_THAT(run("describe 1 last --name x"), Refuses("one run"));
  EXPECT_THAT(run("describe 1 --name 'two\nlines'"), Refuses("control characters"));
  EXPECT_THAT(run("describe 1 --note 'bell\a'"), Refuses("control characters"));
  EXPECT_THAT(run("describe 1 --note " + std::string(10'001, 'x')), Refuses("at most 10000"));
}

TEST_F(StoredRunCommands, MovesARunToTheTrashAndBack) {
  EXPECT_THAT(run("trash 1").err, HasSubstr("1 run moved to the trash"));
  EXPECT_TRUE(runs().empty());
  EXPECT_EQ(runs("--trash").size(), 1U);
  EXPECT_THAT(run("table last"), RefusesStore("trash --restore"));
  EXPECT_THAT(run("table 1"), Notes("run 1 is in the trash"));
  EXPECT_THAT(run("trash 1"), Refuses("is already in the trash"));
  EXPECT_THAT(run("trash --restore 1"), Succeeds());
  EXPECT_THAT(run("trash --restore 1"), Refuses("is not in the trash"));
  EXPECT_EQ(runs().size(), 1U);
  EXPECT_THAT(run("list runs --trash").err, HasSubstr("The trash is empty."));
}

TEST_F(StoredRunCommands, DeletesRunsOnlyFromTheTrashAndWithConfirmation) {
  EXPECT_THAT(run("trash --delete 1 --yes"), Refuses("not in the trash"));
  ASSERT_THAT(run("trash 1"), Succeeds());
  EXPECT_THAT(run("trash --empty"), Refuses("--yes"));
  EXPECT_THAT(run("trash --delete 1"), Refuses("--yes"));
  EXPECT_EQ(runs("--trash").size(), 1U);
  EXPECT_THAT(run("trash"), Refuses("--empty"));
  EXPECT_THAT(run("trash 1 --empty"), Refuses("--empty"));
  EXPECT_THAT(run("trash --delete 1 --yes"), Succeeds());
  EXPECT_TRUE(runs("--trash").empty());
  ASSERT_THAT(run("import " + small_run), Succeeds());
  ASSERT_THAT(run("trash last"), Succeeds());
  EXPECT_THAT(run("trash --empty --yes").err, HasSubstr("1 run deleted permanently"));
  EXPECT_TRUE(runs("--trash").empty());
}

TEST_F(ReportCommand, WritesAPageAndReplacesItOnlyWithForce) {
  const Outcome outcome = run("report last -o r.html");
  EXPECT_THAT(outcome, Succeeds());
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(outcome.err, "r.html written\n");
  const std::string page = program.read("r.html");
  EXPECT_THAT(page, AllOf(StartsWith("<!doctype html>"), EndsWith("</html>\n"),
                          HasSubstr("Content-Security-Policy")));
  EXPECT_EQ(run("report last -o -").out, page);
  program.write("r.html", "old");
  const std::string again = "report -o r.html " + small_run + ":1";
  EXPECT_THAT(run(again), FailsWith("is not overwritten", "--force replaces it"));
  EXPECT_EQ(program.read("r.html"), "old");
  EXPECT_THAT(run(again + " --force"), Succeeds());
  EXPECT_THAT(program.read("r.html"), EndsWith("</html>\n"));
}

TEST_F(ReportCommand, ReplacesOnlyExportsAndOnlyWithForce) {
  ASSERT_THAT(run("export last -o run.attn"), Succeeds());
  const std::string before = program.read("run.attn");
  EXPECT_THAT(
      run("export last -o run.attn"),
      RefusesStore("run.attn already exists and is not overwritten", "--force replaces it"));
  EXPECT_EQ(program.read("run.attn"), before);
  EXPECT_THAT(run("export last -o run.attn --force"), Succeeds());
  EXPECT_THAT(program.run("import run.attn --db other.db"), Succeeds());
  EXPECT_FALSE(program.has(".new-run.attn"));
  // A database or a foreign file is not replaced even with --force.
  EXPECT_THAT(run("export last -o runs.db --force").err, HasSubstr("is not an exported file"));
  program.write("notes.txt", "mine");
  EXPECT_THAT(run("export last -o notes.txt --force"), RefusesStore());
  EXPECT_EQ(program.read("notes.txt"), "mine");
  for (const std::string stream : {"-", "/dev/null"})
    EXPECT_THAT(run("export last -o " + stream).err, HasSubstr("an export is a database"));
}

TEST_F(ReportCommand, AcceptsDisplayedNamesAndRepeatedOnly) {
  const json row = json::parse(run("table last --format json").out).at(0);
  const json chosen = json::parse(
      run(fmt::format("table {} --baseline '{}' --only 'contender={}' --only length={} "
                      "--format json",
                      runs().at(0).at("sweep").get<std::string>(),
                      row.at("name").get<std::string>(), row.at("name").get<std::string>(),
                      row.at("sequence_tokens").get<int>()))
          .out);
  EXPECT_FALSE(chosen.empty());
  for (const json& other : chosen) EXPECT_EQ(other.at("contender"), row.at("contender"));
}

TEST_F(ReportCommand, RefusesWrongUseWithoutAPage) {
  const auto refused = [&](const std::string& arguments, const auto& matcher) {
    EXPECT_THAT(run("report " + arguments), matcher);
    EXPECT_FALSE(program.has("r.html"));
  };
  refused("last -o r.pdf", Refuses("r.pdf: a report is an HTML page"));
  refused("last", Refuses("--output"));
  refused("-o r.html", Refuses("runs"));
  refused("7 -o r.html", RefusesStore("7"));
  refused("last 1 -o r.html", Refuses("give every run once"));
  refused("last -o r.html --baseline full/none", Refuses("--baseline"));
  refused("last -o r.html --only colour=red", Refuses("--only"));
  refused("last -o nowhere/r.html", Refuses("nowhere/r.html"));
  fs::copy_file(program.path("runs.db"), program.path("db.html"));
  const std::string before = program.read("db.html");
  refused("last -o db.html", Refuses("is a database"));
  EXPECT_EQ(program.read("db.html"), before);
}

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
