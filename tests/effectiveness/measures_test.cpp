// SPDX-License-Identifier: Apache-2.0
#include "engine/effectiveness/measures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace attnscope::effectiveness {
namespace {

using ::testing::HasSubstr;

std::string error_of(const char* names) {
  const auto measures = parse_measures(names);
  return measures ? "" : measures.error().message;
}

TEST(Measures, NamesAreReadAndWrittenAsIrMeasuresWritesThem) {
  for (const char* name :
       {"nDCG", "nDCG@10", "nDCG(dcg='exp-log2')@10", "RR", "RR@10", "RR(rel=2)@10", "AP",
        "AP(rel=3,judged_only=True)@100", "P@5", "R@100", "Judged", "Judged@10"}) {
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

TEST(Measures, WhatIsNoMeasureIsNamedBesideThoseThatAre) {
  EXPECT_THAT(error_of("nDGC@10"), HasSubstr("'nDGC@10' is no measure"));
  EXPECT_THAT(error_of("nDCG@10,"), HasSubstr("known: nDCG@10"));
  EXPECT_THAT(error_of("nDCG@0"), HasSubstr("cut-off"));
  EXPECT_THAT(error_of("nDCG@ten"), HasSubstr("cut-off"));
  EXPECT_THAT(error_of("P"), HasSubstr("without a cut-off"));
  EXPECT_THAT(error_of("RR(rel=0)"), HasSubstr("brackets"));
  EXPECT_THAT(error_of("AP(rel=1,rel=2)"), HasSubstr("brackets"));
  EXPECT_THAT(error_of("nDCG(rel=2)"), HasSubstr("brackets"));
  EXPECT_THAT(error_of("RR(rel=2"), HasSubstr("no measure"));
  EXPECT_THAT(error_of("nDCG@10,NDCG@10"), HasSubstr("given twice"));
}

TEST(Measures, EachSaysHowItIsComputed) {
  EXPECT_THAT(parse_measure("nDCG@10")->definition(), HasSubstr("gain relevance"));
  EXPECT_THAT(parse_measure("nDCG(dcg='exp-log2')")->definition(), HasSubstr("2^relevance - 1"));
  EXPECT_THAT(parse_measure("RR(rel=2)@10")->definition(), HasSubstr("relevant from 2 on"));
  EXPECT_THAT(parse_measure("AP(judged_only=True)")->definition(), HasSubstr("left out"));
}

}  // namespace
}  // namespace attnscope::effectiveness
