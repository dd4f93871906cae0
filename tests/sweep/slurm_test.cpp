// SPDX-License-Identifier: Apache-2.0
#include "engine/sweep/slurm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <memory>

#include "tests/sweep/refusals.h"

namespace attnscope {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;

TEST(SlurmOptions, SeparatesOwnOptionsFromThoseOfSbatch) {
  const auto options = parse_slurm(
      {"partition=gpu,array=8,dir=/shared/runs,cpus-per-task=4", "gres=gpu:a100:1,time=02:00:00"});
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_EQ(options->tasks, 8);
  EXPECT_EQ(options->cores, 4);
  EXPECT_EQ(options->folder, "/shared/runs");
  EXPECT_THAT(options->others, ElementsAre(Pair("partition", "gpu"), Pair("gres", "gpu:a100:1"),
                                           Pair("time", "02:00:00")));
}

TEST(SlurmOptions, ABackslashEscapesACommaInAValue) {
  const auto options = parse_slurm({R"(array=2%1,nodelist=n1\,n2,dir=/a\\b=c)"});
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_EQ(options->at_once, "%1");
  EXPECT_EQ(options->folder, R"(/a\b=c)");
  EXPECT_THAT(options->others, ElementsAre(Pair("nodelist", "n1,n2")));
}

TEST(SlurmOptions, RefusesInvalidOptions) {
  const auto error = [](const std::vector<std::string>& texts) {
    return message_of(parse_slurm(texts));
  };
  expect_refused({{"array=0", {"array=0 is not a number of tasks"}},
                  {"array=10001", {"from 1 to 10000"}},
                  {"array=0-7", {"array=0-7 is not a number"}},
                  {"array=8%", {"is not a number"}},
                  {"partition=gpu", {"add array=N"}},
                  {"array=2,exclusive", {"'exclusive' has no value"}},
                  {"array=2,partition=", {"'partition' has no value"}},
                  {"array=2,=gpu", {"'' is not a key"}},
                  {"array=2,--mem=4", {"'--mem' is not a key"}},
                  {"array=2,chdir=/tmp", {"chdir is set by AttnScope"}},
                  {"array=2,cpus-per-task=many", {"many is not a number of cores"}}},
                 [&](const char* text) { return error({text}); });
  EXPECT_THAT(error({"array=2,mem=1", "mem=2"}), HasSubstr("mem is given twice"));
  // sbatch accepts the beginning of a name.
  for (const char* abbreviated : {"wra=x", "outp=x", "arra=4", "part=gpu", "cluster=a", "err=x"})
    EXPECT_THAT(error({"array=2", abbreviated}), HasSubstr("write the full name")) << abbreviated;
}

SlurmArray array_in(const std::string& folder) {
  return {.options = *parse_slurm({"array=8%2,partition=gpu,gres=gpu:1"}),
          .tasks = 8,
          .cores = 2,
          .folder = folder,
          .uuid = "e58ed763-928c-4155-bee9-fdbaaadc15f3",
          .program = folder + "/attnscope",
          .worker = "ssh box 'a worker'",
          .with = {"my contender.py"},
          .database = folder + "/runs.db"};
}

TEST(SlurmArray, CommandsContainTheOptionsThatTheirJobsNeed) {
  const SlurmArray array = array_in("/shared/it");
  const auto tasks = tasks_command(array);
  EXPECT_EQ(tasks.front(), "sbatch");
  EXPECT_EQ(tasks.back(), "/shared/it/tasks.sh");
  EXPECT_THAT(tasks, AllOf(Contains("--array=0-7%2"), Contains("--cpus-per-task=2"),
                           Contains("--requeue"), Contains("--partition=gpu"),
                           Contains("--gres=gpu:1"), Contains("--chdir=/shared/it")));
  const auto merge = merge_command(array, "17");
  EXPECT_EQ(merge.back(), "/shared/it/merge.sh");
  // It uses the same queue and no device.
  EXPECT_THAT(merge, AllOf(Contains("--dependency=afterany:17"), Contains("--partition=gpu"),
                           Not(Contains("--gres=gpu:1"))));
}

/// The words of the script's command as a shell reads them.
std::string words_in_a_shell(const std::string& script) {
  const std::string line = script.substr(script.find("\nexec ") + 6);
  const std::string shown = "task() { printf '<%s>' \"$@\"; }; SLURM_ARRAY_TASK_ID=3; task " + line;
  std::array<char, 4096> buffer{};
  std::string text;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(popen(shown.c_str(), "r"), pclose);
  for (std::size_t count = 0;
       (count = std::fread(buffer.data(), 1, buffer.size(), pipe.get())) > 0;)
    text.append(buffer.data(), count);
  return text;
}

TEST(SlurmArray, ScriptsQuoteNamesForTheShell) {
  const std::string folder = "/a 'b' \"c\", $(touch /x) `d`;\n\\e\n*";
  const SlurmArray array = array_in(folder);
  EXPECT_EQ(
      words_in_a_shell(task_script(array)),
      "<" + folder + "/attnscope><run><--resume><" + array.uuid +
          "><--db><task-3.db><--quiet><--worker><ssh box 'a worker'><--with><my contender.py>");
  EXPECT_EQ(words_in_a_shell(merge_script(array)),
            "<" + folder + "/attnscope><import><.><--into><" + array.uuid + "><--db><" + folder +
                "/runs.db>");
}

TEST(SlurmArray, JobNumberIsReadFromTheAnswerOfSbatch) {
  for (const char* answer :
       {"123\n", "123;cluster\n", "Submitted batch job 123\n",
        "Submitted batch job 123 on cluster alpine", "=== cluster ===\n* queue 7: open\n123\n",
        "sbatch: charged to demo (97% left)\n123;alpine\n", "\n  123 \n\nuse squeue\n",
        "\r\n123\r\n", "\x1b[1;32m123\x1b[0m\n", "2026\nSubmitted batch job 123\n", "123\n123\n"})
    EXPECT_EQ(job_in(answer), "123") << answer;
  for (const char* answer :
       {"", "\n", "12x\n", "99999999999999999999\n", "0\n", "12;\n", "12; 13\n", "1 2\n",
        "2026\n123\n", "Submitted batch job\n", "Submitted batch job 12x\n", "12.5\n"})
    EXPECT_EQ(job_in(answer), std::nullopt) << answer;
}

TEST(SlurmArray, LimitIsReadFromMessagesOfSlurm) {
  EXPECT_EQ(limit_in("sbatch: error: Batch job submission failed: Invalid job array specification"),
            ArrayLimit::tasks_of_an_array);
  EXPECT_EQ(limit_in("sbatch: error: array exceeds MaxArraySize"), ArrayLimit::tasks_of_an_array);
  EXPECT_EQ(limit_in("sbatch: error: QOSMaxSubmitJobPerUserLimit"), ArrayLimit::jobs_of_a_user);
  EXPECT_EQ(limit_in("sbatch: error: invalid partition specified: gpx"), ArrayLimit::none);
  EXPECT_EQ(
      most_tasks_in("KillWait = 30 sec\nMaxArraySize            = 1001\nMaxDBDMsgs = 20008\n"),
      1001);
  EXPECT_EQ(
      most_tasks_in("MaxArraySize = 1001\nSchedulerParameters = bf_continue,max_array_tasks=500\n"),
      500);
  EXPECT_EQ(most_tasks_in("MaxArraySize ="), std::nullopt);
  EXPECT_EQ(most_tasks_in(""), std::nullopt);
}

}  // namespace
}  // namespace attnscope
