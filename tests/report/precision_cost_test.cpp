// SPDX-License-Identifier: Apache-2.0
#include "engine/report/precision_cost.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attnscope::report {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(PrecisionCost, OfNoPairsHasNothingToSay) {
  EXPECT_THAT(PrecisionCost("int8", {}).sentences(), ElementsAre());
}

TEST(PrecisionCost, TellsHowRankingsAgreeAndScoresDiffer) {
  PrecisionCost cost("int8", {});
  cost.add("q1", "a", {.narrow = 3.0F, .exact = 3.25F});
  cost.add("q1", "b", {.narrow = 2.0F, .exact = 2.0F});
  cost.add("q2", "a", {.narrow = 1.0F, .exact = 2.0F});  // the other way round
  cost.add("q2", "b", {.narrow = 1.5F, .exact = 1.5F});
  cost.add("q3", "a", {.narrow = 1.0F, .exact = 1.0F});  // nothing to rank
  EXPECT_THAT(
      cost.sentences(),
      ElementsAre(
          "int8 compared with float32 on 5 pairs: rankings of 2 queries agree by RBO (p = 0.9) "
          "0.9500 and tau 0.0000, the first document of 1 is the same; scores differ by 0 "
          "at the median, 1 at most"));
}

TEST(PrecisionCost, OfPassagesTheBestCount) {
  PrecisionCost cost("int8", {});
  cost.add("q", "a", {.narrow = 1.0F, .exact = 1.0F});
  cost.add("q", "a", {.narrow = 3.0F, .exact = 3.0F});
  cost.add("q", "b", {.narrow = 2.0F, .exact = 2.0F});
  EXPECT_EQ(cost.pairs(), 3);
  EXPECT_THAT(cost.sentences(), ElementsAre(HasSubstr("tau 1.0000, the first document of 1")));
}

TEST(PrecisionCost, WithJudgementsTestsTheDifferenceOfNdcg) {
  effectiveness::Qrels qrels;
  for (const char* query : {"q1", "q2", "q3"}) qrels.queries[query]["a"] = 1;
  PrecisionCost cost("int8", qrels);
  for (const char* query : {"q1", "q2", "q3", "unjudged"}) {
    const bool turned = query == std::string("q2");
    cost.add(query, "a", {.narrow = turned ? 0.0F : 2.0F, .exact = 2.0F});
    cost.add(query, "b", {.narrow = 1.0F, .exact = 1.0F});
  }
  // q2's relevant document falls to rank 2: 1 / log2(3) = 0.6309, a third of 0.3691 on the mean.
  EXPECT_THAT(cost.sentences().at(1),
              AllOf(HasSubstr("nDCG@10 of 3 judged queries: 0.8770 in int8, 1.0000 in float32, "
                              "-0.1230 (90%: "),
                    HasSubstr("not shown to be equivalent within ± 0.02 (paired TOST, p = ")));
}

TEST(PrecisionCost, SaysWhereNothingIsJudgedOrTooLittle) {
  effectiveness::Qrels qrels;
  qrels.queries["q"]["a"] = 1;
  PrecisionCost none("int8", qrels);
  none.add("other", "a", {.narrow = 1.0F, .exact = 1.0F});
  EXPECT_THAT(none.sentences().at(0), HasSubstr("on 1 pair: no query has two documents to rank"));
  EXPECT_THAT(none.sentences().at(1), HasSubstr("none of these queries is judged"));
  PrecisionCost one("int8", qrels);
  one.add("q", "a", {.narrow = 1.0F, .exact = 1.0F});
  EXPECT_THAT(one.sentences().at(1), HasSubstr("too few queries to test"));
  qrels.queries["p"]["a"] = 1;
  PrecisionCost alike("int8", qrels);
  alike.add("q", "a", {.narrow = 1.0F, .exact = 1.0F});
  alike.add("p", "a", {.narrow = 1.0F, .exact = 1.0F});
  EXPECT_THAT(alike.sentences().at(1),
              HasSubstr("equivalent within ± 0.02 (all differences are equal)"));
}

}  // namespace
}  // namespace attnscope::report
