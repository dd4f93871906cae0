// SPDX-License-Identifier: Apache-2.0
#include "engine/effectiveness/measured_runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>

#include "tests/base/packed.h"
#include "tests/safetensors/scratch_folder.h"

namespace attnscope::effectiveness {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class MeasuredRunsTest : public ::testing::Test {
 protected:
  MeasuredRunsTest() {
    write("qrels.txt", "1 0 a 1\n2 0 a 1\n3 0 a 1\n");
    write("full.trec", "1 Q0 a 1 2 t\n2 Q0 b 1 2 t\n2 Q0 a 2 1 t\n3 Q0 a 1 1 t\n");
    write("sparse.trec", "1 Q0 a 1 2 t\n2 Q0 a 1 1 t\n");
  }
  void write(const char* name, std::string_view text) const {
    tests::write_bytes(folder_ / name, text);
  }
  [[nodiscard]] RunsToEvaluate wanted() const {
    return {.question = {.measure = parse_measure("RR@10").value(), .baseline = "full/dense"},
            .qrels = folder_ / "qrels.txt",
            .runs = {{folder_ / "full.trec", {"full/dense", "full/sdpa"}},
                     {folder_ / "sparse.trec", {"sparse/segment/4"}}},
            .folder = folder_.path()};
  }

  tests::ScratchFolder folder_;
};

TEST_F(MeasuredRunsTest, KeepsEveryQueryWithNaNForMissingOnes) {
  const auto measured = evaluate(wanted());
  ASSERT_TRUE(measured.has_value()) << measured.error().message;
  EXPECT_THAT(measured->queries, ElementsAre("1", "2", "3"));
  EXPECT_THAT(measured->find("full/sdpa")->values, ElementsAre(1, 0.5, 1));
  EXPECT_EQ(measured->find("full/sdpa"), measured->find("full/dense"));
  const auto& sparse = *measured->find("sparse/segment/4");
  EXPECT_EQ(sparse.values[1], 1);
  EXPECT_TRUE(std::isnan(sparse.values[2]));
  EXPECT_EQ(measured->find("sparse/segment/64"), nullptr);
  EXPECT_THAT(measured->notes, Contains(HasSubstr("lacks 1 of the 3 judged queries")));
  RunsToEvaluate complete = wanted();
  complete.question.complete = true;
  EXPECT_EQ(evaluate(complete)->find("sparse/segment/4")->values[2], 0);
  std::erase_if(complete.runs, [](const RunsToEvaluate::Run& run) {
    return run.contenders.front() == "full/sdpa" || run.contenders.front() == "full/dense";
  });
  const auto alone = evaluate(complete);
  EXPECT_TRUE(std::isnan(alone->find("sparse/segment/4")->values[2]));
  EXPECT_THAT(alone->notes, Contains(HasSubstr("1 of 3 judged queries are in none of the runs")));
}

TEST_F(MeasuredRunsTest, StoredRunsAreReadBack) {
  const MeasuredRuns measured = evaluate(wanted()).value();
  const auto back = read_measured_runs(nlohmann::json::parse(to_json(measured).dump()));
  ASSERT_TRUE(back.has_value()) << back.error().message;
  EXPECT_EQ(to_json(*back), to_json(measured));
  EXPECT_EQ(back->question.measure.name(), "RR@10");
  EXPECT_EQ(back->runs[0].sum.size(), 16U);
  nlohmann::json short_of_one = to_json(measured);
  short_of_one["runs"][0]["values"].erase(0);
  EXPECT_THAT(read_measured_runs(short_of_one).error().message,
              HasSubstr("has 2 values for 3 queries"));
}

TEST_F(MeasuredRunsTest, APackedFileIsTheSameRun) {
  const MeasuredRuns plain = evaluate(wanted()).value();
  for (const auto& [name, text] : {std::pair("qrels.txt", "1 0 a 1\n2 0 a 1\n3 0 a 1\n"),
                                   std::pair("sparse.trec", "1 Q0 a 1 2 t\n2 Q0 a 1 1 t\n")})
    write(name, tests::packed(text));
  const auto packed = evaluate(wanted());
  ASSERT_TRUE(packed.has_value()) << packed.error().message;
  EXPECT_EQ(to_json(*packed), to_json(plain));
}

TEST_F(MeasuredRunsTest, ADifferentFileHasADifferentSum) {
  const MeasuredRuns before = evaluate(wanted()).value();
  write("full.trec", "1 Q0 a 1 2 t\n2 Q0 b 1 2 t\n2 Q0 a 2 1 t\n3 Q0 a 1 1 u\n");
  const MeasuredRuns after = evaluate(wanted()).value();
  EXPECT_NE(before.runs[0].sum, after.runs[0].sum);
  EXPECT_EQ(before.runs[1].sum, after.runs[1].sum);
  EXPECT_EQ(before.qrels_sum, after.qrels_sum);
}

TEST_F(MeasuredRunsTest, ErrorsNameTheFileAndLine) {
  write("sparse.trec", "1 Q0 a 1 2 t\n2 Q0 a 1 nan t\n");
  EXPECT_THAT(evaluate(wanted()).error().message, HasSubstr("sparse.trec, line 2"));
  write("sparse.trec", "9 Q0 a 1 2 t\n");
  EXPECT_THAT(evaluate(wanted()).error().message, HasSubstr("none of its queries is judged in"));
  write("qrels.txt", "1 0 a\n");
  EXPECT_THAT(evaluate(wanted()).error().message, HasSubstr("qrels.txt, line 1"));
}

}  // namespace
}  // namespace attnscope::effectiveness
