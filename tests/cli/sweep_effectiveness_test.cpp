// SPDX-License-Identifier: Apache-2.0
//
// A sweep whose contenders name TREC runs, from the file to the answer, with a measuring process
// that needs no LibTorch.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/base/packed.h"
#include "tests/cli/program.h"

namespace attnscope::testing {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

class SweepEffectiveness : public ::testing::Test {
 protected:
  SweepEffectiveness() {
    std::string qrels, full, sparse;
    for (int query = 0; query < 20; ++query) {
      qrels += fmt::format("{} 0 a 1\n", query);
      full += fmt::format("{0} Q0 a 1 2 t\n{0} Q0 b 2 1 t\n", query);
      sparse += fmt::format("{0} Q0 b 1 {1} t\n{0} Q0 a 2 {2} t\n", query, query == 3 ? 2 : 0, 1);
    }
    program_.write("qrels.txt", qrels);
    program_.write("full.trec", full);
    program_.write("sparse-4.trec", sparse);
    program_.write("sweep.json", R"({"name": "worth",
        "contenders": [{"pattern": "full", "implementation": "dense", "run": "full.trec"},
                       {"pattern": "sparse", "implementation": "segment", "run": "sparse-{window}.trec"}],
        "qrels": "qrels.txt", "effectiveness": {"margin": 0.1},
        "windows": [4], "sequence_tokens": 64, "threads": 1,
        "stop": {"min_samples": 3, "placements": 2, "processes": 1}})");
  }
  [[nodiscard]] Outcome run(const std::vector<std::string>& arguments) const {
    return program_.run(arguments, {"ATTNSCOPE_WORKER=" FAKE_WORKER_PROGRAM});
  }
  [[nodiscard]] std::size_t runs() const {
    return json::parse(run({"list", "runs", "--json"}).out).size();
  }
  [[nodiscard]] json answered() const {
    const Outcome answer = run({"answer", "last", "--sequence-tokens", "64", "--json"});
    EXPECT_EQ(answer.exit_code, 0) << answer.err;
    return json::parse(answer.out).at(0);
  }

  Program program_;
};

TEST_F(SweepEffectiveness, AnswersWithoutTheOriginalFiles) {
  const Outcome first = run({"run", "sweep.json", "--quiet"});
  ASSERT_EQ(first.exit_code, 0) << first.err;
  for (const char* file : {"qrels.txt", "full.trec", "sparse-4.trec"})
    std::filesystem::remove(program_.path(file));
  const auto check = [&] {
    const json answer = answered();
    for (const json& contender : answer.at("contenders")) {
      const json& measured = contender.at("measured");
      EXPECT_EQ(measured.at("queries"), 20);
      EXPECT_EQ(measured.at("margin"), 0.1);
      if (contender.at("contender") == "full/dense") {
        EXPECT_EQ(measured.at("mean"), 1);
      } else {
        EXPECT_NEAR(measured.at("mean").get<double>(), (19 + 0.63093) / 20, 1e-4);
        EXPECT_EQ(measured.at("equivalent"), true);
      }
    }
  };
  check();
  const Outcome again = run({"run", "--again", "last", "--quiet"});
  ASSERT_EQ(again.exit_code, 0) << again.err;
  check();
  ASSERT_EQ(run({"export", "last", "-o", "out.attn"}).exit_code, 0);
  EXPECT_THAT(run({"answer", "out.attn:last", "--sequence-tokens", "64"}).out,
              AllOf(HasSubstr("equivalent"), HasSubstr("measured here")));
  EXPECT_THAT(run({"show", "last"}).out, HasSubstr("nDCG@10 of 2 TREC runs, by "));
  EXPECT_THAT(run({"table", "last", "--cells", "time,effectiveness"}).out,
              HasSubstr("nDCG@10 1.0"));
}

TEST_F(SweepEffectiveness, ReadsCompressedRuns) {
  ASSERT_EQ(run({"run", "sweep.json", "--quiet"}).exit_code, 0);
  const json plain = answered();
  std::string sweep = program_.read("sweep.json");
  for (const std::string name : {"full.trec", "sparse-4.trec"}) {
    program_.write(name + ".gz", tests::packed(program_.read(name)));
    std::filesystem::remove(program_.path(name));
  }
  for (std::size_t at = 0; (at = sweep.find(".trec\"", at)) != std::string::npos; ++at)
    sweep.insert(at + 5, ".gz");
  program_.write("sweep.json", sweep);
  const Outcome packed = run({"run", "sweep.json", "--quiet"});
  ASSERT_EQ(packed.exit_code, 0) << packed.err;
  const json answer = answered();
  ASSERT_EQ(answer.at("contenders").size(), 2U);
  for (std::size_t i = 0; i < 2; ++i)
    EXPECT_EQ(answer["contenders"][i]["measured"]["mean"],
              plain["contenders"][i]["measured"]["mean"]);
}

TEST_F(SweepEffectiveness, RefusesInvalidFilesBeforeMeasuring) {
  program_.write("sparse-4.trec", "0 Q0 a 1 2 t\n1 Q0 a 1 nan t\n");
  const Outcome nan = run({"run", "sweep.json", "--quiet"});
  EXPECT_EQ(nan.exit_code, 2);
  EXPECT_THAT(nan.err, AllOf(HasSubstr("sparse-4.trec, line 2"), HasSubstr("NaN")));
  std::filesystem::remove(program_.path("qrels.txt"));
  const Outcome missing = run({"run", "sweep.json", "--quiet"});
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_THAT(missing.err,
              AllOf(HasSubstr("sweep.json, line 4: 'qrels'"), HasSubstr("does not exist")));
  EXPECT_EQ(runs(), 0U);
}

}  // namespace
}  // namespace attnscope::testing
