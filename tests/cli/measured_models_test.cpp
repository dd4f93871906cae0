// SPDX-License-Identifier: Apache-2.0
//
// Whole models measured in a real worker: tables, answers and published numbers.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/program.h"

namespace attnscope::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

const char* const small_models = R"({
  "name": "models", "operation": "model", "layers": 1, "heads": 2, "head_dim": 16,
  "contenders": ["full/sdpa", "longformer/longformer-chunks/16", "sparse/segment/4",
                 "sparse-without-kernel/longformer-chunks/4",
                 {"model": "sparse", "implementation": "segment", "window": 4,
                  "cls_only_last_layer": true}],
  "query_tokens": 5, "sequence_tokens": [64, 174], "batch": {"max": 3, "per_contender": true},
  "stop": {"relative_interval": 0.5, "max_seconds": 0.05, "min_samples": 3, "placements": 1, "processes": 1}
})";

class MeasuredModels : public ::testing::Test {
 protected:
  /// Measured once for all tests of this file.
  static void SetUpTestSuite() {
    program_ = new Program;
    program_->write("models.json", small_models);
    const Outcome outcome = program_->run({"run", "models.json", "--quiet"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  }
  static void TearDownTestSuite() {
    delete program_;
    program_ = nullptr;
  }
  static json rows(const std::vector<std::string>& more = {}) {
    const Outcome outcome = program_->run(joined({"table", "last", "--format", "json"}, more));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return json::parse(outcome.out);
  }

  static Program* program_;
};
Program* MeasuredModels::program_ = nullptr;

TEST_F(MeasuredModels, EveryCellIsOkAndNamesModelAndImplementation) {
  const json all = rows({"--baseline", "full/sdpa"});
  ASSERT_EQ(all.size(), 2U * 5);
  for (const json& row : all) {
    EXPECT_EQ(row.at("status"), "ok") << row.dump();
    EXPECT_EQ(row.at("operation"), "model");
    EXPECT_EQ(row.at("layers"), 1);
    EXPECT_EQ(row.at("feed_forward"), 4 * 2 * 16);
    EXPECT_EQ(row.at("memory_order"), "token-major");
    EXPECT_EQ(row.at("batch"), 3);
    EXPECT_GT(row.at("ms_per_document").get<double>(), 0);
    EXPECT_GT(row.at("peak_bytes_per_document").get<double>(), 0);
    EXPECT_TRUE(row.at("ratio").is_number());
  }
  EXPECT_EQ(all[3].at("contender"), "sparse-without-kernel/longformer-chunks/4");
  EXPECT_EQ(all[3].at("model"), "sparse-without-kernel");
  EXPECT_EQ(all[3].at("implementation"), "longformer-chunks");
  EXPECT_EQ(all[4].at("model"), "sparse+cls-only-last-layer");
}

TEST_F(MeasuredModels, SelectsRowsByModel) {
  EXPECT_EQ(rows({"--only", "model=sparse"}).size(), 2U);
  EXPECT_EQ(rows({"--only", "model=sparse+cls-only-last-layer,sequence_tokens=64"}).size(), 1U);
}

TEST_F(MeasuredModels, PrintsPublishedNumbersNextToMeasuredOnes) {
  const Outcome outcome = program_->run({"table", "last", "--published", "ecir24-table3"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("Passages, 174 tokens"));
  EXPECT_THAT(outcome.out, HasSubstr("368"));
  EXPECT_THAT(outcome.out, HasSubstr("published, not measured here"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("64 tokens")));
}

TEST_F(MeasuredModels, RefusesAnUnknownPublishedTable) {
  EXPECT_THAT(program_->run({"table", "last", "--published", "no-such-table"}),
              FailsWith("ecir24-table3"));
}

TEST_F(MeasuredModels, AnAnswerStatesThatTimesAreOfWholeModels) {
  const Outcome outcome = program_->run({"answer", "last", "--baseline", "full/sdpa",
                                         "--document-tokens", "100", "--query-tokens", "5"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("whole model"));
  EXPECT_THAT(outcome.out, HasSubstr("in addition to the weights"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("tensors themselves")));
}

TEST_F(MeasuredModels, ComparesEveryCellOfARunWithItself) {
  const Outcome outcome = program_->run({"compare", "last", "last", "--format", "json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(json::parse(outcome.out).at("cells").size(), 2U * 5);
}

TEST_F(MeasuredModels, EstimatesModelsByTheirNames) {
  const Outcome outcome = program_->run({"estimate", "models.json", "--no-trial", "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const json pairs = json::parse(outcome.out).at("pairs");
  const auto pair_of = [&](const std::string& model, const std::string& implementation) {
    for (const json& pair : pairs) {
      if (pair.at("pattern") == model && pair.at("implementation") == implementation) return pair;
    }
    return json();
  };
  EXPECT_EQ(pair_of("sparse-without-kernel", "longformer-chunks").at("reason"), "");
  EXPECT_GT(pair_of("sparse+cls-only-last-layer", "segment").at("item_bytes").get<double>(), 0);
  EXPECT_NE(pair_of("sparse", "sdpa").at("reason"), "");
}

}  // namespace
}  // namespace attnscope::testing
