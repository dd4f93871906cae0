// SPDX-License-Identifier: Apache-2.0
//
// TREC runs of a sweep's contenders.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "engine/sweep/sweep.h"
#include "tests/safetensors/scratch_folder.h"
#include "tests/sweep/refusals.h"

namespace attnscope {
namespace {

using effectiveness::RunsToEvaluate;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class SweepRuns : public ::testing::Test {
 protected:
  SweepRuns() {
    for (const char* name : {"q.txt", "full.trec", "sparse-4.trec", "sparse-64.trec"})
      tests::write_bytes(folder_ / name, "");
  }
  [[nodiscard]] Result<Sweep> parse(std::string_view contenders, std::string_view more) const {
    return parse_sweep(fmt::format("{{\"sequence_tokens\": 64, \"windows\": [4, 64],\n"
                                   "\"contenders\": [{}]{}}}",
                                   contenders, more),
                       (folder_ / "my.json").string());
  }
  [[nodiscard]] std::string refused(std::string_view contenders, std::string_view more) const {
    return message_of(parse(contenders, more));
  }

  tests::ScratchFolder folder_;
};

constexpr std::string_view full =
    R"({"pattern": "full", "implementation": "dense", "run": "full.trec"})";
constexpr std::string_view sparse =
    R"({"pattern": "sparse", "implementation": "segment", "run": "sparse-{window}.trec"})";
constexpr std::string_view qrels = ", \"qrels\": \"q.txt\"";

TEST_F(SweepRuns, RunsAreNamedByWindowAndSharedByImplementations) {
  const auto sweep =
      parse(fmt::format("\"full/sdpa\", {}, {}, \"sparse/windowed\", \"longformer/segment\"", full,
                        sparse),
            qrels);
  ASSERT_TRUE(sweep) << sweep.error().message;
  ASSERT_TRUE(sweep->runs.has_value());
  const RunsToEvaluate& runs = *sweep->runs;
  EXPECT_EQ(runs.qrels, folder_ / "q.txt");
  ASSERT_EQ(runs.runs.size(), 3U);
  EXPECT_EQ(runs.runs[0].file, folder_ / "full.trec");
  EXPECT_THAT(runs.runs[0].contenders, ElementsAre("full/dense", "full/sdpa"));
  EXPECT_EQ(runs.runs[2].file, folder_ / "sparse-64.trec");
  EXPECT_THAT(runs.runs[2].contenders, ElementsAre("sparse/segment/64", "sparse/windowed/64"));
  EXPECT_EQ(runs.question.measure.name(), "nDCG@10");
  EXPECT_EQ(runs.question.baseline, "full/dense");
}

TEST_F(SweepRuns, ReadsTheQuestionOfEffectiveness) {
  const auto sweep = parse(
      fmt::format("{}, {}", full, sparse),
      fmt::format("{}, \"effectiveness\": {{\"measure\": \"RR@10\", \"baseline\": "
                  "\"sparse/segment/64\", \"margin\": 0.05, \"alpha\": 0.003, \"complete\": true}}",
                  qrels));
  ASSERT_TRUE(sweep) << sweep.error().message;
  const auto& question = sweep->runs->question;
  EXPECT_EQ(question.measure.name(), "RR@10");
  EXPECT_EQ(question.baseline, "sparse/segment/64");
  EXPECT_EQ(question.margin, 0.05);
  EXPECT_EQ(question.alpha, 0.003);
  EXPECT_TRUE(question.complete);
}

TEST_F(SweepRuns, ModelsHaveRunsThatOnlyKeeps) {
  const auto sweep = parse_sweep(
      R"({"operation": "model", "sequence_tokens": 64, "qrels": "q.txt", "contenders": ["full/sdpa",
          {"model": "full", "implementation": "segment", "run": "full.trec"}]})",
      (folder_ / "my.json").string());
  ASSERT_TRUE(sweep) << sweep.error().message;
  EXPECT_THAT(sweep->runs->runs[0].contenders, ElementsAre("full/segment", "full/sdpa"));
  const auto filter = parse_only("implementation=sdpa");
  EXPECT_TRUE(only(*sweep, *filter)->runs.has_value());
}

TEST_F(SweepRuns, RefusesRunsThatDoNotFit) {
  EXPECT_THAT(refused(full, ""), HasSubstr("no judgements"));
  EXPECT_THAT(refused("\"full/dense\"", ",\n\"qrels\": \"q.txt\""),
              AllOf(HasSubstr("line 3"), HasSubstr("no contender has a \"run\"")));
  EXPECT_THAT(refused(full, ", \"qrels\": \"none.txt\""), HasSubstr("none.txt"));
  expect_refused({{R"({"pattern": "full", "implementation": "dense", "run": "none.trec"})",
                   {"line 2: 'contenders[0].run' is", "none.trec", "does not exist"}},
                  {R"({"pattern": "sparse", "implementation": "segment", "run": "full.trec"})",
                   {"is one run for 2 windows"}},
                  {R"({"pattern": "full", "implementation": "dense", "run": "f{window}.trec"})",
                   {"has no window"}}},
                 [&](std::string_view contender) { return refused(contender, qrels); });
  expect_refused({{R"("baseline": "full")", {"which is not a contender"}},
                  {R"("baseline": "longformer/segment/4")", {"which has no \"run\""}},
                  {R"("measure": "best")", {"best"}},
                  {R"("margin": 0)", {"above 0"}}},
                 [&](std::string_view field) {
                   return refused(fmt::format("{}, \"longformer/segment\"", full),
                                  fmt::format("{}, \"effectiveness\": {{{}}}", qrels, field));
                 });
}

TEST_F(SweepRuns, WholeNamesAreFoundFromOtherFolders) {
  const std::string text =
      fmt::format("{{\"sequence_tokens\": 64, \"windows\": [4, 64], \"contenders\": [{}, {}]{}}}",
                  full, sparse, qrels);
  const auto sweep = parse_sweep(with_whole_names(text, folder_.path()), "/elsewhere/my.json");
  ASSERT_TRUE(sweep) << sweep.error().message;
  EXPECT_EQ(sweep->runs->runs[1].file, folder_ / "sparse-4.trec");
  EXPECT_EQ(with_whole_names("{\"name\": 1}", folder_.path()), "{\"name\": 1}");
}

}  // namespace
}  // namespace attnscope
