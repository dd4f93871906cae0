// SPDX-License-Identifier: Apache-2.0
//
// run --slurm with an sbatch that only records its arguments, and tasks that the test runs itself;
// tests/slurm has a real Slurm.

#include <sys/stat.h>

#include <map>
#include <set>

#include "base/spawn.h"
#include "tests/cli/program.h"

namespace attnscope::testing {
namespace {

/// A sweep of four heats, and a Slurm that runs nothing.
class SlurmRun : public ProgramTest {
 protected:
  SlurmRun() {
    program.write("sweep.json",
                  R"({"name": "parts", "contenders": ["full/dense", "sparse/segment"],
        "windows": [4], "sequence_tokens": [64, 128, 256, 512], "threads": 1,
        "stop": {"min_samples": 3, "placements": 2, "processes": 1}})");
    fs::create_directory(program.path("bin"));
    tool("sbatch", R"(printf '%s\n' "$@" >> arguments; cat refusal >&2 2>/dev/null && exit 1
n=$(($(cat jobs 2>/dev/null || echo 100) + 1)); echo $n > jobs
if [ -f answer ]; then . ./answer; else echo "$n;cluster"; fi)");
    tool("squeue", "printf '%s\\n' \"$@\" > looked; cat queued 2>/dev/null; exit 0");
    fs::create_directory(folder());
  }

  void tool(const std::string& name, const std::string& text) const {
    const std::string file = program.write(
        "bin/" + name,
        fmt::format("#!/bin/sh\ncd {}\n{}\n", shell_word(program.path("").string()), text));
    chmod(file.c_str(), 0755);
  }

  /// A folder whose name needs quoting everywhere.
  [[nodiscard]] fs::path folder() const { return program.path("it's a \"$(x)\",\n`dir`"); }
  [[nodiscard]] std::string dir() const {
    std::string escaped;
    for (const char c : folder().string())
      escaped += c == ',' ? std::string("\\,") : std::string(1, c);
    return "dir=" + escaped;
  }

  [[nodiscard]] Outcome run(const std::string& arguments) const {
    return program.run(arguments,
                       {"ATTNSCOPE_WORKER=" FAKE_WORKER_PROGRAM,
                        fmt::format("PATH={}:/usr/bin:/bin", program.path("bin").string())});
  }
  [[nodiscard]] Outcome send(const std::string& options = "array=2") const {
    return run(fmt::format("run sweep.json --slurm {} --slurm {}", options, shell_word(dir())));
  }
  [[nodiscard]] std::string uuid() const {
    return program.json("list runs --json").at(0).at("uuid");
  }
  [[nodiscard]] std::size_t runs() const {
    const Outcome outcome = run("list runs --json");
    return outcome.exit_code == 0 ? json::parse(outcome.out).size() : 0;
  }
  /// The folder of an array: of the first submission, or of a later one.
  [[nodiscard]] fs::path array(int round = 1) const {
    return folder() / ("attnscope-" + uuid().substr(0, 8)) / std::to_string(round);
  }
  /// A file of an array as a word of a command.
  [[nodiscard]] std::string in_array(const std::string& name, int round = 1) const {
    return shell_word((array(round) / name).string());
  }
  [[nodiscard]] int task(int number, const std::string& node, int round = 1) const {
    return program.shell(fmt::format(
        "ATTNSCOPE_WORKER={} SLURM_JOB_ID=101 SLURM_ARRAY_TASK_ID={} SLURMD_NODENAME={} sh {} "
        "> /dev/null 2>&1",
        shell_word(FAKE_WORKER_PROGRAM), number, node, in_array("tasks.sh", round)));
  }
  /// Runs both tasks of the first array.
  void run_tasks(const std::string& node, const std::string& second_node) const {
    ASSERT_EQ(task(0, node), 0);
    ASSERT_EQ(task(1, second_node), 0);
  }
  [[nodiscard]] Outcome merge(int round = 1) const {
    return run(fmt::format("import {} --into last", shell_word(array(round).string())));
  }
  [[nodiscard]] json rows() const { return program.json("table last --format json"); }
};

TEST_F(SlurmRun, MergesTheStoresOfTasksAndRecordsTheirMachines) {
  const Outcome sent = send("array=2,partition=gpu,mem=1G");
  ASSERT_THAT(sent, Notes("4 heats in 2 tasks", "job 102"));
  EXPECT_EQ(sent.out, "101\n");
  EXPECT_THAT(program.read("arguments"),
              AllOf(HasSubstr("--array=0-1\n"), HasSubstr("--partition=gpu\n"),
                    HasSubstr("--mem=1G\n"), HasSubstr("--dependency=afterany:101\n")));
  run_tasks("n1", "n2");
  // The script that Slurm runs, twice at once and once more.
  for (int time = 0; time < 2; ++time) {
    ASSERT_EQ(program.shell(fmt::format("{{ sh {0} 2>/dev/null & sh {0} 2>/dev/null && wait $!; }}",
                                        in_array("merge.sh"))),
              0);
  }
  std::map<std::string, std::set<int>> lengths;
  std::set<std::string> cells;
  for (const json& row : rows()) {
    lengths[row.at("machine")].insert(row.at("sequence_tokens").get<int>());
    cells.insert(fmt::format("{} {}", row.at("contender").get<std::string>(),
                             row.at("sequence_tokens").get<int>()));
  }
  EXPECT_EQ(rows().size(), 8U);
  EXPECT_EQ(cells.size(), 8U);
  EXPECT_EQ(lengths.at("n1 (Fake processor)").size(), 2U);
  EXPECT_EQ(lengths.at("n2 (Fake processor)").size(), 2U);
  EXPECT_EQ(program.json("list runs --json").at(0).at("status"), "done");
  EXPECT_THAT(run("show last"), Prints("measured on 2 machines: n1 (Fake processor), n2 (Fake",
                                       "processor       Fake processor"));
  EXPECT_THAT(run("table last"), Prints("2 machines: n1 (Fake processor), n2"));
  EXPECT_THAT(run("check-store"), Succeeds());
}

TEST_F(SlurmRun, ResubmitsTheHeatsOfALostTask) {
  ASSERT_THAT(send(), Succeeds());
  ASSERT_EQ(task(0, "n1"), 0);
  const Outcome merged = merge();
  EXPECT_EQ(merged.exit_code, 1) << merged.err;
  EXPECT_THAT(merged.err, AllOf(HasSubstr("2 heats added"), HasSubstr("lacks 2 of 4: heat 1"),
                                HasSubstr("(task-1.db)"), HasSubstr("run --resume")));
  EXPECT_THAT(run("run --resume last --slurm array=8"),
              Notes("there are only 2 heats for 8 tasks; the array has 2 tasks"));
  ASSERT_EQ(task(0, "n3", 2), 0);
  ASSERT_EQ(task(1, "n3", 2), 0);
  EXPECT_THAT(merge(2), Notes("which now has all 4"));
  EXPECT_EQ(rows().size(), 8U);
  EXPECT_THAT(run("run --resume last --slurm array=8").err, HasSubstr("nothing is submitted"));
}

TEST_F(SlurmRun, ResumeMeasuresOnlyMissingHeats) {
  ASSERT_THAT(send(), Succeeds());
  ASSERT_EQ(task(1, "n1"), 0);
  program.write("queued", "101_0\n");
  EXPECT_THAT(run("run --resume last --quiet"),
              FailsWith("is submitted as Slurm job 101, which has not ended"));
  fs::remove(program.path("queued"));
  ASSERT_THAT(run("run --resume last --quiet"), Succeeds());
  std::multiset<std::string> machines;
  for (const json& row : rows()) machines.insert(row.at("machine"));
  EXPECT_EQ(machines.count("n1 (Fake processor)"), 4U);
  EXPECT_EQ(machines.count("fakebox (Fake processor)"), 4U);
}

TEST_F(SlurmRun, DryRunPrintsEverythingAndSubmitsNothing) {
  EXPECT_THAT(run("run sweep.json --slurm array=3%1,time=5 --slurm-dry-run"),
              Prints("# task 0: 2 heats (0, 3), at most", "run --resume RUN", "import . --into RUN",
                     "--array=0-2%1", "--time=5"));
  EXPECT_FALSE(program.has("arguments"));
  EXPECT_FALSE(program.has("attnscope"));
}

TEST_F(SlurmRun, ARefusedSubmissionLeavesNoFiles) {
  program.write("refusal", "sbatch: error: invalid partition specified: gpx\n");
  EXPECT_THAT(send("array=2,partition=gpx"), FailsWith("invalid partition specified: gpx"));
  EXPECT_EQ(runs(), 0U);
  EXPECT_TRUE(fs::is_empty(folder()));
}

TEST_F(SlurmRun, FindsTheJobNumberAmongOtherLines) {
  program.write("answer", "echo '=== the cluster ==='; echo; printf '  %s\\r\\n' \"$n\"\n");
  EXPECT_EQ(send().out, "101\n");
  EXPECT_THAT(program.read("arguments"), HasSubstr("--dependency=afterany:101\n"));
}

TEST_F(SlurmRun, KeepsTheRunIfNoJobNumberIsPrinted) {
  program.write("answer", "echo 'welcome to the cluster'\n");
  const Outcome sent = send();
  EXPECT_THAT(sent, FailsWith("'welcome to the cluster', which does not name exactly one job",
                              "squeue --name=attnscope-" + uuid().substr(0, 8), "--into " + uuid(),
                              "run --resume " + uuid()));
  EXPECT_THAT(program.read("arguments"), Not(HasSubstr("--dependency")));
  program.write("queued", "101_0\n");
  EXPECT_THAT(run("run --resume last").err, HasSubstr("submitted as Slurm job 101, which has"));
  EXPECT_THAT(program.read("looked"), HasSubstr("--name=attnscope-" + uuid().substr(0, 8)));
  run_tasks("n1", "n1");
  EXPECT_THAT(merge(), Succeeds());
  EXPECT_EQ(rows().size(), 8U);
  EXPECT_TRUE(fs::exists(array().parent_path() / "run.attn"));
}

TEST_F(SlurmRun, KeepsTheRunIfSbatchFailsAfterItsJobNumber) {
  program.write("answer", "echo \"$n\"; exit 3\n");
  EXPECT_THAT(send(),
              FailsWith("answered '101' and ended with exit code 3; its tasks may have been"));
  EXPECT_EQ(runs(), 1U);
  program.write("answer", "echo \"$n\"; kill -9 $$\n");
  EXPECT_THAT(send(), FailsWith("answered '102' and was ended by signal 9 (SIGKILL); its tasks"));
  program.write("answer", "echo \"$n\"\n");
  // The system discards the exit codes of a process that ignores SIGCHLD.
  EXPECT_THAT(
      program.run(fmt::format("run sweep.json --slurm array=2 --slurm {}", shell_word(dir())),
                  {"ATTNSCOPE_WORKER=" FAKE_WORKER_PROGRAM,
                   fmt::format("PATH={}:/usr/bin:/bin", program.path("bin").string()), "env",
                   "--ignore-signal=CHLD"}),
      FailsWith("answered '103' and ended, but its exit code is unknown (No child "
                "processes); its tasks"));
}

TEST_F(SlurmRun, ReportsTheLimitOfAnArrayThatIsTooLarge) {
  program.write("refusal",
                "sbatch: error: Batch job submission failed: Invalid job array "
                "specification\n");
  tool("scontrol", "echo 'MaxArraySize            = 3'");
  EXPECT_THAT(send("array=4"), FailsWith("the array has 4 tasks, and this Slurm allows 3",
                                         "give a smaller array=N"));
  EXPECT_EQ(runs(), 0U);
  tool("scontrol", "exit 1");
  EXPECT_THAT(send("array=2").err, HasSubstr("the array has 2 tasks, and Slurm allows fewer"));
}

TEST_F(SlurmRun, RefusesInvalidOptionsInOneSentence) {
  EXPECT_THAT(run("run sweep.json --slurm array=0"), Refuses("array=0"));
  EXPECT_THAT(run("run sweep.json --slurm array=2,dir=nowhere"),
              Refuses("nowhere does not exist; create it"));
  EXPECT_THAT(run("run sweep.json --slurm-dry-run"), Refuses("add --slurm"));
  EXPECT_THAT(run("run sweep.json --slurm array=2 --events"), Refuses("--events"));
  EXPECT_THAT(program.run("run sweep.json --slurm array=2",
                          {fmt::format("PATH={}", program.path("nothing").string())}),
              FailsWith("sbatch is not in PATH"));
  program.write("unknown.json", R"({"contenders": ["full/sdap"], "sequence_tokens": 64})");
  EXPECT_THAT(run("run unknown.json --slurm array=1"), Refuses("did you mean 'sdpa'"));
  EXPECT_FALSE(program.has("arguments"));
}

TEST_F(SlurmRun, SkipsStoresOfOtherRunsAndReportsMissingOnes) {
  ASSERT_THAT(run("run sweep.json --quiet --db other.db"), Succeeds());
  ASSERT_THAT(send(), Succeeds());
  run_tasks("n1", "n1");
  fs::copy(program.path("other.db"), array() / "other.db");
  EXPECT_THAT(merge(), FailsWith("other.db contains run", "was skipped", "which now has all 4"));
  EXPECT_EQ(runs(), 1U);
  // A part can be imported only with the run that it belongs to.
  EXPECT_THAT(run(fmt::format("import {} --db new.db", in_array("task-0.db"))),
              FailsWith("contains a part of run"));
  const std::string whole = (array().parent_path() / "run.attn").string();
  ASSERT_THAT(run(fmt::format("import {} --db new.db", shell_word(whole))), Succeeds());
  fs::remove(array() / "task-1.db");
  fs::remove(array() / "other.db");
  const Outcome half =
      run(fmt::format("import {} --into last --db new.db", shell_word(array().string())));
  EXPECT_EQ(half.exit_code, 1);
  EXPECT_THAT(half.err, HasSubstr("lacks 2 of 4: heat 1, 128 tokens; heat 3, 512 tokens;"));
}

}  // namespace
}  // namespace attnscope::testing
