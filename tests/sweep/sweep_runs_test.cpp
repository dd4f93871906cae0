// SPDX-License-Identifier: Apache-2.0
//
// TREC runs that a sweep's contenders have made: which contender has which, and what is refused.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "engine/sweep/sweep.h"
#include "tests/safetensors/scratch_folder.h"

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
    const auto sweep = parse(contenders, more);
    return sweep ? "no error" : sweep.error().message;
  }

  tests::ScratchFolder folder_;
};

constexpr std::string_view full =
    R"({"pattern": "full", "implementation": "dense", "run": "full.trec"})";
constexpr std::string_view sparse =
    R"({"pattern": "sparse", "implementation": "segment", "run": "sparse-{window}.trec"})";
constexpr std::string_view qrels = ", \"qrels\": \"q.txt\"";

TEST_F(SweepRuns, AWindowTakesItsPlaceInTheName_AndOtherImplementationsShareTheRun) {
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

TEST_F(SweepRuns, MeasureBaselineAndMarginAreTheSweeps) {
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

TEST_F(SweepRuns, ModelsHaveRunsToo_AndOnlyKeepsThem) {
  const auto sweep = parse_sweep(
      R"({"operation": "model", "sequence_tokens": 64, "qrels": "q.txt", "contenders": ["full/sdpa",
          {"model": "full", "implementation": "segment", "run": "full.trec"}]})",
      (folder_ / "my.json").string());
  ASSERT_TRUE(sweep) << sweep.error().message;
  EXPECT_THAT(sweep->runs->runs[0].contenders, ElementsAre("full/segment", "full/sdpa"));
  const auto filter = parse_only("implementation=sdpa");
  EXPECT_TRUE(only(*sweep, *filter)->runs.has_value());
}

TEST_F(SweepRuns, WhatDoesNotFitIsRefusedWithItsLine) {
  EXPECT_THAT(refused(full, ""), HasSubstr("no judgements"));
  EXPECT_THAT(refused("\"full/dense\"", ",\n\"qrels\": \"q.txt\""),
              AllOf(HasSubstr("line 3"), HasSubstr("no contender has a \"run\"")));
  EXPECT_THAT(
      refused(R"({"pattern": "full", "implementation": "dense", "run": "none.trec"})", qrels),
      AllOf(HasSubstr("line 2: 'contenders[0].run' is"), HasSubstr("none.trec"),
            HasSubstr("does not exist")));
  EXPECT_THAT(refused(full, ", \"qrels\": \"none.txt\""), HasSubstr("none.txt"));
  EXPECT_THAT(
      refused(R"({"pattern": "sparse", "implementation": "segment", "run": "full.trec"})", qrels),
      HasSubstr("is one run for 2 windows"));
  EXPECT_THAT(
      refused(R"({"pattern": "full", "implementation": "dense", "run": "f{window}.trec"})", qrels),
      HasSubstr("has no window"));
  const auto requested = [&](std::string_view field) {
    return refused(fmt::format("{}, \"longformer/segment\"", full),
                   fmt::format("{}, \"effectiveness\": {{{}}}", qrels, field));
  };
  EXPECT_THAT(requested(R"("baseline": "full")"), HasSubstr("which is not a contender"));
  EXPECT_THAT(requested(R"("baseline": "longformer/segment/4")"),
              HasSubstr("which has no \"run\""));
  EXPECT_THAT(requested(R"("measure": "best")"), HasSubstr("best"));
  EXPECT_THAT(requested(R"("margin": 0)"), HasSubstr("above 0"));
}

TEST_F(SweepRuns, NamesBecomeWhole_SoThatASweepCanBeRunFromElsewhere) {
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
