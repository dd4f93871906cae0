// SPDX-License-Identifier: Apache-2.0
#include "engine/effectiveness/measures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace attnscope::effectiveness {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string error_of(const char* names) {
  const auto measures = parse_measures(names);
  return measures ? "" : measures.error().message;
}

TEST(Measures, NamesAreReadAndWrittenAsIrMeasuresWritesThem) {
  for (const char* name : {"nDCG",
                           "nDCG@10",
                           "nDCG(dcg='exp-log2')@10",
                           "RR",
                           "RR@10",
                           "RR(rel=2)@10",
                           "AP",
                           "AP(rel=3,judged_only=True)@100",
                           "P@5",
                           "R@100",
                           "Judged",
                           "Judged@10",
                           "Rprec(rel=2)",
                           "Success@5",
                           "ERR",
                           "ERR@10",
                           "Bpref(rel=340)",
                           "SetP",
                           "SetR",
                           "SetF",
                           "SetAP"}) {
    const auto measure = parse_measure(name);
    ASSERT_TRUE(measure) << measure.error().message;
    EXPECT_EQ(measure->name(), name);
  }
  EXPECT_EQ(parse_measure("MRR@10")->name(), "RR@10");
  EXPECT_EQ(parse_measure(" nDCG( dcg=\"log2\" )@5 ")->name(), "nDCG@5");
  const auto several = parse_measures("AP(rel=2,judged_only=True),P@5");
  ASSERT_TRUE(several);
  EXPECT_EQ(several->size(), 2U);
}

TEST(Measures, TrecEvalsNamesAreKnown_AndLettersOfEitherSize) {
  const std::vector<std::pair<const char*, const char*>> names{{"ndcg", "nDCG"},
                                                               {"ndcg_cut_10", "nDCG@10"},
                                                               {"ndcg_cut.10", "nDCG@10"},
                                                               {"map", "AP"},
                                                               {"map_cut_100", "AP@100"},
                                                               {"recip_rank", "RR"},
                                                               {"P_5", "P@5"},
                                                               {"P.5", "P@5"},
                                                               {"recall_100", "R@100"},
                                                               {"success_1", "Success@1"},
                                                               {"Rprec", "Rprec"},
                                                               {"bpref", "Bpref"},
                                                               {"set_P", "SetP"},
                                                               {"set_recall", "SetR"},
                                                               {"set_map", "SetAP"},
                                                               {"set_F", "SetF"},
                                                               {"map(rel=2)", "AP(rel=2)"},
                                                               {"NDCG@10", "nDCG@10"},
                                                               {"ndcg@10", "nDCG@10"},
                                                               {"mrr@10", "RR@10"},
                                                               {"Recall@100", "R@100"},
                                                               {"RPrec", "Rprec"},
                                                               {"BPref", "Bpref"},
                                                               {"map@100", "AP@100"}};
  for (const auto& [written, name] : names) {
    const auto measure = parse_measure(written);
    ASSERT_TRUE(measure) << measure.error().message;
    EXPECT_EQ(measure->name(), name) << written;
  }
}

TEST(Measures, UnknownMeasuresAreRefusedWithTheKnownOnes) {
  EXPECT_THAT(error_of("nDGC@10"), HasSubstr("'nDGC@10' is not a measure"));
  EXPECT_THAT(error_of("nDCG@10,"), HasSubstr("known: nDCG@10"));
  EXPECT_THAT(error_of("nDCG@0"), HasSubstr("cut-off"));
  EXPECT_THAT(error_of("nDCG@ten"), HasSubstr("cut-off"));
  EXPECT_THAT(error_of("P"), HasSubstr("without a cut-off"));
  EXPECT_THAT(error_of("ndcg_cut"), HasSubstr("without a cut-off"));
  EXPECT_THAT(error_of("Success"), HasSubstr("without a cut-off"));
  EXPECT_THAT(error_of("P_5,10"), HasSubstr("'10' is not a measure"));
  EXPECT_THAT(error_of("Rprec@10"), HasSubstr("with a cut-off"));
  EXPECT_THAT(error_of("recip_rank_10"), HasSubstr("with a cut-off"));
  EXPECT_THAT(error_of("ndcg_cut_0"), HasSubstr("cut-off is not a positive integer"));
  EXPECT_THAT(error_of("ERR(rel=2)@10"), HasSubstr("brackets"));
  EXPECT_THAT(error_of("nDCG@10,ndcg_cut_10"), HasSubstr("given twice"));
  EXPECT_THAT(error_of("RR(rel=0)"), HasSubstr("brackets"));
  EXPECT_THAT(error_of("AP(rel=1,rel=2)"), HasSubstr("brackets"));
  EXPECT_THAT(error_of("nDCG(rel=2)"), HasSubstr("brackets"));
  EXPECT_THAT(error_of("RR(rel=2"), HasSubstr("not a measure"));
  EXPECT_THAT(error_of("nDCG@10,NDCG@10"), HasSubstr("given twice"));
}

TEST(Measures, HaveADefinition) {
  EXPECT_THAT(parse_measure("nDCG@10")->definition(), HasSubstr("gain relevance"));
  EXPECT_THAT(parse_measure("nDCG(dcg='exp-log2')")->definition(), HasSubstr("2^relevance - 1"));
  EXPECT_THAT(parse_measure("RR(rel=2)@10")->definition(),
              HasSubstr("relevant: judged 2 or higher"));
  EXPECT_THAT(parse_measure("AP(judged_only=True)")->definition(),
              HasSubstr("unjudged documents ignored"));
}

TEST(Measures, GradesBeyondAMeasuresRange_AreAnError) {
  const auto error_with = [](std::int64_t level, const char* names) {
    const Qrels qrels{.file = "clicks", .queries = {{"q", {{"d", level}}}}};
    const Status known = check_grades(*parse_measures(names), qrels);
    return known ? "" : known.error().message;
  };
  EXPECT_THAT(error_with(340, "nDCG@10,ERR@10"),
              AllOf(HasSubstr("document 'd' of query 'q' has the relevance 340"),
                    HasSubstr("ERR@10 is defined for relevances up to 4")));
  EXPECT_THAT(error_with(1287, "nDCG(dcg='exp-log2')"), HasSubstr("up to 1000"));
  EXPECT_EQ(error_with(4, "ERR"), "");
  EXPECT_EQ(error_with(1000, "nDCG(dcg='exp-log2')"), "");
  EXPECT_EQ(error_with(70'000'000'000, "nDCG,AP,RR,P@5,Bpref"), "");
}

}  // namespace
}  // namespace attnscope::effectiveness
