// SPDX-License-Identifier: Apache-2.0
//
// `evaluate` on small runs.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/base/packed.h"
#include "tests/cli/program.h"

namespace attnscope::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class Evaluate : public ::testing::Test {
 protected:
  Evaluate() {
    program_.write("qrels.txt", "1 0 a 2\n1 0 b 0\n2 0 a 1\n3 0 c 1\n");
    program_.write("full.trec",
                   "1 Q0 a 1 2 t\n1 Q0 b 2 1 t\n2 Q0 b 1 2 t\n2 Q0 a 2 1 t\n3 Q0 c 1 1 t\n");
    program_.write("sparse.trec", "1 Q0 b 1 2 t\n1 Q0 a 2 1 t\n2 Q0 b 1 2 t\n2 Q0 a 2 1 t\n");
  }
  [[nodiscard]] Outcome evaluate(const std::vector<std::string>& more) const {
    return program_.run(joined({"evaluate", "--qrels", "qrels.txt"}, more));
  }

  Program program_;
};

TEST_F(Evaluate, PrintsTheMeansOfTrecEvalAndMissingQueries) {
  const Outcome outcome =
      evaluate({"sparse.trec", "--measures", "RR@10,nDCG@10", "--format", "json"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("note: sparse.trec: lacks 1 of the 3 judged queries"));
  const auto rows = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(rows[0]["mean"], 0.5);
  EXPECT_EQ(rows[0]["queries"], 2);
  const auto complete = nlohmann::json::parse(
      evaluate({"-c", "sparse.trec", "--measures", "RR@10", "--format", "json"}).out);
  EXPECT_EQ(complete[0]["mean"], 1.0 / 3);
}

TEST_F(Evaluate, ReadsCompressedRunsAndJudgements) {
  const auto words = {"evaluate", "--format", "json", "--baseline"};
  const auto judged = [&](const std::string& ending) {
    std::vector<std::string> arguments(words.begin(), words.end());
    for (const std::string name : {"full.trec", "sparse.trec"}) arguments.push_back(name + ending);
    arguments.insert(arguments.end(), {"--qrels", "qrels.txt" + ending});
    return program_.run(arguments);
  };
  for (const std::string name : {"qrels.txt", "full.trec", "sparse.trec"})
    program_.write(name + ".gz", tests::packed(program_.read(name)));
  const Outcome plain = judged(""), packed = judged(".gz");
  EXPECT_EQ(packed.exit_code, 0) << packed.err;
  EXPECT_EQ(packed.out, plain.out);
}

TEST_F(Evaluate, ABaselineThatIsNotAmongTheRunsComesFirst) {
  const Outcome outcome = evaluate({"sparse.trec", "--baseline", "full.trec", "-c", "--margin",
                                    "0.5", "--correction", "bonferroni"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_LT(outcome.out.find("full"), outcome.out.find("sparse"));
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("within ± 0.5"), HasSubstr("by Bonferroni")));
  const Outcome same = evaluate({"sparse.trec", "full.trec", "--baseline", "./full.trec"});
  EXPECT_EQ(same.exit_code, 0) << same.err;
  EXPECT_LT(same.out.find("sparse  "), same.out.find("full  "));
}

TEST_F(Evaluate, AcceptsTheBaselinesNameInTheTable) {
  const Outcome named = evaluate({"sparse.trec", "full.trec", "--baseline", "full"});
  EXPECT_EQ(named.exit_code, 0) << named.err;
  EXPECT_EQ(named.out, evaluate({"sparse.trec", "full.trec", "--baseline", "full.trec"}).out);
  EXPECT_NE(evaluate({"sparse.trec", "full.trec", "--baseline", "none"}).exit_code, 0);
}

TEST_F(Evaluate, PrintsValuesPerQueryAndDifferences) {
  EXPECT_THAT(evaluate({"full.trec", "--per-query", "--measures", "RR@10", "--format", "csv"}).out,
              HasSubstr("measure,query,full\r\nRR@10,1,1\r\nRR@10,2,0.5\r\nRR@10,3,1\r\n"));
  EXPECT_THAT(evaluate({"sparse.trec", "--differences", "--baseline", "full.trec"}),
              Prints("a 1>2"));
}

TEST_F(Evaluate, RefusesInvalidFilesAndOptions) {
  program_.write("nan.trec", "1 Q0 a 1 nan t\n");
  program_.write("cut.trec", "1 Q0 a 1 2 t\n1 Q0 b");
  program_.write("twice.trec", "1 Q0 a 1 2 t\n1 Q0 a 2 1 t\n");
  const std::string packed = tests::packed("1 Q0 a 1 2 t\n2 Q0 a 1 2 t\n");
  program_.write("cut.trec.gz", packed.substr(0, packed.size() - 4));
  const auto refused = [&](const std::vector<std::string>& arguments, const char* words) {
    EXPECT_THAT(evaluate(arguments), Refuses(words));
  };
  refused({"nan.trec"}, "nan.trec, line 1 has NaN");
  refused({"cut.trec"}, "cut.trec, line 2 is incomplete");
  refused({"cut.trec.gz"}, "cut.trec.gz: its gzip data are truncated");
  refused({"twice.trec"}, "twice.trec, line 2: document 'a' of query '1' is already in line 1");
  refused({"full.trec", "sparse.trec", "full.trec"}, "the run 'full.trec' is given twice");
  refused({"full.trec", "./full.trec"}, "given twice, also as './full.trec'");
  refused({"full.trec", "--measures", "AP(rel=1,rel=2)"}, "brackets");
  refused({"gone.trec"}, "gone.trec: cannot be opened");
  refused({"full.trec", "--measures", "nDGC"}, "'nDGC' is not a measure");
  refused({"full.trec", "--correction", "holm"}, "known: none, bonferroni");
  refused({"full.trec", "--baseline", "full.trec"}, "the only run");
  refused({"full.trec", "--differences"}, "--baseline RUN");
  refused({"full.trec", "--format", "pdf"}, "pdf");
}

}  // namespace
}  // namespace attnscope::testing
